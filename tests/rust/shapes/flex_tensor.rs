//! Shared bytes, a layout that is a struct of its own, and a run-time element
//! type.

#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{AsLayout, DLPackExport, DataType, Error, Flags};

use super::consumer::Expected;

#[derive(Clone, Debug, AsLayout)]
#[dlpack(crate = ::tensors)]
struct Strided {
    shape: Vec<usize>,
    strides: Vec<isize>,
    #[dlpack(offset(elements))]
    start: usize,
}

impl Strided {
    /// The same elements with the axes backwards.
    fn transposed(&self) -> Self {
        let mut transposed = self.clone();
        transposed.shape.reverse();
        transposed.strides.reverse();
        transposed
    }
}

#[derive(Clone, Copy, Debug, DataType)]
#[dlpack(crate = ::tensors)]
enum Precision {
    F64,
    U16,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Flexible {
    #[dlpack(data)]
    bytes: Arc<[u8]>,
    #[dlpack(layout)]
    place: Strided,
    dtype: Precision,
    _drop: Ticket,
}

/// Returns the last two rows of a matrix of three, in column-major order.
fn flexible(drops: &Drops) -> Flexible {
    let numbers = [1_u16, 2, 3, 4, 5, 6];
    let rows = Strided { shape: vec![2, 2], strides: vec![2, 1], start: 2 };
    Flexible {
        bytes: bytemuck::cast_slice(&numbers).into(),
        place: rows.transposed(),
        dtype: Precision::U16,
        _drop: drops.ticket(),
    }
}

#[test]
fn a_transposed_part() {
    let drops = Drops::new();
    let columns = flexible(&drops);
    let expected = Expected {
        shape: &[2, 2],
        strides: &[1, 2],
        flags: Flags::READ_ONLY,
        elements: &[3_u16, 5, 4, 6],
    };
    expected.assert_shared(&columns);
    let bytes = Arc::clone(&columns.bytes);
    expected.assert_moved(columns, &drops);
    assert_eq!(Arc::strong_count(&bytes), 1);
}

/// The offset counts elements, whatever type they are of.
#[test]
fn offsets_count_wider_elements() {
    let drops = Drops::new();
    let wide = Flexible {
        bytes: bytemuck::cast_slice(&[0.5_f64, 1.5]).into(),
        place: Strided { shape: vec![1], strides: vec![1], start: 1 },
        dtype: Precision::F64,
        ..flexible(&drops)
    };
    let expected =
        Expected { shape: &[1], strides: &[1], flags: Flags::READ_ONLY, elements: &[1.5_f64] };
    expected.assert_shared(&wide);
}

#[test]
fn a_layout_beyond_the_bytes_is_an_error() {
    let drops = Drops::new();
    let mut far = flexible(&drops);
    far.place.start = 3;
    let error = far.tensor().map(|_| ()).unwrap_err();
    assert_eq!(error, Error::OutOfBounds { start: 6, end: 14, len: 12 });
}

/// A layout with dimensions of a fixed capacity, in bytes, inside of another.
#[derive(Clone, Copy, Debug, AsLayout)]
#[dlpack(crate = ::tensors)]
struct Compact {
    #[dlpack(ndim)]
    rank: u8,
    shape: [u32; 4],
    #[dlpack(strides(bytes))]
    steps: [i32; 4],
    byte_offset: u16,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Packed<T: tensors::Element> {
    data: Vec<T>,
    #[dlpack(layout)]
    layout: Box<Compact>,
    _drop: Ticket,
}

#[test]
fn a_capacity_and_bytes() {
    let drops = Drops::new();
    let layout = Compact { rank: 1, shape: [2, 9, 9, 9], steps: [-8, 0, 0, 0], byte_offset: 8 };
    let data = vec![1_i32, 2, 3];
    let packed = Packed { data, layout: Box::new(layout), _drop: drops.ticket() };
    let expected =
        Expected { shape: &[2], strides: &[-2], flags: Flags::NONE, elements: &[3_i32, 1] };
    expected.assert_moved(packed, &drops);
}
