//! An attribute macro below the derive adds a field.
#![forbid(unsafe_code)]

#[derive(dlpack_traits::Element)]
#[dlpack(any_bits)]
#[repr(transparent)]
#[changes::replaced_by(
    #[derive(Clone, Copy)]
    pub struct Number(pub i64, pub &'static i64);
)]
pub struct Number(i64);

fn main() {}
