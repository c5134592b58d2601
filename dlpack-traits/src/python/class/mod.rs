//! Adds Python classes of tensors to modules: their methods, their class method `from_dlpack`, and
//! their exchange table. [`add_class`], and with options [`class`].

mod from_dlpack_method;

use core::marker::PhantomData;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;

use self::from_dlpack_method::{ImportClass, add_from_dlpack};
use crate::backend::{Backends, Cpu};
use crate::exchange::{ATTRIBUTE, Importable, NotImportable, OLD_ATTRIBUTE, ToObject, table};
use crate::ffi::DLPackExchangeAPI;
use crate::import::DLPackImport;
use crate::python::array_like;
use crate::python::export::dlpack_methods::ClassMethods;
use crate::python::export::export_class::ExportClass;
use crate::python::table::type_cache::Makes;
use crate::python::table::{PyHost, publish_as};

/// Adds a class to a module, and makes its objects export tensors: `class::<T>().add(module)`,
/// see [`ClassBuilder::add`].
///
/// # Errors
///
/// Those of [`ClassBuilder::add`].
pub fn add_class<T: ExportClass>(module: &Bound<'_, PyModule>) -> PyResult<()> {
    class::<T>().add(module)
}

/// Starts to configure a Python class of tensors. By default it exports tensors on the
/// CPU and does not import.
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage, python};
/// use pyo3::prelude::*;
///
/// #[pyclass(frozen)]
/// #[derive(DLPackExport, DLPackImport)]
/// struct Image { data: ImportedStorage<u8>, shape: [usize; 3] }
///
/// #[pymodule]
/// fn camera(m: &Bound<'_, PyModule>) -> PyResult<()> {
///     python::class::<Image>().importable().add(m) // Image.from_dlpack(array)
/// }
/// ```
pub fn class<T: ExportClass>() -> ClassBuilder<T> {
    ClassBuilder::new(ClassOptions::default())
}

/// The configuration of a Python class of tensors, made by [`class`].
#[derive(Debug)]
#[must_use = "the class is not added before `add` or `install`"]
pub struct ClassBuilder<T, I = NotImportable, B = Cpu> {
    options: ClassOptions,
    of: PhantomData<TypeParameters<T, I, B>>,
}

/// The type parameters as a function type, since the builder holds no value of them.
type TypeParameters<T, I, B> = fn() -> (T, I, B);

/// The options that are not type parameters.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct ClassOptions {
    old_name: bool,
    read_only_views: bool,
    array_like: bool,
    buffer_protocol: bool,
    picklable: bool,
}

/// Whether objects of a Python class can be created from tensors: [`Importable`] or
/// [`NotImportable`].
pub trait Importing<T: ExportClass>:
    ToObject<T, PyHost<true>> + ToObject<T, PyHost<false>> + sealed::AddTo<T>
{
}

impl<T, I> Importing<T> for I
where
    T: ExportClass,
    I: ToObject<T, PyHost<true>> + ToObject<T, PyHost<false>> + sealed::AddTo<T>,
{
}

impl ClassOptions {
    /// Adds the methods and the exchange table to a class.
    fn install(
        self,
        class: &Bound<'_, PyType>,
        methods: &ClassMethods,
        table: &'static DLPackExchangeAPI,
        makes_objects: bool,
    ) -> PyResult<()> {
        let makes = if makes_objects { Makes::Ours } else { Makes::Nothing };
        methods.install(class)?;
        publish_as(class, table, ATTRIBUTE, makes)?;
        if self.old_name {
            publish_as(class, table, OLD_ATTRIBUTE, makes)?;
        }
        Ok(())
    }
}

impl<T, I, B> ClassBuilder<T, I, B> {
    const fn new(options: ClassOptions) -> Self {
        Self { options, of: PhantomData }
    }
}

mod sealed {
    use pyo3::prelude::*;
    use pyo3::types::PyType;

    pub trait AddTo<T> {
        /// Whether the exchange table creates objects.
        const MAKES_OBJECTS: bool;

        /// Adds the methods that this type parameter of the builder requests.
        fn add_to(class: &Bound<'_, PyType>) -> PyResult<()>;
    }
}

impl<T> sealed::AddTo<T> for NotImportable {
    const MAKES_OBJECTS: bool = false;

    fn add_to(_: &Bound<'_, PyType>) -> PyResult<()> {
        Ok(())
    }
}

impl<T: ImportClass> sealed::AddTo<T> for Importable {
    const MAKES_OBJECTS: bool = true;

    fn add_to(class: &Bound<'_, PyType>) -> PyResult<()> {
        add_from_dlpack::<T>(class)
    }
}

impl<T: ExportClass, I, B: Backends> ClassBuilder<T, I, B> {
    /// Gives the class a class method `from_dlpack(x, /, *, device=None, copy=None)`, and
    /// lets consumers of its exchange table create objects of it.
    ///
    /// Called on a Python subclass, `from_dlpack` returns an object of this class, not of the
    /// subclass.
    pub fn importable(self) -> ClassBuilder<T, Importable, B>
    where
        T: DLPackImport + Into<PyClassInitializer<T>>,
    {
        ClassBuilder::new(self.options)
    }

    /// Sets the devices that the class supports, in place of the CPU alone.
    pub fn backends<Set: Backends>(self) -> ClassBuilder<T, I, Set> {
        ClassBuilder::new(self.options)
    }

    /// Gives the class the attributes and special methods of an array, which libraries such as
    /// pandas, and the built-in functions of Python, use. Every class has `__array__` without this
    /// option, so `numpy.asarray(x)` returns its tensor.
    ///
    /// | attribute | value |
    /// |---|---|
    /// | `shape`, `ndim`, `size`, `nbytes`, `dtype`, `device` | those of the tensor; `dtype` is a `numpy.dtype` where NumPy has the type |
    /// | `len(x)`, `iter(x)`, `x[key]` | the first dimension; those of the NumPy array |
    /// | `x[key] = value`, `value in x` | those of the NumPy array, over the memory of the object |
    /// | `x + y`, `x @ y`, `x < y`, `x == y` and the other operators | the result of NumPy, an array |
    /// | `x += y` and the others in place | the object, whose memory NumPy wrote |
    /// | `bool(x)`, `int(x)`, `float(x)`, `complex(x)`, `bytes(x)`, `operator.index(x)` | the result for the NumPy array |
    /// | `hash(x)` | `TypeError`, because `==` is elementwise |
    /// | `repr(x)`, `format(x, '.2f')` | shape, dtype and device; that of the NumPy array, which formats one number |
    /// | `sys.getsizeof(x)` | the bytes of the object and of its elements |
    ///
    /// `tracemalloc` does not count the elements: the function that records an allocation waits for the
    /// GIL, which other threads of Rust may not do, and is not in the stable ABI. A profiler of native
    /// allocations, such as memray, counts them.
    ///
    /// An attribute that the class defines itself is kept; a class with an `__eq__` or a
    /// `__hash__` keeps its comparisons and its hash.
    pub fn array_like(mut self) -> Self {
        self.options.array_like = true;
        self
    }

    /// Gives the class the buffer protocol and `__array_interface__`, in addition to what
    /// [`array_like`](Self::array_like) adds, so that `memoryview(x)`, `hashlib.sha256(x)`,
    /// `file.write(x)` and `PIL.Image.fromarray(x)` use its memory, zero-copy.
    ///
    /// Do not set it for a class whose objects are passed to `torch.asarray`, which prefers the
    /// buffer, and ignores its shape: the result of PyTorch 2.15 has a single dimension, and PyTorch
    /// 2.12 reads elements of other types than `float32` as `float32`. Without this option the
    /// result is right and zero-copy. `torch.from_dlpack`, `as_tensor` and `tensor` are right for
    /// both.
    ///
    /// A buffer is an export like any other: it has its own owner of the memory, or borrows the
    /// object until it is released, and is read-only where `__dlpack__` sets READ_ONLY. Memory on a
    /// device raises `BufferError`, and a dtype without a code in the buffer protocol, such as
    /// `bfloat16`, `TypeError`. A buffer protocol or `__array_interface__` of the class itself is
    /// kept, and `__array_interface__` exists for contiguous tensors only. The option needs CPython
    /// 3.10 or later; CPython 3.10 and 3.11 built with `Py_TRACE_REFS` do not support it.
    pub fn buffer_protocol(mut self) -> Self {
        self.options.array_like = true;
        self.options.buffer_protocol = true;
        self
    }

    /// Publishes the exchange table under `__c_dlpack_exchange_api__` too. Consumers from
    /// before DLPack 1.3 look it up there.
    pub fn old_table_name(mut self) -> Self {
        self.options.old_name = true;
        self
    }

    /// Lets consumers of the exchange table borrow a `DLTensor` of read-only memory
    /// (`Arc<[T]>`, `Vec<T>`), which costs less than a managed tensor.
    ///
    /// Without this option such a request raises `BufferError`: a managed tensor has the
    /// flag READ_ONLY, a `DLTensor` has no flags. Memory that consumers may write
    /// ([`SharedBuffer`](crate::SharedBuffer)) can be borrowed without it.
    ///
    /// # Safety
    ///
    /// 1. No one writes to the elements of such a `DLTensor`.
    pub const unsafe fn read_only_views(mut self) -> Self {
        self.options.read_only_views = true;
        self
    }

    /// Installs the methods and the exchange table on the class, and adds the class to a
    /// module. A class that was declared without `module = "..."` prints as one of this module,
    /// and not of `builtins`.
    ///
    /// # Errors
    ///
    /// Those of [`install`](Self::install), and of adding to the module.
    #[expect(clippy::should_implement_trait, reason = "it adds the class to a module")]
    pub fn add(self, module: &Bound<'_, PyModule>) -> PyResult<()>
    where
        I: Importing<T>,
    {
        let py = module.py();
        self.install(py)?;
        name_module(&py.get_type::<T>(), module)?;
        module.add_class::<T>()
    }

    /// Installs the methods and the exchange table on the class: its objects export tensors. For
    /// classes that a declarative `#[pymodule]` adds itself, call this in its `#[pymodule_init]`.
    ///
    /// # Errors
    ///
    /// `TypeError` for classes declared `unsendable` (their objects are bound to a thread,
    /// tensors are not) or `immutable_type` (no attribute can be added to them), and for an
    /// importable class that defines a `from_dlpack` itself. `ImportError` in a subinterpreter: a
    /// tensor is released on any thread, which can attach to the main interpreter only.
    pub fn install(self, py: Python<'_>) -> PyResult<()>
    where
        I: Importing<T>,
    {
        let table = if self.options.read_only_views {
            table::<T, PyHost<true>, B, I>()
        } else {
            table::<T, PyHost<false>, B, I>()
        };
        let class = py.get_type::<T>();
        self.options.install(&class, &ClassMethods::of::<T, B>(), table, I::MAKES_OBJECTS)?;
        array_like::install_array::<T>(&class)?;
        if self.options.array_like {
            array_like::install::<T>(&class, self.options.buffer_protocol)?;
        }
        if self.options.picklable {
            array_like::install_reduce::<T>(&class)?;
        }
        I::add_to(&class)
    }
}

impl<T: ExportClass, I, B: Backends> ClassBuilder<T, I, B> {
    /// Lets `pickle`, `copy.copy` and `copy.deepcopy` take objects of the class, and so
    /// `multiprocessing`, joblib, Dask and Ray.
    ///
    /// An object becomes a NumPy array, which protocol 5 of `pickle` passes as an out-of-band
    /// buffer. The receiver calls the class method `from_dlpack` with an array over the received
    /// memory: zero-copy if the class imports without a copy, as one with an
    /// [`ImportedStorage`](crate::ImportedStorage) does. The tensor, with its strides, and the
    /// attributes of a `#[pyclass(dict)]` are passed on: other fields are those that `from_dlpack`
    /// gives them. `TypeError` is raised for an object of a Python subclass, for memory that is not
    /// on the host, and for a tensor that is not contiguous if the class copies its elements into
    /// another order.
    ///
    /// A class that defines `__reduce__` or `__reduce_ex__` keeps it.
    pub fn picklable(mut self) -> Self
    where
        I: MakesObjects,
    {
        self.options.picklable = true;
        self
    }
}

/// Whether a class of this configuration has a `from_dlpack`: [`Importable`].
#[diagnostic::on_unimplemented(
    message = "`picklable` needs a class with a `from_dlpack`, which makes an object when it is unpickled",
    label = "`importable()` has not been called before",
    note = "write `python::class::<T>().importable().picklable()`, for a `T` that derives `DLPackImport`"
)]
pub trait MakesObjects {}

impl MakesObjects for Importable {}

/// Sets the module of a class that was declared without one.
fn name_module(class: &Bound<'_, PyType>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    let name = intern!(class.py(), "__module__");
    if class.getattr(name)?.eq("builtins")? {
        class.setattr(name, module.name()?)?;
    }
    Ok(())
}
