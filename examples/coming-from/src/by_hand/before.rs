//! A camera frame, exported to C by hand.

use std::ffi::c_void;
use std::sync::Arc;

use dlpack_traits::ffi;

pub struct Frame {
    pub pixels: Arc<[u8]>,
    pub width: u32,
    pub height: u32,
    /// Bytes from one row to the next.
    pub pitch: usize,
}

struct Context {
    shape: [i64; 3],
    strides: [i64; 3],
    managed: ffi::DLManagedTensorVersioned,
    _pixels: Arc<[u8]>,
}

unsafe extern "C" fn delete(managed: *mut ffi::DLManagedTensorVersioned) {
    // SAFETY: the context is the box of `to_managed`, and this is the only call.
    drop(unsafe { Box::from_raw((*managed).manager_ctx.cast::<Context>()) });
}

impl Frame {
    pub fn to_managed(&self) -> *mut ffi::DLManagedTensorVersioned {
        let context = Box::into_raw(Box::new(Context {
            shape: [self.height.into(), self.width.into(), 4],
            strides: [self.pitch as i64, 4, 1],
            // SAFETY: all zeros are a valid value of this C struct, whose deleter may be NULL.
            managed: unsafe { std::mem::zeroed() },
            _pixels: Arc::clone(&self.pixels),
        }));
        // SAFETY: the context is new, and no other code has its address.
        unsafe {
            (*context).managed = ffi::DLManagedTensorVersioned {
                version: ffi::DLPackVersion { major: 1, minor: 3 },
                manager_ctx: context.cast::<c_void>(),
                deleter: Some(delete),
                flags: ffi::DLPACK_FLAG_BITMASK_READ_ONLY,
                dl_tensor: ffi::DLTensor {
                    data: self.pixels.as_ptr().cast_mut().cast::<c_void>(),
                    device: ffi::DLDevice { device_type: ffi::kDLCPU, device_id: 0 },
                    ndim: 3,
                    dtype: ffi::DLDataType { code: ffi::kDLUInt, bits: 8, lanes: 1 },
                    shape: (&raw mut (*context).shape).cast(),
                    strides: (&raw mut (*context).strides).cast(),
                    byte_offset: 0,
                },
            };
            &raw mut (*context).managed
        }
    }
}
