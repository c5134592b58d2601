//! An attribute macro below the derive makes the struct a union.
#![forbid(unsafe_code)]

#[derive(dlpack_traits::Element)]
#[repr(transparent)]
#[changes::replaced_by(
    #[derive(Clone, Copy)]
    pub union Number {
        f: i64,
        b: u8,
    }
)]
pub struct Number {
    f: i64,
}

fn main() {}
