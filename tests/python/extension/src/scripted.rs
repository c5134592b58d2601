//! An exchange table whose functions follow a script of the test: succeed, fail, lie, or
//! both.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes arguments by value")]

use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

use dlpack_traits::ffi::{
    DLDevice, DLDeviceType, DLManagedTensorVersioned, DLPackExchangeAPI, DLPackExchangeAPIHeader,
    DLPackVersion, DLTensor, SetError,
};
use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
use pyo3::exceptions::PyValueError;
use pyo3::ffi as py_ffi;
use pyo3::prelude::*;

use crate::counted::Counted;

/// The default behaviour of every function.
#[derive(Clone, Default)]
struct Script {
    status: c_int,
    nothing: bool,
    raises: Option<String>,
    /// The errors that the allocator reports: kinds and messages, `None` for NULL.
    reports: Vec<(Option<CString>, Option<CString>)>,
    /// Whether making an object of a tensor releases it, if it fails.
    releases: bool,
    device: Option<(i32, i32)>,
    /// Of tensors that own their memory.
    byte_offset: u64,
    /// Lives for ever, as a view does not own it.
    shape: Option<&'static [i64]>,
}

static SCRIPT: Mutex<Option<Script>> = Mutex::new(None);
/// How often each function was called.
static CALLS: [(&str, AtomicUsize); 5] = [
    ("allocate", AtomicUsize::new(0)),
    ("export", AtomicUsize::new(0)),
    ("wrap", AtomicUsize::new(0)),
    ("view", AtomicUsize::new(0)),
    ("stream", AtomicUsize::new(0)),
];
static STREAMS: AtomicUsize = AtomicUsize::new(0);

fn with_script<R>(use_it: impl FnOnce(&mut Script) -> R) -> R {
    let mut script = SCRIPT.lock().unwrap_or_else(PoisonError::into_inner);
    use_it(script.get_or_insert_default())
}

fn called(function: &str) -> Script {
    for (_, calls) in CALLS.iter().filter(|(name, _)| *name == function) {
        calls.fetch_add(1, Ordering::SeqCst);
    }
    with_script(|script| script.clone())
}

/// Sets the script of the functions of all scripted tables, and clears their recorded
/// calls.
#[pyfunction]
#[pyo3(signature = (
    *, status=0, nothing=false, raises=None, reports=vec![], releases=false, device=None,
    shape=None, byte_offset=0,
))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword")]
pub(crate) fn script(
    status: c_int,
    nothing: bool,
    raises: Option<String>,
    reports: Vec<(Option<String>, Option<String>)>,
    releases: bool,
    device: Option<(i32, i32)>,
    shape: Option<Vec<i64>>,
    byte_offset: u64,
) {
    let c_string = |text: Option<String>| text.and_then(|text| CString::new(text).ok());
    let reports = reports.into_iter().map(|(kind, text)| (c_string(kind), c_string(text)));
    let reports = reports.collect();
    let shape = shape.map(|shape| &*shape.leak());
    let new = Script { status, nothing, raises, reports, releases, device, byte_offset, shape };
    with_script(|script| *script = new);
    for (_, calls) in &CALLS {
        calls.store(0, Ordering::SeqCst);
    }
}

/// How often each function was called since the script was written.
#[pyfunction]
pub(crate) fn scripted_calls() -> HashMap<&'static str, usize> {
    let calls = CALLS.iter().map(|(name, calls)| (*name, calls.load(Ordering::SeqCst)));
    calls.filter(|(_, calls)| *calls != 0).collect()
}

/// A capsule with a table of the scripted functions, but for those that are
/// `missing`. The table lives for ever.
#[pyfunction]
#[pyo3(signature = (*, version=(1, 3), missing=vec![], prev=None, name="dlpack_exchange_api"))]
pub(crate) fn scripted_table<'py>(
    py: Python<'py>,
    version: (u32, u32),
    missing: Vec<String>,
    prev: Option<usize>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let table = scripted(version, &missing, prev)?;
    let name = CString::new(name)?.into_raw();
    // SAFETY: this thread is attached; both pointers are never freed.
    let capsule = unsafe { py_ffi::PyCapsule_New(table.cast(), name, None) };
    // SAFETY: it is a new reference, or NULL with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// The address of such a table, which may be its own predecessor.
#[pyfunction]
#[pyo3(signature = (*, version=(1, 3), missing=vec![], prev=None, circle=false))]
pub(crate) fn scripted_table_address(
    version: (u32, u32),
    missing: Vec<String>,
    prev: Option<usize>,
    circle: bool,
) -> PyResult<usize> {
    let table = scripted(version, &missing, prev)?;
    if circle {
        // SAFETY: it was just made, and there are no readers yet.
        unsafe { (*table).header.prev_api = table.cast() };
    }
    Ok(table.expose_provenance())
}

fn scripted(
    (major, minor): (u32, u32),
    missing: &[String],
    prev: Option<usize>,
) -> PyResult<*mut DLPackExchangeAPI> {
    let known = ["allocate", "export", "wrap", "view", "stream"];
    if let Some(unknown) = missing.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(PyValueError::new_err(format!("no function is called {unknown}")));
    }
    let has = |name: &str| !missing.iter().any(|missing| missing == name);
    let prev = prev.map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut);
    let table = DLPackExchangeAPI {
        header: DLPackExchangeAPIHeader { version: DLPackVersion { major, minor }, prev_api: prev },
        managed_tensor_allocator: if has("allocate") { Some(allocate) } else { None },
        managed_tensor_from_py_object_no_sync: if has("export") { Some(export) } else { None },
        managed_tensor_to_py_object_no_sync: if has("wrap") { Some(wrap) } else { None },
        dltensor_from_py_object_no_sync: if has("view") { Some(view) } else { None },
        current_work_stream: if has("stream") { Some(stream) } else { None },
    };
    Ok(Box::into_raw(Box::new(table)))
}

/// Raises the exception of a builtin name, which a colon and a message may follow.
fn raise(exception: &str) {
    let message = format!("{exception} of the table");
    let (name, message) = exception.split_once(": ").unwrap_or((exception, &message));
    // SAFETY: the functions of a table are called attached.
    let builtins = unsafe { py_ffi::PyEval_GetBuiltins() };
    let (Ok(name), Ok(message)) = (CString::new(name), CString::new(message)) else { return };
    // SAFETY: as above; the dictionary is alive, and keeps its values alive.
    let kind = unsafe { py_ffi::PyDict_GetItemString(builtins, name.as_ptr()) };
    // SAFETY: as above.
    unsafe { py_ffi::PyErr_SetString(kind, message.as_ptr()) };
}

/// Three counted numbers: 1, 2, 3, or zeros of another shape.
struct Numbers(Counted<Vec<f32>>, Vec<i64>);

impl DLPackExport for Numbers {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&self.1).data(self.0.data())
    }
}

fn made(script: &Script) -> *mut DLManagedTensorVersioned {
    let shape = script.shape.unwrap_or(&[3]).to_vec();
    let numbers = if script.shape.is_none() {
        vec![1.0, 2.0, 3.0]
    } else {
        let len: i64 = shape.iter().product();
        vec![0.0; usize::try_from(len).unwrap_or(0)]
    };
    match Numbers(Counted::new(numbers), shape).into_dlpack() {
        Ok(tensor) => {
            let tensor = tensor.into_raw();
            if let Some((device_type, device_id)) = script.device {
                let device = DLDevice { device_type: DLDeviceType(device_type), device_id };
                // SAFETY: it was just made and has no other owner.
                unsafe { (*tensor).dl_tensor.device = device };
            }
            // SAFETY: as above.
            unsafe { (*tensor).dl_tensor.byte_offset = script.byte_offset };
            // An export of a vector is read-only. This one is for a single consumer.
            // SAFETY: as above.
            unsafe { (*tensor).flags = 0 };
            tensor
        }
        Err(_) => ptr::null_mut(),
    }
}

unsafe extern "C" fn export(_: *mut c_void, out: *mut *mut DLManagedTensorVersioned) -> c_int {
    let script = called("export");
    if !script.nothing {
        // SAFETY: the caller lets the result be written.
        unsafe { out.write(made(&script)) };
    }
    script.raises.as_deref().map(raise);
    script.status
}

/// The memory that views point to, which lives as long as any object.
static VIEWED: [AtomicU32; 3] = [
    AtomicU32::new(1.0_f32.to_bits()),
    AtomicU32::new(2.0_f32.to_bits()),
    AtomicU32::new(3.0_f32.to_bits()),
];

/// Writes to the memory of the views, as a producer that reuses it.
#[pyfunction]
pub(crate) fn overwrite_viewed(values: [f32; 3]) {
    for (place, value) in VIEWED.iter().zip(values) {
        place.store(value.to_bits(), Ordering::SeqCst);
    }
}

unsafe extern "C" fn view(object: *mut c_void, out: *mut DLTensor) -> c_int {
    static SHAPE: [i64; 1] = [3];
    static STRIDES: [i64; 1] = [1];
    let script = called("view");
    assert!(!object.is_null());
    if !script.nothing {
        let (device_type, device_id) = script.device.unwrap_or((1, 0));
        let shape = match script.shape {
            Some(shape) => shape.as_ptr().cast_mut(),
            None => SHAPE.as_ptr().cast_mut(),
        };
        let tensor = DLTensor {
            data: VIEWED.as_ptr().cast_mut().cast(),
            device: DLDevice { device_type: DLDeviceType(device_type), device_id },
            ndim: 1,
            dtype: dlpack_traits::DataType::F32.to_ffi(),
            shape,
            strides: STRIDES.as_ptr().cast_mut(),
            byte_offset: 0,
        };
        // SAFETY: the caller lets the result be written.
        unsafe { out.write(tensor) };
    }
    script.raises.as_deref().map(raise);
    script.status
}

unsafe extern "C" fn stream(_: DLDeviceType, _: i32, out: *mut *mut c_void) -> c_int {
    let script = called("stream");
    let number = STREAMS.fetch_add(1, Ordering::SeqCst);
    if !script.nothing {
        // SAFETY: the caller lets the result be written.
        unsafe { out.write(ptr::without_provenance_mut(0x1000 + number)) };
    }
    script.raises.as_deref().map(raise);
    script.status
}

unsafe extern "C" fn wrap(tensor: *mut DLManagedTensorVersioned, out: *mut *mut c_void) -> c_int {
    let script = called("wrap");
    if script.status == 0 || script.releases {
        // SAFETY: the tensor was passed to this function.
        if let Some(deleter) = unsafe { (*tensor).deleter } {
            // SAFETY: as above, and this is the only call.
            unsafe { deleter(tensor) };
        }
    }
    if !script.nothing && script.status == 0 {
        // SAFETY: the functions of a table are called attached.
        let object = unsafe { py_ffi::PyLong_FromLong(42) };
        // SAFETY: the caller lets the result be written.
        unsafe { out.write(object.cast()) };
    }
    script.raises.as_deref().map(raise);
    script.status
}

unsafe extern "C" fn allocate(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    context: *mut c_void,
    set_error: SetError,
) -> c_int {
    let script = called("allocate");
    // SAFETY: the caller has filled it in.
    let prototype = unsafe { prototype.read() };
    if !script.nothing {
        let ndim = usize::try_from(prototype.ndim).unwrap_or(0);
        // SAFETY: a prototype has `ndim` dimensions.
        let shape = unsafe { core::slice::from_raw_parts(prototype.shape, ndim) };
        let asked = Script { shape: script.shape.or(Some(shape)), ..script.clone() };
        // SAFETY: the caller lets the result be written.
        unsafe { out.write(made(&asked)) };
    }
    for (kind, message) in &script.reports {
        let text = |text: &Option<CString>| -> *const c_char {
            text.as_ref().map_or(ptr::null(), |text| text.as_ptr())
        };
        if let Some(set_error) = set_error {
            // SAFETY: the context is the caller's, and the strings live on.
            unsafe { set_error(context, text(kind), text(message)) };
        }
    }
    script.raises.as_deref().map(raise);
    script.status
}
