//! A type without values has the name of a type that needs no `skip`.
#![forbid(unsafe_code)]

mod fake {
    #[derive(Clone, Copy)]
    pub enum PhantomData {}
}
use fake::PhantomData;

#[derive(Clone, Copy, dlpack_traits::Element)]
#[dlpack(any_bits)]
#[repr(C)]
pub struct Number(i64, PhantomData);

fn main() {}
