//! Whether two tensors share memory.

use std::collections::HashSet;

use dlpack_tests::counted::Owner;
use dlpack_tests::positions::positions;
use dlpack_tests::random::Random;
use tensors::{DLPackExport, ImportedTensor, SharedBuffer};

const LEN: usize = 48;

/// A part of a buffer, if it lies within.
fn part(
    data: &SharedBuffer<i16>,
    offset: i64,
    shape: &[i64],
    strides: &[i64],
) -> Option<ImportedTensor> {
    let owner = Owner::new(data.clone(), shape).strided(strides, offset.unsigned_abs() * 2);
    Some(owner.to_dlpack().ok()?.import().unwrap())
}

#[test]
fn parts_of_one_buffer_overlap_if_they_have_an_element_in_common() {
    let data = SharedBuffer::<i16>::zeroed(LEN).unwrap();
    let part =
        |offset, shape: &[i64], strides: &[i64]| part(&data, offset, shape, strides).unwrap();
    let all = part(0, &[48], &[1]);
    for (first, second, expected) in [
        (part(0, &[4], &[1]), part(4, &[4], &[1]), false),
        (part(0, &[4], &[1]), part(3, &[4], &[1]), true),
        // Channels of an image of 4 x 3 pixels.
        (part(0, &[4, 3], &[9, 3]), part(1, &[4, 3], &[9, 3]), false),
        (part(0, &[4, 3], &[9, 3]), part(0, &[4, 9], &[9, 1]), true),
        (part(0, &[4], &[2]), part(7, &[4], &[-2]), false),
        (part(0, &[4], &[2]), part(6, &[4], &[-2]), true),
        (part(5, &[], &[]), part(5, &[1], &[7]), true),
        (part(5, &[], &[]), part(6, &[], &[]), false),
        (part(5, &[0], &[1]), part(0, &[48], &[1]), false),
    ] {
        assert_eq!(first.overlaps(&second), expected, "{first:?} {second:?}");
        assert_eq!(second.overlaps(&first), expected, "{second:?} {first:?}");
        assert_eq!(first.overlaps(&all), !first.shape().contains(&0));
    }
    let other = SharedBuffer::<i16>::zeroed(LEN).unwrap();
    assert!(!all.overlaps(&self::part(&other, 0, &[48], &[1]).unwrap()));
}

/// `false` is exact, and `true` is rarely wrong.
#[test]
fn overlaps_is_false_only_if_no_byte_is_shared() {
    let mut random = Random::new(7);
    let data = SharedBuffer::<i16>::zeroed(LEN).unwrap();
    let mut layout = || loop {
        let ndim = random.below(4);
        let shape: Vec<i64> = (0..ndim).map(|_| random.within(0..=4)).collect();
        let strides: Vec<i64> = (0..ndim).map(|_| random.within(-6..=6)).collect();
        let offset = random.within(0..=47);
        if let Some(tensor) = part(&data, offset, &shape, &strides) {
            let named = positions(&shape, &strides).into_iter().map(|at| at + offset);
            return (tensor, named.collect::<HashSet<i64>>());
        }
    };
    let (mut different, mut wrong) = (0, 0);
    let cases = if cfg!(miri) { 40 } else { 4_000 };
    for _ in 0..cases {
        let ((first, named), (second, others)) = (layout(), layout());
        let shared = !named.is_disjoint(&others);
        assert!(first.overlaps(&second) || !shared, "{first:?} {second:?}");
        different += i32::from(!shared);
        wrong += i32::from(!shared && first.overlaps(&second));
    }
    assert!(different > cases / 4 && wrong * 4 < different, "{wrong} of {different}");
}
