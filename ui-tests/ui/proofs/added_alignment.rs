//! An attribute macro below the derive adds padding, and the crate has a fake of
//! the assertion that runs early.
#![forbid(unsafe_code)]

use dlpack_traits::{DataRef, Element};

mod fake {
    pub mod __private {
        pub mod dlpack_derive_0_1_0_see_attribute_crate {
            pub mod parts {
                pub use dlpack_traits::__private::parts::*;
                pub const fn assert_element<T>() {}
            }
        }
    }
}

#[derive(Element)]
#[dlpack(crate = crate::fake)]
#[repr(transparent)]
#[changes::replaced_by(
    #[derive(Clone, Copy)]
    #[repr(C, align(16))]
    pub struct Number(i64);
)]
pub struct Number(i64);

fn main() {
    let _ = DataRef::from_slice(&[Number(1)]);
}
