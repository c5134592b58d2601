//! The field's type is another in the expansion's block, and derefs to it there.
#![forbid(unsafe_code)]

mod __dlpack {
    pub use super::Reference as i64;
}

#[derive(Clone, Copy)]
pub struct Reference(&'static i64);

impl core::ops::Deref for Reference {
    type Target = i64;
    fn deref(&self) -> &i64 {
        self.0
    }
}

#[derive(Clone, Copy, dlpack_traits::Element)]
#[dlpack(any_bits)]
#[repr(transparent)]
pub struct Number(__dlpack::i64);

fn main() {}
