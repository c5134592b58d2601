//! A unit struct has the name that the expansion's pattern gives to a field.
#![forbid(unsafe_code)]

#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
pub struct __part0;

#[derive(Clone, Copy, dlpack_traits::Element)]
#[repr(transparent)]
pub struct Number(__part0);

fn main() {}
