//! An attribute macro below the derive adds padding to a record, and the crate has fakes of the
//! offsets and of the assertions that run early.
#![forbid(unsafe_code)]

use dlpack_traits::{DataRef, Record};

mod fake {
    pub mod __private {
        pub mod dlpack_derive_0_1_0_see_attribute_crate {
            pub mod parts {
                pub use dlpack_traits::__private::parts::*;

                macro_rules! offset {
                    ($($tokens:tt)*) => {
                        4
                    };
                }
                pub(crate) use offset as offset_of;
                pub const fn assert_element<T>() {}
            }
        }
    }
}

#[derive(Record)]
#[dlpack(crate = crate::fake)]
#[repr(C)]
#[changes::replaced_by(
    #[derive(Clone, Copy)]
    #[repr(C, align(16))]
    pub struct Aligned { mass: f32 }
)]
pub struct Aligned {
    mass: f32,
}

fn main() {
    let _ = DataRef::from_slice(&[Aligned { mass: 1.0 }]);
}
