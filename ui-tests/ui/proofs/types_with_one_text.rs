//! The types of both fields have the same text, and are different types.
#![forbid(unsafe_code)]

#[derive(dlpack_traits::Element)]
#[dlpack(any_bits)]
#[repr(C)]
pub struct Pair {
    a: changes::once!(i64; &'static i64),
    b: changes::once!(i64; &'static i64),
}

impl Clone for Pair {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Pair {}

fn main() {}
