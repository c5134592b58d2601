//! An attribute macro below the derive changes the type of a field.
#![forbid(unsafe_code)]

#[derive(Clone, Copy)]
pub struct Reference(&'static i64);

impl core::ops::Deref for Reference {
    type Target = i64;
    fn deref(&self) -> &i64 {
        self.0
    }
}

#[derive(dlpack_traits::Element)]
#[dlpack(any_bits)]
#[repr(transparent)]
#[changes::replaced_by(
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    pub struct Number(Reference);
)]
pub struct Number(i64);

fn main() {}
