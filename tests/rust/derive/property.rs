//! Random values in every role that is decided at run time: the addresses of
//! the exported elements are those of a naive reference.

use std::sync::Arc;

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use dlpack_tests::random::Random;
use tensors::{DLPackExport, Order};

const CAPACITY: usize = 4;
const LEN: usize = 4096;

macro_rules! tensors {
    ($($name:ident: $unit:ident, $offset:ident;)+) => {$(
        #[derive(DLPackExport)]
        #[dlpack(crate = ::tensors)]
        struct $name {
            data: Arc<[u32]>,
            shape: [i64; CAPACITY],
            #[dlpack(strides($unit))]
            strides: [i64; CAPACITY],
            #[dlpack(offset($offset))]
            start: i64,
            #[dlpack(ndim)]
            rank: u8,
        }
    )+};
}

tensors! {
    ElementsElements: elements, elements;
    ElementsBytes: elements, bytes;
    BytesElements: bytes, elements;
    BytesBytes: bytes, bytes;
}

macro_rules! compact {
    ($($name:ident: $pitch:ident, $offset:ident;)+) => {$(
        #[derive(DLPackExport)]
        #[dlpack(crate = ::tensors)]
        struct $name {
            data: Arc<[u32]>,
            shape: [u16; CAPACITY],
            #[dlpack(order)]
            order: Order,
            #[dlpack(pitch($pitch))]
            pitch: i64,
            #[dlpack(offset($offset))]
            start: u64,
            #[dlpack(ndim)]
            rank: i32,
        }
    )+};
}

compact! {
    PitchElements: elements, bytes;
    PitchBytes: bytes, elements;
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(a, 2, b, ONE))]
struct Listed {
    data: Arc<[u32]>,
    a: u8,
    b: i128,
    #[dlpack(order)]
    order: Order,
}

const ONE: usize = 1;

/// Every index, the last axis the fastest.
fn indices(shape: &[i64]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for &dim in shape {
        let longer = |index: &Vec<i64>| {
            let index = index.clone();
            (0..dim).map(move |last| [&index[..], &[last]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Returns the elements at the positions of the reference.
fn expected(shape: &[i64], start: i64, position: impl Fn(&[i64]) -> i64) -> Vec<u32> {
    let at = |index: Vec<i64>| u32::try_from(start + position(&index)).expect("inside");
    indices(shape).into_iter().map(at).collect()
}

/// Returns the position of an element of a tensor that is contiguous except for the pitch
/// of its slowest axis, by counting the elements before it.
fn compact_position(shape: &[i64], index: &[i64], order: Order, pitch: i64) -> i64 {
    let slowest = match order {
        Order::RowMajor => 0,
        Order::ColumnMajor => shape.len() - 1,
    };
    let inside = (0..shape.len()).filter(|&axis| axis != slowest);
    let axes: Vec<usize> = match order {
        Order::RowMajor => inside.collect(),
        Order::ColumnMajor => inside.rev().collect(),
    };
    let row = axes.iter().fold(0, |position, &axis| position * shape[axis] + index[axis]);
    index[slowest] * pitch + row
}

fn padded<T: Copy, const N: usize>(values: &[i64], rest: T, to: impl Fn(i64) -> T) -> [T; N] {
    let mut array = [rest; N];
    array.iter_mut().zip(values).for_each(|(entry, &value)| *entry = to(value));
    array
}

fn check(tensor: impl DLPackExport + Send + 'static, shape: &[i64], expected: &[u32]) {
    let foreign = ImportedStorage::from(tensor.into_dlpack().expect("it is inside of its memory"));
    assert_eq!(foreign.shape(), shape);
    assert_eq!(foreign.elements::<u32>(), expected);
    foreign.delete(Farewell::Plain);
}

const CASES: u64 = if cfg!(miri) { 20 } else { 2000 };

fn shape(random: &mut Random, least: usize) -> Vec<i64> {
    let rank = least + random.below(CAPACITY + 1 - least);
    (0..rank).map(|_| random.within(0..=4)).collect()
}

#[test]
fn strides_and_offsets_in_any_unit() {
    let data: Arc<[u32]> = (0..).take(LEN).collect();
    for seed in 0..CASES {
        let random = &mut Random::new(seed);
        let shape = shape(random, 0);
        let strides: Vec<i64> = shape.iter().map(|_| random.within(-40..=40)).collect();
        let start = random.within(1000..=2000);
        let expected = expected(&shape, start, |index| {
            index.iter().zip(&strides).map(|(index, stride)| index * stride).sum()
        });
        let rank = u8::try_from(shape.len()).expect("small");
        let unused = random.within(i64::MIN..=i64::MAX);
        let (data, dims) = (data.clone(), padded(&shape, unused, |dim| dim));
        macro_rules! check {
            ($name:ident, $stride:literal, $offset:literal) => {{
                let strides = padded(&strides, unused, |stride| stride * $stride);
                let start = start * $offset;
                check($name { data, shape: dims, strides, start, rank }, &shape, &expected);
            }};
        }
        match random.below(4) {
            0 => check!(ElementsElements, 1, 1),
            1 => check!(ElementsBytes, 1, 4),
            2 => check!(BytesElements, 4, 1),
            _ => check!(BytesBytes, 4, 4),
        }
    }
}

#[test]
fn orders_and_pitches_in_any_unit() {
    let data: Arc<[u32]> = (0..).take(LEN).collect();
    for seed in 0..CASES {
        let random = &mut Random::new(seed);
        let shape = shape(random, 1);
        let order = random.pick(&[Order::RowMajor, Order::ColumnMajor]);
        let row = match order {
            Order::RowMajor => &shape[1..],
            Order::ColumnMajor => &shape[..shape.len() - 1],
        };
        let row: i64 = row.iter().map(|dim| dim.max(&1)).product();
        let pitch = row + random.within(0..=9);
        let start = random.within(0..=2000);
        let expected =
            expected(&shape, start, |index| compact_position(&shape, index, order, pitch));
        let rank = i32::try_from(shape.len()).expect("small");
        let dims = padded(&shape, u16::MAX, |dim| u16::try_from(dim).expect("small"));
        let (data, start) = (data.clone(), u64::try_from(start).expect("positive"));
        if random.one_in(2) {
            let start = start * 4;
            let tensor = PitchElements { data, shape: dims, order, pitch, start, rank };
            check(tensor, &shape, &expected);
        } else {
            let pitch = pitch * 4;
            let tensor = PitchBytes { data, shape: dims, order, pitch, start, rank };
            check(tensor, &shape, &expected);
        }
    }
}

#[test]
fn listed_dimensions_in_any_order() {
    for seed in 0..CASES {
        let random = &mut Random::new(seed);
        let (a, b) = (random.within(0..=9), random.within(0..=9));
        let order = random.pick(&[Order::RowMajor, Order::ColumnMajor]);
        let shape = [a, 2, b, 1];
        let row = match order {
            Order::RowMajor => 2 * b,
            Order::ColumnMajor => a * 2 * b,
        };
        let expected = expected(&shape, 0, |index| compact_position(&shape, index, order, row));
        let numel = usize::try_from(a * 2 * b).expect("small");
        let (data, a) = ((0..).take(numel).collect(), u8::try_from(a).expect("small"));
        check(Listed { data, a, b: b.into(), order }, &shape, &expected);
    }
}
