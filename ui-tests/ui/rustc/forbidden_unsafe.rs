//! The `unsafe` of the attribute is the user's own, and counts as such.
#![forbid(unsafe_code)]

use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
struct Frame {
    #[dlpack(unsafe(ptr, len(elements) = 2))]
    pixels: *const u8,
    #[dlpack(owner)]
    owner: Box<[u8]>,
    shape: [usize; 1],
}

fn main() {}
