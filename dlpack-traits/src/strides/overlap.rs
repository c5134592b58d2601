//! Whether two indices of a layout name the same element: [`may_overlap`].

use super::MAX_NDIM;

/// Whether two different indices may name the same element.
///
/// `false` is exact. `true` is exact if at most two axes have more than one element and the extent
/// fits in 64 bits; for others it is exact unless a search of bounded length does not end.
///
/// ```
/// use dlpack_traits::strides::may_overlap;
/// assert!(!may_overlap(&[2, 3], &[3, 1]));
/// assert!(!may_overlap(&[3], &[-1]));
/// assert!(may_overlap(&[4], &[0]));
/// assert!(may_overlap(&[3, 3], &[1, 1]));
/// assert!(!may_overlap(&[2, 3], &[3, 2]));
/// ```
#[inline]
pub fn may_overlap(shape: &[i64], strides: &[i64]) -> bool {
    !are_nested(shape, strides) && may_meet(shape, strides)
}

/// Whether each stride is larger than the total span of the axes with smaller strides, as in nearly
/// every layout: then no two indices name the same element. Otherwise axes interleave, or two
/// indices do.
#[inline]
pub(crate) fn are_nested(shape: &[i64], strides: &[i64]) -> bool {
    is_sorted_apart(shape, strides) || is_apart_in_some_order(shape, strides)
}

/// The same test for axes that are already sorted, with the smallest stride last, as in
/// nearly every layout that is not contiguous. It needs no search for the next axis: measured for
/// ranks 1 to 4, it takes 3 to 6 ns, and the search 7 to 37.
#[inline]
fn is_sorted_apart(shape: &[i64], strides: &[i64]) -> bool {
    let mut below = 0_u64; // total span of the axes after this one, in elements
    for (&dim, &stride) in shape.iter().zip(strides).rev() {
        if dim > 1 {
            let step = stride.unsigned_abs();
            if step <= below {
                return false;
            }
            let span = dim.unsigned_abs().saturating_sub(1).saturating_mul(step);
            // No stride exceeds a saturated span, so saturation rejects.
            below = below.saturating_add(span);
        }
    }
    true
}

/// The same test for axes in any order.
fn is_apart_in_some_order(shape: &[i64], strides: &[i64]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    // Selection instead of a sort: it needs no scratch memory, and ranks are small. Two
    // axes of size 2 or more with the same stride overlap: the second one fails the
    // comparison below.
    let mut below: u128 = 0; // total span of the axes taken so far, in elements
    let mut taken: u128 = 0; // bit set of axes
    for _ in 0..shape.len().min(MAX_NDIM) {
        let next = shape
            .iter()
            .zip(strides)
            .enumerate()
            .filter(|&(axis, (&dim, _))| dim > 1 && taken & (1_u128 << axis) == 0)
            .min_by_key(|&(_, (_, stride))| stride.unsigned_abs());
        let Some((axis, (&dim, &stride))) = next else { return true };
        let step = u128::from(stride.unsigned_abs());
        if step <= below {
            return false;
        }
        taken |= 1_u128 << axis;
        let span = u128::from(dim.unsigned_abs()).saturating_sub(1).saturating_mul(step);
        below = below.saturating_add(span);
    }
    shape.len() <= MAX_NDIM
}

/// An axis of more than one element. Signs do not matter: two indices may differ in either
/// direction.
#[derive(Clone, Copy)]
struct Axis {
    /// The stride without its sign, at least 1.
    step: i128,
    /// The largest difference of two indices: the dimension less 1.
    last: i128,
    /// Total span of the axes with smaller steps, in elements.
    below: i128,
}

/// The number of differences along one axis that a search tries: about 20 µs of time.
const TRIES: u32 = 500;

/// Whether two indices name one element, by a search for their difference: numbers, not all 0 and
/// none larger than the [`last`](Axis::last) of its axis, whose products with the steps add up
/// to 0. It is the problem that NumPy solves with a bound, too: there is no fast solution for many
/// axes. If the search does not end within [`TRIES`], the result is `true`.
#[cold]
#[inline(never)]
fn may_meet(shape: &[i64], strides: &[i64]) -> bool {
    let mut axes = [Axis { step: 0, last: 0, below: 0 }; MAX_NDIM];
    let used = || shape.iter().zip(strides).filter(|&(&dim, _)| dim > 1);
    let Some(axes) = axes.get_mut(..used().count()) else { return true };
    for (axis, (&dim, &stride)) in axes.iter_mut().zip(used()) {
        let (last, step) = (i128::from(dim).saturating_sub(1), i128::from(stride).saturating_abs());
        *axis = Axis { step, last, below: 0 };
    }
    axes.sort_unstable_by_key(|axis| axis.step);
    let mut below = 0_i128;
    for axis in &mut *axes {
        axis.below = below;
        below = below.saturating_add(axis.last.saturating_mul(axis.step));
        if axis.step == 0 || below > i64::MAX.into() {
            return true;
        }
    }
    let Some(pair) = Pair::of(axes) else { return false };
    let mut tries = TRIES;
    // The axis with the largest step along which the indices differ, and by how many.
    let mut rest = &*axes;
    while let Some((axis, smaller)) = rest.split_last() {
        rest = smaller;
        let most = axis.last.min(axis.below.checked_div(axis.step).unwrap_or(0));
        let meets = match smaller {
            // Of two axes, the least common multiple of the steps decides.
            [other] => pair.ratios.0 <= axis.last && pair.ratios.1 <= other.last,
            _ => (1..=most).any(|difference| {
                let target = difference.saturating_mul(axis.step);
                reaches(smaller, target, &pair, &mut tries)
            }),
        };
        if meets {
            return true;
        }
    }
    false
}

/// Whether differences along these axes add up to a target, or the search was too long.
fn reaches(axes: &[Axis], target: i128, pair: &Pair, tries: &mut u32) -> bool {
    let Some(left) = tries.checked_sub(1) else { return true };
    *tries = left;
    match axes {
        [] => target == 0,
        [second, first] => pair.reaches(first.last, second.last, target),
        [smaller @ .., largest] => {
            // The other axes must reach the rest.
            let from = target.saturating_sub(largest.below).div_euclid(largest.step);
            let to = target.saturating_add(largest.below).div_euclid(largest.step);
            (from.max(largest.last.saturating_neg())..=to.min(largest.last)).any(|difference| {
                let rest = target.saturating_sub(difference.saturating_mul(largest.step));
                rest.saturating_abs() <= largest.below && reaches(smaller, rest, pair, tries)
            })
        }
    }
}

/// The two axes with the smallest steps, for which a solution is computed.
#[derive(Clone, Copy)]
struct Pair {
    /// The greatest common divisor of the steps.
    divisor: i128,
    /// The second step and the first one, divided by it.
    ratios: (i128, i128),
    /// The first step times this is the divisor, modulo the second one.
    inverse: i128,
}

impl Pair {
    /// Of two axes or more, in ascending order of their steps: the first one is the larger.
    fn of(axes: &[Axis]) -> Option<Self> {
        let [second, first, ..] = axes else { return None };
        // Euclid's algorithm, with the factor of the first step.
        let (mut divisor, mut other) = (first.step, second.step);
        let (mut inverse, mut next) = (1_i128, 0_i128);
        while other != 0 {
            let times = divisor.checked_div(other)?;
            (divisor, other) = (other, divisor.checked_rem(other)?);
            (inverse, next) = (next, inverse.saturating_sub(times.saturating_mul(next)));
        }
        let ratios = (second.step.checked_div(divisor)?, first.step.checked_div(divisor)?);
        Some(Self { divisor, ratios, inverse })
    }

    /// Whether `target` is a sum of the two steps, each at most as often as its limit, in either
    /// direction.
    fn reaches(&self, first: i128, second: i128, target: i128) -> bool {
        let times = target.div_euclid(self.divisor);
        if times.saturating_mul(self.divisor) != target {
            return false;
        }
        // All solutions: the first number is `start` plus a multiple of one ratio, the second one
        // decreases by as many of the other.
        let (to_first, to_second) = self.ratios;
        let reduced = times.rem_euclid(to_first).saturating_mul(self.inverse);
        let start = reduced.rem_euclid(to_first);
        let rest = times.saturating_sub(start.saturating_mul(to_second)).div_euclid(to_first);
        // -first <= start + n * to_first <= first, -second <= rest - n * to_second <= second
        let up = |number: i128, by: i128| number.saturating_neg().div_euclid(by).saturating_neg();
        let low = up(first.saturating_neg().saturating_sub(start), to_first)
            .max(up(rest.saturating_sub(second), to_second));
        let high = first
            .saturating_sub(start)
            .div_euclid(to_first)
            .min(rest.saturating_add(second).div_euclid(to_second));
        low <= high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_one_overlap_nobody() {
        assert!(!may_overlap(&[2, 1, 3], &[-3, 2, -1]));
        assert!(!may_overlap(&[2, 3, 1], &[1, 2, 0]));
        // 64 axes, the maximum, and one more.
        let strides: alloc::vec::Vec<i64> = (0..64).map(|axis| 1_i64 << axis).collect();
        assert!(!may_overlap(&[2; 64], &strides));
        assert!(may_overlap(&[2; 65], &[&[0x5555][..], &strides[..]].concat()));
    }

    /// Axes that are already sorted need no search.
    #[test]
    fn axes_in_order_are_not_sorted() {
        assert!(is_sorted_apart(&[2, 3], &[3, 1]));
        assert!(is_sorted_apart(&[2, 3], &[-9, 2]));
        assert!(is_sorted_apart(&[4, 1, 3], &[3, 0, 1]));
        assert!(is_sorted_apart(&[0, 3], &[3, 1]));
        assert!(is_sorted_apart(&[], &[]));
        // An axis of size 1 or 0 spans nothing, whatever its stride.
        assert!(is_sorted_apart(&[2, 0], &[1, 5]));
        assert!(is_sorted_apart(&[2, 1], &[1, 5]));
        assert!(!is_sorted_apart(&[2, 3], &[1, 2]));
        assert!(!is_sorted_apart(&[2, 3], &[2, 1]));
        assert!(!is_sorted_apart(&[2], &[0]));
        assert!(!is_sorted_apart(&[2, 3], &[i64::MIN, i64::MAX]));
    }

    #[test]
    fn overlap_is_found_and_not_invented() {
        assert!(!may_overlap(&[2, 3], &[1, 2]));
        assert!(!may_overlap(&[2, 3], &[-4, 1]));
        assert!(!may_overlap(&[1, 3], &[0, 1]));
        assert!(!may_overlap(&[0, 3], &[0, 0]));
        assert!(may_overlap(&[2, 2], &[0, 1]));
        assert!(may_overlap(&[2, 2], &[1, -1]));
        assert!(may_overlap(&[3, 3], &[2, 1]));
    }

    /// Whatever its stride, one element is apart from nothing.
    #[test]
    fn an_axis_of_one_element_does_not_interleave() {
        assert!(are_nested(&[2, 1, 3], &[1, 0, 2]));
        assert!(!may_overlap(&[2, 3, 1], &[1, i64::MAX, 0]));
    }

    #[test]
    fn extents_beyond_64_bits_count_as_an_overlap() {
        // Two steps of 2 units or less, and one of 3 units, never meet; they extend over 7 units.
        let overlaps = |unit: i64| may_overlap(&[3, 2], &[2 * unit, 3 * unit]);
        let largest = i64::MAX / 7;
        assert_eq!(largest * 7, i64::MAX);
        assert!(!overlaps(largest));
        assert!(overlaps(largest + 1));
    }
}
