//! Orders, pitches, and strides in either unit.

#![forbid(unsafe_code)]

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{DLPackExport, Error, Order};

fn read(tensor: impl DLPackExport + Send + 'static) -> (Vec<i64>, Vec<u16>) {
    let foreign = ImportedStorage::from(tensor.into_dlpack().unwrap());
    let read = (foreign.strides(), foreign.elements::<u16>());
    foreign.delete(Farewell::Plain);
    read
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(R, C), order = column_major)]
struct ByColumns<const R: usize, const C: usize> {
    data: Vec<u16>,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, order = row_major)]
struct ByRows {
    data: Vec<u16>,
    shape: [u8; 2],
}

#[test]
fn a_constant_order() {
    let columns = ByColumns::<2, 3> { data: vec![1, 2, 3, 4, 5, 6] };
    assert_eq!(read(columns), (vec![1, 2], vec![1, 3, 5, 2, 4, 6]));
    let rows = ByRows { data: vec![1, 2, 3, 4, 5, 6], shape: [2, 3] };
    assert_eq!(read(rows), (vec![3, 1], vec![1, 2, 3, 4, 5, 6]));
}

#[derive(Clone)]
enum Fortran {
    Yes,
    No,
}

impl From<Fortran> for Order {
    fn from(fortran: Fortran) -> Self {
        match fortran {
            Fortran::Yes => Order::ColumnMajor,
            Fortran::No => Order::RowMajor,
        }
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Ordered<O> {
    data: Vec<u16>,
    shape: Vec<usize>,
    #[dlpack(order)]
    fortran: O,
    #[dlpack(pitch(elements))]
    leading: i32,
}

#[test]
fn an_order_and_a_leading_dimension_at_run_time() {
    let ordered = |fortran, leading| {
        let data = (0..8).collect();
        Ordered { data, shape: vec![2, 3], fortran, leading }
    };
    assert_eq!(read(ordered(Fortran::No, 4)), (vec![4, 1], vec![0, 1, 2, 4, 5, 6]));
    assert_eq!(read(ordered(Fortran::Yes, 3)), (vec![1, 3], vec![0, 3, 6, 1, 4, 7]));
    let error = ordered(Fortran::No, 2).into_dlpack().unwrap_err();
    assert_eq!(error, Error::PitchTooSmall { pitch: 2, row: 3 });
    assert_eq!(
        error.to_string(),
        "expected a `pitch(elements)` of at least 3, from the start of one row to the start of the \
         next, got 2; if rows overlap, list the strides instead, as in `#[dlpack(strides(hop, 1))]`"
    );
    let data = (0..4).collect();
    let own = Ordered { data, shape: vec![2, 2], fortran: Order::ColumnMajor, leading: 2 };
    assert_eq!(read(own), (vec![1, 2], vec![0, 2, 1, 3]));
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(height, width))]
struct Frame {
    data: Box<[u16]>,
    width: u32,
    height: u32,
    #[dlpack(pitch(bytes))]
    pitch: u64,
}

#[test]
fn a_row_pitch_in_bytes() {
    let frame = |pitch| Frame { data: (0..8).collect(), width: 3, height: 2, pitch };
    assert_eq!(read(frame(8)), (vec![4, 1], vec![0, 1, 2, 4, 5, 6]));
    let error = frame(7).into_dlpack().unwrap_err();
    assert_eq!(error, Error::PitchNotWhole { bytes: 7, bits: 16 });
    assert_eq!(
        error.to_string(),
        "`pitch(bytes)` is 7 bytes, which is not a multiple of the 2 bytes of an element; if it \
         counts elements, write `pitch(elements)`; otherwise export each element's bytes as a last \
         axis of uint8, or copy them to a `Vec`"
    );
    let packed = Error::PitchNotWhole { bytes: 7, bits: 6 }.to_string();
    assert!(packed.contains("7 bytes, which is not a multiple of the 6 bits of an element;"));
    let error = frame(4).into_dlpack().unwrap_err();
    assert_eq!(error, Error::BytePitchTooSmall { bytes: 4, row: 6 });
    assert_eq!(
        error.to_string(),
        "expected a `pitch(bytes)` of at least 6, from the start of one row to the start of the \
         next, got 4; if rows overlap, list the strides instead, as in `#[dlpack(strides(hop, 1))]`"
    );
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct InBytes {
    data: Vec<u16>,
    shape: [usize; 2],
    #[dlpack(strides(bytes))]
    strides: [i16; 2],
    byte_offset: u8,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct InElements {
    data: Vec<u16>,
    shape: [usize; 2],
    #[dlpack(strides(elements))]
    steps: Vec<i64>,
}

#[test]
fn strides_in_either_unit() {
    let in_bytes =
        |strides| InBytes { data: (0..8).collect(), shape: [2, 3], strides, byte_offset: 4 };
    assert_eq!(read(in_bytes([6, 2])), (vec![3, 1], vec![2, 3, 4, 5, 6, 7]));
    assert_eq!(read(in_bytes([-4, 4])), (vec![-2, 2], vec![2, 4, 6, 0, 2, 4]));
    let error = in_bytes([6, 3]).tensor().unwrap_err();
    assert_eq!(error, Error::StrideNotWhole { axis: 1, bytes: 3 });
    assert_eq!(
        error.to_string(),
        "stride 1 is 3 bytes, which is not a whole number of elements; if it counts elements, write \
         `strides(elements)` on the field, or `strides(..)` above the struct; otherwise export each \
         element's bytes as a last axis of uint8, or copy them to a `Vec`"
    );
    let in_elements = InElements { data: (0..8).collect(), shape: [2, 3], steps: vec![1, 2] };
    assert_eq!(read(in_elements), (vec![1, 2], vec![0, 2, 4, 1, 3, 5]));
}
