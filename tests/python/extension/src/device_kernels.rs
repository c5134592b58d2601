//! Functions over arrays on devices, with kernels of the runtimes on the caller's stream.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes converted arguments by value")]

use core::ffi::c_void;
use core::ptr;

use dlpack_traits::backend::{Backend, Cuda, DeviceBuffer, OpenCl, Rocm, WorkStream};
use dlpack_traits::python::{IntoPython, PyDeviceTensor, PyLike};
use dlpack_traits::{AnyElement, DLPackExport, DataType, Error};
use libloading::Library;
use new_device::Npu;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// The result of a kernel.
#[derive(DLPackExport)]
struct Made<B: Backend> {
    data: DeviceBuffer<B>,
    shape: [usize; 1],
}

/// Looks up a function of a library that the process has loaded.
///
/// # Safety
///
/// 1. `F` is the type of a pointer to the function.
unsafe fn function<F: Copy>(library: &str, name: &str) -> PyResult<F> {
    let failed = |error: libloading::Error| PyOSError::new_err(error.to_string());
    // SAFETY: the library is loaded already.
    let library = unsafe { Library::new(library) }.map_err(failed)?;
    // It stays loaded.
    let library = core::mem::ManuallyDrop::new(library);
    // SAFETY: by 1.
    unsafe { library.get::<F>(name.as_bytes()) }.map(|function| *function).map_err(failed)
}

fn succeeded(code: i32) -> PyResult<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(PyRuntimeError::new_err(format!("the runtime says {code}")))
    }
}

/// The numbers of elements must agree.
fn same<B: Backend, T, const N: usize>(
    x: &PyDeviceTensor<'_, B, T, N>,
    y: &PyDeviceTensor<'_, B, T, N>,
) -> PyResult<()> {
    if x.shape() != y.shape() || !x.is_row_major() || !y.is_row_major() {
        return Err(PyValueError::new_err("expected contiguous vectors of one length"));
    }
    Ok(())
}

/// The functions for one vendor's GPUs.
macro_rules! on_gpus {
    ($backend:ty, $stream:ident, $copied:ident, $overwrite:ident, $copy:ident) => {
        /// The handle of the stream on which an array is ready.
        #[pyfunction]
        fn $stream(x: PyDeviceTensor<'_, $backend>) -> usize {
            x.stream().handle().number()
        }

        /// A copy of an array, made on the caller's stream, as an object of its library.
        #[pyfunction]
        fn $copied<'py>(
            py: Python<'py>,
            x: PyDeviceTensor<'py, $backend, f32, 1>,
        ) -> PyResult<PyLike<'py>> {
            let (shape, stream) = (x.dims(), x.stream());
            let data =
                DeviceBuffer::<$backend>::zeroed_on(stream.clone(), DataType::F32, shape[0])?;
            let from = x.as_ptr_on(stream)?.address().addr();
            $copy(data.as_ptr().addr(), from, data.byte_len(), stream)?;
            Made { data, shape }.into_object_like(py, &x)
        }

        /// Copies an array to another one, on the stream of the first.
        #[pyfunction]
        fn $overwrite<'py>(
            x: PyDeviceTensor<'py, $backend, f32, 1>,
            out: PyDeviceTensor<'py, $backend, f32, 1>,
        ) -> PyResult<PyDeviceTensor<'py, $backend, f32, 1>> {
            same(&x, &out)?;
            let stream = x.stream();
            let byte_len = x.dims()[0].saturating_mul(4);
            let (from, to) = (x.as_ptr_on(stream)?, out.as_mut_ptr_on(stream)?);
            $copy(to.address().addr(), from.address().addr(), byte_len, stream)?;
            Ok(out)
        }
    };
}

on_gpus!(Cuda, cuda_stream_of, cuda_copied, cuda_overwrite, cuda_copy);
on_gpus!(Rocm, rocm_stream_of, rocm_copied, rocm_overwrite, rocm_copy);

fn cuda_copy(to: usize, from: usize, byte_len: usize, on: &WorkStream<Cuda>) -> PyResult<()> {
    type Copy = unsafe extern "C" fn(usize, usize, usize, *mut c_void) -> i32;
    // SAFETY: 1. As the driver declares it.
    let copy: Copy = unsafe { function("libcuda.so.1", "cuMemcpyAsync") }?;
    // SAFETY: both have the bytes, and are ready on the stream.
    succeeded(unsafe { copy(to, from, byte_len, on.handle().as_ptr()) })
}

fn rocm_copy(to: usize, from: usize, byte_len: usize, on: &WorkStream<Rocm>) -> PyResult<()> {
    /// `hipMemcpyDeviceToDevice`.
    const ON_DEVICE: i32 = 3;
    type Copy = unsafe extern "C" fn(usize, usize, usize, i32, *mut c_void) -> i32;
    // SAFETY: 1. As the runtime declares it.
    let copy: Copy = unsafe { function("libamdhip64.so.7", "hipMemcpyAsync") }?;
    // SAFETY: both have the bytes, and are ready on the stream.
    succeeded(unsafe { copy(to, from, byte_len, ON_DEVICE, on.handle().as_ptr()) })
}

type SetArg = unsafe extern "C" fn(*mut c_void, u32, usize, *const c_void) -> i32;
type Enqueue = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    u32,
    *const usize,
    *const usize,
    *const usize,
    u32,
    *const c_void,
    *mut c_void,
) -> i32;

/// `a * x + y`, by a kernel of OpenCL: `axpy(float a, x, ulong x_begin, y, ulong y_begin, out)`.
/// `library` is the file of OpenCL's loader.
#[pyfunction]
fn cl_axpy<'py>(
    py: Python<'py>,
    library: &str,
    kernel: usize,
    a: f32,
    x: PyDeviceTensor<'py, OpenCl, f32, 1>,
    y: PyDeviceTensor<'py, OpenCl, f32, 1>,
) -> PyResult<PyLike<'py>> {
    same(&x, &y)?;
    let (shape, stream) = (x.dims(), x.stream());
    let data = DeviceBuffer::<OpenCl>::zeroed_on(stream.clone(), DataType::F32, shape[0])?;
    let kernel = ptr::with_exposed_provenance_mut::<c_void>(kernel);
    // The arguments of memory are handles, beside which the offsets are passed.
    let [from, with] = [x.as_ptr_on(stream)?, y.as_ptr_on(stream)?];
    let [x_begin, y_begin] = [from, with].map(|place| place.byte_offset / 4);
    let [from, with, to] = [from, with, data.place()].map(|place| place.data);
    let arguments: [(usize, *const c_void); 6] = [
        (4, (&raw const a).cast()),
        (size_of_val(&from), (&raw const from).cast()),
        (8, (&raw const x_begin).cast()),
        (size_of_val(&with), (&raw const with).cast()),
        (8, (&raw const y_begin).cast()),
        (size_of_val(&to), (&raw const to).cast()),
    ];
    // SAFETY: 1. As OpenCL declares it.
    let set: SetArg = unsafe { function(library, "clSetKernelArg") }?;
    for (index, (size, argument)) in (0..).zip(arguments) {
        // SAFETY: the test passes a kernel with these arguments.
        succeeded(unsafe { set(kernel, index, size, argument) })?;
    }
    // SAFETY: 1. As OpenCL declares it.
    let enqueue: Enqueue = unsafe { function(library, "clEnqueueNDRangeKernel") }?;
    let (queue, nothing, no_event) = (stream.handle().as_ptr(), ptr::null(), ptr::null_mut());
    let count = shape.as_ptr();
    // SAFETY: the queue and the kernel are of one context, and each argument has as many
    // elements.
    let code =
        unsafe { enqueue(queue, kernel, 1, nothing, count, nothing, 0, ptr::null(), no_event) };
    succeeded(code)?;
    Made { data, shape }.into_object_like(py, &x)
}

/// The handle of the stream on which an array on the accelerator is ready.
#[pyfunction]
fn npu_stream_of(x: PyDeviceTensor<'_, Npu, AnyElement>) -> Result<usize, Error> {
    let stream = x.stream();
    x.as_ptr_on(stream)?;
    Ok(stream.handle().number())
}

pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(cuda_stream_of, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_copied, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_overwrite, m)?)?;
    m.add_function(wrap_pyfunction!(rocm_stream_of, m)?)?;
    m.add_function(wrap_pyfunction!(rocm_copied, m)?)?;
    m.add_function(wrap_pyfunction!(rocm_overwrite, m)?)?;
    m.add_function(wrap_pyfunction!(cl_axpy, m)?)?;
    m.add_function(wrap_pyfunction!(npu_stream_of, m)?)
}
