//! A kernel on the caller's queue of SYCL.

#![expect(unsafe_code, reason = "a launch passes addresses to a kernel")]

use core::ffi::c_void;
use core::ptr;

use dlpack_traits::backend::{DeviceBuffer, OneApi};
use dlpack_traits::python::{IntoPython, PyDeviceTensor, PyLike};
use dlpack_traits::{DLPackExport, DataType};
use libloading::Library;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

/// Memory of a device that Rust has allocated.
#[derive(DLPackExport)]
struct OnDevice {
    data: DeviceBuffer<OneApi>,
    shape: [usize; 1],
}

/// `DPCTLQueue_SubmitRange`.
type SubmitRange = unsafe extern "C" fn(
    *const c_void,
    *mut c_void,
    *const *const c_void,
    *const i32,
    usize,
    *const usize,
    usize,
    *const c_void,
    usize,
) -> *mut c_void;
/// `DPCTLEvent_Delete`.
type DeleteEvent = unsafe extern "C" fn(*mut c_void);

/// Numbers of DPCTL's types of arguments: a `float`, and a pointer.
const FLOAT32: i32 = 8;
const VOID_PTR: i32 = 10;

/// `axpy(kernel, a: float, x: float32[...], y: float32[...]) -> float32[...]`
///
/// Returns `a * x + y`, computed by `kernel` on the queue of `x`, as an array of its library.
///
/// The kernel is a `dpctl.program.SyclKernel` with the arguments of
/// `axpy(float a, const float *x, const float *y, float *out)`. That its arguments are these is
/// not checked, as no launch of a kernel can check it.
#[pyfunction]
pub(crate) fn axpy<'py>(
    py: Python<'py>,
    kernel: &Bound<'py, PyAny>,
    a: f32,
    x: PyDeviceTensor<'py, OneApi, f32, 1>,
    y: PyDeviceTensor<'py, OneApi, f32, 1>,
) -> PyResult<PyLike<'py>> {
    let kernel_ref = kernel_ref(kernel)?;
    if x.dims() != y.dims() || !x.is_row_major() || !y.is_row_major() {
        return Err(PyValueError::new_err("expected two contiguous arrays of one length"));
    }
    let (shape, stream) = (x.dims(), x.stream());
    let data = DeviceBuffer::zeroed_on(stream.clone(), DataType::F32, shape[0])?;
    let out = OnDevice { data, shape };
    if shape[0] > 0 {
        // If `y` is on another queue, `stream` waits for it.
        let [from, with] = [x.as_ptr_on(stream)?, y.as_ptr_on(stream)?];
        let [from, with, to] = [from, with, out.data.place()].map(|place| place.address());
        let arguments = [
            (&raw const a).cast(),
            from.cast_const().cast(),
            with.cast_const().cast(),
            to.cast_const().cast(),
        ];
        // SAFETY: 1. The object owns the kernel and is borrowed meanwhile; the caller promises its
        // arguments. 2. The stream owns its queue; DPCTL reports a kernel of another context.
        // 3. The arrays have `shape[0]` elements, and `as_ptr_on` made them ready on the queue; their
        // memory is freed after its work.
        unsafe { submit(kernel_ref, stream.handle().as_ptr(), &arguments, shape)? };
    }
    out.into_object_like(py, &x)
}

/// The address of the `sycl::kernel` of an object.
///
/// Python code can define a class whose `addressof_ref` returns any number, also a subclass of
/// `SyclKernel`. It cannot define a static type, as that class is, nor change its methods.
fn kernel_ref(kernel: &Bound<'_, PyAny>) -> PyResult<usize> {
    let class = kernel.get_type();
    // SAFETY: the class is a type object, which `class` keeps alive.
    let flags = unsafe { ffi::PyType_GetFlags(class.as_type_ptr()) };
    let is_static = flags & ffi::Py_TPFLAGS_HEAPTYPE == 0;
    if !is_static || class.fully_qualified_name()? != "dpctl.program._program.SyclKernel" {
        return Err(PyTypeError::new_err("expected a kernel of dpctl"));
    }
    kernel.call_method0("addressof_ref")?.extract()
}

/// Enqueues `axpy` on a queue, for as many elements as `shape` has.
///
/// # Safety
///
/// 1. `kernel` is the address of a live `sycl::kernel` with the four arguments of `axpy`.
/// 2. `queue` is a live `sycl::queue` of the kernel's context.
/// 3. The pointers in `arguments` have these elements until the kernel has ended, and are ready on
///    the queue.
unsafe fn submit(
    kernel: usize,
    queue: *mut c_void,
    arguments: &[*const c_void; 4],
    shape: [usize; 1],
) -> PyResult<()> {
    let failed = |error: libloading::Error| PyOSError::new_err(error.to_string());
    // SAFETY: the package `dpctl` has loaded this library; it is only referenced once more.
    let library = unsafe { Library::new("libDPCTLSyclInterface.so") }.map_err(failed)?;
    // SAFETY: DPCTL declares the function with this type.
    let submit =
        unsafe { library.get::<SubmitRange>(b"DPCTLQueue_SubmitRange") }.map_err(failed)?;
    // SAFETY: DPCTL declares the function with this type.
    let delete = unsafe { library.get::<DeleteEvent>(b"DPCTLEvent_Delete") }.map_err(failed)?;
    let kernel = ptr::with_exposed_provenance(kernel);
    let (first, types, count) =
        (arguments.as_ptr(), [FLOAT32, VOID_PTR, VOID_PTR, VOID_PTR], shape.as_ptr());
    // SAFETY: by 1 to 3 the kernel, the queue and the arguments are valid.
    let event = unsafe {
        submit(kernel, queue, first, types.as_ptr(), types.len(), count, 1, ptr::null(), 0)
    };
    if event.is_null() {
        return Err(PyRuntimeError::new_err("the kernel was not submitted"));
    }
    // SAFETY: the event belongs to this function, and is not used afterwards.
    unsafe { delete(event) };
    Ok(())
}
