//! The fast path compared with the slow path, over random layouts.

use alloc::vec::Vec;

use super::check::{self, Checked};
use super::layout::Layout;
use super::order::Order;
use super::packed::Packed;
use super::shaped::Shaped;
use super::slot::Slot;
use super::walk::{ElementRange, contiguous};
use super::{Describe, Description};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::flags::Flags;
use crate::storage::{DataRef, Memory};
use crate::version::Version;

/// Pseudo-random numbers (xorshift), the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap()
    }

    /// A small number, rarely one at an edge of the arithmetic.
    fn number(&mut self, below: u64) -> i64 {
        const EDGES: [i64; 8] =
            [-1, 0, i64::MAX, i64::MIN, i64::MAX / 8, 1 << 32, -(1 << 32), i64::MAX / 4 + 1];
        if self.once_in(60) { self.of(&EDGES) } else { i64::try_from(self.below(below)).unwrap() }
    }
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Elements,
    Bytes,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Ordered(Order),
    Strided(Unit),
}

/// The attributes of a layout that a type may set.
#[derive(Clone, Debug)]
struct Case {
    shape: Vec<i64>,
    strides: Vec<i64>,
    how: How,
    pitch: Option<(i64, Unit)>,
    rank: Option<i64>,
    offset: Option<(i64, Unit)>,
    len: Option<(i64, Unit)>,
    dtype: Option<DataType>,
    device: Option<Device>,
    padded: bool,
}

const DTYPES: [DataType; 9] = [
    DataType::U8,
    DataType::F32,
    DataType::F64,
    DataType::COMPLEX128,
    DataType::BOOL,
    DataType::FLOAT4_E2M1FN,
    DataType::F32.with_lanes(3),
    DataType::I8.with_lanes(3),
    DataType::new(crate::ffi::kDLOpaqueHandle, 64, 1),
];

impl Case {
    fn new(random: &mut Random) -> Self {
        const UNITS: [Unit; 2] = [Unit::Elements, Unit::Bytes];
        let few = random.below(6);
        let ndim = if random.once_in(20) { 7 + random.below(5) } else { few };
        let many = ndim > 6;
        let shape = (0..ndim).map(|_| random.number(if many { 3 } else { 6 })).collect();
        let strides = (0..ndim)
            .map(|_| random.number(14).wrapping_sub(i64::try_from(random.below(5)).unwrap()))
            .collect();
        let how = match random.below(8) {
            0..3 => How::Ordered(Order::RowMajor),
            3 => How::Ordered(Order::ColumnMajor),
            4..7 => How::Strided(Unit::Elements),
            _ => How::Strided(Unit::Bytes),
        };
        let mut amount = |one_in, below| {
            random.once_in(one_in).then(|| (random.number(below), random.of(&UNITS)))
        };
        let (pitch, offset, len) = (amount(6, 20), amount(2, 70), amount(5, 200));
        Self {
            shape,
            strides,
            how,
            pitch,
            rank: random.once_in(12).then(|| random.number(6)),
            offset,
            len,
            dtype: random.once_in(2).then(|| random.of(&DTYPES)),
            device: random.once_in(9).then(|| random.of(&[Device::CPU, Device::cuda(0)])),
            padded: random.once_in(12),
        }
    }

    fn layout(&self) -> Result<Layout<'_>, Error> {
        let mut it = match self.how {
            How::Ordered(order) => Layout::ordered(&self.shape, order)?,
            How::Strided(Unit::Elements) => Layout::strided(&self.shape, &self.strides)?,
            How::Strided(Unit::Bytes) => Layout::byte_strided(&self.shape, &self.strides)?,
        };
        if let Some(rank) = self.rank {
            it = it.rank(rank)?;
        }
        it = match self.pitch {
            None => it,
            Some((pitch, Unit::Elements)) => it.pitch(pitch)?,
            Some((pitch, Unit::Bytes)) => it.byte_pitch(pitch)?,
        };
        it = match self.offset {
            None => it,
            Some((offset, Unit::Elements)) => it.offset(offset)?,
            Some((offset, Unit::Bytes)) => it.byte_offset(offset)?,
        };
        it = match self.len {
            None => it,
            Some((len, Unit::Elements)) => it.len(len)?,
            Some((len, Unit::Bytes)) => it.byte_len(len)?,
        };
        if let Some(dtype) = self.dtype {
            it = it.dtype(dtype);
        }
        if let Some(device) = self.device {
            it = it.device(device);
        }
        Ok(if self.padded { it.padded() } else { it })
    }

    fn describe<'a>(&self, out: Describe<'a>) -> Shaped<'a> {
        let mut it = self.describe_steps(out.shape_from(&self.shape));
        if let Some(rank) = self.rank {
            it = it.rank(rank);
        }
        self.describe_rest(it)
    }

    /// The same with the rank beside the shape, if there is one.
    fn describe_of_rank<'a>(&'a self, out: Describe<'a>) -> Shaped<'a> {
        let rank = self.rank.unwrap_or(i64::try_from(self.shape.len()).unwrap());
        self.describe_rest(self.describe_steps(out.shape_of_rank(&self.shape, rank)))
    }

    /// The same with one pass over shape and strides, if there are strides in elements.
    fn describe_in_one_pass<'a>(&'a self, out: Describe<'a>) -> Shaped<'a> {
        let mut it = match self.how {
            How::Strided(Unit::Elements) => out.shape_and_strides(&self.shape, &self.strides),
            _ => return self.describe(out),
        };
        if let Some(rank) = self.rank {
            it = it.rank(rank);
        }
        self.describe_rest(it)
    }

    fn describe_steps<'a>(&self, it: Shaped<'a>) -> Shaped<'a> {
        match self.how {
            How::Ordered(Order::RowMajor) => it,
            How::Ordered(order) => it.order(order),
            How::Strided(Unit::Elements) => it.strides_from(&self.strides),
            How::Strided(Unit::Bytes) => it.byte_strides(&self.strides),
        }
    }

    fn describe_rest<'a>(&self, mut it: Shaped<'a>) -> Shaped<'a> {
        it = match self.pitch {
            None => it,
            Some((pitch, Unit::Elements)) => it.pitch(pitch),
            Some((pitch, Unit::Bytes)) => it.byte_pitch(pitch),
        };
        it = match self.offset {
            None => it,
            Some((offset, Unit::Elements)) => it.offset(offset),
            Some((offset, Unit::Bytes)) => it.byte_offset(offset),
        };
        it = match self.len {
            None => it,
            Some((len, Unit::Elements)) => it.len(len),
            Some((len, Unit::Bytes)) => it.byte_len(len),
        };
        if let Some(dtype) = self.dtype {
            it = it.dtype(dtype);
        }
        if let Some(device) = self.device {
            it = it.device(device);
        }
        if self.padded { it.padded() } else { it }
    }
}

/// All data that a consumer receives about a tensor, and its place in its storage.
#[derive(Debug, PartialEq)]
struct Output {
    shape: Vec<i64>,
    strides: Vec<i64>,
    dtype: DataType,
    data: (usize, u64),
    span: (u64, usize),
    flags: Flags,
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
            version: checked.facts.version(),
        }
    }
}

/// Runs only the slow path.
fn slow(shaped: Shaped<'_>, memory: &Memory) -> Result<Output, Error> {
    let place = check::check_slow(Packed::new(&shaped), memory)?;
    // SAFETY: 1. `check_slow` returned `place`.
    Ok(Output::of(&unsafe { shaped.finish(memory, &place) }))
}

/// Runs only the fast path; `None` if it leaves the tensor to the slow path.
fn fast(mut shaped: Shaped<'_>, memory: &Memory) -> Option<Output> {
    let place = shaped.check_fast(memory)?;
    // SAFETY: 1. `check_fast` returned `place`.
    Some(Output::of(&unsafe { shaped.finish(memory, &place) }))
}

#[repr(align(16))]
struct Aligned([u8; 1024]);

static BYTES: Aligned = Aligned([0; 1024]);
static CLOSED: Error = Error::Custom("closed");

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
    match random.below(12) {
        0..4 => DataRef::from_slice(bytes),
        4 => parts(double, Device::CPU),
        5 => parts(single, Device::CPU),
        6 => parts(complex, Device::cuda(0)),
        7 => parts(random.of(&[boolean, narrow, lanes, handle]), Device::CPU),
        8 => parts(single, Device::new(crate::ffi::kDLVulkan, 0)),
        9 => parts(DataType::U8, Device::CPU).with_axes(&[3]),
        10 => parts(DataType::U8, Device::CPU).with_axes(&[2, 2]),
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
            }
            (Some(_), Err(error)) => panic!("{error}: {case:?} in {data:?}"),
            (None, Ok(_)) => accepted += 1,
            (None, Err(_)) => refused += 1,
        }
        let once = fast(case.describe_in_one_pass(Slot::new().describe()), data.memory_ref());
        assert_eq!(once, found, "{case:?} in {data:?}");
        let once = slow(case.describe_in_one_pass(Slot::new().describe()), data.memory_ref());
        assert_eq!(once, expected, "{case:?} in {data:?}");
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
        let found = shaped.data(DataRef::from_slice(&BYTES.0)).map(|_| ());
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
        let shaped = describe(slot.describe().shape(&SHAPE).rank(2));
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
    let bytes = [0_u8; 512];
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
    use crate::strides::{extent, numel, row_major_strides};
    let mut random = Random(7);
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
    }
}
