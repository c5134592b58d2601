//! What is measured: [`Contender`], and the tensor that all of them exchange.

use std::ffi::c_void;

use dlpack_traits::ffi::{self, DLManagedTensorVersioned};

/// Extents of the tensor: 16 x 16 `f32`, 1 KiB.
pub const SHAPE: [usize; 2] = [16, 16];
/// Number of elements.
pub const LEN: usize = SHAPE[0] * SHAPE[1];

/// Memory that is about to be exported.
pub struct Samples {
    pub data: Vec<f32>,
    pub shape: [usize; 2],
}

impl Samples {
    pub fn new() -> Self {
        Self { data: vec![1.0; LEN], shape: std::hint::black_box(SHAPE) }
    }
}

/// One way to exchange a tensor with C.
pub trait Contender {
    const NAME: &'static str;
    /// Whether it can take a C struct at all.
    const IMPORTS: bool = true;
    /// Whether the allocator of this program, which counts, makes all of its allocations. Those
    /// of a C++ library are not counted.
    const COUNTED: bool = true;

    /// Gives the samples away, as C takes them.
    fn export(samples: Samples) -> *mut DLManagedTensorVersioned;

    /// Imports a tensor from C, reads its elements as a slice, and releases it.
    ///
    /// # Safety
    ///
    /// 1. `managed` is a tensor of 16 x 16 `f32`, whose deleter may be called now.
    unsafe fn import(managed: *mut DLManagedTensorVersioned) -> f32;

    /// Releases the result of `export`.
    ///
    /// # Safety
    ///
    /// 1. `managed` came from `export`, and is not used after this call.
    #[inline(always)]
    unsafe fn delete(managed: *mut DLManagedTensorVersioned) {
        // SAFETY: 1 (`managed` came from `export`): guaranteed by our caller's 1.
        unsafe { delete(managed) }
    }

    /// What `import` takes for a C struct: the struct itself.
    #[inline(always)]
    fn offer(managed: *mut DLManagedTensorVersioned) -> *mut DLManagedTensorVersioned {
        managed
    }
}

/// Calls a deleter, as C does.
///
/// # Safety
///
/// 1. As for [`Contender::delete`].
#[inline(always)]
pub unsafe fn delete(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: by 1 the struct is alive.
    let deleter = unsafe { (*managed).deleter };
    if let Some(deleter) = deleter {
        // SAFETY: by 1.
        unsafe { deleter(managed) }
    }
}

/// One way to export one owner repeatedly.
pub trait Shares {
    const NAME_SHARED: &'static str;
    type Owner;

    /// The owner, which stays.
    fn owner(samples: Samples) -> Self::Owner;

    /// Exports its tensor to C.
    fn export_shared(owner: &Self::Owner) -> *mut DLManagedTensorVersioned;
}

/// Reads a slice, so that the compiler cannot remove the import.
#[inline(always)]
pub fn look(slice: &[f32]) -> f32 {
    std::hint::black_box(slice)[0]
}

/// A tensor of static memory, with a deleter that does nothing.
pub fn foreign(data: &'static mut [f32; LEN]) -> *mut DLManagedTensorVersioned {
    unsafe extern "C" fn nothing(_: *mut DLManagedTensorVersioned) {}

    let dims: &'static mut [i64; 4] = Box::leak(Box::new([16, 16, 16, 1]));
    let shape = dims.as_mut_ptr();
    Box::leak(Box::new(DLManagedTensorVersioned {
        version: ffi::DLPackVersion { major: 1, minor: 3 },
        manager_ctx: shape.cast::<c_void>(),
        deleter: Some(nothing),
        flags: 0,
        dl_tensor: ffi::DLTensor {
            data: data.as_mut_ptr().cast(),
            device: ffi::DLDevice { device_type: ffi::kDLCPU, device_id: 0 },
            ndim: 2,
            dtype: ffi::DLDataType { code: ffi::kDLFloat, bits: 32, lanes: 1 },
            shape,
            strides: shape.wrapping_add(2),
            byte_offset: 0,
        },
    }))
}
