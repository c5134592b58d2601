//! Errors of a device's runtime, with the text of its driver: [`device_error`].

use alloc::string::String;

use super::append_list::AppendList;
use crate::device::Device;
use crate::error::{DriverText, Error};

/// The texts that errors refer to. A driver has few; a text with an address or a time in it is
/// another one each time, so they are limited.
static TEXTS: AppendList<&'static str> = AppendList::new();
const MOST_TEXTS: usize = 64;
const MOST_CHARS: usize = 200;

/// An error of a call of a device's runtime, with the driver's text for it, such as that of
/// `cuGetErrorString`; `""` if it has none.
///
/// The error is `Copy`, so the text is kept until the end of the process: its first 200 characters,
/// of the first 64 different texts of all devices. Later ones are left out.
///
/// ```
/// use dlpack_traits::backend::device_error;
/// use dlpack_traits::{Device, ffi};
///
/// let device = Device::new(ffi::kDLExtDev, 0);
/// let text = String::from("the queue is full");
/// let error = device_error(device, "npu_submit", 0xFFFF_FFFF_7, &text);
/// assert_eq!(error.to_string(), "`npu_submit` returned 68719476727 for ext_dev:0: the queue is full");
/// ```
pub fn device_error(device: Device, call: &'static str, code: i64, text: &str) -> Error {
    let text: String = text.trim().chars().take(MOST_CHARS).collect();
    let kept = || TEXTS.iter().find(|kept| **kept == text);
    if !text.is_empty() && kept().is_none() && TEXTS.iter().count() < MOST_TEXTS {
        TEXTS.append(text.clone().leak());
    }
    let text = kept().map_or(DriverText::NONE, DriverText::new);
    Error::Device { device, call, code, text }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use core::mem::size_of;

    use super::*;

    #[test]
    fn texts_are_kept_once_and_limited() {
        let text_of = |text: &str| match device_error(Device::CPU, "call", -1, text) {
            Error::Device { text, .. } => text,
            _ => DriverText::NONE,
        };
        assert_eq!(text_of(" out of memory\n").as_str(), "out of memory");
        assert!(core::ptr::eq(text_of("lost").as_str(), text_of("lost").as_str()));
        assert_eq!(text_of("").as_str(), "");
        assert_eq!(text_of(&"ä".repeat(300)).as_str().chars().count(), MOST_CHARS);
        for index in 0..MOST_TEXTS {
            text_of(&format!("at {index}"));
        }
        assert_eq!(text_of("one more"), DriverText::NONE);
        assert_eq!(text_of("lost").as_str(), "lost");
        assert!(size_of::<Error>() <= 48);
    }
}
