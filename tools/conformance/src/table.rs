//! Types with exchange tables, and what the functions of those do.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use std::sync::{Mutex, PoisonError};

use dlpack_hostile::{Attribute, BuiltTable, Export, Given, Link, TableCase};
use dlpack_traits::ffi::{
    DLDeviceType, DLManagedTensorVersioned, DLPackExchangeAPI, DLPackExchangeAPIHeader,
    DLPackVersion, DLTensor, SetError,
};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi as py_ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::play::{Play, Way};
use crate::producer::Producer;

const ATTRIBUTE: &str = "__dlpack_c_exchange_api__";
const CAPSULE: &CStr = c"dlpack_exchange_api";

/// A table of the current standard with every function.
const WHOLE: [Link; 1] = [Link { version: (1, 3), missing: Some(&[]) }];
/// The same without the function that borrows.
const EXPORTING: [Link; 1] = [Link { version: (1, 3), missing: Some(&[3]) }];

const FUNCTIONS: DLPackExchangeAPI = DLPackExchangeAPI {
    header: DLPackExchangeAPIHeader {
        version: DLPackVersion { major: 1, minor: 3 },
        prev_api: ptr::null_mut(),
    },
    managed_tensor_allocator: Some(allocate),
    managed_tensor_from_py_object_no_sync: Some(export),
    managed_tensor_to_py_object_no_sync: Some(wrap),
    dltensor_from_py_object_no_sync: Some(view),
    current_work_stream: Some(stream),
};

/// An object whose type exports the case through its table.
pub(crate) fn exporting<'py>(play: &Bound<'py, Play>) -> PyResult<Bound<'py, PyAny>> {
    let table = BuiltTable::new(&EXPORTING, None, &FUNCTIONS);
    object_with(play, Some(&capsule(play.py(), table, CAPSULE)?))
}

/// An object whose type lets the importer borrow the case through its table.
pub(crate) fn lending<'py>(play: &Bound<'py, Play>) -> PyResult<Bound<'py, PyAny>> {
    let table = BuiltTable::new(&WHOLE, None, &FUNCTIONS);
    object_with(play, Some(&capsule(play.py(), table, CAPSULE)?))
}

/// The case that the allocator returns: its function gets no object.
static ALLOCATED: Mutex<Option<Py<Play>>> = Mutex::new(None);

/// A type whose allocator makes the case.
pub(crate) fn allocating<'py>(play: &Bound<'py, Play>) -> PyResult<Bound<'py, PyAny>> {
    *ALLOCATED.lock().unwrap_or_else(PoisonError::into_inner) = Some(play.clone().unbind());
    let table = BuiltTable::new(&WHOLE, None, &FUNCTIONS);
    let object = object_with(play, Some(&capsule(play.py(), table, CAPSULE)?))?;
    Ok(object.get_type().into_any())
}

/// An object whose type has that attribute in place of a table.
pub(crate) fn publishing<'py>(
    play: &Bound<'py, Play>,
    case: &TableCase,
) -> PyResult<Bound<'py, PyAny>> {
    let py = play.py();
    let built = |links: &[Link]| BuiltTable::new(links, None, &FUNCTIONS);
    let attribute = match &case.attribute {
        Attribute::Chain(links, back, name) => {
            capsule(py, BuiltTable::new(links, *back, &FUNCTIONS), name)?
        }
        Attribute::OfObject(links) => {
            let object = object_with(play, None)?;
            object.setattr(ATTRIBUTE, capsule(py, built(links), CAPSULE)?)?;
            return Ok(object);
        }
        Attribute::Address(links) => built(links).as_ptr().addr().into_pyobject(py)?.into_any(),
        Attribute::Number(number) => number.into_pyobject(py)?.into_any(),
        Attribute::None => py.None().into_bound(py),
        Attribute::Text => "a table".into_pyobject(py)?.into_any(),
    };
    object_with(play, Some(&attribute))
}

/// A capsule around a table, which is never freed.
fn capsule<'py>(
    py: Python<'py>,
    table: BuiltTable,
    name: &'static CStr,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: this thread is attached; neither the table nor the name is ever freed.
    let capsule = unsafe { py_ffi::PyCapsule_New(table.as_ptr().cast(), name.as_ptr(), None) };
    // SAFETY: it is a new reference, or NULL with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// An object of a new type with that attribute.
fn object_with<'py>(
    play: &Bound<'py, Play>,
    attribute: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = play.py();
    let namespace = PyDict::new(py);
    if let Some(attribute) = attribute {
        namespace.set_item(ATTRIBUTE, attribute)?;
    }
    let bases = PyTuple::new(py, [py.get_type::<Producer>()])?;
    let class = py.get_type::<PyType>().call1(("Tensor", bases, namespace))?;
    class.call1((play,))
}

/// Runs the table's function on the case of the object that C passed.
///
/// # Safety
///
/// 1. This thread is attached, and `object` is alive.
unsafe fn state_of(object: *mut c_void) -> PyResult<(Py<Play>, Export)> {
    // SAFETY: 1.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: 1.
    let object = unsafe { Bound::from_borrowed_ptr(py, object.cast()) };
    let producer = object.extract::<PyRef<'_, Producer>>()?;
    let play = producer.0.clone_ref(py);
    let export = match &play.get().trial.given {
        Given::Table(case) => case.export,
        _ => Export::Sound,
    };
    Ok((play, export))
}

/// Sets an exception and returns the failure code.
///
/// # Safety
///
/// 1. This thread is attached.
unsafe fn raise(error: PyErr) -> c_int {
    // SAFETY: 1.
    error.restore(unsafe { Python::assume_attached() });
    -1
}

unsafe extern "C" fn export(object: *mut c_void, out: *mut *mut DLManagedTensorVersioned) -> c_int {
    // SAFETY: 1 (this thread is attached): a table's functions are called attached.
    let (play, export) = match unsafe { state_of(object) } {
        Ok(found) => found,
        // SAFETY: 1. As above.
        Err(error) => return unsafe { raise(error) },
    };
    let made = match export {
        Export::Sound | Export::MakesAndRaises => play.get().versioned(),
        _ => ptr::null_mut(),
    };
    // SAFETY: the table's caller passes a writable result.
    unsafe { out.write(made) };
    let error = match export {
        Export::Sound | Export::MakesNothing => return 0,
        Export::FailsSilently(number) => return number,
        Export::Refuses => PyBufferError::new_err("the table's own words"),
        Export::Fails | Export::MakesAndRaises => PyValueError::new_err("the table's own words"),
    };
    // SAFETY: 1 (this thread is attached): a table's functions are called attached.
    let failed = unsafe { raise(error) };
    if export == Export::MakesAndRaises { 0 } else { failed }
}

unsafe extern "C" fn view(object: *mut c_void, out: *mut DLTensor) -> c_int {
    // SAFETY: 1 (this thread is attached): a table's functions are called attached.
    let play = match unsafe { state_of(object) } {
        Ok((play, _)) => play,
        // SAFETY: 1. As above.
        Err(error) => return unsafe { raise(error) },
    };
    if play.get().way != Way::View {
        let error = PyBufferError::new_err("this tensor is not lent");
        // SAFETY: 1. As above.
        return unsafe { raise(error) };
    }
    let made = play.get().lent();
    // SAFETY: it was just made, and has all its fields.
    let tensor = unsafe { (*made).dl_tensor };
    // SAFETY: the table's caller passes a writable result.
    unsafe { out.write(tensor) };
    0
}

unsafe extern "C" fn allocate(
    _: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    context: *mut c_void,
    set_error: SetError,
) -> c_int {
    let play = ALLOCATED.lock().unwrap_or_else(PoisonError::into_inner).take();
    let made = play.as_ref().map_or(ptr::null_mut(), |play| play.get().versioned());
    // SAFETY: the table's caller passes a writable result.
    unsafe { out.write(made) };
    if !made.is_null() {
        return 0;
    }
    let (kind, message): (*const c_char, *const c_char) =
        (c"NotImplementedError".as_ptr(), c"this table allocates nothing".as_ptr());
    if let Some(set_error) = set_error {
        // SAFETY: the context is the caller's, and the strings are static.
        unsafe { set_error(context, kind, message) };
    }
    -1
}

unsafe extern "C" fn wrap(_: *mut DLManagedTensorVersioned, out: *mut *mut c_void) -> c_int {
    // SAFETY: the table's caller passes a writable result.
    unsafe { out.write(ptr::null_mut()) };
    let error = PyBufferError::new_err("this table makes no objects");
    // SAFETY: 1 (this thread is attached): a table's functions are called attached.
    unsafe { raise(error) }
}

unsafe extern "C" fn stream(_: DLDeviceType, _: i32, out: *mut *mut c_void) -> c_int {
    // SAFETY: the table's caller passes a writable result.
    unsafe { out.write(ptr::null_mut()) };
    0
}
