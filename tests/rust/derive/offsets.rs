//! Offsets and lengths in either unit, and ranks below a capacity.

#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{DLPackExport, DataType, Error};

/// Returns where the tensor starts, counted in bytes from `base`, and its elements.
fn read(tensor: impl DLPackExport + Send + 'static, base: *const u8) -> (usize, Vec<u32>) {
    let foreign = ImportedStorage::from(tensor.into_dlpack().unwrap());
    let read = (foreign.data().addr() - base.addr(), foreign.elements::<u32>());
    foreign.delete(Farewell::Plain);
    read
}

#[derive(Clone, DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Elements<O, L> {
    data: Arc<[u32]>,
    shape: [usize; 1],
    #[dlpack(offset(elements))]
    offset: O,
    #[dlpack(len(elements))]
    len: L,
}

#[derive(Clone, DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Bytes {
    data: Arc<[u32]>,
    shape: [usize; 1],
    #[dlpack(offset(bytes))]
    start: u16,
    #[dlpack(len(bytes))]
    nbytes: u64,
}

#[test]
fn windows_of_a_storage() {
    let data: Arc<[u32]> = (0..8).collect();
    let base: *const u8 = data.as_ptr().cast();
    let elements = Elements { data: data.clone(), shape: [2], offset: 3_i8, len: 2_u8 };
    assert_eq!(read(elements.clone(), base), (12, vec![3, 4]));
    let bytes = Bytes { data, shape: [2], start: 12, nbytes: 8 };
    assert_eq!(read(bytes.clone(), base), (12, vec![3, 4]));

    // The storage is longer than the window.
    let outside = Error::OutsideWindow { start: 12, end: 24, from: 12, to: 20 };
    assert_eq!(
        outside.to_string(),
        "the tensor spans bytes 12..24 of its storage but `offset` and `len` give it 12..20"
    );
    let longer = Elements { shape: [3], ..elements.clone() };
    assert_eq!(longer.into_dlpack().unwrap_err(), outside);
    let longer = Bytes { shape: [3], ..bytes.clone() };
    assert_eq!(longer.into_dlpack().unwrap_err(), outside);
    let negative = Elements { offset: -1, ..elements };
    assert_eq!(negative.tensor().unwrap_err(), Error::NegativeOffset);
    let between = Bytes { start: 2, ..bytes }.tensor().unwrap_err();
    assert!(matches!(between, Error::Misaligned { align: 4, .. }));
    assert!(between.to_string().contains("choose an aligned offset"), "{between}");
}

/// The second column of a matrix without rows: its offset is beyond a storage of no bytes.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Column {
    data: Arc<[f32]>,
    shape: [usize; 1],
    strides: [usize; 1],
    #[dlpack(offset(elements))]
    first: usize,
}

#[test]
fn no_elements_are_inside_of_every_storage() {
    let column = |rows| Column { data: [].into(), shape: [rows], strides: [4], first: 1 };
    let managed = column(0).into_dlpack().unwrap();
    assert_eq!((managed.shape(), managed.strides()), (&[0][..], &[4][..]));
    assert!(managed.data_ptr().is_null());
    let outside = Error::OutOfBounds { start: 4, end: 8, len: 0 };
    assert_eq!(column(1).into_dlpack().unwrap_err(), outside);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Slice {
    #[dlpack(data)]
    file: Arc<[u8]>,
    shape: Vec<u64>,
    dtype: DataType,
    #[dlpack(offset(elements))]
    first: usize,
}

#[test]
fn offsets_count_elements_of_the_dtype() {
    let file: Arc<[u8]> = bytemuck::cast_slice(&[7_u32, 8, 9]).into();
    let base = file.as_ptr();
    let slice = Slice { file, shape: vec![2], dtype: DataType::U32, first: 1 };
    assert_eq!(read(slice, base), (4, vec![8, 9]));
}

#[derive(Clone, DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Capacity {
    data: Arc<[u32]>,
    shape: [i32; 8],
    strides: [i32; 4],
    #[dlpack(ndim)]
    rank: i32,
}

#[test]
fn arrays_of_a_fixed_capacity() {
    let data: Arc<[u32]> = (0..6).collect();
    let base: *const u8 = data.as_ptr().cast();
    let shape = [3, 2, -9, -9, -9, -9, -9, -9];
    let tensor = Capacity { data, shape, strides: [1, 3, 99, 99], rank: 2 };
    assert_eq!(read(tensor.clone(), base), (0, vec![0, 3, 1, 4, 2, 5]));
    assert_eq!(read(Capacity { rank: 0, ..tensor.clone() }, base), (0, vec![0]));
    let beyond = |rank| Capacity { rank, ..tensor.clone() }.into_dlpack().unwrap_err();
    assert_eq!(beyond(-1), Error::RankBeyondCapacity { ndim: -1, capacity: 8 });
    assert_eq!(beyond(5), Error::RankBeyondCapacity { ndim: 5, capacity: 4 });
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Compact {
    data: Vec<u32>,
    shape: [usize; 4],
    #[dlpack(ndim)]
    ndim: u8,
}

#[test]
fn a_rank_without_strides() {
    let compact = Compact { data: (0..6).collect(), shape: [2, 3, 0, 0], ndim: 2 };
    let foreign = ImportedStorage::from(compact.into_dlpack().unwrap());
    assert_eq!((foreign.shape(), foreign.strides()), (vec![2, 3], vec![3, 1]));
    foreign.delete(Farewell::Plain);
}
