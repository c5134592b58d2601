//! Exports of the shapes that users have, each beside its lower bound.

use core::hint::black_box;
use std::sync::Arc;

use dlpack_traits::{DLPackExport, DataType, Slot};

use super::floor::{self, Floor};
use super::odd::{
    ByteStrided, Capacity, Columns, Empty, Image, Packed, Padded, Pitched, Pixels, Rgb, Unround,
    Window,
};
use super::types::{Buffer, Bytes, Contiguous, General, Offset, Strided};
use super::{TIMES, again, delete, each, exported, raw};

fn data() -> Arc<[f32]> {
    vec![1.0; 256].into()
}

fn general() -> General {
    let (bytes, strides) = (vec![0; 1024].into(), vec![16, 1]);
    let data = if black_box(true) { Buffer::F32(data()) } else { Buffer::U8(bytes) };
    General { data, shape: vec![8, 16], strides, offset: 16 }
}

fn offset() -> Offset {
    Offset { data: data(), shape: vec![8, 16], strides: vec![16, 1], offset: 16 }
}

fn strided() -> Strided {
    Strided { data: data(), shape: vec![16, 16], strides: vec![16, 1] }
}

fn transposed() -> Strided {
    Strided { strides: vec![1, 16], ..strided() }
}

fn bytes() -> Bytes {
    Bytes { data: vec![0; 1024].into(), shape: vec![16, 16], dtype: black_box(DataType::F32) }
}

fn contiguous() -> Contiguous {
    Contiguous { data: data(), shape: [16, 16] }
}

fn empty() -> Empty {
    Empty { data: data(), shape: [0, 16] }
}

fn pitched() -> Pitched {
    Pitched { data: data(), shape: [8, 16], pitch: 32 }
}

fn image() -> Image {
    Image { data: vec![0; 1024].into(), shape: [8, 16, 3], pitch: 64 }
}

fn columns() -> Columns {
    Columns { data: data(), shape: [16, 16] }
}

fn byte_strided() -> ByteStrided {
    ByteStrided { data: data(), shape: vec![16, 16], strides: vec![64, 4] }
}

fn window() -> Window {
    Window { data: data(), shape: [8, 16], offset: 16, len: 128 }
}

fn capacity() -> Capacity {
    Capacity { data: data(), shape: [16, 16, 0, 0, 0, 0], ndim: black_box(2) }
}

fn pixels() -> Pixels {
    Pixels { data: vec![Rgb([0.0; 3]); 256].into(), shape: [16, 16] }
}

fn packed() -> Packed {
    Packed { data: vec![0; 128].into(), shape: [16, 16] }
}

fn padded() -> Padded {
    Padded { data: vec![0; 256].into(), shape: [16, 16] }
}

fn unround() -> Unround {
    Unround { data: vec![0; 1024].into(), shape: [4, 8], offset: 8 }
}

fn by_value<T>(value: T, export: impl Fn(T) -> *mut dlpack_traits::ffi::DLManagedTensorVersioned)
where
    T: Clone,
{
    each((0..TIMES).map(|_| value.clone()), |value| delete(export(value)));
}

fn view<T: DLPackExport>(value: &T) {
    again(|()| {
        let mut slot = Slot::new();
        black_box(value.describe(slot.describe()).expect("a tensor").dl_tensor());
    });
}

fn floor_of_view<T: Floor>(value: &T) {
    again(|()| {
        let mut lists = floor::Lists::new();
        black_box(&floor::view(value, &mut lists));
    });
}

/// The rows of each shape: by value, shared, and as a borrowed view.
macro_rules! rows {
    ($($name:literal: $value:ident),+ $(,)?) => {[$(
        (concat!($name, ", by value"), || by_value($value(), exported)),
        (concat!("floor: ", $name, ", by value"), || {
            by_value($value(), |value| black_box(floor::by_value(value)));
        }),
        (concat!($name, ", shared"), || {
            let value = $value();
            again(|()| delete(raw(value.to_dlpack())));
        }),
        (concat!("floor: ", $name, ", shared"), || {
            let value = $value();
            again(|()| delete(black_box(floor::shared(&value))));
        }),
        (concat!($name, ", borrowed view"), || view(&$value())),
        (concat!("floor: ", $name, ", borrowed view"), || floor_of_view(&$value())),
    )+]};
}

pub(crate) const ROWS: [(&str, fn()); 36] = rows! {
    "enum of buffers, strides and offset": general,
    "strides and offset": offset,
    "strides": strided,
    "strides, transposed": transposed,
    "bytes with a run-time dtype": bytes,
    "Arc with a fixed rank": contiguous,
};

/// One row for each less common shape.
macro_rules! shared {
    ($($name:literal: $value:ident),+ $(,)?) => {[$(
        (concat!($name, ", shared"), || {
            let value = $value();
            again(|()| delete(raw(value.to_dlpack())));
        }),
        (concat!("floor: ", $name, ", shared"), || {
            let value = $value();
            again(|()| delete(black_box(floor::shared(&value))));
        }),
    )+]};
}

pub(crate) const ODD: [(&str, fn()); 22] = shared! {
    "pitch": pitched,
    "pitch in bytes": image,
    "column-major": columns,
    "strides in bytes": byte_strided,
    "window": window,
    "shape in a fixed capacity": capacity,
    "elements that are arrays": pixels,
    "packed elements of 4 bits": packed,
    "padded elements of 4 bits": padded,
    "16-byte elements at 8 bytes": unround,
    "no elements": empty,
};
