//! Loops in native code, so that nothing but what is measured is timed. Each
//! returns nanoseconds for one operation.

use std::ffi::{CStr, c_int, c_void};
use std::hint::black_box;
use std::time::Instant;

use dlpack_traits::ffi::{DLManagedTensorVersioned, DLPackExchangeAPI};
use dlpack_traits::python;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::{ffi, intern};

#[expect(clippy::cast_precision_loss, reason = "a few seconds in nanoseconds")]
fn timed<E>(times: u32, mut run: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let start = Instant::now();
    for _ in 0..times {
        run()?;
    }
    Ok(start.elapsed().as_nanos() as f64 / f64::from(times))
}

/// Takes the tensor of an object as a Rust program does, and drops it.
#[pyfunction]
fn take(object: &Bound<'_, PyAny>, times: u32) -> PyResult<f64> {
    timed(times, || {
        let tensor = python::from_dlpack(object)?;
        // By reference, because a move into a black box would be measured too.
        black_box(&tensor);
        Ok::<_, PyErr>(())
    })
}

/// Calls `function(object)` and drops the result, as C code does.
#[pyfunction]
fn call(function: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>, times: u32) -> PyResult<f64> {
    let py = object.py();
    // SAFETY: as in `produce`.
    let call_one: CallOneArg = unsafe { std::mem::transmute(address(py, "PyObject_CallOneArg")?) };
    timed(times, || {
        // SAFETY: both are alive, and this thread is attached.
        let result = unsafe { call_one(function.as_ptr(), object.as_ptr()) };
        // SAFETY: a new reference, or NULL with an exception set.
        unsafe { Bound::from_owned_ptr_or_err(py, result) }.map(drop)
    })
}

/// Calls `object.__dlpack__(max_version=(1, 0))` by vectorcall and drops the capsule: the
/// minimum cost of every consumer of the protocol.
#[pyfunction]
fn produce(object: &Bound<'_, PyAny>, times: u32) -> PyResult<f64> {
    let py = object.py();
    let (method, version) = (intern!(py, "__dlpack__"), (1, 0).into_pyobject(py)?);
    let names = (intern!(py, "max_version"),).into_pyobject(py)?;
    let method = method.as_any();
    // SAFETY: that is the type of the function of this name, which the stable ABI
    // does not declare before 3.12.
    let vectorcall: VectorcallMethod =
        unsafe { std::mem::transmute(address(py, "PyObject_VectorcallMethod")?) };
    timed(times, || {
        let arguments = [object.as_ptr(), version.as_ptr()];
        // SAFETY: one positional argument, and one for the one name.
        let capsule = unsafe { vectorcall(method.as_ptr(), arguments.as_ptr(), 1, names.as_ptr()) };
        // SAFETY: a new reference, or NULL with an exception set.
        unsafe { Bound::from_owned_ptr_or_err(py, capsule) }.map(drop)
    })
}

/// The address of a C function of Python.
fn address(py: Python<'_>, name: &str) -> PyResult<usize> {
    let ctypes = py.import("ctypes")?;
    let function = ctypes.getattr("pythonapi")?.getattr(name)?;
    ctypes
        .call_method1("cast", (function, ctypes.getattr("c_void_p")?))?
        .getattr("value")?
        .extract()
}

type CallOneArg =
    unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject;

type VectorcallMethod = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    usize,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

type FromObject = unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int;

/// Takes the tensor of an object through its type's table, and calls the
/// deleter, without a check.
#[pyfunction]
fn take_unchecked(object: &Bound<'_, PyAny>, times: u32) -> PyResult<f64> {
    let from_object = from_object(object)?;
    timed(times, || {
        let mut managed = std::ptr::null_mut();
        // SAFETY: the function is from the table of the object's type.
        if unsafe { from_object(object.as_ptr().cast(), &raw mut managed) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        // SAFETY: the call succeeded, so there is a tensor.
        if let Some(deleter) = unsafe { (*managed).deleter } {
            // SAFETY: the export returned the tensor to us, and there is no other owner.
            unsafe { deleter(black_box(managed)) }
        }
        Ok(())
    })
}

fn from_object(object: &Bound<'_, PyAny>) -> PyResult<FromObject> {
    const NAME: &CStr = c"dlpack_exchange_api";
    let capsule = object.get_type().getattr("__dlpack_c_exchange_api__")?;
    // SAFETY: this thread is attached, and the object is alive.
    let table = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()) };
    let table = table.cast::<DLPackExchangeAPI>();
    if table.is_null() {
        return Err(PyTypeError::new_err("the type has no exchange table"));
    }
    // SAFETY: a capsule of that name holds a table.
    let table = unsafe { &*table };
    table
        .managed_tensor_from_py_object_no_sync
        .ok_or_else(|| PyRuntimeError::new_err("the table lacks a function"))
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(take, module)?)?;
    module.add_function(wrap_pyfunction!(call, module)?)?;
    module.add_function(wrap_pyfunction!(produce, module)?)?;
    module.add_function(wrap_pyfunction!(take_unchecked, module)?)
}
