//! As in `fake_assertions.rs`, with elements that are read and shared.
#![forbid(unsafe_code)]

use dlpack_traits::{Element, ImportedStorage, SharedBuffer};

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

/// The claim is decided by a parameter.
#[derive(Clone, Copy, Element)]
#[dlpack(any_bits)]
#[repr(transparent)]
pub struct Pair<T>([T; 2]);

fn main() {
    let _ = SharedBuffer::<Switch>::zeroed(1);
    let any: Option<ImportedStorage> = None;
    let _ = any.map(|any| any.imported().elements::<Pair<bool>>().map(|pairs| pairs.to_vec()));
}
