//! Storages of other crates, seen through the C structs.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use memmap2::{Mmap, MmapMut};
use tensors::{DLPackExport, DataType, Error, Storage};

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Tensor<S> {
    data: S,
    shape: [usize; 1],
    #[dlpack(offset(bytes))]
    start: usize,
}

fn tensor<S: Storage>(data: S, len: usize) -> Tensor<S> {
    Tensor { data, shape: [len], start: 0 }
}

#[test]
fn shared_bytes_are_read_only() {
    let all = Bytes::from((0_u8..10).collect::<Vec<_>>());
    let part = tensor(all.slice(2..6), 3);
    let shared = ImportedStorage::from(Tensor { start: 1, ..part }.to_dlpack().expect("shared"));
    assert!(!shared.is_writable());
    assert_eq!(shared.data().addr(), all.as_ptr().addr() + 3);
    drop(all);
    assert_eq!(shared.elements::<u8>(), [3, 4, 5]);
    shared.delete_elsewhere(Farewell::Plain);
    let given =
        ImportedStorage::from(tensor(Bytes::from_static(b"abc"), 3).into_dlpack().expect("moved"));
    assert!(!given.is_writable());
    assert_eq!(given.elements::<u8>(), *b"abc");
    given.delete(Farewell::Plain);
    let outside = tensor(Bytes::from_static(b"abc"), 4).to_dlpack().unwrap_err();
    assert_eq!(outside, Error::OutOfBounds { start: 0, end: 4, len: 3 });
}

#[test]
fn unique_bytes_are_writable() {
    let bytes = BytesMut::from(&b"abc"[..]);
    assert_eq!(tensor(bytes.clone(), 3).to_dlpack().unwrap_err(), Error::NotShareable);
    let given = ImportedStorage::from(tensor(bytes, 3).into_dlpack().expect("moved"));
    given.write(|byte: u8| byte.to_ascii_uppercase());
    assert_eq!(given.elements::<u8>(), *b"ABC");
    given.delete(Farewell::Copy);
}

#[test]
#[cfg_attr(miri, ignore = "Miri maps no files")]
fn memory_maps_are_exported() {
    let mut map = MmapMut::map_anon(8).expect("memory");
    map[..4].copy_from_slice(&1.5_f32.to_ne_bytes());
    assert_eq!(map.data().dtype(), DataType::U8);
    let writable = ImportedStorage::from(tensor(map, 8).into_dlpack().expect("moved"));
    writable.write(|byte: u8| byte);
    writable.delete(Farewell::Plain);

    let map = MmapMut::map_anon(8).and_then(MmapMut::make_read_only).expect("memory");
    let map: Arc<Mmap> = Arc::new(map);
    let shared = ImportedStorage::from(tensor(Arc::clone(&map), 8).to_dlpack().expect("shared"));
    assert!(!shared.is_writable());
    assert_eq!(shared.data().cast_const(), map.as_ptr());
    drop(map);
    assert_eq!(shared.elements::<u8>(), [0; 8]);
    shared.delete_elsewhere(Farewell::Plain);
}
