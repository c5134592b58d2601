//! `crate = path` leads to the real module, but for the assertions that run early.
#![forbid(unsafe_code)]

use dlpack_traits::{DataMut, Element};

mod fake {
    pub mod __private {
        pub mod dlpack_derive_0_1_0_see_attribute_crate {
            pub mod parts {
                pub use dlpack_traits::__private::parts::*;
                pub const fn assert_element<T>() {}
                pub const fn assert_any_bits<T>() {}
            }
        }
    }
}

#[derive(Clone, Copy, Element)]
#[dlpack(any_bits, crate = crate::fake)]
#[repr(transparent)]
pub struct Switch(bool);

fn main() {
    let _ = DataMut::from_mut_slice(&mut [Switch(true)]);
}
