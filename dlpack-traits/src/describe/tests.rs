//! The fast path compared with the slow path, over random layouts.

extern crate std;

mod case;

use alloc::vec::Vec;
use std::sync::OnceLock;

use case::{Case, DTYPES, Random};

use super::check::{Checked, Given};
use super::facts::Facts;
use super::layout::{Layout, Order};
use super::slot::{Slot, SlotMut};
use super::walk::contiguous;
use super::{Describe, Description};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::flags::Flags;
use crate::storage::{Access, DataRef, SharedBuffer, Storage};
use crate::version::Version;

/// All data that a consumer receives about a tensor, and its place in its storage.
#[derive(Debug, PartialEq)]
struct Output {
    shape: Vec<i64>,
    strides: Vec<i64>,
    dtype: DataType,
    data: (usize, u64),
    span: (u64, usize),
    flags: Flags,
    access: Access,
    version: Version,
}

impl Output {
    fn of(checked: &Checked<'_>) -> Self {
        let tensor = checked.described.tensor();
        assert_eq!(usize::try_from(tensor.ndim), Ok(checked.described.shape().len()));
        Self {
            shape: checked.described.shape().to_vec(),
            strides: checked.described.strides().to_vec(),
            dtype: tensor.dtype.into(),
            data: (tensor.data.addr(), tensor.byte_offset),
            span: checked.facts.span(),
            flags: checked.facts.flags(),
            access: checked.facts.access(),
            version: checked.facts.version(),
        }
    }
}

/// Runs only the slow path, or only the fast path, which returns `None` for a tensor that it leaves
/// to the slow one.
fn one_path(
    layout: &Layout<'_>,
    data: &DataRef<'static>,
    is_fast: bool,
) -> Option<Result<Output, Error>> {
    let mut slot = Slot::new();
    let mut access = SlotMut::of(&mut slot);
    let memory = data.memory_ref();
    let given = Given::of(&layout.shape, &layout.strides, layout.claims);
    let place = if is_fast {
        given.write_fast(&mut access, memory)?
    } else {
        match given.write_exactly(access.reborrow(), memory, None) {
            Ok(place) => place,
            Err(error) => return Some(Err(error)),
        }
    };
    // SAFETY: 1. Both paths wrote the lists of that many dimensions, and the struct.
    let described = unsafe { access.described(place.ndim) };
    let facts = Facts::new(memory, place.data, place.span, place.flags, given.stored);
    Some(Ok(Output::of(&Checked { described, facts })))
}

#[repr(align(16))]
struct Aligned([u8; 1024]);

static BYTES: Aligned = Aligned([0; 1024]);
static CLOSED: Error = Error::Custom("closed");
static WRITABLE: OnceLock<SharedBuffer<u8>> = OnceLock::new();
static NUMBERS: OnceLock<SharedBuffer<f64>> = OnceLock::new();

/// Memory of different types, lengths, alignments and access modes.
fn memory(random: &mut Random) -> DataRef<'static> {
    let start = random.index(9);
    let len = if random.once_in(3) { 1000 } else { random.index(400) };
    let bytes = &BYTES.0[start..start + len];
    let parts = |dtype, device| {
        let (ptr, len) = (BYTES.0.as_ptr(), 8 * (len / 8));
        // SAFETY: 1. to 3. The bytes are those of a static, aligned to 16, that no one
        // writes.
        unsafe { DataRef::from_raw_parts(ptr, len, dtype, device) }
    };
    let [_, single, double, complex, boolean, narrow, _, lanes, handle, _] = DTYPES;
    match random.below(15) {
        0..4 => DataRef::from_slice(bytes),
        4 => parts(double, Device::CPU),
        5 => parts(single, Device::CPU),
        6 => parts(complex, Device::cuda(0)),
        7 => parts(random.of(&[boolean, narrow, lanes, handle]), Device::CPU),
        8 => parts(single, Device::new(crate::ffi::kDLVulkan, 0)),
        9 => parts(DataType::U8, Device::CPU).with_axes(&[3]),
        10 => parts(DataType::U8, Device::CPU).with_axes(&[2, 2]),
        // Consumers may write, unless elements overlap.
        11..13 => WRITABLE.get_or_init(|| SharedBuffer::zeroed(400).unwrap()).data(),
        13 => NUMBERS.get_or_init(|| SharedBuffer::zeroed(50).unwrap()).data(),
        _ if random.once_in(8) => DataRef::refused(&CLOSED),
        _ => parts(narrow, Device::CPU).into_padded(),
    }
}

/// The fast path never accepts a tensor that the slow path rejects, and returns the same
/// result for a tensor that it accepts. Lists that are borrowed or computed yield the same.
#[test]
fn the_fast_path_agrees_with_the_slow_path() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let rounds = if cfg!(miri) { 150 } else { 300_000 };
    let (mut inline, mut accepted, mut refused) = (0, 0, 0);
    let (mut writable, mut overlapping) = (0, 0);
    for _ in 0..rounds {
        let case = Case::new(&mut random);
        let data = memory(&mut random);
        let expected = one_path(&case.layout(), &data, false).unwrap();
        let found = one_path(&case.layout(), &data, true);
        match (&found, &expected) {
            (Some(Ok(found)), Ok(expected)) => {
                assert_eq!(found, expected, "{case:?} in {data:?}");
                inline += 1;
                if found.access == Access::Shared {
                    let read_only = found.flags.contains(Flags::READ_ONLY);
                    *(if read_only { &mut overlapping } else { &mut writable }) += 1;
                }
            }
            (Some(_), _) => panic!("{expected:?}: {case:?} in {data:?}"),
            (None, Ok(_)) => accepted += 1,
            (None, Err(_)) => refused += 1,
        }
        assert_eq!(one_path(&case.computed(), &data, true), found, "{case:?} in {data:?}");
        let computed = one_path(&case.computed(), &data, false).unwrap();
        assert_eq!(computed, expected, "{case:?} in {data:?}");
        let mut slot = Slot::new();
        let both = slot.describe().layout(case.layout()).data(data);
        assert_eq!(both.map(|it| Output::of(it.checked())), expected, "{case:?} in {data:?}");
    }
    let least = rounds / 50;
    assert!(inline > least && accepted > least && refused > least, "{inline} {accepted} {refused}");
    let enough = writable > rounds / 500 && overlapping > rounds / 500;
    assert!(enough || cfg!(miri), "{writable} {overlapping}");
}

/// An error of the layout precedes every error of the memory.
#[test]
fn strides_of_a_different_rank_are_reported_first() {
    let data = DataRef::refused(&CLOSED);
    let mut slot = Slot::new();
    let found = slot.describe().shape([2, 3]).strides([1]).data(data);
    assert_eq!(found.map(|_| ()), Err(Error::RankMismatch { shape: 2, strides: 1 }));
}

/// No later method accepts a layout that an earlier one refused.
#[test]
fn errors_are_kept() {
    type Change = for<'a> fn(Layout<'a>) -> Layout<'a>;
    let check = |layout: Layout<'_>, len| {
        let mut slot = Slot::new();
        let bytes = DataRef::from_slice(&BYTES.0[..len]);
        slot.describe().layout(layout).data(bytes).map(|_| ())
    };
    let refusals: [(Change, Error); 6] = [
        (|it| it.refused(CLOSED), CLOSED),
        (|it| it.refused(CLOSED).refused(Error::NegativeOffset), CLOSED),
        (|it| it.offset(-1), Error::NegativeOffset),
        (|it| it.len(-1), Error::SizeOverflow),
        (|it| it.pitch(3).strides([3, 1, 1]), Error::PitchBesideStrides),
        (|it| it.strides([3, 1, 1]).pitch(3), Error::PitchBesideStrides),
    ];
    let later: [Change; 5] = [
        |it| it,
        |it| it.order(Order::ColumnMajor),
        |it| it.strides(&[3_i64, 1, 1]),
        |it| it.strides(&[3_i64, 1, 1]).order(Order::RowMajor),
        |it| it.byte_strides([3, 1, 1]).order(Order::ColumnMajor),
    ];
    for (refuse, error) in refusals {
        for (number, then) in later.iter().enumerate() {
            let found = check(then(refuse(Layout::new([2, 3, 1]))), 6);
            assert_eq!(found, Err(error), "{number}");
        }
    }
    // Entries of borrowed lists that are not in use may be anything.
    let lists = ([2, 5, u64::MAX], [5, 1, u64::MAX]);
    let lent = || Layout::new(&lists.0).strides(&lists.1);
    assert_eq!(check(Layout::new(&lists.0).rank(2), 10), Ok(()));
    assert_eq!(check(lent().rank(2), 10), Ok(()));
    assert_eq!(check(Layout::new(&lists.0), 10), Err(Error::DimTooLarge { axis: 2 }));
    let strides = Layout::new([2, 5, 1]).strides(&lists.1);
    assert_eq!(check(strides, 10), Err(Error::StrideTooLarge { axis: 2 }));
    assert_eq!(check(Layout::new(lists.0), 10), Err(Error::DimTooLarge { axis: 2 }));
    let computed = Layout::new(lists.0).strides(lists.1.to_vec());
    assert_eq!(check(computed.rank(2), 10), Ok(()));
    let computed = Layout::new(lists.0).strides(lists.1.to_vec()).rank(3);
    assert_eq!(check(computed, 10), Err(Error::DimTooLarge { axis: 2 }));
    let computed = Layout::new([2, 5, 1]).strides(lists.1.to_vec());
    assert_eq!(check(computed, 10), Err(Error::StrideTooLarge { axis: 2 }));
    let beyond = Error::RankBeyondCapacity { ndim: 4, capacity: 3 };
    assert_eq!(check(lent().rank(4), 10), Err(beyond));
    let beyond = Error::RankBeyondCapacity { ndim: -1, capacity: 3 };
    assert_eq!(check(lent().rank(-1), 10), Err(beyond));
    // Of a list with a number that does not fit, those before it are left.
    let beyond = Error::RankBeyondCapacity { ndim: -1, capacity: 2 };
    assert_eq!(check(Layout::new(lists.0).rank(-1), 10), Err(beyond));
}

/// Without rows, or without elements, nothing has that distance.
#[test]
fn a_pitch_of_no_bytes_is_too_small_for_rows_only() {
    let check = |shape: &[i64]| {
        let mut slot = Slot::new();
        let layout = slot.describe().shape(shape.to_vec()).byte_pitch(0).spare_capacity();
        layout.data(DataRef::from_slice(&BYTES.0)).map(|_| ())
    };
    assert_eq!(check(&[]), Ok(()));
    assert_eq!(check(&[0, 3]), Ok(()));
    assert_eq!(check(&[2, 3]), Err(Error::BytePitchTooSmall { bytes: 0, row: 3 }));
}

/// `None` as the strides is a layout without strides.
#[test]
fn strides_may_be_absent() {
    let strides = |strides: Option<&[i64]>| {
        let layout = Layout::new([2, 3]).strides(strides);
        let mut slot = Slot::new();
        let found = slot.describe().layout(layout).data(DataRef::from_slice(&BYTES.0[..6]));
        found.map(|it| it.strides().to_vec())
    };
    assert_eq!(strides(None), Ok([3, 1].to_vec()));
    assert_eq!(strides(Some(&[1, 2])), Ok([1, 2].to_vec()));
}

/// Borrowed lists equal the lists in the slot: a borrowed `DLTensor` points to them instead
/// of the slot.
#[test]
fn stored_lists_are_the_lists_of_the_slot() {
    static SHAPE: [i64; 3] = [2, 3, 9];
    static STRIDES: [i64; 3] = [3, 1, 9];
    static NARROW: [i32; 2] = [3, 1];
    /// Returns which lists are borrowed, after the comparison.
    fn stored(
        describe: for<'a> fn(Layout<'a, Describe<'a>>) -> Layout<'a, Describe<'a>>,
    ) -> [bool; 2] {
        let mut slot = Slot::new();
        let layout = describe(slot.describe().shape(&SHAPE).rank(2)).spare_capacity();
        let description = layout.data(DataRef::from_slice(&BYTES.0)).unwrap();
        let lists = [description.shape(), description.strides()];
        let stored = description.checked().facts.stored();
        for (stored, list) in stored.into_iter().zip(lists) {
            if !stored.is_null() {
                // SAFETY: `stored` points to one of the statics above, which are at least
                // as long.
                assert_eq!(unsafe { core::slice::from_raw_parts(stored, list.len()) }, list);
            }
        }
        stored.map(|stored| !stored.is_null())
    }
    assert_eq!(stored(|it| it), [true, false]);
    assert_eq!(stored(|it| it.strides(&STRIDES)), [true, true]);
    assert_eq!(stored(|it| it.strides(&NARROW)), [true, false]);
    assert_eq!(stored(|it| it.strides([1, 2]).strides(&STRIDES)), [true, true]);
    assert_eq!(stored(|it| it.strides(&STRIDES).strides([1, 2])), [true, false]);
    assert_eq!(stored(|it| it.strides(&STRIDES).byte_strides(&STRIDES)), [true, false]);
    assert_eq!(stored(|it| it.strides(&STRIDES).order(Order::RowMajor)), [true, false]);
    assert_eq!(stored(|it| it.strides(&STRIDES).order(Order::ColumnMajor)), [true, false]);
    assert_eq!(stored(|it| it.strides(None::<&[i64; 3]>)), [true, false]);
    // Lists that need not outlive the call are not referred to.
    let mut slot = Slot::new();
    let layout = Layout::new(&SHAPE).rank(2).spare_capacity();
    let description = slot.describe().copied(layout, DataRef::from_slice(&BYTES.0)).unwrap();
    assert!(description.checked().facts.stored()[0].is_null());
}

/// Strides can reach fewer elements than the contiguous tensor that replaces them.
#[test]
fn an_order_after_strides_reaches_a_contiguous_tensor() {
    let check = |len, order| {
        let mut slot = Slot::new();
        let ordered = slot.describe().shape(&[2_i64, 3]).strides(&[1_i64, 1]).order(order);
        ordered.data(DataRef::from_slice(&BYTES.0[..len])).map(|_| ())
    };
    for order in [Order::RowMajor, Order::ColumnMajor] {
        assert_eq!(check(6, order), Ok(()));
        assert!(matches!(check(5, order), Err(Error::OutOfBounds { .. })), "{order:?}");
    }
}

/// A slot that is reused has the last description, and frees every list.
#[test]
fn slots_are_used_again() {
    let bytes = [0_u8; 1];
    let mut slot = Slot::new();
    for ndim in [1, 9, 2, 9, 64, 0, 33] {
        let shape = alloc::vec![1_u8; ndim];
        let description: Description<'_> =
            slot.describe().shape(&shape).data(DataRef::from_slice(&bytes)).unwrap();
        assert_eq!(description.shape(), alloc::vec![1; ndim]);
        assert_eq!(description.strides(), alloc::vec![1; ndim]);
    }
    let too_many = slot.describe().shape(&[1_u8; 65]).data(DataRef::from_slice(&bytes));
    assert_eq!(too_many.map(|_| ()), Err(Error::TooManyDims { ndim: 65 }));
    // A description that is not finished leaks nothing.
    let _ = slot.describe().shape(&[1_u8; 40]);
}

/// `contiguous` agrees with the arithmetic of `strides`.
#[test]
fn walks_agree_with_the_arithmetic_of_layouts() {
    use crate::strides::{numel, row_major_strides};
    let (mut random, mut walked) = (Random(7), 0);
    for _ in 0..if cfg!(miri) { 100 } else { 100_000 } {
        let shape = Case::new(&mut random).shape;
        let mut found = alloc::vec![0; shape.len()];
        let axes = shape.iter().zip(&mut found).rev();
        let axes = axes.map(|(&dim, stride)| (Some(dim), stride));
        if let Some(found_numel) = contiguous(1, axes, |to, _, stride| *to = stride) {
            let mut expected = alloc::vec![0; shape.len()];
            row_major_strides(&shape, &mut expected);
            assert_eq!((found, found_numel), (expected, numel(&shape).unwrap()), "{shape:?}");
            walked += 1;
        }
    }
    // So the condition above was not idle.
    assert!(walked > 30, "{walked}");
}
