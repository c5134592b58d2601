//! The crate calls itself `dlpack_traits`, without an attribute.
#![forbid(unsafe_code)]

extern crate dlpack_traits as real;
extern crate self as dlpack_traits;

pub mod __private {
    pub mod dlpack_derive_0_1_0_see_attribute_crate {
        pub mod parts {
            pub use core::marker::{Copy, Send, Sync};
            pub use core::primitive::bool;
            pub use real::__private::parts::Fields;
            pub use real::{DataType, Element};

            pub trait Split {}
            impl<T> Split for T {}
            pub const fn assert_element<T>() {}
            pub const fn assert_any_bits<T>() {}
        }
    }
}

#[derive(Clone, Copy, real::Element)]
#[dlpack(any_bits)]
#[repr(transparent)]
pub struct Number(&'static i64);

fn main() {}
