//! NumPy's C API: the functions that make arrays, [`CApi`], and the struct of an array,
//! [`ArrayObject`].
//!
//! NumPy publishes a table of addresses in a capsule, for extension modules that are compiled
//! with its headers. The order of its entries and the types of its functions never change
//! within one major version of NumPy's ABI, and those used here are the same in both.

use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_long, c_uint, c_void};
use core::mem::offset_of;
use core::ptr::{self, NonNull};

use pyo3::exceptions::PyImportError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::dtype::DataType;
use crate::python::convert::{ok_unless, ok_unless_exit};

/// The most dimensions of an array that is made or read here; those with more are exchanged by
/// DLPack. NumPy before 2.0 has at most 32.
pub(super) const MAX_NDIM: usize = 8;

/// The versions of the ABI in which the table has these entries: of NumPy 1 and of NumPy 2.
const ABI_VERSIONS: [c_uint; 2] = [0x0100_0009, 0x0200_0000];

/// `NPY_ARRAY_WRITEABLE`, a flag of an array.
pub(super) const WRITEABLE: c_int = 0x0400;

/// `PyArrayObject_fields` of NumPy 1.22 and later, in an interpreter with a GIL.
///
/// Without a GIL the header of an object is larger, and another thread may change the shape of
/// an array while it is read. Such arrays are exported by their `__dlpack__`. So are those of
/// PyPy, and of versions of NumPy with other fields: the size of the struct is compared with
/// that of the class.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct ArrayObject {
    /// The reference count and the class.
    head: [usize; 2],
    pub(super) data: *mut u8,
    pub(super) ndim: c_int,
    /// The size of each dimension.
    pub(super) shape: *const isize,
    /// In bytes.
    pub(super) strides: *const isize,
    /// The object that keeps the memory alive; NULL if the array does.
    pub(super) base: *mut PyObject,
    pub(super) dtype: *mut PyObject,
    pub(super) flags: c_int,
    weak_references: *mut c_void,
    buffer_info: *mut c_void,
    allocator: *mut c_void,
}

/// `PyArray_NewFromDescr`.
type NewFromDescr = unsafe extern "C" fn(
    class: *mut ffi::PyTypeObject,
    dtype: *mut PyObject,
    ndim: c_int,
    shape: *const isize,
    strides: *const isize,
    data: *mut c_void,
    flags: c_int,
    like: *mut PyObject,
) -> *mut PyObject;

/// `PyArray_SetBaseObject`.
type SetBaseObject = unsafe extern "C" fn(array: *mut PyObject, base: *mut PyObject) -> c_int;

/// The first entries of NumPy's table.
#[derive(Clone, Copy)]
#[repr(C)]
struct TableHead {
    abi_version: Option<extern "C" fn() -> c_uint>,
    unused: *const c_void,
    array: *const c_void,
    dtype: *const c_void,
}

/// NumPy's table, as far as it is read.
#[repr(C)]
struct Table {
    head: TableHead,
    unused: [*const c_void; 90],
    new_from_descr: Option<NewFromDescr>,
    also_unused: [*const c_void; 187],
    set_base_object: Option<SetBaseObject>,
}

const _: () = {
    assert!(offset_of!(Table, new_from_descr) == size_of::<[usize; 94]>());
    assert!(offset_of!(Table, set_base_object) == size_of::<[usize; 282]>());
};

/// NumPy's C API: the functions that this crate calls, NumPy's class of arrays, and its
/// dtypes that DLPack has too.
pub(super) struct CApi {
    class: Py<PyAny>,
    new_from_descr: NewFromDescr,
    set_base_object: SetBaseObject,
    /// NumPy has one object for each built-in dtype, and on most platforms two for one of the
    /// integers.
    dtypes: Vec<(DataType, Py<PyAny>)>,
    reads_arrays: bool,
}

/// A new array: its type, its layout in bytes, and its memory.
pub(super) struct NewArray<'a, 'py> {
    pub(super) dtype: &'a Bound<'py, PyAny>,
    pub(super) shape: &'a [isize],
    pub(super) strides: &'a [isize],
    pub(super) first: NonNull<u8>,
    pub(super) is_writeable: bool,
}

impl CApi {
    /// Reads the table of an imported NumPy. Returns `None` for a NumPy with another ABI, and
    /// for interpreters without it.
    ///
    /// # Errors
    ///
    /// Exceptions that are not an `Exception`, such as `KeyboardInterrupt`.
    pub(super) fn load(
        numpy: &Bound<'_, PyAny>,
        array: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Self>> {
        let py = numpy.py();
        let parts = table(py).and_then(|table| Ok((table, numpy.getattr("dtype")?)));
        let Some((table, dtype)) = ok_unless_exit(py, parts)? else { return Ok(None) };
        let Some(mut api) = Self::read(&table, array, &dtype) else { return Ok(None) };
        let Some(dtypes) = ok_unless_exit(py, dtypes(&dtype))? else { return Ok(None) };
        api.dtypes = dtypes;
        let size = array.getattr("__basicsize__").and_then(|size| size.extract::<usize>());
        api.reads_arrays = ok_unless_exit(py, size)? == Some(size_of::<ArrayObject>());
        Ok(Some(api))
    }

    /// Reads the entries of the table that a capsule contains.
    ///
    /// Python code can replace the attribute that the capsule is in, for example by the
    /// capsule of NumPy's universal functions. Therefore no entry is used before two others
    /// were compared with the classes that they must be.
    fn read(
        capsule: &Bound<'_, PyAny>,
        array: &Bound<'_, PyAny>,
        dtype: &Bound<'_, PyAny>,
    ) -> Option<Self> {
        let table = capsule.cast::<PyCapsule>().ok()?.pointer_checked(None).ok()?;
        // SAFETY: the capsule is without a name, as those of NumPy's tables are, which have more
        // entries than this. A capsule of other code, which Python put in its place, is assumed
        // to have at least 4 addresses.
        let head = unsafe { table.cast::<TableHead>().read() };
        if !ptr::eq(head.array, array.as_ptr().cast())
            || !ptr::eq(head.dtype, dtype.as_ptr().cast())
        {
            return None;
        }
        if !ABI_VERSIONS.contains(&(head.abi_version?)()) {
            return None;
        }
        // SAFETY: this is the table of arrays, because it has their class and that of dtypes. In
        // these versions of the ABI it has these entries. It is static.
        let table = unsafe { table.cast::<Table>().as_ref() };
        Some(Self {
            class: array.clone().unbind(),
            new_from_descr: table.new_from_descr?,
            set_base_object: table.set_base_object?,
            dtypes: Vec::new(),
            reads_arrays: false,
        })
    }

    /// NumPy's object for a dtype.
    pub(super) fn dtype<'py>(
        &self,
        py: Python<'py>,
        dtype: DataType,
    ) -> Option<&Bound<'py, PyAny>> {
        let (_, found) = self.dtypes.iter().find(|(known, _)| *known == dtype)?;
        Some(found.bind(py))
    }

    /// The dtype of one of NumPy's objects, by its address. `None` for dtypes that DLPack does
    /// not have, and for built-in ones in another order of bytes.
    #[inline]
    pub(super) fn dtype_of(&self, object: *mut PyObject) -> Option<DataType> {
        self.dtypes.iter().find(|(_, known)| known.as_ptr() == object).map(|&(dtype, _)| dtype)
    }

    /// Whether objects of a class are arrays that [`ArrayObject`] can read.
    #[inline(always)]
    pub(super) fn reads(&self, class: *mut ffi::PyTypeObject) -> bool {
        self.reads_arrays && ptr::eq(class, self.class.as_ptr().cast())
    }

    /// Whether an object is an array, or one of a subclass.
    pub(super) fn is_array(&self, object: &Bound<'_, PyAny>) -> bool {
        // A class that cannot be compared is assumed to be one.
        object.get_type().is_subclass(self.class.bind(object.py())).unwrap_or(true)
    }

    /// Makes an array in the memory of another object, which the array keeps alive.
    ///
    /// # Errors
    ///
    /// What NumPy raises: `MemoryError`.
    ///
    /// # Safety
    ///
    /// 1. The shape has at most [`MAX_NDIM`] numbers, and as many as the strides.
    /// 2. As long as `owner` is alive, the elements that the array describes are in memory
    ///    that may be read, and written if the array is writeable, as a consumer of DLPack
    ///    does.
    pub(super) unsafe fn new_array<'py>(
        &self,
        array: &NewArray<'_, 'py>,
        owner: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = owner.py();
        let flags = if array.is_writeable { WRITEABLE } else { 0 };
        let ndim = c_int::try_from(array.shape.len())?;
        let dtype = array.dtype.clone().into_ptr();
        // SAFETY: this thread is attached. The function takes over the reference to the dtype,
        // and copies the two lists, which by 1 have `ndim` numbers. It does not access the
        // memory.
        let made = unsafe {
            (self.new_from_descr)(
                self.class.as_ptr().cast(),
                dtype,
                ndim,
                array.shape.as_ptr(),
                array.strides.as_ptr(),
                array.first.as_ptr().cast(),
                flags,
                ptr::null_mut(),
            )
        };
        // SAFETY: it is a new reference, or NULL with an exception set.
        let made = unsafe { Bound::from_owned_ptr_or_err(py, made) }?;
        // SAFETY: this thread is attached, and the object is an array without a base. The
        // function takes over the reference to the owner, also if it fails.
        match unsafe { (self.set_base_object)(made.as_ptr(), owner.into_ptr()) } {
            0 => Ok(made),
            _ => Err(PyErr::fetch(py)),
        }
    }
}

/// Returns the capsule of the C API. Its module has another name in NumPy 1.
fn table(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let module = py.import("numpy._core._multiarray_umath");
    let is_other = |error: &PyErr| !error.is_instance_of::<PyImportError>(py);
    let module = match ok_unless(py, module, is_other)? {
        Some(module) => module,
        None => py.import("numpy.core._multiarray_umath")?,
    };
    module.getattr("_ARRAY_API")
}

/// A name in the array interface, in the byte order of the machine.
macro_rules! native {
    ($name:literal) => {
        if cfg!(target_endian = "little") { concat!("<", $name) } else { concat!(">", $name) }
    };
}

/// The types that NumPy and DLPack have, the most frequent first: the name in the array interface, which
/// is the order of the bytes, the kind and the size; and the code of the buffer protocol. They are
/// constants, because an allocation that fails would be an abort and not a `MemoryError`.
const TYPES: [(DataType, &str, &CStr); 14] = [
    (DataType::F32, native!("f4"), c"f"),
    (DataType::F64, native!("f8"), c"d"),
    // NumPy's default type of 8-byte integers is `long` where `long` has 8 bytes.
    (DataType::I64, native!("i8"), if LONG_IS_8 { c"l" } else { c"q" }),
    (DataType::I32, native!("i4"), c"i"),
    (DataType::U8, "|u1", c"B"),
    (DataType::BOOL, "|b1", c"?"),
    (DataType::F16, native!("f2"), c"e"),
    (DataType::I8, "|i1", c"b"),
    (DataType::I16, native!("i2"), c"h"),
    (DataType::U16, native!("u2"), c"H"),
    (DataType::U32, native!("u4"), c"I"),
    (DataType::U64, native!("u8"), if LONG_IS_8 { c"L" } else { c"Q" }),
    (DataType::COMPLEX64, native!("c8"), c"Zf"),
    (DataType::COMPLEX128, native!("c16"), c"Zd"),
];

const LONG_IS_8: bool = c_long::BITS == 64;

/// NumPy's characters for types of C. There are six types of integers and four widths, so two of them
/// have one size. The sizes are not read from NumPy's objects, whose attributes Python code can replace.
const TYPES_OF_C: [(DataType, &str); 6] = [
    (DataType::I32, "i"),
    (if LONG_IS_8 { DataType::I64 } else { DataType::I32 }, "l"),
    (DataType::I64, "q"),
    (DataType::U32, "I"),
    (if LONG_IS_8 { DataType::U64 } else { DataType::U32 }, "L"),
    (DataType::U64, "Q"),
];

/// The name of a dtype in the array interface, such as `<f4`; `None` for a dtype that NumPy does not
/// have.
pub(in crate::python) fn type_string(dtype: DataType) -> Option<&'static str> {
    TYPES.iter().find(|(known, ..)| *known == dtype).map(|&(_, name, _)| name)
}

/// The code of a dtype in the buffer protocol, with the sizes of C; `None` for a dtype that NumPy does
/// not have.
pub(in crate::python) fn buffer_code(dtype: DataType) -> Option<&'static CStr> {
    TYPES.iter().find(|(known, ..)| *known == dtype).map(|&(.., code)| code)
}

/// Returns NumPy's objects of these types. `class` is that of its dtypes.
fn dtypes(class: &Bound<'_, PyAny>) -> PyResult<Vec<(DataType, Py<PyAny>)>> {
    let object = |(dtype, name)| Ok((dtype, class.call1((name,))?.unbind()));
    let of_sizes = TYPES.iter().map(|&(dtype, name, _)| (dtype, name));
    of_sizes.chain(TYPES_OF_C).map(object).collect()
}
