//! `float32` and `float64`.

use core::iter::Sum;
use core::ops::{Div, Mul};

use dlpack_traits::AnyBits;

/// A type that the functions accept.
pub(crate) trait Real:
    AnyBits + Copy + PartialOrd + Send + Sync + Sum + Mul<Output = Self> + Div<Output = Self>
{
    const ZERO: Self;

    /// The Euclidean norm of a row.
    fn norm(row: &[Self]) -> Self;
}

macro_rules! real {
    ($($T:ty),*) => {$(
        impl Real for $T {
            const ZERO: Self = 0.0;

            fn norm(row: &[Self]) -> Self {
                row.iter().map(|value| value * value).sum::<Self>().sqrt()
            }
        }
    )*};
}

real!(f32, f64);
