//! A storage with a variant for each element type. Narrow floats are kept as
//! bytes, packed; strings have no data type.

#![forbid(unsafe_code)]

use dlpack_tests::counted::{Drops, Ticket};
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{Complex, DLPackExport, DataType, Error, Flags, Storage};

use super::consumer::{Expected, bytes};

#[derive(Storage)]
#[dlpack(crate = ::tensors)]
enum Column {
    F32(Vec<f32>),
    I64(Box<[i64]>),
    C64(Vec<Complex<f32>>),
    #[dlpack(dtype = FLOAT8_E5M2)]
    F8(Vec<u8>),
    /// Two in each byte.
    #[dlpack(dtype = FLOAT4_E2M1FN, packed)]
    F4(Vec<u8>),
    /// One in each byte.
    #[dlpack(dtype = FLOAT6_E2M3FN, padded)]
    F6(Vec<u8>),
    #[dlpack(skip)]
    Text(Vec<String>),
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Series {
    data: Column,
    shape: [usize; 1],
    _drop: Ticket,
}

fn series(data: Column, len: usize, drops: &Drops) -> Series {
    Series { data, shape: [len], _drop: drops.ticket() }
}

fn assert_moved<T: tensors::Element + core::fmt::Debug + PartialEq>(data: Column, elements: &[T]) {
    let drops = Drops::new();
    let expected = Expected { shape: &[2], strides: &[1], flags: Flags::NONE, elements };
    expected.assert_moved(series(data, 2, &drops), &drops);
}

#[test]
fn each_element_type_is_exported() {
    assert_moved(Column::F32(vec![0.5, 1.5]), &[0.5_f32, 1.5]);
    assert_moved(Column::I64(Box::new([1, -1])), &[1_i64, -1]);
    let [one, i] = [Complex { re: 1.0_f32, im: 0.0 }, Complex { re: 0.0, im: 1.0 }];
    assert_moved(Column::C64(vec![one, i]), &[one, i]);
}

#[test]
fn bytes_are_exported_as_floats() {
    let drops = Drops::new();
    let series = series(Column::F8(vec![0x3c, 0xbc]), 2, &drops);
    assert_eq!(series.tensor().unwrap().dtype(), DataType::FLOAT8_E5M2);
    assert_eq!(series.into_dlpack().unwrap().dtype(), DataType::FLOAT8_E5M2);
    assert_eq!(drops.count(), 1);
}

#[test]
fn narrower_than_a_byte() {
    let drops = Drops::new();
    let mut found = Vec::new();
    for (data, len) in [(Column::F4(vec![0x12, 0x34]), 4), (Column::F6(vec![1, 2]), 2)] {
        let foreign = ImportedStorage::from(series(data, len, &drops).into_dlpack().unwrap());
        let dtype = DataType::from(foreign.tensor().dtype);
        found.push((dtype, foreign.flags(), bytes::<2>(&foreign)));
        foreign.delete_elsewhere(Farewell::Narrow);
    }
    let padded = Flags::IS_SUBBYTE_TYPE_PADDED.bits();
    let [four, six] = [DataType::FLOAT4_E2M1FN, DataType::FLOAT6_E2M3FN];
    assert_eq!(found, [(four, 0, [0x12, 0x34]), (six, padded, [1, 2])]);
    assert_eq!(drops.count(), 2);
}

#[test]
fn text_is_an_error() {
    let drops = Drops::new();
    let text = series(Column::Text(vec!["a".to_owned(), "b".to_owned()]), 2, &drops);
    assert!(matches!(&text.data, Column::Text(words) if words.len() == 2));
    assert_eq!(text.to_dlpack().unwrap_err(), Error::NoStorage { variant: "Text" });
    assert_eq!(text.into_dlpack().unwrap_err(), Error::NoStorage { variant: "Text" });
    assert_eq!(drops.count(), 1);
}
