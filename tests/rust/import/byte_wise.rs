//! Memory that several threads read and write, with element types of different sizes.
//! Miri reports atomic accesses of different sizes as a race.

use core::sync::atomic::{AtomicU8, Ordering};
use std::sync::Barrier;
use std::thread;

use dlpack_tests::counted::Owner;
use tensors::ffi::DLManagedTensorVersioned;
use tensors::{
    AnyBits, DLPackExport, DataType, Describe, Description, Element, Error, ImportedStorage,
    ImportedTensor, ManagedTensor, SharedBuffer, Storage,
};

use crate::import::own::Rgba;

/// How often each thread reads or writes.
const ROUNDS: usize = if cfg!(miri) { 4 } else { 20_000 };

/// Bytes that are exported as elements of another type.
struct Viewed<T>(SharedBuffer<T>, DataType, [i64; 1]);

impl<T: AnyBits> DLPackExport for Viewed<T> {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&self.2).dtype(self.1).data(self.0.data())
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.0)
    }
}

/// A tensor that went through C, as it does in a capsule.
fn through_c(tensor: ManagedTensor) -> ImportedTensor {
    // SAFETY: 1. to 4. `into_raw` returned a valid struct, which this function owns.
    // 5. Other accesses are those of `SharedBuffer` and of other imports.
    unsafe { ImportedTensor::from_raw::<DLManagedTensorVersioned>(tensor.into_raw()) }.unwrap()
}

/// Whether every byte is one of two.
fn is_mix<T: Element>(value: T, old: u8, new: u8) -> bool {
    // SAFETY: all bytes of an element are initialized.
    let bytes: &[u8] =
        unsafe { core::slice::from_raw_parts((&raw const value).cast(), size_of::<T>()) };
    bytes.iter().all(|&byte| byte == old || byte == new)
}

/// Reads a tensor in every way that copies elements.
fn read_all<T>(tensor: &ImportedTensor, old: u8, new: u8)
where
    T: AnyBits + PartialEq + core::fmt::Debug,
{
    let elements = tensor.elements::<T>().unwrap();
    // First what does not allocate: Miri may synchronize threads that reuse an address.
    assert!(elements.iter().all(|value| is_mix(value, old, new)));
    elements.iter().for_each(|value| assert!(is_mix(value, old, new)));
    let last = elements.shape().iter().map(|&dim| usize::try_from(dim).unwrap() - 1);
    let last: Vec<_> = last.collect();
    assert!(is_mix(elements.load(&last).unwrap(), old, new));
    elements.for_each_block(|block| assert!(block.iter().all(|&value| is_mix(value, old, new))));
    elements.for_each_block_unordered(|block| {
        assert!(block.iter().all(|&value| is_mix(value, old, new)));
    });
    assert!(elements.to_vec().unwrap().into_iter().all(|value| is_mix(value, old, new)));
}

#[test]
fn bytes_are_read_as_floats_while_they_are_stored() {
    let buffer = SharedBuffer::from_slice(&[1_u8; 8]).unwrap();
    let viewed = Viewed(buffer.clone(), DataType::F32, [2]);
    let tensor = through_c(viewed.to_dlpack().unwrap());
    let own = viewed.to_dlpack().unwrap().import().unwrap();
    let foreign: ImportedStorage =
        ImportedStorage::new(through_c(viewed.to_dlpack().unwrap())).unwrap();
    let start = Barrier::new(3);
    thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            for round in 0..ROUNDS {
                buffer.store(round % 8, 2);
            }
        });
        scope.spawn(|| {
            start.wait();
            for _ in 0..ROUNDS {
                read_all::<f32>(&tensor, 1, 2);
                read_all::<f32>(&own, 1, 2);
                let codes = tensor.raw_bits().unwrap();
                #[expect(clippy::cast_possible_truncation, reason = "a float has 32 bits")]
                let is_code_mix = |code| is_mix(code as u32, 1, 2);
                assert!(codes.iter().all(is_code_mix));
            }
        });
        scope.spawn(|| {
            start.wait();
            for _ in 0..ROUNDS.div_ceil(50) {
                let copy = foreign.copy_to_dlpack().unwrap().import().unwrap();
                read_all::<f32>(&copy, 1, 2);
            }
        });
        scope.spawn(|| assert!(buffer.to_vec().iter().all(|&byte| is_mix(byte, 1, 2))));
    });
    assert_eq!(buffer.to_vec().len(), 8);
}

#[test]
fn pixels_are_read_as_bytes_while_they_are_stored() {
    let buffer = SharedBuffer::from_slice(&[Rgba([1; 4]); 3]).unwrap();
    let tensor = through_c(Owner::new(buffer.clone(), &[3]).to_dlpack().unwrap());
    assert_eq!((tensor.dtype(), tensor.shape()), (DataType::U8, &[3, 4][..]));
    let start = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            for round in 0..ROUNDS {
                buffer.store(round % 3, Rgba([2; 4]));
            }
        });
        scope.spawn(|| {
            start.wait();
            for _ in 0..ROUNDS {
                read_all::<u8>(&tensor, 1, 2);
                read_all::<Rgba>(&tensor, 1, 2);
            }
        });
    });
}

/// An `ImportedStorage` exports memory as writable that the first export lent by `&mut`,
/// so all owners read it byte-wise atomically.
#[test]
fn exclusive_memory_of_an_imported_storage_is_read_byte_wise_atomically() {
    let own = Owner::new(vec![0x0101_0101_u32; 8], &[8]).into_dlpack().unwrap().import().unwrap();
    let foreign: ImportedStorage<u32> = ImportedStorage::new(own).unwrap();
    let exported = through_c(foreign.to_dlpack().unwrap());
    assert!(!exported.is_read_only());
    let start = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            for at in 0..exported.byte_range().len() {
                let byte = exported.data_ptr().cast_mut().wrapping_add(at);
                // SAFETY: it is a byte of a writable tensor. All other accesses are atomic, too.
                unsafe { AtomicU8::from_ptr(byte) }.store(2, Ordering::Relaxed);
            }
        });
        scope.spawn(|| {
            start.wait();
            // Before this thread allocates, as above.
            assert!(is_mix(foreign.elements().unwrap().load(&[0]).unwrap(), 1, 2));
            read_all::<u32>(foreign.imported(), 1, 2);
            assert!(foreign.imported().raw_bits().unwrap().iter().all(|code| code <= 0x0202_0202));
        });
    });
}

/// Blocks of one element type are written while other types of the same bytes are read and
/// written: in a contiguous layout, and with strides.
#[test]
fn blocks_are_written_while_bytes_are_read() {
    let buffer = SharedBuffer::from_slice(&[1_u8; 24]).unwrap();
    let floats = Viewed(buffer.clone(), DataType::F32, [6]);
    let mut contiguous = through_c(floats.to_dlpack().unwrap());
    let words = Owner::new(buffer.clone(), &[2, 3]).strided(&[1, 4], 0).dtype(DataType::U16);
    let mut strided = through_c(words.to_dlpack().unwrap());
    let read = through_c(floats.to_dlpack().unwrap());
    let start = Barrier::new(4);
    thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            for _ in 0..ROUNDS.div_ceil(100) {
                contiguous.elements_mut::<f32>().unwrap().update_blocks(|block| {
                    assert!(block.iter().all(|&value| is_mix(value, 1, 2)));
                    block.fill(f32::from_ne_bytes([2; 4]));
                });
                contiguous.elements_mut::<f32>().unwrap().fill(f32::from_ne_bytes([1; 4]));
            }
        });
        scope.spawn(|| {
            start.wait();
            for _ in 0..ROUNDS.div_ceil(100) {
                let mut elements = strided.elements_mut::<u16>().unwrap();
                elements.map_in_place(|value| {
                    assert!(is_mix(value, 1, 2));
                    0x0202
                });
                elements.copy_from_slice(&[0x0101; 6]).unwrap();
                elements.store(&[1, 2], 0x0202).unwrap();
            }
        });
        scope.spawn(|| {
            start.wait();
            for _ in 0..ROUNDS.div_ceil(100) {
                read_all::<f32>(&read, 1, 2);
                buffer.for_each_block(|block| {
                    assert!(block.iter().all(|&byte| is_mix(byte, 1, 2)));
                });
            }
        });
        scope.spawn(|| {
            start.wait();
            for _ in 0..ROUNDS.div_ceil(100) {
                buffer.map_in_place(|byte| 3 - byte);
                buffer.copy_from_slice(&[1; 24]);
            }
        });
    });
}
