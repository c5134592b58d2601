//! A derive of another version than `dlpack_traits`.

mod older {
    pub mod __private {
        pub mod dlpack_derive_0_0_9 {}
    }
}

#[derive(Clone, Copy, dlpack_traits::Element)]
#[dlpack(crate = crate::older)]
#[repr(transparent)]
pub struct Number(i64);

fn main() {}
