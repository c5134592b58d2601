//! `#[derive(AsLayout)]`: layouts that structs store as one value.

#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{
    AsDims, AsLayout, DLPackExport, DataRef, DataType, Description, Error, Order, SharedBuffer,
    Slot,
};

/// Shape, strides and a start, in one value.
#[derive(Clone, AsLayout)]
#[dlpack(crate = ::tensors)]
struct Strided {
    shape: Vec<usize>,
    strides: Vec<isize>,
    #[dlpack(offset(elements))]
    start_offset: usize,
}

/// Element types that are known when the program runs.
#[derive(Clone, Copy, DataType)]
#[dlpack(crate = ::tensors)]
enum Kind {
    U16,
    F32,
    #[dlpack(skip)]
    Quantised,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Flex {
    data: Arc<[u64]>,
    #[dlpack(layout)]
    layout: Strided,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Bytes {
    #[dlpack(data)]
    raw: SharedBuffer<u8>,
    #[dlpack(layout)]
    layout: Box<Strided>,
    dtype: Kind,
}

#[test]
fn a_nested_layout_describes_a_tensor() {
    let layout = Strided { shape: vec![2, 2], strides: vec![-2, 1], start_offset: 3 };
    let flex = Flex { data: Arc::from([0, 1, 2, 3, 4, 5]), layout: layout.clone() };
    let tensor = ImportedStorage::from(flex.to_dlpack().expect("a tensor"));
    assert_eq!((tensor.shape(), tensor.strides()), (vec![2, 2], vec![-2, 1]));
    assert_eq!(tensor.elements::<u64>(), [3, 4, 1, 2]);
    tensor.delete(Farewell::Plain);
    let outside = Strided { start_offset: 1, ..layout.clone() };
    let flex = Flex { data: Arc::from([0; 6]), layout: outside };
    assert_eq!(flex.to_dlpack().unwrap_err(), Error::OutOfBounds { start: -8, end: 24, len: 48 });
    let dtype = Kind::Quantised;
    let raw = SharedBuffer::zeroed(12).expect("memory");
    let bytes = Bytes { raw, layout: Box::new(layout), dtype };
    assert_eq!(bytes.tensor().unwrap_err(), Error::NoDType { variant: "Quantised" });
    assert!(Bytes { dtype: Kind::U16, ..bytes }.tensor().is_ok());
    assert_eq!(DataType::try_from(Kind::F32), Ok(DataType::F32));
}

/// Every other role, of parameters and in tuples.
#[derive(AsLayout)]
#[dlpack(crate = ::tensors)]
struct Pitched<D: AsDims, I> {
    shape: D,
    #[dlpack(order)]
    order: Order,
    #[dlpack(pitch(elements))]
    pitch: I,
    #[dlpack(offset(bytes))]
    offset: u8,
}

#[derive(AsLayout)]
#[dlpack(crate = ::tensors, shape(rows, Self::COLUMNS), order = column_major)]
struct Matrix {
    rows: u16,
}

impl Matrix {
    const COLUMNS: u8 = 3;
}

#[derive(AsLayout)]
#[dlpack(crate = ::tensors)]
struct Ranked(
    #[dlpack(shape)] [i32; 4],
    #[dlpack(strides(bytes))] [i32; 4],
    #[dlpack(ndim)] u8,
    #[dlpack(skip)]
    #[expect(dead_code, reason = "it plays no part")]
    &'static str,
);

#[derive(AsLayout)]
#[dlpack(crate = ::tensors)]
struct Windowed<'a> {
    #[dlpack(layout)]
    inner: &'a Matrix,
    #[dlpack(len(elements))]
    len: usize,
}

fn view<'a>(
    slot: &'a mut Slot,
    layout: &'a impl AsLayout,
    storage: &'a [u16],
) -> Result<Description<'a>, Error> {
    slot.describe().layout(layout.layout()).data(DataRef::from_slice(storage))
}

#[test]
fn every_layout_role_has_an_attribute() {
    let (storage, mut slot) = ([0_u16; 32], Slot::new());
    let pitched = Pitched { shape: [2_usize, 3], order: Order::ColumnMajor, pitch: 5, offset: 2 };
    let seen = view(&mut slot, &pitched, &storage).expect("a layout");
    assert_eq!((seen.shape(), seen.strides()), (&[2, 3][..], &[1, 5][..]));
    let tensor = seen.dl_tensor();
    assert_eq!((tensor.data.addr() - storage.as_ptr().addr(), tensor.byte_offset), (2, 0));

    let matrix = Matrix { rows: 2 };
    let seen = view(&mut slot, &matrix, &storage[..6]).expect("a layout");
    assert_eq!((seen.shape(), seen.strides()), (&[2, 3][..], &[1, 2][..]));

    let ranked = Ranked([2, 2, 0, 0], [8, 2, 0, 0], 2, "ignored");
    assert_eq!(view(&mut slot, &ranked, &storage).expect("a layout").strides(), [4, 1]);

    let windowed = Windowed { inner: &matrix, len: 5 };
    let error = Error::OutsideWindow { start: 0, end: 12, from: 0, to: 10 };
    assert_eq!(view(&mut slot, &windowed, &storage).unwrap_err(), error);
}
