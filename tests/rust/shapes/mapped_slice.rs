//! One tensor of many in a mapped file: the map has several owners, and the struct
//! contains the start and the length of its part, in bytes.

#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, DataType, Error, Flags, Storage};

use super::consumer::Expected;

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Slice<M: Storage> {
    #[dlpack(data)]
    file: M,
    #[dlpack(offset(bytes))]
    start: usize,
    #[dlpack(len(bytes))]
    nbytes: usize,
    dtype: DataType,
    shape: Arc<[i64]>,
    _drop: Ticket,
}

/// A header of 4 bytes, two numbers of 16 bits, and one of 32.
const FILE: [u8; 12] = {
    let ([a, b], [c, d]) = (7_u16.to_ne_bytes(), 8_u16.to_ne_bytes());
    let [e, f, g, h] = 1.5_f32.to_ne_bytes();
    [b'h', b'e', b'a', b'd', a, b, c, d, e, f, g, h]
};

/// Exports both tensors of a file, and checks that other ranges are errors.
fn assert_exported<M: Storage + Clone + Send + 'static>(file: &M) {
    let drops = Drops::new();
    let slice = |start, nbytes, dtype, shape: &[i64]| Slice {
        file: file.clone(),
        start,
        nbytes,
        dtype,
        shape: shape.into(),
        _drop: drops.ticket(),
    };
    let pair = slice(4, 4, DataType::U16, &[2]);
    let expected =
        Expected { shape: &[2], strides: &[1], flags: Flags::READ_ONLY, elements: &[7_u16, 8] };
    expected.assert_shared(&pair);
    expected.assert_moved(pair, &drops);
    let one = slice(8, 4, DataType::F32, &[]);
    let expected =
        Expected { shape: &[], strides: &[], flags: Flags::READ_ONLY, elements: &[1.5_f32] };
    expected.assert_moved(one, &drops);

    // Inside the file, but not inside the slice.
    let longer = slice(4, 4, DataType::U16, &[3]);
    let error = longer.into_dlpack().unwrap_err();
    assert_eq!(error, Error::OutsideWindow { start: 4, end: 10, from: 4, to: 8 });
    // Inside the slice, but not inside the file.
    let error = slice(8, 6, DataType::U16, &[3]).into_dlpack().unwrap_err();
    assert_eq!(error, Error::OutOfBounds { start: 8, end: 14, len: FILE.len() });
}

/// Bytes behind an `Arc`, as a memory map is, but without the file.
#[test]
fn a_slice_of_memory_is_exported() {
    let file: Arc<[u8]> = Arc::new(FILE);
    assert_exported(&file);
    assert_eq!(Arc::strong_count(&file), 1);
}

#[test]
#[cfg_attr(miri, ignore = "Miri maps no files")]
fn a_slice_of_a_mapped_file_is_exported() {
    let file = Arc::new(super::mapped_file::map("mapped_slice", &FILE));
    assert_exported(&file);
    assert_eq!(Arc::strong_count(&file), 1);
}
