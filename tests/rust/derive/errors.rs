//! Values that do not fit: each is an error, and never an access.

use std::sync::Arc;

use tensors::{DLPackExport, DataType, Error};

#[derive(Clone, DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Window {
    data: Arc<[u8]>,
    shape: Vec<i128>,
    strides: Vec<i64>,
    byte_offset: i64,
    dtype: DataType,
}

fn window() -> Window {
    Window {
        data: Arc::from([0; 16]),
        shape: vec![2, 2],
        strides: vec![2, 1],
        byte_offset: 0,
        dtype: DataType::U8,
    }
}

/// A stride, a pitch and a dimension beyond `i64`: each error names the value.
#[test]
fn numbers_beyond_i64_are_errors_that_name_them() {
    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors)]
    struct Steps {
        data: Vec<u8>,
        shape: [u64; 2],
        strides: [u128; 2],
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors)]
    struct Rows {
        data: Vec<u8>,
        shape: [u64; 2],
        #[dlpack(pitch(bytes))]
        row_bytes: i64,
    }
    let steps = |shape, strides| Steps { data: vec![0; 4], shape, strides }.into_dlpack();
    let rows = |row_bytes| Rows { data: vec![0; 4], shape: [2, 2], row_bytes }.into_dlpack();
    assert!(steps([2, 2], [2, 1]).is_ok() && rows(2).is_ok());
    for (refused, text) in [
        (steps([2, u64::MAX], [2, 1]), "dimension 1 of shape does not fit in 64 signed bits"),
        (steps([2, 2], [1 << 64, 1]), "stride 0 does not fit in 64 signed bits"),
        (rows(-2), "the pitch is negative or does not fit in 64 signed bits"),
    ] {
        assert_eq!(refused.unwrap_err().to_string(), text);
    }
}

/// Returns the error of every export of the struct, which is the same one.
fn error(window: Window) -> Error {
    let error = window.tensor().unwrap_err();
    assert_eq!(window.to_dlpack().unwrap_err(), error);
    assert_eq!(window.copy_to_dlpack().unwrap_err(), error);
    let data = Arc::clone(&window.data);
    assert_eq!(window.into_dlpack().unwrap_err(), error);
    assert_eq!(Arc::strong_count(&data), 1, "a refused owner is dropped");
    error
}

#[test]
fn shapes_that_do_not_fit_are_errors() {
    assert!(window().into_dlpack().is_ok());
    let shape = |shape: &[i128]| error(Window { shape: shape.to_vec(), ..window() });
    assert_eq!(shape(&[9, 2]), Error::OutOfBounds { start: 0, end: 18, len: 16 });
    assert_eq!(shape(&[2, -2]), Error::NegativeDim { axis: 1, dim: -2 });
    assert_eq!(shape(&[2, 1 << 80]), Error::DimTooLarge { axis: 1 });
    assert_eq!(shape(&[2]), Error::RankMismatch { shape: 1, strides: 2 });
}

#[test]
fn strides_that_do_not_fit_are_errors() {
    let strides = |strides: &[i64]| error(Window { strides: strides.to_vec(), ..window() });
    assert_eq!(strides(&[16, 1]), Error::OutOfBounds { start: 0, end: 18, len: 16 });
    assert_eq!(strides(&[-1, 1]), Error::OutOfBounds { start: -1, end: 2, len: 16 });
    assert_eq!(strides(&[1, 1, 1]), Error::RankMismatch { shape: 2, strides: 3 });
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct ByteStrided {
    data: Vec<f32>,
    shape: [i64; 1],
    #[dlpack(strides(bytes))]
    strides: Vec<i64>,
}

#[test]
fn byte_strides_of_another_rank_are_errors() {
    let of = |strides| {
        let strided = ByteStrided { data: vec![0.0; 4], shape: [4], strides };
        let error = strided.tensor().unwrap_err();
        assert_eq!(strided.into_dlpack().unwrap_err(), error);
        error
    };
    assert_eq!(of(vec![4, 4]), Error::RankMismatch { shape: 1, strides: 2 });
    assert_eq!(of(vec![]), Error::RankMismatch { shape: 1, strides: 0 });
}

#[test]
fn offsets_that_do_not_fit_are_errors() {
    let offset = |byte_offset| error(Window { byte_offset, ..window() });
    assert_eq!(offset(13), Error::OutOfBounds { start: 13, end: 17, len: 16 });
    assert_eq!(offset(-1), Error::NegativeOffset);
}

#[test]
fn dtypes_that_do_not_fit_are_errors() {
    let wide = error(Window { dtype: DataType::F64, ..window() });
    assert_eq!(wide, Error::OutOfBounds { start: 0, end: 32, len: 16 });
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Typed {
    data: Vec<f32>,
    shape: [u8; 1],
    dtype: DataType,
}

#[test]
fn only_bytes_are_reinterpreted() {
    let typed = Typed { data: vec![0.0; 2], shape: [2], dtype: DataType::I32 };
    let expected = Error::DTypeMismatch { dtype: DataType::I32, storage: DataType::F32 };
    assert_eq!(typed.tensor().unwrap_err(), expected);
    assert_eq!(typed.into_dlpack().unwrap_err(), expected);
}

#[test]
fn a_vec_has_one_owner() {
    let typed = Typed { data: vec![0.0; 2], shape: [2], dtype: DataType::F32 };
    assert_eq!(typed.to_dlpack().unwrap_err(), Error::NotShareable);
}
