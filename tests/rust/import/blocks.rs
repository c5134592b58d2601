//! Access in blocks: what is rejected, what a function of a block may do, and what its panic
//! leaves. `block_layouts.rs` compares the layouts.

use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::panic::catch_unwind;

use dlpack_tests::counted::{Drops, Owner};
use tensors::ffi::DLManagedTensor;
use tensors::{
    DLPackExport, DataType, Element, Error, Flags, ImportedStorage, ImportedTensor, OwnedTensor,
    Readable, SharedBuffer,
};

use crate::import::forge::{Forged, alone, forged, import};

/// Bytes of more than two blocks, which have 256 bytes under Miri and 8 KiB otherwise.
const LEN: usize = if cfg!(miri) { 600 } else { 20_000 };

/// The same number, as a dimension.
const DIM: i64 = if cfg!(miri) { 600 } else { 20_000 };

/// Two numbers that are one element.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = tensors, any_bits)]
#[repr(transparent)]
struct Pair([i32; 2]);

/// An element type that is an array covers the last dimensions.
#[test]
fn arrays_are_read_in_blocks() {
    let pixels = forged(&[2, 3, 2], &(0..12).collect::<Vec<_>>()).strided(&[2, 4, 1], 0);
    let mut tensor = pixels.imported();
    let elements = tensor.elements::<Pair>().unwrap();
    let expected = [[0, 1], [4, 5], [8, 9], [2, 3], [6, 7], [10, 11]].map(Pair);
    assert_eq!(elements.to_vec().unwrap(), expected);
    assert_eq!(elements.iter().collect::<Vec<_>>(), expected);
    let mut seen = Vec::new();
    elements.for_each_block_unordered(|block| seen.extend_from_slice(block));
    assert_eq!(seen, [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]].map(Pair));
    tensor.elements_mut::<Pair>().unwrap().map_in_place(|Pair([a, b])| Pair([b, a]));
    assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap()[..4], [1, 0, 5, 4]);
}

/// Nothing, at an address that a block on the stack has by chance only.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(256))]
struct Line;

/// An element of a larger alignment than a block.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = tensors, any_bits)]
#[repr(C)]
struct Wide {
    values: [i32; 64],
    #[dlpack(skip)]
    alignment: [Line; 0],
}

impl Wide {
    const fn of(value: i32) -> Self {
        Self { values: [value; 64], alignment: [] }
    }

    /// Calls a function in stack frames at several addresses.
    fn in_frames(depth: u32, f: &mut impl FnMut()) {
        f();
        if let Some(depth) = depth.checked_sub(1) {
            Self::in_frames(depth, f);
        }
    }
}

#[test]
fn elements_of_a_large_alignment() {
    let wide = [1, 2, 3, 4, 5].map(Wide::of);
    let doubled = wide.map(|Wide { values: [value, ..], .. }| Wide::of(2 * value));
    Wide::in_frames(8, &mut || {
        let buffer = SharedBuffer::from_slice(&wide).unwrap();
        let mut seen = Vec::new();
        buffer.for_each_block(|block| seen.extend_from_slice(block));
        assert_eq!(seen, wide);
        buffer.map_in_place(|Wide { values: [value, ..], .. }| Wide::of(2 * value));
        assert_eq!(buffer.to_vec(), doubled);

        let mut tensor =
            OwnedTensor::from_vec(wide.to_vec()).into_dlpack().unwrap().import().unwrap();
        seen.clear();
        let elements = tensor.elements::<Wide>().unwrap();
        elements.for_each_block(|block| seen.extend_from_slice(block));
        assert_eq!(seen, wide);
        assert_eq!(elements.iter().collect::<Vec<_>>(), wide);
        let mut elements = tensor.elements_mut::<Wide>().unwrap();
        elements.map_in_place(|Wide { values: [value, ..], .. }| Wide::of(2 * value));
        assert_eq!(tensor.elements::<Wide>().unwrap().to_vec().unwrap(), doubled);
    });
}

/// A vector of more than 1 MiB is copied in blocks.
#[cfg_attr(miri, ignore = "Miri takes minutes for 1 MiB")]
#[test]
fn large_vectors_have_all_elements() {
    let numbers: Vec<i32> = (0..300_001).collect();
    let tensor = forged(&[300_001], &numbers).imported();
    assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), numbers);
    let pairs = forged(&[150_000, 2], &numbers).imported();
    let pairs = pairs.elements::<Pair>().unwrap().to_vec().unwrap();
    assert_eq!((pairs.len(), pairs.last()), (150_000, Some(&Pair([299_998, 299_999]))));
    let mut bytes = vec![1; 1_500_000];
    bytes[1_200_000] = 2;
    let bools = Forged { bytes, dtype: DataType::BOOL, ..forged(&[1_500_000], &[]) }.imported();
    let read = bools.elements::<bool>().unwrap().to_vec();
    assert_eq!(read, Err(Error::InvalidBits { dtype: DataType::BOOL }));
}

/// Blocks of a type with invalid bit patterns are validated before the function has them.
#[test]
fn invalid_bits_are_not_in_a_block() {
    let bools = |last: u8| {
        let mut bytes = vec![1; LEN];
        *bytes.last_mut().unwrap() = last;
        Forged { bytes, dtype: DataType::BOOL, ..forged(&[DIM], &[]) }.imported()
    };
    let invalid = Err(Error::InvalidBits { dtype: DataType::BOOL });
    for (last, result) in [(0, Ok(())), (2, invalid)] {
        let mut tensor = bools(last);
        let elements = tensor.elements::<bool>().unwrap();
        for order in [true, false] {
            let mut seen = 0;
            let count = |block: &[bool]| seen += block.len();
            let read = if order {
                elements.try_for_each_block(count)
            } else {
                elements.try_for_each_block_unordered(count)
            };
            assert_eq!(read, result);
            assert!(seen > 0 && (seen == LEN) == result.is_ok());
        }
        assert_eq!(elements.to_vec().map(|_| ()), result);
        let mut copy = vec![false; LEN];
        assert_eq!(elements.copy_to_slice(&mut copy), result);
        assert!(copy[0]);
        let mut elements = tensor.elements_mut::<bool>().unwrap();
        assert_eq!(elements.try_update_blocks(|block| block.fill(false)), result);
        assert_eq!(elements.load(&[0]), Ok(false));
        assert_eq!(elements.load(&[LEN - 1]).is_ok(), result.is_ok());
        assert_eq!(elements.try_map_in_place(|bit| !bit), result);
        assert_eq!(elements.load(&[0]), Ok(true));
        elements.fill(false);
        elements.store(&[3], true).unwrap();
        assert_eq!(elements.as_elements().try_iter().filter(|bit| *bit == Ok(true)).count(), 1);
        let mut copy = vec![true; LEN];
        elements.copy_from_slice(&copy).unwrap();
        copy.fill(false);
        elements.as_elements().copy_to_slice(&mut copy).unwrap();
        assert!(copy.iter().all(|&bit| bit));
    }
}

/// A3, A10: read-only memory and layouts that overlap are not written.
#[test]
fn rejected_for_writing() {
    fn error<T: Readable>(mut tensor: ImportedTensor) -> Option<Error> {
        tensor.elements_mut::<T>().err()
    }
    let numbers = || forged(&[2, 2], &[1, 2, 3, 4]);
    let read_only = Forged { flags: Flags::READ_ONLY, ..numbers() };
    assert_eq!(error::<i32>(read_only.imported()), Some(Error::ReadOnly));
    let legacy = numbers().import::<DLManagedTensor>(&Drops::new()).1.unwrap();
    assert_eq!(error::<i32>(legacy), Some(Error::ReadOnly));
    let overlapping = numbers().strided(&[0, 1], 0);
    assert_eq!(error::<i32>(overlapping.imported()), Some(Error::Overlapping));
    let mismatch = Error::ElementMismatch { requested: DataType::F32, found: DataType::I32 };
    assert_eq!(error::<f32>(numbers().imported()), Some(mismatch));
    assert_eq!(error::<i32>(numbers().imported()), None);
    // Memory that this program lent from a `&[T]`.
    let frozen =
        import(Owner::new(std::sync::Arc::<[i32]>::from([1, 2]), &[2]).into_dlpack().unwrap());
    assert_eq!(error::<i32>(frozen), Some(Error::ReadOnly));
    let mut tensor = numbers().imported();
    let mut elements = tensor.elements_mut::<i32>().unwrap();
    assert_eq!(elements.store(&[2, 0], 1), Err(Error::NoSuchElement));
    assert_eq!(elements.store(&[0], 1), Err(Error::NoSuchElement));
    let mismatch = Err(Error::LenMismatch { needed: 4, found: 3 });
    assert_eq!(elements.copy_from_slice(&[1; 3]), mismatch);
    assert_eq!(elements.as_elements().copy_to_slice(&mut [1; 3]), mismatch);
    assert_eq!(elements.as_elements().to_vec().unwrap(), [1, 2, 3, 4]);
    assert_eq!((elements.shape(), elements.len(), elements.is_empty()), (&[2, 2][..], 4, false));
}

/// Every access to memory that this program lent by value, or that several owners share.
#[test]
fn own_memory_is_written() {
    let buffer = SharedBuffer::from_slice(&[1_i32, 2, 3]).unwrap();
    let shared = Owner::new(buffer.clone(), &[3]).to_dlpack().unwrap().import().unwrap();
    let mut storage = ImportedStorage::<i32>::new(shared).unwrap();
    storage.elements_mut().unwrap().map_in_place(|value| value * 2);
    assert_eq!(buffer.to_vec(), [2, 4, 6]);
    let mut tensor = import(Owner::new(vec![1_i32, 2, 3], &[3]).into_dlpack().unwrap());
    tensor.elements_mut::<i32>().unwrap().map_in_place(|value| value * 2);
    assert_eq!(alone(&mut tensor).as_slice::<i32>().unwrap(), [2, 4, 6]);
}

/// Memory that no one writes is lent, and not copied.
#[test]
fn frozen_memory_is_not_copied() {
    let numbers = std::sync::Arc::<[i32]>::from(vec![7; 5_000]);
    let address = numbers.as_ptr();
    let tensor = import(Owner::new(numbers, &[5_000]).into_dlpack().unwrap());
    let mut blocks = Vec::new();
    tensor
        .elements::<i32>()
        .unwrap()
        .for_each_block(|block| blocks.push((block.as_ptr(), block.len())));
    assert_eq!(blocks, [(address, 5_000)]);
    let tensor = forged(&[2], &[1, 2]).imported();
    tensor.elements::<i32>().unwrap().for_each_block(|block| {
        assert_ne!(block.as_ptr().cast(), tensor.data_ptr());
    });
}

/// A method that calls a function with each block.
type Update<'a> = dyn FnMut(&mut dyn FnMut(&mut [u8])) + 'a;

/// A block is not written back if the function panics. Those before it are.
#[test]
fn a_panic_leaves_the_block_unchanged() {
    let buffer = SharedBuffer::<u8>::zeroed(LEN).unwrap();
    let check = |update: &mut Update<'_>| {
        buffer.fill(0);
        let (mut calls, mut done) = (0, 0);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            update(&mut |block| {
                block.fill(1);
                calls += 1;
                assert!(calls < 2, "the second call");
                done += block.len();
            });
        }));
        assert!(panic.is_err());
        let expected: Vec<u8> = (0..LEN).map(|index| u8::from(index < done)).collect();
        assert_eq!(buffer.to_vec(), expected);
        assert!(done > 0);
    };
    let mut tensor = import(Owner::new(buffer.clone(), &[DIM]).to_dlpack().unwrap());
    check(&mut |f| tensor.elements_mut::<u8>().unwrap().update_blocks(f));
    check(&mut |f| tensor.elements_mut::<u8>().unwrap().try_update_blocks(f).unwrap());
    check(&mut |f| buffer.update_blocks(f));
}

/// The function of a block accesses the same memory.
#[test]
fn functions_are_re_entrant() {
    let buffer = SharedBuffer::from_slice(&[1_i32, 2, 3, 4]).unwrap();
    let mut tensor = import(Owner::new(buffer.clone(), &[4]).to_dlpack().unwrap());
    let other =
        import(Owner::new(buffer.clone(), &[2, 2]).strided(&[1, 2], 0).to_dlpack().unwrap());
    let calls = AtomicUsize::new(0);
    tensor.elements_mut::<i32>().unwrap().update_blocks(|block| {
        buffer.store(3, 40);
        other.elements::<i32>().unwrap().for_each_block(|inner| {
            assert_eq!(inner, [1, 3, 2, 40]);
            buffer.update_blocks(|again| again[0] = 10);
            calls.fetch_add(1, Ordering::Relaxed);
        });
        // This block is written last.
        block[1] = 20;
    });
    assert_eq!(calls.into_inner(), 1);
    assert_eq!(buffer.to_vec(), [1, 20, 3, 4]);
}

/// The methods of a buffer, with one block and with several.
#[test]
fn shared_buffers() {
    for len in [0, 1, 5, if cfg!(miri) { 70 } else { 7_001 }] {
        let numbers: Vec<u32> = (0..len).collect();
        let buffer = SharedBuffer::<u32>::zeroed(numbers.len()).unwrap();
        buffer.copy_from_slice(&numbers);
        let mut seen = Vec::new();
        buffer.for_each_block(|block| {
            assert!(!block.is_empty());
            seen.extend_from_slice(block);
        });
        assert_eq!(seen, numbers);
        buffer.map_in_place(|number| number + 1);
        let mut copy = vec![0; numbers.len()];
        buffer.copy_to_slice(&mut copy);
        assert!(copy.iter().zip(&numbers).all(|(new, old)| *new == old + 1));
        buffer.fill(9);
        assert_eq!(buffer.to_vec(), vec![9; numbers.len()]);
        assert!(catch_unwind(|| buffer.copy_from_slice(&[1; 2])).is_err());
        assert!(catch_unwind(|| buffer.copy_to_slice(&mut [1; 2])).is_err());
    }
}
