//! Borrowed bytes: a view of a foreign buffer. It can be read through the C struct, but
//! not exported, because the export would have no owner.

#![forbid(unsafe_code)]

use tensors::{DLPackExport, DataType, Error, Flags};

use super::consumer::Expected;

#[derive(Clone, Copy, Debug, DataType)]
#[dlpack(crate = ::tensors)]
enum Dtype {
    I16,
    U8,
    #[dlpack(dtype = FLOAT8_E4M3FN)]
    F8E4M3,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct View<'d> {
    data: &'d [u8],
    shape: Vec<usize>,
    dtype: Dtype,
}

#[test]
fn wider_elements_of_borrowed_bytes_are_viewed() {
    let numbers = [1_i16, 2, 3, 4];
    let view = View { data: bytemuck::cast_slice(&numbers), shape: vec![2, 2], dtype: Dtype::I16 };
    let expected = Expected {
        shape: &[2, 2],
        strides: &[2, 1],
        flags: Flags::READ_ONLY,
        elements: &[1_i16, 2, 3, 4],
    };
    expected.assert_viewed(&view.tensor().unwrap());
    assert!(matches!(view.to_dlpack(), Err(Error::NotShareable)));
}

/// A copy needs no owner.
#[test]
fn a_borrowed_view_is_copied() {
    let view = View { data: &[1, 2, 3], shape: vec![3], dtype: Dtype::U8 };
    let copy = view.copy_to_dlpack().unwrap();
    let expected =
        Expected { shape: &[3], strides: &[1], flags: Flags::IS_COPIED, elements: &[1_u8, 2, 3] };
    let copy = copy.into();
    expected.assert_found(&copy);
    copy.delete_elsewhere(dlpack_tests::foreign::Farewell::Narrow);
}

#[test]
fn a_view_has_a_run_time_float_dtype() {
    let view = View { data: &[0; 4], shape: vec![4], dtype: Dtype::F8E4M3 };
    assert_eq!(view.tensor().unwrap().dtype(), DataType::FLOAT8_E4M3FN);
    let longer = View { shape: vec![5], ..view };
    let error = longer.tensor().map(|_| ()).unwrap_err();
    assert_eq!(error, Error::OutOfBounds { start: 0, end: 5, len: 4 });
}

/// A type with a lifetime that need not end can be exported.
#[test]
fn static_bytes_are_viewed() {
    static BYTES: [u8; 2] = [1, 2];
    let view = View { data: &BYTES, shape: vec![2], dtype: Dtype::U8 };
    let foreign = view.into_dlpack().unwrap().into();
    let expected =
        Expected { shape: &[2], strides: &[1], flags: Flags::READ_ONLY, elements: &[1_u8, 2] };
    expected.assert_found(&foreign);
    foreign.delete_elsewhere(dlpack_tests::foreign::Farewell::Copy);
}
