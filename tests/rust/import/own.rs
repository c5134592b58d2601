//! Exports of this crate that are imported without C in between: the crate still has the
//! record of how their memory was lent.

use std::sync::Arc;

use dlpack_tests::counted::{Drops, Owner};
use tensors::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use tensors::{
    DLPackExport, DataRef, DataType, Describe, Description, Element, Error, Flags, ImportedStorage,
    ImportedTensor, ManagedTensor, SharedBuffer, Storage,
};

use crate::import::forge::{forged, import};

fn frozen(tensor: &ImportedTensor) -> Result<&[i32], Error> {
    tensor.frozen()?.as_slice()
}

/// Takes a tensor back through a C pointer, as if it had been elsewhere.
fn through_c(tensor: ManagedTensor) -> ImportedTensor {
    // SAFETY: 1. to 4. `into_raw` returned a valid struct, which we own now.
    // 5. The memory has no other owner, and no one writes to it.
    unsafe { ImportedTensor::from_raw(tensor.into_raw()) }.unwrap()
}

/// A4: frozen memory is a slice, as long as the crate has the record of the loan.
#[test]
fn frozen_own_exports_are_slices() {
    static NUMBERS: &[i32; 3] = &[1, 2, 3];
    fn check<S: Storage + Send + Clone + 'static>(storage: &S) {
        let owner = || Owner::new(storage.clone(), &[3]);
        let mut tensor = import(owner().into_dlpack().unwrap());
        assert_eq!(frozen(&tensor), Ok(&NUMBERS[..]));
        assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), NUMBERS);
        assert_eq!(tensor.exclusive().map(|_| ()), Err(Error::NotExclusive));
        // Also with several owners, and after another export and import.
        let foreign = ImportedStorage::<i32>::new(tensor).unwrap();
        let again = import(foreign.to_dlpack().unwrap());
        assert_eq!(again.flags(), Flags::READ_ONLY);
        assert_eq!(frozen(&again), frozen(foreign.imported()));
        let any: ImportedStorage = ImportedStorage::new(again).unwrap();
        assert_eq!(frozen(&import(any.into_dlpack().unwrap())), Ok(&NUMBERS[..]));
        // Through C it is one among others.
        let tensor = through_c(owner().into_dlpack().unwrap());
        assert_eq!(frozen(&tensor), Err(Error::NotFrozen));
        let foreign = ImportedStorage::<i32>::new(tensor).unwrap();
        assert_eq!(frozen(&import(foreign.to_dlpack().unwrap())), Err(Error::NotFrozen));
    }
    check(&Arc::<[i32]>::from(*NUMBERS));
    check(&NUMBERS);
}

/// A shared export is frozen too, and lives without its object.
#[test]
fn frozen_own_exports_with_several_owners_are_slices() {
    let numbers = Arc::<[i32]>::from([1, 2, 3]);
    let owner = Owner::new(Arc::clone(&numbers), &[3]);
    let (one, other) = (owner.to_dlpack().unwrap(), owner.to_dlpack().unwrap());
    let one = import(one);
    // The struct that C gets is READ_ONLY, and an import respects it.
    let other = other.into_raw();
    drop((owner, numbers));
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(frozen(&one), Ok(&[1, 2, 3][..])));
        assert_eq!(frozen(&one), Ok(&[1, 2, 3][..]));
    });
    // SAFETY: the struct is valid, and we own it.
    drop(unsafe { ImportedTensor::from_raw(other) });
    assert_eq!(frozen(&one), Ok(&[1, 2, 3][..]));
}

/// A2: an export by value, or a copy, is written without `unsafe`.
#[test]
fn own_exports_by_value_are_exclusive() {
    let drops = Drops::new();
    let owner = Owner::new(vec![1_i32, 2, 3], &[3]).counted(&drops);
    let mut copy = import(owner.copy_to_dlpack().unwrap());
    let mut legacy = import(Owner::new([1_i32, 2, 3], &[3]).into_dlpack_legacy().unwrap());
    let mut tensor = import(owner.into_dlpack().unwrap());
    for tensor in [&mut tensor, &mut copy, &mut legacy] {
        assert_eq!(frozen(tensor), Err(Error::NotFrozen));
        tensor.exclusive().unwrap().as_mut_slice::<i32>().unwrap()[1] = 20;
        assert_eq!(tensor.exclusive().unwrap().as_slice::<i32>(), Ok(&[1, 20, 3][..]));
        assert_eq!(tensor.elements::<i32>().unwrap().iter().sum::<i32>(), 24);
    }
    // The last owner has exclusive access; while there are several, none has.
    let mut foreign = ImportedStorage::<i32>::new(tensor).unwrap();
    assert_eq!(frozen(foreign.imported()), Err(Error::NotFrozen));
    let mut shared = import(foreign.to_dlpack().unwrap());
    assert_eq!(shared.flags(), Flags::NONE);
    assert_eq!(shared.exclusive().map(|_| ()), Err(Error::NotExclusive));
    assert_eq!(frozen(&shared), Err(Error::NotFrozen));
    assert_eq!(shared.elements::<i32>().unwrap().load(&[1]), Ok(20));
    assert_eq!(foreign.exclusive().map(|_| ()), Err(Error::NotExclusive));
    drop(shared);
    let mut alone = foreign.exclusive().unwrap();
    alone.as_mut_slice::<i32>().unwrap()[0] = 10;
    assert_eq!(foreign.imported().elements::<i32>().unwrap().load(&[0]), Ok(10));
    assert_eq!(drops.count(), 0);
    drop(foreign);
    assert_eq!(drops.count(), 1);
    // A struct that has been through C may have other owners, also with IS_COPIED.
    let owner = Owner::new(vec![1_i32], &[1]);
    for tensor in [owner.copy_to_dlpack().unwrap(), owner.into_dlpack().unwrap()] {
        assert_eq!(through_c(tensor).exclusive().map(drop), Err(Error::NotExclusive));
    }
}

/// A10: exported by value, but two indices name one element: it is not writable.
#[test]
fn overlapping_own_exports_are_not_exclusive() {
    let owner = Owner::new(vec![1_i32, 2], &[3, 2]).strided(&[0, 1], 0);
    let mut tensor = import(owner.into_dlpack().unwrap());
    assert_eq!(tensor.flags(), Flags::READ_ONLY);
    assert_eq!(tensor.exclusive().map(|_| ()), Err(Error::NotExclusive));
    let all: Vec<i32> = tensor.frozen().unwrap().elements::<i32>().unwrap().copied().collect();
    assert_eq!(all, [1, 2, 1, 2, 1, 2]);
}

/// `bool` is exported read-only, also by value.
#[test]
fn own_exports_of_bools_are_read_only() {
    let mut tensor = import(Owner::new(vec![true, false], &[2]).into_dlpack().unwrap());
    assert_eq!(tensor.frozen().unwrap().as_slice(), Ok(&[true, false][..]));
    assert_eq!(tensor.exclusive().map(|_| ()), Err(Error::NotExclusive));
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = tensors, any_bits)]
#[repr(transparent)]
pub(crate) struct Rgba(pub(crate) [u8; 4]);

/// A buffer that is exported read-only.
struct Watched(SharedBuffer<Rgba>);

impl DLPackExport for Watched {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[2]).data(self.0.data()).map(Description::into_read_only)
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.0)
    }
}

/// Shared memory is read byte-wise atomically, also part by part, also where it is READ_ONLY,
/// also through other owners. Miri reports any other access.
#[test]
fn own_exports_of_shared_memory_are_shared() {
    let buffer = SharedBuffer::from_slice(&[Rgba([1; 4]), Rgba([2; 4])]).unwrap();
    let tensor = import(Watched(buffer.clone()).to_dlpack().unwrap());
    assert_eq!((tensor.flags(), tensor.shape()), (Flags::READ_ONLY, &[2, 4][..]));
    assert_eq!(frozen(&tensor), Err(Error::NotFrozen));
    let any: ImportedStorage = ImportedStorage::new(tensor).unwrap();
    let again = import(any.to_dlpack().unwrap());
    assert_eq!(again.flags(), Flags::READ_ONLY);
    // Every fifth byte, which no pixel begins with.
    let tilted = Owner::new(any.clone(), &[2]).strided(&[5], 0);
    let tilted = import(tilted.into_dlpack().unwrap());
    let writable = import(Owner::new(buffer.clone(), &[2]).to_dlpack().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| buffer.store(1, Rgba([3, 4, 5, 6])));
        let seen = |part: u8| (2..=6).contains(&part);
        for tensor in [any.imported(), &again, &writable] {
            let pixel = tensor.elements::<Rgba>().unwrap().load(&[1]).unwrap();
            assert!(pixel.0.into_iter().all(seen));
            assert!(seen(tensor.elements::<u8>().unwrap().load(&[1, 2]).unwrap()));
            assert!(tensor.raw_bits().unwrap().iter().skip(4).all(|code| (2..=6).contains(&code)));
            let foreign = ImportedStorage::<u8>::new(import(any.to_dlpack().unwrap())).unwrap();
            assert_eq!(frozen(foreign.imported()), Err(Error::NotFrozen));
        }
        let copy = import(any.copy_to_dlpack().unwrap());
        assert!(copy.elements::<u8>().unwrap().iter().skip(4).all(seen));
        assert!(seen(tilted.elements::<u8>().unwrap().load(&[1]).unwrap()));
        let foreign: ImportedStorage = ImportedStorage::new(tilted).unwrap();
        let copy = import(foreign.copy_to_dlpack().unwrap());
        assert!(seen(copy.elements::<u8>().unwrap().load(&[1]).unwrap()));
    });
    assert_eq!(writable.elements::<u8>().unwrap().load(&[1, 3]), Ok(6));
}

/// Pixels that lie five bytes apart are not aligned, whatever the first one is.
#[test]
fn pixels_with_swapped_axes_are_read() {
    let buffer = SharedBuffer::from_slice(&[Rgba([0, 1, 2, 3]), Rgba([4, 5, 6, 7]), Rgba([8; 4])]);
    let tensor = import(Owner::new(buffer.unwrap(), &[3]).to_dlpack().unwrap());
    let any: ImportedStorage = ImportedStorage::new(tensor).unwrap();
    let tilted = import(Owner::new(any, &[2, 4]).strided(&[5, 1], 0).into_dlpack().unwrap());
    let pixels = tilted.elements::<Rgba>().unwrap().to_vec().unwrap();
    assert_eq!(pixels, [Rgba([0, 1, 2, 3]), Rgba([5, 6, 7, 8])]);
}

/// A storage that lends raw parts instead of a slice, and so declares its own access.
#[test]
fn storages_of_raw_parts_are_frozen() {
    struct Raw(Box<[i32; 2]>, bool);
    impl Storage for Raw {
        fn data(&self) -> DataRef<'_> {
            let first = self.0.as_ptr().cast::<u8>();
            // SAFETY: it is a slice, which is not written while it is borrowed.
            unsafe { DataRef::from_raw_parts(first, 8, DataType::I32, tensors::Device::CPU) }
        }
    }
    let raw = Raw(Box::new([1, 2]), true);
    assert!(raw.1);
    let tensor = import(Owner::new(raw, &[2]).into_dlpack().unwrap());
    assert_eq!(frozen(&tensor), Ok(&[1, 2][..]));
}

/// `into_raw` returns the same struct, and the caller must release it.
#[test]
fn into_raw_returns_the_same_struct() {
    let drops = Drops::new();
    let (raw, taken) = forged(&[2], &[1, 2]).import::<DLManagedTensorVersioned>(&drops);
    let tensor = taken.unwrap().into_raw::<DLManagedTensor>().unwrap_err();
    assert_eq!(tensor.elements::<i32>().unwrap().load(&[1]), Ok(2));
    assert_eq!(tensor.into_raw().ok(), Some(raw));
    assert_eq!(drops.count(), 0);
    // SAFETY: as `forged` documents; it has no other owner now.
    let tensor = unsafe { ImportedTensor::from_raw(raw) }.unwrap();
    assert_eq!(tensor.version(), Some(tensors::Version::CURRENT));
    drop(tensor);
    assert_eq!(drops.count(), 1);

    let (raw, taken) = forged(&[2], &[1, 2]).import::<DLManagedTensor>(&drops);
    let tensor = taken.unwrap().into_raw::<DLManagedTensorVersioned>().unwrap_err();
    assert_eq!(tensor.into_raw().ok(), Some(raw));
    // SAFETY: as above.
    drop(unsafe { ImportedTensor::from_raw(raw) }.unwrap());
    assert_eq!(drops.count(), 2);

    // Without a deleter the pointer is the producer's all the same.
    let case = crate::import::forge::Forged { deleter: false, ..forged(&[1], &[1]) };
    let (raw, taken) = case.import::<DLManagedTensorVersioned>(&drops);
    assert_eq!(taken.unwrap().into_raw().ok(), Some(raw));
    crate::import::forge::free(raw);

    // One's own.
    let own = Owner::new(vec![1_i32], &[1]).counted(&drops).into_dlpack().unwrap();
    let address = own.as_raw();
    let raw = import(own).into_raw::<DLManagedTensorVersioned>().unwrap();
    assert_eq!(raw, address);
    let before = drops.count();
    // SAFETY: as above.
    drop(unsafe { ImportedTensor::from_raw(raw) });
    assert_eq!(drops.count(), before + 1);
}
