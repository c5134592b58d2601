//! The kernel: loaded once for each GPU, and launched.

use core::ffi::c_void;
use core::ptr;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::CUfunction;
use cudarc::driver::{CudaContext, DriverError, result};
use dlpack_traits::backend::{Cuda, WorkStream};
use pyo3::PyResult;
use pyo3::exceptions::{PyRuntimeError, PyValueError};

/// The text that the driver compiles.
const PTX: &str = include_str!("axpy.ptx");
/// Threads of a block.
const BLOCK: u32 = 256;

/// The kernel of one GPU, loaded in its primary context, which all array libraries use.
#[derive(Clone)]
struct Kernel {
    context: Arc<CudaContext>,
    function: usize,
}

/// The kernels that are loaded. They stay loaded.
static LOADED: Mutex<BTreeMap<usize, Kernel>> = Mutex::new(BTreeMap::new());

impl Kernel {
    fn of(ordinal: usize) -> Result<Self, DriverError> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = loaded.get(&ordinal) {
            return Ok(kernel.clone());
        }
        let context = CudaContext::new(ordinal)?;
        let text = CString::new(PTX).unwrap_or_default();
        let function = in_context(&context, || {
            // SAFETY: 1. The text of a module, a C string.
            let module = unsafe { result::module::load_data(text.as_ptr().cast()) }?;
            // SAFETY: 1. The module is loaded, and stays loaded.
            unsafe { result::module::get_function(module, c"axpy_f32".to_owned()) }
        })?;
        let kernel = Self { context, function: function.expose_provenance() };
        loaded.insert(ordinal, kernel.clone());
        Ok(kernel)
    }
}

/// Calls a function while a context is current on this thread, and then makes the one before current.
fn in_context<R>(
    context: &CudaContext,
    f: impl FnOnce() -> Result<R, DriverError>,
) -> Result<R, DriverError> {
    let before = result::ctx::get_current()?;
    context.bind_to_thread()?;
    let result = f();
    if let Some(before) = before {
        // SAFETY: 1. The context was current before.
        unsafe { result::ctx::set_current(before) }?;
    }
    result
}

/// Launches `out = a * x + y` on a stream.
///
/// # Safety
///
/// 1. The addresses of `out`, `x` and `y` have `count` `float32`s of the stream's GPU until the work on
///    the stream is done. No other work writes them meanwhile, or reads `out`.
pub(crate) unsafe fn axpy(
    stream: &WorkStream<Cuda>,
    [mut out, mut x, mut y]: [usize; 3],
    mut a: f32,
    count: usize,
) -> PyResult<()> {
    let ordinal = usize::try_from(stream.device().device_id()).unwrap_or(0);
    let mut count = u32::try_from(count)
        .map_err(|_| PyValueError::new_err("expected fewer than 2**32 elements"))?;
    let mut arguments: [*mut c_void; 5] = [
        (&raw mut out).cast(),
        (&raw mut x).cast(),
        (&raw mut y).cast(),
        (&raw mut a).cast(),
        (&raw mut count).cast(),
    ];
    let handle = stream.handle().as_ptr().cast();
    let launched = Kernel::of(ordinal).and_then(|kernel| {
        let function: CUfunction = ptr::with_exposed_provenance_mut(kernel.function);
        in_context(&kernel.context, || {
            let grid = (count.div_ceil(BLOCK), 1, 1);
            // SAFETY: 1. The arguments have the types of the kernel's parameters, and by 1 of `axpy`
            // its threads access `count` elements of each array.
            unsafe {
                result::launch_kernel(function, grid, (BLOCK, 1, 1), 0, handle, &mut arguments)
            }
        })
    });
    launched.map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
