//! The fast path compared with the slow path, over random layouts.

extern crate std;

mod case;

use alloc::vec::Vec;
use std::sync::OnceLock;

use case::{Case, DTYPES, Random};

use super::Description;
use super::check::{self, Checked};
use super::order::Order;
use super::packed::Packed;
use super::shaped::Shaped;
use super::slot::Slot;
use super::walk::{ElementRange, contiguous, strided};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::flags::Flags;
use crate::storage::{Access, DataRef, Memory, SharedBuffer, Storage};
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

/// Runs only the slow path.
fn slow(shaped: Shaped<'_>, memory: &Memory) -> Result<Output, Error> {
    let ndim = shaped.ndim_in(memory);
    let place = check::check_slow(Packed::new(&shaped), memory)?;
    // SAFETY: 1. `check_slow` returned `place`, and `ndim_in` returned `ndim`.
    Ok(Output::of(&unsafe { shaped.finish(ndim, memory, &place) }))
}

/// Runs only the fast path; `None` if it leaves the tensor to the slow path.
fn fast(mut shaped: Shaped<'_>, memory: &Memory) -> Option<Output> {
    let ndim = shaped.ndim_in(memory);
    let place = shaped.check_fast(memory)?;
    // SAFETY: 1. `check_fast` returned `place`, and `ndim_in` returned `ndim`.
    Some(Output::of(&unsafe { shaped.finish(ndim, memory, &place) }))
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
    let [_, single, double, complex, boolean, narrow, _, lanes, handle] = DTYPES;
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
/// result for a tensor that it accepts. A `Layout`, and one pass over shape and strides, yield the
/// same description.
#[test]
fn the_fast_path_agrees_with_the_slow_path() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let rounds = if cfg!(miri) { 150 } else { 300_000 };
    let (mut inline, mut accepted, mut refused) = (0, 0, 0);
    let (mut writable, mut overlapping) = (0, 0);
    for _ in 0..rounds {
        let case = Case::new(&mut random);
        let data = memory(&mut random);
        let describe =
            |slot: &mut Slot, check: fn(Shaped<'_>, &Memory) -> Result<Output, Error>| {
                check(case.describe(slot.describe()), data.memory_ref())
            };
        let expected = describe(&mut Slot::new(), slow);
        let found = fast(case.describe(Slot::new().describe()), data.memory_ref());
        match (&found, &expected) {
            (Some(found), Ok(expected)) => {
                assert_eq!(found, expected, "{case:?} in {data:?}");
                inline += 1;
                if found.access == Access::Shared {
                    let read_only = found.flags.contains(Flags::READ_ONLY);
                    *(if read_only { &mut overlapping } else { &mut writable }) += 1;
                }
            }
            (Some(_), Err(error)) => panic!("{error}: {case:?} in {data:?}"),
            (None, Ok(_)) => accepted += 1,
            (None, Err(_)) => refused += 1,
        }
        let once = fast(case.describe_in_one_pass(Slot::new().describe()), data.memory_ref());
        assert_eq!(once, found, "{case:?} in {data:?}");
        let once = slow(case.describe_in_one_pass(Slot::new().describe()), data.memory_ref());
        assert_eq!(once, expected, "{case:?} in {data:?}");
        let (mut first, mut second) = (Slot::new(), Slot::new());
        let once = first.describe().shape_and_strides(&case.shape, &case.strides);
        let twice = second.describe().shape(&case.shape).strides(&case.strides);
        assert_eq!(once.stored, twice.stored, "{case:?}");
        let mut slot = Slot::new();
        let both = case.describe(slot.describe()).data(data);
        assert_eq!(both.map(|it| Output::of(it.checked())), expected, "{case:?} in {data:?}");
        let mut slot = Slot::new();
        let ranked = case.describe_of_rank(slot.describe()).data(data);
        let ranked = ranked.map(|it| Output::of(it.checked()));
        // Strides of another rank than the shape may have the rank that is in use.
        if !matches!(expected, Err(Error::RankMismatch { .. })) {
            assert_eq!(ranked, expected, "{case:?} in {data:?}");
        }
        let mut slot = Slot::new();
        let layout = case.layout().and_then(|layout| slot.describe().layout(layout).data(data));
        assert_eq!(layout.map(|it| Output::of(it.checked())), expected, "{case:?} in {data:?}");
    }
    let least = rounds / 50;
    assert!(inline > least && accepted > least && refused > least, "{inline} {accepted} {refused}");
    let enough = writable > rounds / 500 && overlapping > rounds / 500;
    assert!(enough || cfg!(miri), "{writable} {overlapping}");
}

/// The error of a builder method precedes every error of the memory.
#[test]
fn strides_of_a_different_rank_are_reported_first() {
    let data = DataRef::refused(&CLOSED);
    let mut slot = Slot::new();
    let found = slot.describe().shape(&[2_i64, 3]).strides(&[1_i64]).data(data);
    assert_eq!(found.map(|_| ()), Err(Error::RankMismatch { shape: 2, strides: 1 }));
}

/// No later method of the builder accepts a description that an earlier one refused.
#[test]
fn the_first_error_is_kept() {
    type Change = for<'a> fn(Shaped<'a>) -> Shaped<'a>;
    let refusals: [(Change, Error); 5] = [
        (|it| it.refused(CLOSED), CLOSED),
        (|it| it.offset(-1), Error::NegativeOffset),
        (|it| it.len(-1), Error::SizeOverflow),
        (|it| it.pitch(u64::MAX), Error::PitchOutOfRange),
        (|it| it.strides_from(&[1_i64]), Error::RankMismatch { shape: 3, strides: 1 }),
    ];
    let later: [Change; 6] = [
        |it| it.rank(2),
        |it| it.order(Order::ColumnMajor).rank(2),
        |it| it.strides_from(&[3_i64, 1, 1]).rank(2),
        |it| it.strides_from(&[3_i64, 1, 1]).order(Order::RowMajor),
        |it| it.byte_strides(&[3_i64, 1, 1]).order(Order::ColumnMajor),
        |it| it.strides_from(&[3_i64, 1, 1]).rank(2).order(Order::RowMajor),
    ];
    for (refuse, error) in refusals {
        for (number, then) in later.iter().enumerate() {
            let mut slot = Slot::new();
            let shaped = then(refuse(slot.describe().shape_from(&[2_i64, 3, 1])));
            let found = shaped.data(DataRef::from_slice(&BYTES.0)).map(|_| ());
            assert_eq!(found, Err(error), "{number}");
        }
    }
    // Entries that are not kept may be anything, unless there is another error.
    let unfit = Err(Error::DimTooLarge { axis: 2 });
    let changes: [(Change, Result<(), Error>); 5] = [
        (|it| it.rank(2), Ok(())),
        (|it| it.rank(3), unfit),
        (|it| it.offset(-1).rank(2), unfit),
        (|it| it.strides_from(&[1_i64]).rank(2), unfit),
        (|it| it.rank(2).offset(-1).rank(1), Err(Error::NegativeOffset)),
    ];
    for (number, (change, expected)) in changes.into_iter().enumerate() {
        let mut slot = Slot::new();
        let shaped = change(slot.describe().shape_from(&[2, 5, u64::MAX]));
        let found = shaped.data(DataRef::from_slice(&BYTES.0[..10])).map(|_| ());
        assert_eq!(found, expected, "{number}");
    }
    let mut slot = Slot::new();
    let shaped = slot.describe().shape_from(&[u64::MAX, 5, u64::MAX]).rank(2);
    let found = shaped.data(DataRef::from_slice(&BYTES.0)).map(|_| ());
    assert_eq!(found, Err(Error::DimTooLarge { axis: 0 }));
}

/// Borrowed lists equal the lists in the slot: a borrowed `DLTensor` points to them instead
/// of the slot.
#[test]
fn stored_lists_are_the_lists_of_the_slot() {
    static SHAPE: [i64; 3] = [2, 3, 9];
    static STRIDES: [i64; 3] = [3, 1, 9];
    static NARROW: [i32; 2] = [3, 1];
    /// Returns which lists are borrowed, after the comparison.
    fn stored(describe: for<'a> fn(Shaped<'a>) -> Shaped<'a>) -> [bool; 2] {
        let mut slot = Slot::new();
        let shaped = describe(slot.describe().shape(&SHAPE).rank(2)).spare_capacity();
        let description = shaped.data(DataRef::from_slice(&BYTES.0)).unwrap();
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
    assert_eq!(stored(|it| it.strides_from(&[1, 2]).strides(&STRIDES)), [true, true]);
    assert_eq!(stored(|it| it.strides(&STRIDES).strides_from(&[1, 2])), [true, false]);
    assert_eq!(stored(|it| it.strides(&STRIDES).byte_strides(&[6, 2])), [true, false]);
    assert_eq!(stored(|it| it.strides(&STRIDES).order(Order::RowMajor)), [true, false]);
    assert_eq!(stored(|it| it.strides(&STRIDES).order(Order::ColumnMajor)), [true, false]);
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

/// `contiguous` and `ElementRange` agree with the arithmetic of `layout`.
#[test]
fn walks_agree_with_the_arithmetic_of_layouts() {
    use crate::strides::{extent, may_overlap, numel, row_major_strides};
    let mut random = Random(7);
    let (mut walked, mut distinct, mut overlapping) = (0, 0, 0);
    for _ in 0..if cfg!(miri) { 100 } else { 100_000 } {
        let case = Case::new(&mut random);
        let (shape, strides) = (&case.shape[..], &case.strides[..]);
        let reach = ElementRange::of(shape, strides);
        if reach != ElementRange::BEYOND {
            let extent = extent(shape, strides).unwrap().unwrap();
            let (low, high) = (extent.low.unsigned_abs(), extent.high.unsigned_abs());
            assert_eq!((reach.below(), reach.above()), (low, high + 1));
        }
        let mut found = alloc::vec![0; shape.len()];
        let axes = shape.iter().zip(&mut found).rev();
        let axes = axes.map(|(&dim, stride)| (Some(dim), stride));
        if let Some(found_numel) = contiguous(axes, |to, _, stride| *to = stride) {
            let mut expected = alloc::vec![0; shape.len()];
            row_major_strides(shape, &mut expected);
            assert_eq!((found, found_numel), (expected, numel(shape).unwrap()), "{case:?}");
        }
        let axes = shape.iter().zip(strides).rev();
        let axes = axes.map(|(&dim, &stride)| (Some(dim), Some(stride), ()));
        if let Some((reach, repeats)) = strided(axes, |(), _, _| {}) {
            if !reach.bytes_fit(repeats, 1) {
                continue;
            }
            let apart = repeats == 1;
            assert!(numel(shape).is_ok_and(|numel| numel > 0), "{case:?}");
            let extent = extent(shape, strides).unwrap().unwrap();
            let (low, high) = (extent.low.unsigned_abs(), extent.high.unsigned_abs());
            assert_eq!((reach.below(), reach.above()), (low, high + 1), "{case:?}");
            assert!(!apart || !may_overlap(shape, strides), "{case:?}");
            walked += 1;
            *(if apart { &mut distinct } else { &mut overlapping }) += 1;
        }
    }
    // So none of the conditions above was idle.
    assert!(walked > 30 && distinct > 5 && overlapping > 5, "{walked} {distinct} {overlapping}");
}
