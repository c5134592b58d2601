//! The type of the field is a macro that expands to another type each time.
#![forbid(unsafe_code)]

#[derive(dlpack_traits::Element)]
#[dlpack(any_bits)]
#[repr(transparent)]
pub struct Number(changes::once!(&'static i64; i64));

impl Clone for Number {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Number {}

fn main() {}
