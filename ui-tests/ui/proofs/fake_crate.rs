//! `crate = path` leads to a module with the real trait and fakes of all else.
#![forbid(unsafe_code)]

mod fake {
    pub mod __private {
        pub mod dlpack_derive_0_1_0_see_attribute_crate {
            pub mod parts {
                pub use core::marker::{Copy, Send, Sync};
                pub use core::primitive::bool;
                pub use dlpack_traits::__private::parts::Fields;
                pub use dlpack_traits::{DataType, Element};

                pub trait Split {}
                impl<T> Split for T {}
                pub const fn assert_element<T>() {}
                pub const fn assert_any_bits<T>() {}
            }
        }
    }
}

#[derive(Clone, Copy, dlpack_traits::Element)]
#[dlpack(any_bits, crate = crate::fake)]
#[repr(transparent)]
pub struct Number(&'static i64);

fn main() {}
