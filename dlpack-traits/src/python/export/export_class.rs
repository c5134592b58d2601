//! The bound on a Python class of tensors, [`ExportClass`], and the Rust value of its objects:
//! borrowed ([`ClassAccess`]), and without its type, so that code is compiled once and not once for
//! each class: as a trait object ([`DynExport`]), borrowed ([`ErasedRef`]), and as the owner of an
//! export ([`PyOwner`]).
//!
//! Only the fast path of an export is compiled for each class: borrow the value, share its storage,
//! or view it. Keywords, copies, errors and capsules go through [`DynExport`]. A class takes 3.5
//! KiB of machine code instead of 21, and the indirect call 1 to 2 ns.

use alloc::boxed::Box;
use alloc::format;
use core::mem::MaybeUninit;
use core::ops::Deref;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pycell::PyBorrowError;
use pyo3::pyclass::boolean_struct::{False, True};
use pyo3::types::PyType;
use pyo3::{Borrowed, PyClass};

use crate::describe::{Describe, Description, Slot};
use crate::device::Device;
use crate::element::RecordType;
use crate::error::Error;
use crate::exchange::TableError;
use crate::export::{DLPackExport, export_owned};
use crate::managed::{ManagedTensor, RawManaged};
use crate::python::interpreter::drop_attached::{DropAttached, drain};
use crate::stream_arg::StreamArg;

/// A Rust type that can be exported as a Python class of tensors: a `#[pyclass]` that
/// implements [`DLPackExport`] and is `Send + Sync`. The bound on `Frozen` holds for every such
/// `#[pyclass]`, so generic code needs only `T: ExportClass`.
///
/// ```
/// # use dlpack_traits::DLPackExport;
/// # use dlpack_traits::python::{self, ExportClass};
/// # use pyo3::prelude::*;
/// # use std::sync::Arc;
/// #[pyclass]
/// #[derive(DLPackExport)]
/// struct Image {
///     data: Arc<[u8]>,
///     shape: [usize; 3],
/// }
///
/// fn add_two<T: ExportClass, U: ExportClass>(m: &Bound<'_, PyModule>) -> PyResult<()> {
///     python::add_class::<T>(m)?;
///     python::add_class::<U>(m)
/// }
/// # let _ = add_two::<Image, Image>;
/// ```
///
/// A class that is not `Sync` is rejected, frozen or not:
///
/// ```compile_fail,E0277
/// # use dlpack_traits::DLPackExport;
/// # use dlpack_traits::python::ExportClass;
/// # use pyo3::prelude::*;
/// # use std::{cell::Cell, sync::Arc};
/// #[pyclass(frozen, unsendable)]
/// #[derive(DLPackExport)]
/// struct Counting {
///     data: Arc<[u8]>,
///     shape: [usize; 3],
///     #[dlpack(skip)]
///     exports: Cell<u32>,
/// }
///
/// const fn is_class<T: ExportClass>() {}
/// const _: () = is_class::<Counting>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a Python class of tensors",
    label = "needs `#[pyclass]` and `#[derive(DLPackExport)]`",
    note = "write what is missing above the struct: `#[pyclass]` if the trait `PyClass` is not implemented, `#[derive(DLPackExport)]` if it is `DLPackExport`"
)]
pub trait ExportClass: PyClass<Frozen: ClassAccess<Self>> + DLPackExport + Send + Sync {}

// Without `do_not_recommend`, rustc also names the bound that is not satisfied, and the field that is
// not `Sync`.
impl<T> ExportClass for T where T: PyClass<Frozen: ClassAccess<Self>> + DLPackExport + Send + Sync {}

/// Borrows the value of a class `T` from its object. Both types that [`PyClass::Frozen`] can be
/// implement it.
pub trait ClassAccess<T> {
    /// A borrowed value.
    type Ref<'a>: Deref<Target = T>
    where
        T: 'a;

    /// Whether PyO3 never borrows the value of an object by `&mut`.
    const IS_FROZEN: bool;

    /// Borrows the value of an object.
    ///
    /// # Errors
    ///
    /// `RuntimeError`, if the value is mutably borrowed.
    fn borrow<'a>(object: &'a Bound<'static, T>) -> PyResult<Self::Ref<'a>>;
}

/// The value is borrowed through the caller's reference, and the reference count does not change
/// (measured: 9.4 ns instead of 9.9 per borrowed `DLTensor`). A mutable borrow of a base class does
/// not matter: its value is another one.
impl<T: PyClass<Frozen = True> + Sync> ClassAccess<T> for True {
    type Ref<'a> = &'a T;

    const IS_FROZEN: bool = true;

    #[inline(always)]
    fn borrow<'a>(object: &'a Bound<'static, T>) -> PyResult<&'a T> {
        Ok(object.get())
    }
}

impl<T: PyClass<Frozen = False>> ClassAccess<T> for False {
    type Ref<'a> = PyRef<'static, T>;

    const IS_FROZEN: bool = false;

    #[inline(always)]
    fn borrow(object: &Bound<'static, T>) -> PyResult<PyRef<'static, T>> {
        borrow(object)
    }
}

/// Borrows the value of an object.
///
/// # Errors
///
/// `RuntimeError`, as PyO3's `PyBorrowError`, with its text and advice.
#[inline(always)]
pub(in crate::python) fn borrow<T: PyClass>(
    object: &Bound<'static, T>,
) -> PyResult<PyRef<'static, T>> {
    object.try_borrow().map_err(|error| changing(&error))
}

#[cold]
fn changing(error: &PyBorrowError) -> PyErr {
    PyRuntimeError::new_err(format!(
        "{error}: a method that changes this object has not returned; export the tensor when it \
         has"
    ))
}

/// The object-safe part of [`DLPackExport`]. Each of its methods is compiled for every
/// class.
pub(in crate::python) trait DynExport: Send + Sync {
    /// [`DLPackExport::describe`].
    fn described<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error>;

    /// [`DLPackExport::sync_for`].
    fn order(&self, consumer: StreamArg<'_>) -> Result<(), Error>;

    /// Whether the storage itself is read-only. A tensor can be read-only for other
    /// reasons too.
    fn is_frozen(&self) -> bool;

    /// [`DLPackExport::record_type`].
    fn record(&self) -> Option<&'static RecordType>;

    /// [`DLPackExport::to_dlpack_on`].
    fn share(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error>;

    /// [`share`](Self::share); `None` if the storage cannot be shared. The result is in two registers.
    fn export_shared(&self, consumer: StreamArg<'_>) -> Result<Option<RawManaged>, Box<Error>>;
}

impl<T: DLPackExport + Send + Sync> DynExport for T {
    #[inline(never)]
    fn described<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        T::describe(self, out)
    }

    fn order(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        T::sync_for(self, consumer)
    }

    #[inline]
    fn is_frozen(&self) -> bool {
        let storage = T::storage(self);
        storage.is_some_and(|storage| storage.data().memory_ref().access.is_read_only())
    }

    fn record(&self) -> Option<&'static RecordType> {
        T::record_type(self)
    }

    fn share(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        T::to_dlpack_on(self, consumer)
    }

    #[inline(never)]
    fn export_shared(&self, consumer: StreamArg<'_>) -> Result<Option<RawManaged>, Box<Error>> {
        match T::to_dlpack_on(self, consumer) {
            Ok(tensor) => Ok(Some(tensor.into())),
            Err(Error::NotShareable) => Ok(None),
            Err(error) => Err(Box::new(error)),
        }
    }
}

impl dyn DynExport + '_ {
    /// Returns the device of the tensor.
    pub(in crate::python) fn device(&self) -> Result<Device, Error> {
        let mut slot = Slot::new();
        Ok(self.described(slot.describe())?.device())
    }
}

/// Lets a value be an owner, or be copied.
impl DLPackExport for dyn DynExport + '_ {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        self.described(out)
    }

    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.order(consumer)
    }

    fn record_type(&self) -> Option<&'static RecordType> {
        self.record()
    }
}

/// The functions that depend on the class of an object. All other code is compiled once,
/// for all classes.
///
/// `value` and `drop` take the address of a reference of the type for which this was made.
pub(in crate::python) struct ClassVTable {
    /// [`ErasedRef::borrow`].
    pub(in crate::python) borrow: fn(Borrowed<'_, 'static, PyAny>) -> PyResult<ErasedRef>,
    /// [`export_shared_object`].
    pub(in crate::python) export_shared_object: Export,
    /// The class itself, and not a subclass.
    pub(in crate::python) class_object: fn(Python<'static>) -> Bound<'static, PyType>,
    value: for<'a> unsafe fn(&'a Reference) -> &'a dyn DynExport,
    drop: unsafe fn(*mut Reference),
}

type Export = fn(
    Borrowed<'_, 'static, PyAny>,
    StreamArg<'_>,
) -> Result<Option<RawManaged>, Box<TableError<PyErr>>>;

impl ClassVTable {
    /// Returns the functions of a type.
    pub(in crate::python) const fn of<T: ExportClass>() -> &'static Self {
        const {
            &Self {
                borrow: ErasedRef::borrow::<T>,
                export_shared_object: export_shared_object::<T>,
                class_object: |py| py.get_type::<T>(),
                value: value::<T>,
                drop: drop_reference::<T>,
            }
        }
    }
}

/// The value of an object, borrowed from it: a `PyRef<'static, T>` with `T` erased.
pub(in crate::python) struct ErasedRef {
    reference: Reference,
    class: &'static ClassVTable,
}

/// Space for a `PyRef`, which is one pointer.
type Reference = MaybeUninit<*const ()>;

impl ErasedRef {
    /// Erases the type of a reference.
    pub(in crate::python) fn new<T: ExportClass>(object: PyRef<'static, T>) -> Self {
        const {
            assert!(size_of::<PyRef<'static, T>>() <= size_of::<Reference>());
            assert!(align_of::<PyRef<'static, T>>() <= align_of::<Reference>());
        }
        let mut reference = Reference::uninit();
        // SAFETY: by the assertions there is room for it.
        unsafe { reference.as_mut_ptr().cast::<PyRef<'static, T>>().write(object) };
        Self { reference, class: ClassVTable::of::<T>() }
    }

    /// Borrows the value of an object, with a reference to the object.
    fn borrow<T: ExportClass>(object: Borrowed<'_, 'static, PyAny>) -> PyResult<Self> {
        // One of the values may own another export of the object.
        drain(object.py());
        Ok(Self::new(borrow(&*instance::<T>(object)?)?))
    }

    #[inline]
    pub(in crate::python) fn value(&self) -> &dyn DynExport {
        // SAFETY: 1. `class` was made for the type of this reference.
        unsafe { (self.class.value)(&self.reference) }
    }
}

impl Drop for ErasedRef {
    fn drop(&mut self) {
        // SAFETY: 1. `class` was made for the type of this reference, which is not used
        // after this.
        unsafe { (self.class.drop)(&raw mut self.reference) }
    }
}

/// # Safety
///
/// 1. A `PyRef<'static, T>` was written there, and not dropped.
unsafe fn value<T: ExportClass>(reference: &Reference) -> &dyn DynExport {
    // SAFETY: by 1 it is an initialized `PyRef`.
    let object: &T = unsafe { &*reference.as_ptr().cast::<PyRef<'static, T>>() };
    object
}

/// # Safety
///
/// 1. A `PyRef<'static, T>` was written there, and is not used again.
unsafe fn drop_reference<T: ExportClass>(reference: *mut Reference) {
    // SAFETY: by 1 it is an initialized `PyRef`, and it is not used again.
    unsafe { reference.cast::<PyRef<'static, T>>().drop_in_place() }
}

/// Casts an object to the class. Fails if it is not an instance of the class or of a subclass.
#[inline(always)]
pub(in crate::python) fn instance<'a, T: ExportClass>(
    object: Borrowed<'a, 'static, PyAny>,
) -> PyResult<Borrowed<'a, 'static, T>> {
    if !object.is_exact_instance_of::<T>() {
        return instance_of_subclass::<T>(object);
    }
    // SAFETY: the object is an instance of the class.
    Ok(unsafe { object.cast_unchecked::<T>() })
}

/// The slow path of [`instance`], for objects of subclasses and of other classes.
#[cold]
#[inline(never)]
fn instance_of_subclass<'a, T: ExportClass>(
    object: Borrowed<'a, 'static, PyAny>,
) -> PyResult<Borrowed<'a, 'static, T>> {
    Ok(object.cast::<T>()?)
}

/// Exports the tensor of an object with another reference to its storage; `None` if the storage
/// cannot be shared.
///
/// The struct is always the versioned one, also for a consumer of the legacy struct, which is
/// made of it.
///
/// It is inlined where the exchange table calls it (measured: 21.4 ns per export and release of a
/// class over an `Arc` instead of 24.3).
#[inline(always)]
pub(in crate::python) fn export_shared_object<T: ExportClass>(
    object: Borrowed<'_, 'static, PyAny>,
    consumer: StreamArg<'_>,
) -> Result<Option<RawManaged>, Box<TableError<PyErr>>> {
    let object = instance::<T>(object).map_err(TableError::Host)?;
    let value = T::Frozen::borrow(&object).map_err(TableError::Host)?;
    Ok(value.export_shared(consumer).map_err(|error| TableError::Tensor(*error))?)
}

/// The owner of an export that holds a reference to a Python object and a shared borrow
/// of it. Until it is dropped, `&mut` methods of the object fail.
///
/// It may be dropped on any thread: [`DropAttached`].
pub(in crate::python) struct PyOwner(DropAttached<ErasedRef>);

// SAFETY: what crosses threads is a reference to the object, whose value is `Sync` (read
// through `describe` and `sync_for`) and `Send` (dropped where its last reference is
// dropped), as every `DynExport` is; the reference count is only changed while attached, by
// `DropAttached`. An object of an `unsendable` subclass checks its own thread when it is
// dropped, as wherever else Python drops it.
unsafe impl Send for PyOwner {}

impl PyOwner {
    /// Takes a reference whose lifetime is that of its reference count, not that of the
    /// thread's attachment, which ends long before.
    pub(in crate::python) fn new(object: ErasedRef) -> Self {
        Self(DropAttached::new(object))
    }
}

/// Describes the tensor of the object, for readers or shared writers: an object that
/// Python still references is never borrowed exclusively.
impl DLPackExport for PyOwner {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        self.0.value().describe(out)
    }

    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.0.value().sync_for(consumer)
    }
}

/// Exports the tensor of an object with the Python object as the owner, because the storage cannot
/// be shared.
#[cold]
#[inline(never)]
pub(in crate::python) fn export_owned_object(
    class: &'static ClassVTable,
    object: Borrowed<'_, 'static, PyAny>,
    consumer: StreamArg<'_>,
) -> Result<RawManaged, Box<TableError<PyErr>>> {
    let object = (class.borrow)(object).map_err(TableError::Host)?;
    let tensor = export_owned(PyOwner::new(object), consumer).map_err(TableError::from)?;
    Ok(tensor.into())
}
