//! The functions of CUDA's driver that the tests call directly.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

use libloading::Library;

/// A function that a stream calls.
pub type HostFunction = unsafe extern "C" fn(*mut c_void);

/// Looks up functions by name.
macro_rules! functions {
    ($functions:ident { $($field:ident: $name:ident($($argument:ty),*);)+ }) => {
        /// The functions, under shorter names. All return an error code.
        ///
        /// The tests are the safety argument of their own calls: they pass what
        /// the driver's documentation requires, or a value that it must reject.
        #[derive(Debug)]
        pub struct $functions {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub $field: unsafe extern "C" fn($($argument),*) -> std::ffi::c_int,
            )+
        }

        impl $functions {
            pub(crate) fn load(
                library: &'static libloading::Library,
            ) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $($field: {
                        // SAFETY: the type is the one in CUDA's header.
                        *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }?
                    },)+
                })
            }
        }
    };
}

pub(crate) use functions;

functions! {
    Functions {
        init: cuInit(c_uint);
        device_count: cuDeviceGetCount(*mut c_int);
        device_get: cuDeviceGet(*mut c_int, c_int);
        context_retain: cuDevicePrimaryCtxRetain(*mut usize, c_int);
        context_release: cuDevicePrimaryCtxRelease_v2(c_int);
        context_set: cuCtxSetCurrent(usize);
        context_get: cuCtxGetCurrent(*mut usize);
        context_synchronize: cuCtxSynchronize();
        allocate: cuMemAlloc_v2(*mut usize, usize);
        allocate_managed: cuMemAllocManaged(*mut usize, usize, c_uint);
        allocate_pinned: cuMemHostAlloc(*mut usize, usize, c_uint);
        allocate_in_order: cuMemAllocAsync(*mut usize, usize, usize);
        free: cuMemFree_v2(usize);
        free_in_order: cuMemFreeAsync(usize, usize);
        free_pinned: cuMemFreeHost(usize);
        to_device: cuMemcpyHtoD_v2(usize, *const c_void, usize);
        to_host: cuMemcpyDtoH_v2(*mut c_void, usize, usize);
        copy_in_order: cuMemcpyAsync(usize, usize, usize, usize);
        fill_in_order: cuMemsetD32Async(usize, c_uint, usize, usize);
        pointer_attribute: cuPointerGetAttribute(*mut c_void, c_uint, usize);
        stream_create: cuStreamCreate(*mut usize, c_uint);
        stream_destroy: cuStreamDestroy_v2(usize);
        stream_synchronize: cuStreamSynchronize(usize);
        stream_query: cuStreamQuery(usize);
        stream_wait: cuStreamWaitEvent(usize, usize, c_uint);
        begin_capture: cuStreamBeginCapture_v2(usize, c_uint);
        end_capture: cuStreamEndCapture(usize, *mut usize);
        is_capturing: cuStreamIsCapturing(usize, *mut c_uint);
        exchange_capture_mode: cuThreadExchangeStreamCaptureMode(*mut c_uint);
        graph_instantiate: cuGraphInstantiateWithFlags(*mut usize, usize, c_ulonglong);
        graph_launch: cuGraphLaunch(usize, usize);
        graph_destroy: cuGraphDestroy(usize);
        executable_destroy: cuGraphExecDestroy(usize);
        launch_host: cuLaunchHostFunc(usize, Option<HostFunction>, *mut c_void);
        event_create: cuEventCreate(*mut usize, c_uint);
        event_destroy: cuEventDestroy_v2(usize);
        event_record: cuEventRecord(usize, usize);
        event_query: cuEventQuery(usize);
        event_synchronize: cuEventSynchronize(usize);
        module_load: cuModuleLoadData(*mut usize, *const c_void);
        module_function: cuModuleGetFunction(*mut usize, usize, *const c_char);
        module_unload: cuModuleUnload(usize);
        launch: cuLaunchKernel(
            usize, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, usize,
            *mut *mut c_void, *mut *mut c_void
        );
    }
}

/// The library that the loader finds under this name. It stays loaded.
pub fn library(name: &str) -> Option<&'static Library> {
    // SAFETY: loading a driver runs its initializers, as any program that uses it does.
    let library = unsafe { Library::new(name) }.ok()?;
    Some(Box::leak(Box::new(library)))
}

/// The driver; `None` without one.
pub fn cuda() -> Option<&'static (&'static Library, Functions)> {
    static CUDA: OnceLock<Option<(&'static Library, Functions)>> = OnceLock::new();
    CUDA.get_or_init(|| {
        let library = library("libcuda.so.1")?;
        Some((library, Functions::load(library).ok()?))
    })
    .as_ref()
}
