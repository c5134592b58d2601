//! A field that is named like a role but is none, of a type that no consumer
//! could drop, in a struct that vouches for it.

#![deny(warnings)]

use core::ptr::NonNull;
use dlpack_traits::{DLPackExport, Device};

#[derive(DLPackExport)]
struct Image {
    data: Vec<u8>,
    shape: [usize; 1],
    #[dlpack(skip)]
    device: NonNull<u8>,
}

// SAFETY: no code follows the pointer.
unsafe impl Send for Image {}

fn main() {
    let image = Image { data: vec![0; 2], shape: [2], device: NonNull::dangling() };
    assert_eq!(image.device, NonNull::dangling());
    assert_eq!(image.into_dlpack().unwrap().device(), Device::CPU);
}
