//! Arithmetic on shapes and strides, against numbers of 128 bits, and layouts over
//! real memory: what is accepted lies inside of it.
#![no_main]

use std::collections::HashSet;

use arbitrary::Arbitrary;
use dlpack_fuzz::judge;
use dlpack_fuzz::number::{Bytes, Number, Type};
use dlpack_fuzz::reading::positions;
use dlpack_traits::strides::{
    Extent, column_major_strides, extent, is_column_major, is_row_major, may_overlap, numel,
    row_major_strides,
};
use dlpack_traits::{DataRef, DataType, Error, Layout, Order, TensorView};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    shape: Vec<Number>,
    strides: Vec<Number>,
    base: Base,
    steps: Vec<Step>,
    len: u8,
    floats: bool,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Base {
    RowMajor,
    ColumnMajor,
    Ordered(bool),
    Strided,
    ByteStrided,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Step {
    Rank(Number),
    Pitch(Number),
    BytePitch(Number),
    ByteOffset(Bytes),
    Offset(Number),
    ByteLen(Bytes),
    Len(Number),
    DType(Type),
    Padded,
    SpareCapacity,
}

fn numbers(numbers: &[Number]) -> Vec<i64> {
    numbers.iter().copied().take(66).map(i64::from).collect()
}

fn arithmetic(shape: &[i64], strides: &[i64]) {
    assert_eq!(numel(shape).ok(), judge::numel(shape));
    let found = extent(shape, strides);
    match judge::numel(shape) {
        None => assert!(found.is_err()),
        Some(_) if shape.len() != strides.len() => {
            assert!(matches!(found, Err(Error::RankMismatch { .. })));
        }
        Some(0) => assert_eq!(found, Ok(None)),
        Some(_) => {
            let expected = judge::extent(shape, strides).map(|(low, high)| Extent { low, high });
            assert_eq!(found.ok(), expected.map(Some));
        }
    }
    let mut written = vec![77; shape.len()];
    row_major_strides(shape, &mut written);
    let sane = judge::numel(shape).is_some_and(|numel| numel > 0);
    if sane {
        assert_eq!(written, judge::row_major(shape));
        assert!(is_row_major(shape, &written) && !may_overlap(shape, &written));
    }
    column_major_strides(shape, &mut written);
    if sane {
        assert!(is_column_major(shape, &written) && !may_overlap(shape, &written));
    }
    if shape.len() != strides.len() || !sane {
        return;
    }
    let overlaps = may_overlap(shape, strides);
    let few = judge::numel(shape).is_some_and(|numel| numel <= 2000);
    if few && judge::extent(shape, strides).is_some() {
        let all = positions(shape, strides);
        let distinct: HashSet<i64> = all.iter().copied().collect();
        // One direction only: exotic layouts may be called overlapping.
        assert!(overlaps || distinct.len() == all.len(), "two elements at one place");
        let compact = all.iter().enumerate().all(|(n, &place)| n as i64 == place);
        assert_eq!(is_row_major(shape, strides), compact);
    }
}

fn described<'a>(input: &Input, shape: &'a [i64], strides: &'a [i64]) -> Layout<'a> {
    let shape = Layout::new(shape);
    let mut layout = match input.base {
        Base::RowMajor => shape,
        Base::ColumnMajor => shape.order(Order::ColumnMajor),
        Base::Ordered(columns) => {
            shape.order(if columns { Order::ColumnMajor } else { Order::RowMajor })
        }
        Base::Strided => shape.strides(strides),
        Base::ByteStrided => shape.byte_strides(strides),
    };
    for &step in input.steps.iter().take(6) {
        layout = match step {
            Step::Rank(n) => layout.rank(i64::from(n)),
            Step::Pitch(n) => layout.pitch(i64::from(n)),
            Step::BytePitch(n) => layout.byte_pitch(i64::from(n)),
            Step::ByteOffset(n) => layout.byte_offset(u64::from(n)),
            Step::Offset(n) => layout.offset(i64::from(n)),
            Step::ByteLen(n) => layout.byte_len(u64::from(n)),
            Step::Len(n) => layout.len(i64::from(n)),
            Step::DType(dtype) => layout.dtype(DataType::from(dtype)),
            Step::Padded => layout.padded(),
            Step::SpareCapacity => layout.spare_capacity(),
        };
    }
    layout
}

/// Whether nothing but the shape states which part of the memory is used.
fn fills_memory(input: &Input) -> bool {
    let strided = matches!(input.base, Base::Strided | Base::ByteStrided);
    let exact = |step: &Step| matches!(step, Step::Rank(_) | Step::DType(_) | Step::Padded);
    !strided && input.steps.iter().take(6).all(exact)
}

/// The bytes of all elements, without gaps.
fn used(view: &TensorView<'_>, padded: bool) -> i128 {
    let bits = i128::from(view.dtype().element_bits());
    let bits = if padded { (bits + 7) / 8 * 8 } else { bits };
    (i128::from(view.numel()) * bits + 7) / 8
}

/// Whatever a layout says: a view of memory is a view of that memory.
fn inside(view: &TensorView<'_>, start: *const u8, len: usize, padded: bool) {
    let (shape, strides) = (view.shape(), view.strides());
    assert_eq!(shape.len(), strides.len());
    assert_eq!(Some(view.numel()), judge::numel(shape));
    assert!(judge::is_known(view.dtype()));
    if view.numel() == 0 {
        return;
    }
    let (low, high) = judge::extent(shape, strides).expect("it was accepted");
    let bits = i128::from(view.dtype().element_bits());
    let bits = if padded { (bits + 7) / 8 * 8 } else { bits };
    let first = (view.data_ptr().addr() as i128 - start.addr() as i128) * 8;
    assert!(first + i128::from(low) * bits >= 0, "before the memory");
    assert!(first + (i128::from(high) + 1) * bits <= len as i128 * 8, "behind the memory");
}

fuzz_target!(|input: Input| {
    let (shape, strides) = (numbers(&input.shape), numbers(&input.strides));
    arithmetic(&shape, &strides);
    let layout = described(&input, &shape, &strides);
    let padded = input.steps.iter().take(6).any(|step| matches!(step, Step::Padded));
    let len = usize::from(input.len);
    let (bytes, floats) = (vec![0_u8; len], vec![0_f32; len]);
    let (data, start, len) = if input.floats {
        (DataRef::from_slice(&floats), floats.as_ptr().cast(), len * 4)
    } else {
        (DataRef::from_slice(&bytes), bytes.as_ptr(), len)
    };
    match TensorView::new(data, layout) {
        Ok(view) => {
            inside(&view, start, len, padded);
            assert!(!fills_memory(&input) || used(&view, padded) == len as i128, "a part");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
