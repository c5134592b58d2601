//! The result of a call: [`Status`]. CUDA and HIP number these errors alike.

use std::ffi::{CStr, c_int};

/// An error code of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) c_int);

/// The codes, with the names that CUDA gives them.
macro_rules! codes {
    ($($name:ident = $code:literal, $text:literal;)+) => {
        impl Status {
            $(pub(crate) const $name: Self = Self($code);)+

            /// The name in CUDA's header.
            pub(crate) fn name(self) -> Option<&'static CStr> {
                match self.0 {
                    0 => Some(c"CUDA_SUCCESS"),
                    $($code => Some($text),)+
                    _ => None,
                }
            }
        }
    };
}

codes! {
    INVALID_VALUE = 1, c"CUDA_ERROR_INVALID_VALUE";
    OUT_OF_MEMORY = 2, c"CUDA_ERROR_OUT_OF_MEMORY";
    NOT_INITIALIZED = 3, c"CUDA_ERROR_NOT_INITIALIZED";
    NO_DEVICE = 100, c"CUDA_ERROR_NO_DEVICE";
    INVALID_DEVICE = 101, c"CUDA_ERROR_INVALID_DEVICE";
    INVALID_IMAGE = 200, c"CUDA_ERROR_INVALID_IMAGE";
    INVALID_CONTEXT = 201, c"CUDA_ERROR_INVALID_CONTEXT";
    INVALID_HANDLE = 400, c"CUDA_ERROR_INVALID_HANDLE";
    NOT_FOUND = 500, c"CUDA_ERROR_NOT_FOUND";
    NOT_READY = 600, c"CUDA_ERROR_NOT_READY";
    ILLEGAL_ADDRESS = 700, c"CUDA_ERROR_ILLEGAL_ADDRESS";
    CONTEXT_IS_DESTROYED = 709, c"CUDA_ERROR_CONTEXT_IS_DESTROYED";
    NOT_SUPPORTED = 801, c"CUDA_ERROR_NOT_SUPPORTED";
    CAPTURE_UNSUPPORTED = 900, c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
    CAPTURE_INVALIDATED = 901, c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED";
    CAPTURE_MERGE = 902, c"CUDA_ERROR_STREAM_CAPTURE_MERGE";
    CAPTURE_UNMATCHED = 903, c"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED";
    CAPTURE_UNJOINED = 904, c"CUDA_ERROR_STREAM_CAPTURE_UNJOINED";
    CAPTURE_ISOLATION = 905, c"CUDA_ERROR_STREAM_CAPTURE_ISOLATION";
    CAPTURE_IMPLICIT = 906, c"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT";
    CAPTURED_EVENT = 907, c"CUDA_ERROR_CAPTURED_EVENT";
}
