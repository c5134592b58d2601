//! Valid structs, including unusual ones: metadata, elements, deleter.

use std::sync::Arc;

use dlpack_tests::counted::{Drops, Owner};
use dlpack_tests::positions::positions;
use tensors::ffi::{self, DLManagedTensor, DLManagedTensorVersioned};
use tensors::{
    Complex, DLPackExport, DataType, Device, Error, Flags, ImportedStorage, ImportedTensor,
    SharedBuffer, Storage, Version,
};

use crate::import::forge::{self, Forge, Forged, forged, free};

/// Shape, strides, byte offset, and the bytes that elements lie in, counted
/// from the first.
type Case = (&'static [i64], Option<&'static [i64]>, u64, core::ops::Range<isize>);

/// Layouts over the numbers 0 to 11, as NumPy makes them.
const LAYOUTS: [Case; 12] = [
    (&[12], None, 0, 0..48),
    (&[3, 4], None, 0, 0..48),
    (&[3, 4], Some(&[4, 1]), 0, 0..48),
    (&[4, 3], Some(&[1, 4]), 0, 0..48),
    (&[2, 2], Some(&[8, 2]), 4, 0..44),
    (&[12], Some(&[-1]), 44, -44..4),
    (&[3, 4], Some(&[-4, 1]), 32, -32..16),
    (&[5, 3], Some(&[0, 1]), 8, 0..12),
    (&[2, 1, 3], Some(&[3, i64::MIN, 1]), 0, 0..24),
    (&[], None, 20, 0..4),
    (&[2, 0, 3], None, 0, 0..0),
    (&[1, 1, 1, 1, 1, 1, 1, 1, 2, 3], None, 0, 0..24),
];

fn numbers() -> Vec<i32> {
    (0..12).collect()
}

fn check<M: Forge>(case: &Forged, range: core::ops::Range<isize>) {
    let drops = Drops::new();
    let (_, taken) = case.import::<M>(&drops);
    let tensor = taken.unwrap();
    let shape = case.shape.clone().unwrap_or_default();
    assert_eq!(tensor.shape(), shape);
    if let Some(strides) = &case.strides {
        assert_eq!(tensor.strides(), strides);
    } else {
        assert!(tensor.is_row_major());
        let next = |step: &mut i64, &dim: &i64| Some(core::mem::replace(step, *step * dim.max(1)));
        let strides: Vec<i64> = shape.iter().rev().scan(1, next).collect();
        assert!(tensor.strides().iter().rev().eq(&strides), "{:?}", tensor.strides());
    }
    assert_eq!(tensor.version(), M::VERSIONED.then_some(case.version));
    assert_eq!(tensor.ndim(), shape.len());
    assert_eq!((tensor.dtype(), tensor.device()), (DataType::I32, Device::CPU));
    assert_eq!(tensor.byte_range(), range);
    let first = i64::try_from(case.byte_offset / 4).unwrap();
    let expected: Vec<i32> = positions(&shape, tensor.strides())
        .iter()
        .map(|position| i32::try_from(first + position).unwrap())
        .collect();
    assert_eq!(tensor.numel(), i64::try_from(expected.len()).unwrap());
    assert_eq!(tensor.data_ptr().is_null(), expected.is_empty());
    let elements = tensor.elements::<i32>().unwrap();
    assert_eq!(elements.to_vec().unwrap(), expected);
    assert_eq!(elements.iter().collect::<Vec<_>>(), expected);
    assert_eq!(elements.iter().len(), elements.len());
    // By index, in the same order.
    let mut index = vec![0; shape.len()];
    for &element in &expected {
        assert_eq!(elements.load(&index), Ok(element));
        for (entry, &dim) in index.iter_mut().zip(&shape).rev() {
            *entry += 1;
            if i64::try_from(*entry).unwrap() < dim {
                break;
            }
            *entry = 0;
        }
    }
    let outside: Vec<usize> = shape.iter().map(|&dim| usize::try_from(dim).unwrap()).collect();
    if !outside.is_empty() {
        assert_eq!(elements.load(&outside), Err(Error::NoSuchElement));
    }
    assert_eq!(elements.load(&[0; 11]), Err(Error::NoSuchElement));
    assert_eq!(drops.count(), 0);
    std::thread::spawn(move || drop(tensor)).join().unwrap();
    assert_eq!(drops.count(), 1);
}

#[test]
fn valid_layouts_are_accepted() {
    for (shape, strides, byte_offset, range) in LAYOUTS {
        let mut case = forged(shape, &numbers());
        case.strides = strides.map(<[i64]>::to_vec);
        case.byte_offset = byte_offset;
        check::<DLManagedTensorVersioned>(&case, range.clone());
        check::<DLManagedTensor>(&case, range.clone());
        // F5: NULL strides mean contiguous in every minor version.
        let minors: &[u32] = if cfg!(miri) { &[77] } else { &[0, 1, 2, 3, 77] };
        for &minor in minors {
            case.version = Version::new(1, minor);
            check::<DLManagedTensorVersioned>(&case, range.clone());
        }
    }
}

/// F5: without dimensions no array is read. L6: without elements the deleter is still
/// called.
#[test]
fn empty_arrays_are_not_read() {
    let scalar = Forged { shape: None, ..forged(&[], &[7]) };
    assert_eq!(scalar.imported().elements::<i32>().unwrap().load(&[]), Ok(7));
    for data in [None, Some(0), Some(1)] {
        let drops = Drops::new();
        let mut case = forged(&[0, 1 << 62], &[]);
        (case.data, case.byte_offset) = (data, u64::MAX);
        let (_, taken) = case.import::<DLManagedTensor>(&drops);
        let tensor = taken.unwrap();
        assert!(tensor.elements::<i32>().unwrap().is_empty());
        // SAFETY: 1. The tensor has no elements.
        assert!(unsafe { tensor.assume_frozen() }.as_slice::<i32>().unwrap().is_empty());
        drop(tensor);
        assert_eq!(drops.count(), 1);
    }
}

/// L1: a NULL deleter is none.
#[test]
fn a_null_deleter_is_accepted() {
    let drops = Drops::new();
    let case = Forged { deleter: false, ..forged(&[2], &[1, 2]) };
    let (raw, taken) = case.import::<DLManagedTensorVersioned>(&drops);
    assert_eq!(taken.unwrap().elements::<i32>().unwrap().to_vec().unwrap(), [1, 2]);
    assert_eq!(drops.count(), 0);
    free(raw);
}

/// F13: later changes by the producer have no effect.
#[test]
fn metadata_is_read_once() {
    let drops = Drops::new();
    let (raw, taken) = forged(&[2], &[1, 2]).import::<DLManagedTensorVersioned>(&drops);
    let tensor = taken.unwrap();
    // SAFETY: the struct is alive; this test breaks the promise that the struct is not
    // written, to check that nothing depends on it.
    let shape = unsafe { (*raw).dl_tensor.shape };
    // SAFETY: as above.
    unsafe { shape.write(i64::MAX) };
    // SAFETY: as above.
    unsafe { (*raw).dl_tensor.data = core::ptr::null_mut() };
    assert_eq!(tensor.shape(), [2]);
    assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), [1, 2]);
}

/// F11: packed elements are counted in bits, padded ones in bytes.
#[test]
fn packed_and_padded_elements_are_accepted() {
    let mut case = forged(&[5], &[0, 0]);
    case.dtype = DataType::FLOAT4_E2M1FN;
    assert_eq!(case.imported().byte_range(), 0..3);
    case.strides = Some(vec![-1]);
    case.byte_offset = 2;
    assert_eq!(case.imported().byte_range(), -2..1);
    case.strides = None;
    case.flags = Flags::IS_SUBBYTE_TYPE_PADDED;
    assert_eq!(case.imported().byte_range(), 0..5);
    case.dtype = DataType::FLOAT6_E2M3FN.with_lanes(3);
    case.flags = Flags::NONE;
    assert_eq!(case.imported().byte_range(), 0..12);
}

/// F12: memory elsewhere has metadata here, and no elements.
#[test]
fn tensors_on_other_devices_are_accepted() {
    for device in [Device::cuda(1), Device::CUDA_MANAGED, Device::new(ffi::kDLVulkan, 0)] {
        let mut case = forged(&[2], &[1, 2]);
        (case.device, case.byte_offset) = (device, 4);
        let mut tensor = case.imported();
        assert_eq!(tensor.byte_offset(), if device.has_addresses() { 0 } else { 4 });
        assert_eq!(tensor.elements::<i32>().map(|_| ()), Err(Error::NotOnHost { device }));
        // SAFETY: the memory has no other owner.
        let mut exclusive = unsafe { tensor.assume_exclusive() }.unwrap();
        assert_eq!(exclusive.as_mut_slice::<i32>(), Err(Error::NotOnHost { device }));
    }
    // An opaque handle may be NULL: this crate does not interpret it.
    let null = Forged { data: None, device: Device::new(ffi::kDLVulkan, 0), ..forged(&[2], &[]) };
    assert!(null.imported().data_ptr().is_null());
}

/// Exports of this crate are imported again, in both structs.
#[test]
fn own_exports_are_imported() {
    for (shape, strides, byte_offset, range) in LAYOUTS {
        let drops = Drops::new();
        let owner = || {
            let strides = strides.map(<[i64]>::to_vec);
            Owner { strides, byte_offset, ..Owner::new(numbers(), shape) }.counted(&drops)
        };
        let versioned = forge::import(owner().into_dlpack().unwrap());
        assert_eq!(versioned.version(), Some(Version::CURRENT));
        assert_eq!(versioned.byte_range(), range);
        let elements = versioned.elements::<i32>().unwrap().to_vec().unwrap();
        drop(versioned);
        assert_eq!(drops.count(), 1);
        // Overlapping ones are read-only, so they have no legacy struct.
        if let Ok(legacy) = owner().into_dlpack_legacy() {
            let legacy = forge::import(legacy);
            assert_eq!(legacy.version(), None);
            assert_eq!(legacy.elements::<i32>().unwrap().to_vec().unwrap(), elements);
        }
        assert_eq!(drops.count(), 2);
    }
}

/// A1: memory that Rust lent by `&` is read without a type that permits writes. Miri
/// reports such a type.
#[test]
fn frozen_exports_are_imported_read_only() {
    fn check<S: Storage + Send + Clone + 'static>(storage: &S) {
        let export = || Owner::new(storage.clone(), &[2]).into_dlpack().unwrap();
        // SAFETY: 1. to 5. `into_raw` returned a valid struct, and no one writes to
        // the elements.
        let through_c = unsafe { ImportedTensor::from_raw(export().into_raw()) }.unwrap();
        let tensor = forge::import(export());
        for tensor in [&tensor, &through_c] {
            assert!(tensor.is_read_only());
            let elements = tensor.elements::<i32>().unwrap();
            assert_eq!((elements.load(&[1]), elements.iter().sum()), (Ok(2), 3));
            assert_eq!(elements.to_vec(), Ok(vec![1, 2]));
        }
        // SAFETY: 1. No one writes to the content of `Arc` and statics.
        assert_eq!(unsafe { tensor.assume_frozen() }.as_slice::<i32>(), Ok(&[1, 2][..]));
        let foreign = ImportedStorage::<i32>::new(tensor).unwrap();
        let copy = forge::import(foreign.copy_to_dlpack().unwrap());
        assert_eq!(copy.elements::<i32>().unwrap().to_vec().unwrap(), [1, 2]);
    }
    static NUMBERS: &[i32; 2] = &[1, 2];
    check(&Arc::<[i32]>::from(*NUMBERS));
    check(&NUMBERS);
}

/// Elements wider than a register, and shared with their owner.
#[test]
fn memory_shared_with_rust_is_imported() {
    let value = |n: f64| Complex { re: n, im: -n };
    let buffer = SharedBuffer::from_slice(&[value(1.0), value(2.0)]).unwrap();
    let tensor = forge::import(Owner::new(buffer.clone(), &[2]).to_dlpack().unwrap());
    let elements = tensor.elements::<Complex<f64>>().unwrap();
    assert_eq!(elements.load(&[1]), Ok(value(2.0)));
    std::thread::scope(|scope| {
        scope.spawn(|| buffer.store(1, value(3.0)));
        scope.spawn(|| assert!([2.0, 3.0].contains(&elements.load(&[1]).unwrap().re)));
    });
    assert_eq!(elements.to_vec().unwrap(), [value(1.0), value(3.0)]);
}
