//! Reproducible random numbers: [`Random`].

use core::ops::RangeInclusive;

/// A SplitMix64 generator. The same seed gives the same cases everywhere, so a failing
/// case can be reproduced by its number.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator with that seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        // A remainder of 64 bits is as even as tests need.
        usize::try_from(self.bits() % end as u64).unwrap_or(0)
    }

    /// A number of a range.
    pub fn within(&mut self, range: RangeInclusive<i64>) -> i64 {
        let width = u128::from(range.end().abs_diff(*range.start())) + 1;
        let above = u128::from(self.bits()) % width;
        let number = i128::from(*range.start()) + i128::try_from(above).unwrap_or(0);
        i64::try_from(number).unwrap_or(*range.end())
    }

    /// One of several.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}
