//! An attribute macro below the derive moves the field behind a `Deref`.
#![forbid(unsafe_code)]

pub struct Part {
    pub f: i64,
}

#[derive(dlpack_traits::Element)]
#[dlpack(any_bits)]
#[repr(transparent)]
#[changes::replaced_by(
    #[derive(Clone, Copy)]
    pub struct Number {
        pub inner: &'static Part,
    }
)]
pub struct Number {
    f: i64,
}

impl core::ops::Deref for Number {
    type Target = Part;
    fn deref(&self) -> &Part {
        self.inner
    }
}

fn main() {}
