//! Bytes, a shape, and an element type that is known at run time only. The layout needs
//! no attribute.

#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, DataType, Error, Flags, Storage};

use super::consumer::Expected;

/// The type of the elements, as the file names it.
#[derive(Clone, Copy, Debug, PartialEq, DataType)]
#[dlpack(crate = ::tensors)]
enum Kind {
    Bool,
    Int8,
    UInt8,
    Int16,
    Float32,
    #[dlpack(dtype = FLOAT8_E4M3FN)]
    Float8,
    #[dlpack(dtype = F32, big_endian)]
    Float32Big,
    #[dlpack(dtype = F32, little_endian)]
    Float32Little,
    /// Another name for `UInt8`.
    #[dlpack(dtype = U8, alias)]
    Raw,
    #[dlpack(skip)]
    Text,
}

/// A decoded chunk of a file.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Chunk<S: Storage = Vec<u8>> {
    data: S,
    shape: Vec<u64>,
    dtype: Kind,
    _drop: Ticket,
}

#[test]
fn a_chunk_of_bytes_is_exported() {
    let drops = Drops::new();
    let chunk = Chunk {
        data: vec![1_u8, 2, 3, 0xff],
        shape: vec![2, 2],
        dtype: Kind::Int8,
        _drop: drops.ticket(),
    };
    let expected = Expected {
        shape: &[2, 2],
        strides: &[2, 1],
        flags: Flags::NONE,
        elements: &[1_i8, 2, 3, -1],
    };
    expected.assert_moved(chunk, &drops);
}

/// The bytes of an `Arc` lie behind its counts, so that they are aligned.
#[test]
fn a_chunk_of_wider_elements_is_exported() {
    let drops = Drops::new();
    let numbers = [1.5_f32, 2.5, -3.0];
    let data: Arc<[u8]> = bytemuck::cast_slice(&numbers).into();
    let chunk = Chunk { data, shape: vec![3], dtype: Kind::Float32, _drop: drops.ticket() };
    let expected =
        Expected { shape: &[3], strides: &[1], flags: Flags::READ_ONLY, elements: &numbers };
    expected.assert_shared(&chunk);
    expected.assert_moved(chunk, &drops);
}

#[test]
fn chunks_that_do_not_fit_are_errors() {
    let drops = Drops::new();
    let chunk = |dtype, shape| Chunk { data: vec![0_u8; 6], shape, dtype, _drop: drops.ticket() };
    let error = |dtype, shape| chunk(dtype, shape).into_dlpack().unwrap_err();
    assert!(matches!(error(Kind::Int16, vec![4]), Error::OutOfBounds { start: 0, end: 8, len: 6 }));
    assert_eq!(error(Kind::Text, vec![6]), Error::NoDType { variant: "Text" });
    assert_eq!(error(Kind::UInt8, vec![u64::MAX]), Error::DimTooLarge { axis: 0 });
    assert_eq!(drops.count(), 3);
}

#[test]
fn element_types_convert_in_both_directions() {
    let types = [Kind::Bool, Kind::Int8, Kind::UInt8, Kind::Int16, Kind::Float32, Kind::Float8];
    for kind in types {
        let dtype = DataType::try_from(kind).unwrap();
        assert_eq!(Kind::try_from(dtype), Ok(kind));
    }
    assert_eq!(DataType::try_from(Kind::Float8), Ok(DataType::FLOAT8_E4M3FN));
    assert_eq!(Kind::try_from(DataType::F64), Err(Error::NoVariant { dtype: DataType::F64 }));
}

/// Files define the byte order of numbers; memory has one order.
#[test]
fn other_byte_orders_are_errors() {
    let (native, foreign) = if cfg!(target_endian = "little") {
        (Kind::Float32Little, Kind::Float32Big)
    } else {
        (Kind::Float32Big, Kind::Float32Little)
    };
    assert_eq!(DataType::try_from(native), Ok(DataType::F32));
    let drops = Drops::new();
    let data: Arc<[u8]> = Arc::new([0; 4]);
    let chunk = Chunk { data, shape: vec![1], dtype: foreign, _drop: drops.ticket() };
    assert_eq!(chunk.into_dlpack().unwrap_err(), Error::NotNativeEndian);
    assert_eq!(drops.count(), 1);
}

#[test]
fn dtype_names_are_converted() {
    assert_eq!(DataType::try_from(Kind::Raw), Ok(DataType::U8));
    assert_eq!(Kind::try_from(DataType::U8), Ok(Kind::UInt8));
}
