//! The allocator of the exchange table: makes a new tensor like a prototype.

use core::convert::Infallible;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt::{self, Write};
use core::mem::{MaybeUninit, offset_of};

use super::TableError;
use super::host::cleared;
use crate::backend::{Backends, Prototype};
use crate::dims::Dims;
use crate::error::Error;
use crate::ffi::{DLDataType, DLDevice, DLManagedTensorVersioned, DLTensor, SetError};
use crate::import::read_array;
use crate::panic::catch_panic;
use crate::strides::MAX_NDIM;

/// `managed_tensor_allocator`.
///
/// # Safety
///
/// The header's contract, and that of [`DLPackManagedTensorAllocator`](crate::ffi::DLPackManagedTensorAllocator):
/// 1. `prototype` is NULL, or points to an aligned struct whose `dtype`, `ndim`, `shape`
///    and `device` are initialized. If `ndim` is 1 to 64, `shape` is NULL, or points to `ndim`
///    aligned, initialized numbers. No one writes the struct or these numbers during the call.
/// 2. `out` is NULL, or may be written.
/// 3. `SetError` is NULL, or may be called with `error_ctx` and two C strings.
#[expect(non_snake_case, reason = "the header's name")]
pub(super) unsafe extern "C" fn allocate<B: Backends>(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    error_ctx: *mut c_void,
    SetError: SetError,
) -> c_int {
    let run = || {
        // SAFETY: by 2 it is NULL, or may be written during the call.
        let out = cleared(unsafe { out.cast::<MaybeUninit<_>>().as_mut() })?;
        // SAFETY: 1 (`prototype` is NULL, or valid): guaranteed by our caller's 1.
        let prototype = unsafe { read(prototype) }?;
        let tensor = B::allocate(&prototype)?;
        *out = tensor.into_raw();
        Ok(())
    };
    let fault: TableError<Infallible> = match catch_panic(run) {
        Some(Ok(())) => return 0,
        Some(Err(fault)) => fault,
        None => TableError::Panicked,
    };
    if let Some(set_error) = SetError {
        let message = Message::of(&fault);
        // SAFETY: by 3; both strings end with their only NUL, and live during the call.
        unsafe { set_error(error_ctx, fault.kind().as_ptr(), message.as_ptr()) }
    }
    -1
}

/// A `DLTensor` of which only the fields that describe a new tensor are initialized.
#[repr(C)]
struct Fields {
    _data: MaybeUninit<*mut c_void>,
    device: DLDevice,
    ndim: i32,
    dtype: DLDataType,
    shape: *mut i64,
    _strides: MaybeUninit<*mut i64>,
    _byte_offset: MaybeUninit<u64>,
}

const _: () = {
    assert!(offset_of!(Fields, device) == offset_of!(DLTensor, device));
    assert!(offset_of!(Fields, ndim) == offset_of!(DLTensor, ndim));
    assert!(offset_of!(Fields, dtype) == offset_of!(DLTensor, dtype));
    assert!(offset_of!(Fields, shape) == offset_of!(DLTensor, shape));
    assert!(size_of::<Fields>() == size_of::<DLTensor>());
    assert!(align_of::<Fields>() == align_of::<DLTensor>());
};

/// Reads and validates the fields of a prototype that describe the new tensor. The
/// header allows any value in the other fields, so they are not read.
///
/// # Safety
///
/// 1. 1 of [`allocate`], for the whole of `'a`.
#[inline(always)]
unsafe fn read<'a>(prototype: *const DLTensor) -> Result<Prototype<'a>, TableError<Infallible>> {
    if prototype.is_null() {
        return Err(TableError::NullArgument { name: "prototype" });
    }
    // SAFETY: by 1 the struct may be read, and its fields that are read are initialized.
    let Fields { device, ndim, dtype, shape, .. } = unsafe { prototype.cast::<Fields>().read() };
    let ndim = usize::try_from(ndim).map_err(|_| Error::NegativeRank { ndim })?;
    if ndim > MAX_NDIM {
        return Err(Error::TooManyDims { ndim }.into());
    }
    // SAFETY: 1. By 1, and `ndim` is at most 64.
    let dims = unsafe { read_array(shape, ndim) }.ok_or(Error::NullShape { ndim })?;
    Ok(Prototype::new(dtype.into(), Dims::borrowed(dims), device.into())?)
}

/// An error message as a C string, made without an allocation, because the error may be a
/// failed allocation. Longer messages are truncated.
struct Message {
    text: [u8; 512],
    len: usize,
}

impl Message {
    fn of(sentence: &dyn fmt::Display) -> Self {
        let mut message = Self { text: [0; 512], len: 0 };
        // It fails if the message is truncated.
        let _ = write!(message, "{sentence}");
        message
    }

    fn as_ptr(&self) -> *const c_char {
        let text = CStr::from_bytes_until_nul(&self.text).unwrap_or(c"");
        text.as_ptr()
    }
}

impl Write for Message {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        for character in part.chars() {
            let character = if character == '\0' { '\u{FFFD}' } else { character };
            let end = self.len.saturating_add(character.len_utf8());
            // The last byte stays the NUL that ends the string.
            if end >= self.text.len() {
                return Err(fmt::Error);
            }
            let room = self.text.get_mut(self.len..end).unwrap_or_default();
            character.encode_utf8(room);
            self.len = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    fn text(sentence: &str) -> String {
        let message = Message::of(&sentence);
        CStr::from_bytes_until_nul(&message.text).expect("an end").to_str().expect("UTF-8").into()
    }

    #[test]
    fn sentences_end_with_their_only_nul() {
        assert_eq!(text("no memory"), "no memory");
        assert_eq!(text("a\0b"), "a\u{FFFD}b");
        assert_eq!(text(""), "");
    }

    #[test]
    fn long_sentences_are_cut_between_characters() {
        assert_eq!(text(&"x".repeat(600)), "x".repeat(511));
        assert_eq!(text(&"\u{20AC}".repeat(600)), "\u{20AC}".repeat(170));
    }
}
