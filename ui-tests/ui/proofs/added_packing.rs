//! An attribute macro below the derive makes the struct packed.
#![forbid(unsafe_code)]

#[derive(dlpack_traits::Element)]
#[dlpack(any_bits)]
#[repr(transparent)]
#[changes::replaced_by(
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    pub struct Number(i64);
)]
pub struct Number(i64);

fn main() {}
