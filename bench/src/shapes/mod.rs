//! Structs of the shapes that users have, each with the floor of its shape.
//!
//! A contiguous tensor over all of its storage is the least that a struct can describe.
//! Tensors of frameworks have strides and an offset, a storage of one of several types,
//! or an element type that is chosen at run time. Each of them has rows of its own here,
//! by value and shared, because a fast path for one shape shows nothing about another.

mod by_hand;
pub mod element;
mod erased;
pub mod floor;
mod odd;
pub mod types;

use std::hint::black_box;
use std::sync::Arc;

use dlpack_traits::ffi::DLManagedTensorVersioned;
use dlpack_traits::{DLPackExport, DataType, Slot};

use crate::contender::delete;
use crate::counting::count;
use crate::measure::{BATCH, Subject, timed};
use crate::report::{Entry, Report};
use by_hand::ByHand;
use erased::{Generic, GenericBuffer, Many, ManyBuffers};
use floor::Floor;
use odd::{
    ByteStrided, Capacity, Columns, Empty, Image, Packed, Padded, Pitched, Pixels, Rgb, Unround,
    Window,
};
use types::{Buffer, Bytes, Contiguous, General, Offset, Strided};

/// The rows of one shape: by value, shared, and as a borrowed view.
fn rows<T>(report: &mut Report, shape: &str, rounds: usize, value: T)
where
    T: DLPackExport + Floor + Clone + Send + Sync + 'static,
{
    let by_value = vec![
        owned("floor", value.clone(), floor::by_value),
        owned("dlpack-traits", value.clone(), |value| {
            value.into_dlpack().expect("a tensor").into_raw()
        }),
    ];
    report.row(&format!("export by value, {shape}"), Some(1.25), by_value, rounds);
    let shared = vec![
        again("floor", value.clone(), floor::shared),
        again("dlpack-traits", value.clone(), |value| {
            value.to_dlpack().expect("a tensor").into_raw()
        }),
    ];
    report.row(&format!("export shared, {shape}"), Some(1.25), shared, rounds);
    let views = vec![
        looked("floor", value.clone(), |value| {
            let mut lists = floor::Lists::new();
            black_box(&floor::view(value, &mut lists));
        }),
        looked("dlpack-traits", value, |value| {
            let mut slot = Slot::new();
            black_box(value.describe(slot.describe()).expect("a tensor").dl_tensor());
        }),
    ];
    report.row(&format!("borrowed view, {shape}"), Some(1.5), views, rounds);
}

/// Export of a value that is made before the clock starts, then the deleter.
fn owned<T: Clone + 'static>(
    name: &str,
    value: T,
    export: impl Fn(T) -> *mut DLManagedTensorVersioned + 'static,
) -> Entry {
    let one = value.clone();
    let allocations = count(|| {
        // SAFETY: just exported.
        unsafe { delete(black_box(export(one))) };
    });
    let batch = move || {
        let values = vec![value.clone(); BATCH];
        timed(|| {
            for value in values {
                // SAFETY: just exported.
                unsafe { delete(black_box(export(black_box(value)))) };
            }
        })
    };
    Entry { subject: Subject::new(name, batch), allocations: Some(allocations) }
}

/// Export of one value again and again, each time with the deleter.
fn again<T: 'static>(
    name: &str,
    value: T,
    export: impl Fn(&T) -> *mut DLManagedTensorVersioned + 'static,
) -> Entry {
    looked(name, value, move |value| {
        // SAFETY: just exported.
        unsafe { delete(black_box(export(value))) };
    })
}

/// Something that is done with one value again and again.
fn looked<T: 'static>(name: &str, value: T, run: impl Fn(&T) + 'static) -> Entry {
    let allocations = count(|| run(black_box(&value)));
    let batch = move || timed(|| (0..BATCH).for_each(|_| run(black_box(&value))));
    Entry { subject: Subject::new(name, batch), allocations: Some(allocations) }
}

/// Every shape.
pub fn all(report: &mut Report, rounds: usize) {
    let data: Arc<[f32]> = vec![1.0; 256].into();
    let bytes: Arc<[u8]> = vec![0; 1024].into();
    let floats = black_box(true);
    let general = General {
        data: if floats { Buffer::F32(data.clone()) } else { Buffer::U8(bytes.clone()) },
        shape: vec![8, 16],
        strides: vec![16, 1],
        offset: 16,
    };
    rows(report, "enum of buffers, strides and offset", rounds, general.clone());
    dynamic(report, rounds, general);
    let offset =
        Offset { data: data.clone(), shape: vec![8, 16], strides: vec![16, 1], offset: 16 };
    rows(report, "strides and offset", rounds, offset.clone());
    rows(report, "strides and offset, by hand", rounds, ByHand(offset));
    let strided = Strided { data: data.clone(), shape: vec![16, 16], strides: vec![16, 1] };
    rows(report, "strides", rounds, strided.clone());
    rows(report, "strides, transposed", rounds, Strided { strides: vec![1, 16], ..strided });
    // Aligned for any type: bytes of an `Arc<[u8]>` begin 16 bytes into an allocation.
    let bytes = Bytes { data: bytes, shape: vec![16, 16], dtype: black_box(DataType::F32) };
    rows(report, "bytes with a run-time dtype", rounds, bytes);
    rows(report, "Arc with a fixed rank", rounds, Contiguous { data, shape: [16, 16] });
    less_common(report, rounds);
}

/// Shapes that fewer types have, each in one row, without a bar.
fn less_common(report: &mut Report, rounds: usize) {
    fn row<T>(report: &mut Report, rounds: usize, shape: &str, value: T)
    where
        T: DLPackExport + Floor + Clone + 'static,
    {
        let entries = vec![
            again("floor", value.clone(), floor::shared),
            again("dlpack-traits", value, |value| value.to_dlpack().expect("a tensor").into_raw()),
        ];
        report.row(&format!("export shared, {shape}"), None, entries, rounds);
    }
    let data: Arc<[f32]> = vec![1.0; 256].into();
    let bytes: Arc<[u8]> = vec![0; 1024].into();
    let pitched = Pitched { data: data.clone(), shape: [8, 16], pitch: 32 };
    row(report, rounds, "pitch", pitched);
    let image = Image { data: bytes.clone(), shape: [8, 16, 3], pitch: 64 };
    row(report, rounds, "pitch in bytes", image);
    let columns = Columns { data: data.clone(), shape: [16, 16] };
    row(report, rounds, "column-major", columns);
    let strided = ByteStrided { data: data.clone(), shape: vec![16, 16], strides: vec![64, 4] };
    row(report, rounds, "strides in bytes", strided);
    let window = Window { data: data.clone(), shape: [8, 16], offset: 16, len: 128 };
    row(report, rounds, "window", window);
    let many = Many { data: ManyBuffers::F32(data.clone()), shape: [16, 16] };
    row(report, rounds, "enum of 13 buffers", black_box(many));
    let generic = Generic { data: GenericBuffer::Floats(data.clone()), shape: [16, 16] };
    row(report, rounds, "enum with a generic Arc", black_box(generic));
    let empty = Empty { data: data.clone(), shape: [0, 16] };
    row(report, rounds, "no elements", empty);
    let capacity = Capacity { data, shape: [16, 16, 0, 0, 0, 0], ndim: black_box(2) };
    row(report, rounds, "shape in a fixed capacity", capacity);
    let pixels = Pixels { data: vec![Rgb([0.0; 3]); 256].into(), shape: [16, 16] };
    row(report, rounds, "elements that are arrays", pixels);
    let packed = Packed { data: vec![0; 128].into(), shape: [16, 16] };
    row(report, rounds, "packed elements of 4 bits", packed);
    let padded = Padded { data: vec![0; 256].into(), shape: [16, 16] };
    row(report, rounds, "padded elements of 4 bits", padded);
    let unround = Unround { data: bytes, shape: [4, 8], offset: 8 };
    row(report, rounds, "16-byte elements at 8 bytes", unround);
}

/// The general tensor behind a pointer to any exportable type.
fn dynamic(report: &mut Report, rounds: usize, general: General) {
    let boxed: Box<dyn DLPackExport + Send> = Box::new(general.clone());
    let entries = vec![
        again("floor", general, floor::shared),
        again("dlpack-traits", boxed, |value| value.to_dlpack().expect("a tensor").into_raw()),
    ];
    report.row("export shared, Box<dyn DLPackExport>", Some(1.6), entries, rounds);
}
