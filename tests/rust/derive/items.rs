//! Tuple structs, newtypes and enums.

#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{DLPackExport, DataType, Element, Error, Flags, SharedBuffer};

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Pair<T: Element>(#[dlpack(shape)] [u32; 2], #[dlpack(data)] Vec<T>, String);

#[test]
fn a_tuple_struct() {
    let pair = Pair([2, 3], (0_u16..6).collect(), "pair".to_owned());
    assert_eq!(pair.2.len(), 4);
    let address = pair.1.as_ptr();
    let foreign = ImportedStorage::from(pair.into_dlpack().unwrap());
    assert_eq!(foreign.data(), address.cast_mut().cast());
    assert_eq!(foreign.elements::<u16>(), [0, 1, 2, 3, 4, 5]);
    foreign.write::<u16>(|old| old + 1);
    foreign.delete(Farewell::Plain);
}

/// A newtype that holds the elements itself.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(2))]
struct Matrix(#[dlpack(data)] [[f64; 2]; 2]);

#[test]
fn a_newtype_over_a_storage() {
    let foreign = ImportedStorage::from(Matrix([[1.0, 2.0], [3.0, 4.0]]).into_dlpack().unwrap());
    assert_eq!(foreign.shape(), [2, 2]);
    assert_eq!(foreign.elements::<f64>(), [1.0, 2.0, 3.0, 4.0]);
    foreign.delete(Farewell::Plain);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, transparent)]
struct Image<T: Element>(Pair<T>);

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, transparent, read_only)]
struct Shown<T> {
    tensor: T,
    #[dlpack(skip)]
    title: String,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Cells {
    data: SharedBuffer<u8>,
    shape: [usize; 1],
}

#[test]
fn a_newtype_over_an_exportable() {
    let image = Image(Pair([1, 2], vec![5_i32, 6], String::new()));
    let foreign = ImportedStorage::from(image.into_dlpack().unwrap());
    assert_eq!(foreign.elements::<i32>(), [5, 6]);
    foreign.write::<i32>(|old| -old);
    assert_eq!(foreign.elements::<i32>(), [-5, -6]);
    foreign.delete(Farewell::Plain);
}

#[test]
fn a_newtype_shares_its_field_and_may_make_it_read_only() {
    let data = SharedBuffer::from_slice(&[1_u8, 2]).unwrap();
    let tensor = Cells { data, shape: [2] };
    assert_eq!(tensor.to_dlpack().unwrap().flags(), Flags::NONE);
    let shown = Shown { tensor, title: "cells".to_owned() };
    assert_eq!(shown.title, "cells");
    assert_eq!(shown.to_dlpack().unwrap().flags(), Flags::READ_ONLY);
    assert_eq!(shown.tensor().unwrap().shape(), [2]);
    assert_eq!(shown.into_dlpack().unwrap().flags(), Flags::READ_ONLY);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Store<T: Element> {
    data: Arc<[T]>,
    shape: Vec<usize>,
}

/// Owned or shared, of several types; with names, without, beside other fields.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
enum Column<T: Element> {
    F32(Store<f32>),
    Any {
        store: Box<Store<T>>,
    },
    Own(#[dlpack(skip)] &'static str, Pair<i8>),
    #[dlpack(skip)]
    Text(Vec<String>, usize),
    #[dlpack(skip)]
    r#None,
}

fn columns() -> [Column<u64>; 3] {
    let shape = vec![2];
    [
        Column::F32(Store { data: Arc::new([0.5, 1.5]), shape: shape.clone() }),
        Column::Any { store: Box::new(Store { data: Arc::new([1, 2]), shape }) },
        Column::Own("own", Pair([2, 1], vec![3, 4], String::new())),
    ]
}

#[test]
fn each_variant_exports_its_tensor() {
    let dtypes = [DataType::F32, DataType::U64, DataType::I8];
    for (column, dtype) in columns().into_iter().zip(dtypes) {
        assert_eq!(column.tensor().unwrap().dtype(), dtype);
        let shared = column.to_dlpack();
        match dtype {
            DataType::I8 => assert_eq!(shared.unwrap_err(), Error::NotShareable),
            _ => assert_eq!(shared.unwrap().flags(), Flags::READ_ONLY),
        }
        if let Column::Own(name, _) = &column {
            assert_eq!(*name, "own");
        }
        let foreign = ImportedStorage::from(column.into_dlpack().unwrap());
        match dtype {
            DataType::F32 => assert_eq!(foreign.elements::<f32>(), [0.5, 1.5]),
            DataType::U64 => assert_eq!(foreign.elements::<u64>(), [1, 2]),
            _ => foreign.write::<i8>(|old| old * 2),
        }
        assert_eq!(foreign.is_writable(), dtype == DataType::I8);
        foreign.delete(Farewell::Plain);
    }
}

#[test]
fn a_skipped_variant_is_an_error_that_names_it() {
    let text = || Column::<u8>::Text(vec!["a".to_owned()], 1);
    assert!(matches!(text(), Column::Text(lines, 1) if lines.len() == 1));
    let error = Error::NoStorage { variant: "Text" };
    assert_eq!(text().tensor().unwrap_err(), error);
    assert_eq!(text().into_dlpack().unwrap_err(), error);
    assert_eq!(text().to_dlpack().unwrap_err(), error);
    let none = Column::<u8>::r#None.tensor().unwrap_err();
    assert_eq!(none, Error::NoStorage { variant: "None" });
}
