//! An attribute macro below the derive makes the struct an enum.
#![forbid(unsafe_code)]

#[derive(dlpack_traits::Element)]
#[repr(transparent)]
#[changes::replaced_by(
    #[derive(Clone, Copy)]
    #[repr(i64)]
    pub enum Number {
        Zero,
    }
)]
pub struct Number(i64);

fn main() {}
