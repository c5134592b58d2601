//! A unit struct has the name that the expansion's pattern gives to a field. (If the tokens of the
//! item contained that name, the expansion would use another.)
#![forbid(unsafe_code)]

#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
pub struct __part0;

#[derive(Clone, Copy, dlpack_traits::Element)]
#[repr(transparent)]
pub struct Number(f32);

fn main() {}
