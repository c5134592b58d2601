//! Elements that are narrower than a byte: packed, or with a byte for each.
//! The bytes are compared, because Rust has no type for such elements.

#![forbid(unsafe_code)]

use dlpack_tests::counted::{Drops, Ticket};
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{DLPackExport, DataType, Error, Flags};

use super::consumer::bytes;

/// Two elements in each byte.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, dtype = FLOAT4_E2M1FN)]
struct Packed {
    data: Vec<u8>,
    shape: [usize; 2],
    _drop: Ticket,
}

/// One element in each byte.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, dtype = FLOAT4_E2M1FN, padded)]
struct Padded {
    data: Vec<u8>,
    shape: [usize; 2],
    _drop: Ticket,
}

/// A type that this crate has no name for.
const INT2: DataType = DataType::new(DataType::I8.code(), 2, 1);

/// Four integers in each byte.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, dtype = self::INT2)]
struct Quarters {
    data: Box<[u8]>,
    shape: [usize; 1],
    #[dlpack(offset(elements))]
    first: usize,
    _drop: Ticket,
}

#[test]
fn two_elements_in_a_byte_are_exported() {
    let drops = Drops::new();
    let packed = Packed { data: vec![0x12, 0x34], shape: [2, 2], _drop: drops.ticket() };
    let foreign = ImportedStorage::from(packed.into_dlpack().unwrap());
    assert_eq!(DataType::from(foreign.tensor().dtype), DataType::FLOAT4_E2M1FN);
    assert_eq!((foreign.shape(), foreign.strides()), (vec![2, 2], vec![2, 1]));
    assert_eq!((bytes(&foreign), foreign.flags()), ([0x12, 0x34], Flags::NONE.bits()));
    foreign.delete_elsewhere(Farewell::Narrow);
    assert_eq!(drops.count(), 1);
    let packed = Packed { data: vec![0; 2], shape: [5, 1], _drop: drops.ticket() };
    let error = packed.into_dlpack().unwrap_err();
    assert_eq!(error, Error::OutOfBounds { start: 0, end: 3, len: 2 });
}

#[test]
fn padded_narrow_elements_are_exported() {
    let drops = Drops::new();
    let padded = Padded { data: vec![1, 2, 3, 4], shape: [2, 2], _drop: drops.ticket() };
    let foreign = ImportedStorage::from(padded.into_dlpack().unwrap());
    assert_eq!(DataType::from(foreign.tensor().dtype), DataType::FLOAT4_E2M1FN);
    assert_eq!(foreign.strides(), [2, 1]);
    assert_eq!(bytes(&foreign), [1, 2, 3, 4]);
    assert_eq!(foreign.flags(), Flags::IS_SUBBYTE_TYPE_PADDED.bits());
    foreign.delete_elsewhere(Farewell::Narrow);
    assert_eq!(drops.count(), 1);
    let padded = Padded { data: vec![1; 4], shape: [2, 2], _drop: drops.ticket() };
    assert_eq!(padded.into_dlpack_legacy().unwrap_err(), Error::PaddedLegacy);
}

#[test]
fn offsets_must_start_at_a_byte() {
    let drops = Drops::new();
    let quarters = |first| Quarters {
        data: Box::new([0x11, 0x22, 0x33]),
        shape: [4],
        first,
        _drop: drops.ticket(),
    };
    let foreign = ImportedStorage::from(quarters(8).into_dlpack().unwrap());
    assert_eq!(DataType::from(foreign.tensor().dtype), INT2);
    assert_eq!(bytes(&foreign), [0x33]);
    foreign.delete_elsewhere(Farewell::Narrow);
    let error = quarters(7).into_dlpack().unwrap_err();
    assert_eq!(error, Error::InsideByte { dtype: INT2 });
    assert_eq!(drops.count(), 2);
}
