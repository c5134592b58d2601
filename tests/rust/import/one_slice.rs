//! `ImportedSlice` has the same result as `ImportedTensor` and a frozen slice of it, for
//! every struct: its fast path has no rules of its own.

use dlpack_tests::counted::Drops;
use tensors::ffi::{DLManagedTensor, DLManagedTensorVersioned, kDLCUDA};
use tensors::{DataType, Device, Element, Error, ImportedSlice, Readable, Version};

use super::forge::{Forge, Forged, forged, free};

/// Imports by the fast path of one slice.
fn short<M: Forge, T: Readable>(forged: &Forged) -> Result<Vec<T>, Error> {
    let drops = Drops::new();
    let raw = forged.raw::<M>(&drops);
    // SAFETY: as in `Forged::import`. 6. No one writes to the elements.
    let slice = unsafe { ImportedSlice::<T>::from_raw(raw) };
    if forged.deleter {
        assert_eq!(drops.count(), usize::from(slice.is_err()), "{forged:?}");
    }
    let values = slice.map(|slice| slice.to_vec());
    if !forged.deleter {
        free(raw);
    }
    assert_eq!(drops.count(), 1, "{forged:?}");
    values
}

/// Imports by the general path.
fn long<M: Forge, T: Readable>(forged: &Forged) -> Result<Vec<T>, Error> {
    let drops = Drops::new();
    let (raw, tensor) = forged.import::<M>(&drops);
    let values = tensor.and_then(|tensor| {
        // SAFETY: 1. No one writes to the elements.
        unsafe { tensor.assume_frozen() }.as_slice::<T>().map(<[T]>::to_vec)
    });
    if !forged.deleter {
        free(raw);
    }
    values
}

fn agree<T: Readable + PartialEq + core::fmt::Debug>(forged: &Forged) -> Result<Vec<T>, Error> {
    let versioned = short::<DLManagedTensorVersioned, T>(forged);
    assert_eq!(versioned, long::<DLManagedTensorVersioned, T>(forged), "{forged:?}");
    let legacy = short::<DLManagedTensor, T>(forged);
    assert_eq!(legacy, long::<DLManagedTensor, T>(forged), "{forged:?}");
    versioned
}

const NUMBERS: [i32; 6] = [1, 2, 3, 4, 5, 6];

#[test]
fn contiguous_tensors_are_slices() {
    let tensor = forged(&[2, 3], &NUMBERS);
    assert_eq!(agree::<i32>(&tensor), Ok(NUMBERS.to_vec()));
    assert_eq!(agree::<i32>(&tensor.clone().strided(&[3, 1], 0)), Ok(NUMBERS.to_vec()));
    let column = forged(&[3, 1], &NUMBERS).strided(&[1, 99], 12);
    assert_eq!(agree::<i32>(&column), Ok(vec![4, 5, 6]));
    let scalar = forged(&[], &NUMBERS);
    assert_eq!(agree::<i32>(&scalar), Ok(vec![1]));
    let shapeless = Forged { shape: None, ..forged(&[], &NUMBERS) };
    assert_eq!(agree::<i32>(&shapeless), Ok(vec![1]));
    let deepest = forged(&[1; 64], &NUMBERS).strided(&[7; 64], 4);
    assert_eq!(agree::<i32>(&deepest), Ok(vec![2]));
    let unreleased = Forged { deleter: false, ..tensor };
    assert_eq!(agree::<i32>(&unreleased), Ok(NUMBERS.to_vec()));
}

#[test]
fn other_tensors_give_the_error_of_the_full_import() {
    let tensor = || forged(&[2, 3], &NUMBERS).strided(&[3, 1], 0);
    assert_eq!(agree::<i32>(&tensor().strided(&[1, 2], 0)), Err(Error::NotContiguous));
    assert!(matches!(agree::<f32>(&tensor()), Err(Error::ElementMismatch { .. })));
    assert!(matches!(agree::<i32>(&tensor().strided(&[3, 1], 2)), Err(Error::Misaligned { .. })));
    let on_device = Forged { device: Device::new(kDLCUDA, 0), ..tensor() };
    assert!(matches!(agree::<i32>(&on_device), Err(Error::NotOnHost { .. })));
    assert_eq!(agree::<i32>(&Forged { data: None, ..tensor() }), Err(Error::NullData));
    let negative = Forged { shape: Some(vec![2, -3]), ..tensor() };
    assert!(matches!(agree::<i32>(&negative), Err(Error::NegativeDim { .. })));
    let huge = Forged { shape: Some(vec![1 << 40, 1 << 40]), ..tensor() };
    assert_eq!(agree::<i32>(&huge.clone().strided(&[1 << 40, 1], 0)), Err(Error::SizeOverflow));
    let far = Forged { byte_offset: u64::MAX - 3, ..tensor() };
    assert_eq!(agree::<i32>(&far), Err(Error::SizeOverflow));
    for byte_offset in [1 << 63, isize::MAX as u64 - 23] {
        let far = Forged { byte_offset, ..tensor() };
        assert_eq!(agree::<i32>(&far), Err(Error::SizeOverflow));
    }
    let last = Forged { address: Some(usize::MAX - 22), ..tensor() };
    assert_eq!(agree::<i32>(&last), Err(Error::SizeOverflow));
    let deep = Forged { ndim: Some(65), ..tensor() };
    assert!(matches!(agree::<i32>(&deep), Err(Error::TooManyDims { .. })));
    let shallow = Forged { ndim: Some(-1), ..tensor() };
    assert!(matches!(agree::<i32>(&shallow), Err(Error::NegativeRank { .. })));
    let shapeless = Forged { shape: None, ndim: Some(2), ..tensor() };
    assert!(matches!(agree::<i32>(&shapeless), Err(Error::NullShape { .. })));
}

#[test]
fn empty_tensors_are_empty_slices() {
    let empty = Forged { data: None, ..forged(&[0, 3], &[]) };
    assert_eq!(agree::<i32>(&empty), Ok(vec![]));
    assert_eq!(agree::<i32>(&empty.strided(&[7, 5], 3)), Ok(vec![]));
}

#[test]
fn booleans_are_checked() {
    let bytes = |bytes: &[u8]| Forged {
        bytes: bytes.to_vec(),
        dtype: DataType::BOOL,
        strides: Some(vec![1]),
        ..forged(&[2], &[])
    };
    assert_eq!(agree::<bool>(&bytes(&[1, 0])), Ok(vec![true, false]));
    assert!(matches!(agree::<bool>(&bytes(&[1, 2])), Err(Error::InvalidBits { .. })));
}

/// An element type whose check panics.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Unchecked(i32);

// SAFETY: 1. to 4. It is a transparent `i32`, and `ANY_BITS` is false.
unsafe impl Element for Unchecked {
    const DTYPE: DataType = DataType::I32;
    const ANY_BITS: bool = false;
}

// SAFETY: 1. It never returns true.
unsafe impl Readable for Unchecked {
    fn are_valid(_: &[u8]) -> bool {
        panic!("no bytes are checked")
    }
}

#[test]
fn a_panic_of_the_check_of_elements_calls_the_deleter() {
    let drops = Drops::new();
    let raw = forged(&[2, 3], &NUMBERS).raw::<DLManagedTensorVersioned>(&drops);
    // SAFETY: as in `short`.
    let import = || unsafe { ImportedSlice::<Unchecked>::from_raw(raw) };
    assert!(std::panic::catch_unwind(import).is_err());
    assert_eq!(drops.count(), 1);
}

#[test]
fn other_major_versions_are_not_read() {
    let drops = Drops::new();
    let managed = super::forge::other_major(Version::new(2, 0), &drops);
    // SAFETY: 1. The struct is as long as its version allows.
    let refused = unsafe { ImportedSlice::<i32>::from_raw(managed) }.map(|_| ());
    assert!(matches!(refused, Err(Error::VersionUnsupported { .. })));
    assert_eq!(drops.count(), 1);
    // SAFETY: NULL is refused.
    let null = unsafe { ImportedSlice::<i32>::from_raw::<DLManagedTensor>(core::ptr::null_mut()) };
    assert_eq!(null.map(|_| ()), Err(Error::NullTensor));
}
