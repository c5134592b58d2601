//! The crate calls itself `core`, so that `::core::compile_error!` does not fail, and
//! a refused struct keeps the impl that comes with the message.
#![forbid(unsafe_code)]

extern crate self as core;

pub mod prelude {
    pub use std::prelude::*;
}

#[macro_export]
macro_rules! compile_error {
    ($($tokens:tt)*) => {};
}

#[derive(std::clone::Clone, std::marker::Copy, dlpack_traits::Element)]
pub struct Uninit(std::mem::MaybeUninit<u8>);

fn main() {
    let _ = dlpack_traits::DataRef::from_slice(&[Uninit(std::mem::MaybeUninit::uninit())]);
}
