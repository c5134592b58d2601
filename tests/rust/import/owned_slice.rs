//! `into_owned_slice`: which imports become an owned slice, and who releases them.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use dlpack_tests::counted::{Drops, Owner};
use tensors::{
    DLPackExport, Error, Flags, ImportedTensor, OwnedSlice, OwnedTensor, Readable, SharedBuffer,
    Storage,
};

/// Imports an export through its C struct, as from another library.
fn foreign<T: DLPackExport + Send + 'static>(object: T) -> ImportedTensor {
    let managed = object.into_dlpack().unwrap().into_raw();
    // SAFETY: 1. to 4. `into_raw` returned a valid struct, whose owner this is. 5. No one else
    // accesses the elements.
    unsafe { ImportedTensor::from_raw(managed) }.unwrap()
}

fn own<T: DLPackExport + Send + 'static>(object: T) -> ImportedTensor {
    object.into_dlpack().unwrap().import().unwrap()
}

/// `Bytes::from_owner` takes an import in one line, zero-copy, and its last clone releases it.
#[test]
fn bytes_own_an_import() {
    let drops = Drops::default();
    let tensor = own(Owner::new(vec![1_u8, 2, 3], &[3]).counted(&drops));
    let address = tensor.data_ptr();
    let bytes = Bytes::from_owner(tensor.into_owned_slice::<u8>().unwrap());
    assert_eq!(bytes.as_ptr(), address);
    let tail = bytes.slice(1..);
    drop(bytes);
    assert_eq!(drops.count(), 0);
    thread::spawn(move || assert_eq!(tail, [2, 3][..])).join().unwrap();
    assert_eq!(drops.count(), 1);
}

/// Memory that was lent by `&`, by `&mut`, and that was copied, is never written by others.
#[test]
fn own_exports_and_own_copies_become_slices() {
    fn check(tensor: ImportedTensor) {
        let (address, shape) = (tensor.data_ptr(), tensor.shape().to_vec());
        let slice = tensor.into_owned_slice::<i32>().unwrap();
        assert_eq!((*slice).as_ref(), [1, 2]);
        assert_eq!(slice.as_ptr(), address.cast());
        // A read by value neither ends nor races with the borrow of the slice.
        let (borrowed, by_value) = (&*slice, slice.tensor().elements::<i32>().unwrap());
        assert_eq!((by_value.to_vec().unwrap().as_slice(), borrowed), (borrowed, &[1, 2][..]));
        assert_eq!(slice.tensor().shape(), shape);
        assert_eq!(slice.data().as_ptr(), address);
        assert_eq!(format!("{slice:?}"), "OwnedSlice([1, 2])");
        assert_eq!(slice.into_tensor().data_ptr(), address);
    }
    check(own(Owner::new(vec![1, 2], &[2])));
    check(own(Owner::new(Arc::<[i32]>::from([1, 2]), &[1, 2])));
    check(own(Owner::new(Cow::<'static, [i32]>::Borrowed(&[1, 2]), &[2])));
    check(Owner::new(vec![1, 2], &[2]).copy_to_dlpack().unwrap().import().unwrap());
    check(foreign(OwnedTensor::from_vec(vec![1, 2])).to_own_copy().unwrap());
}

/// Others may write the memory of another library, and that of a `SharedBuffer`.
#[test]
fn memory_that_others_may_write_is_rejected() {
    fn rejected<T: Readable>(tensor: ImportedTensor) -> Error {
        tensor.into_owned_slice::<T>().map(drop).unwrap_err()
    }
    let drops = Drops::default();
    assert_eq!(
        rejected::<i32>(foreign(Owner::new(vec![1, 2], &[2]).counted(&drops))),
        Error::NotFrozen
    );
    assert_eq!(drops.count(), 1);
    let read_only = foreign(Owner::new(Arc::<[i32]>::from([1, 2]), &[2]));
    assert_eq!(read_only.flags(), Flags::READ_ONLY);
    assert_eq!(rejected::<i32>(read_only), Error::NotFrozen);
    let shared = SharedBuffer::from_slice(&[1, 2]).unwrap();
    assert_eq!(rejected::<i32>(own(Owner::new(shared, &[2]))), Error::NotFrozen);
    // The other checks are those of a slice.
    assert!(matches!(
        rejected::<f32>(own(Owner::new(vec![1, 2], &[2]))),
        Error::ElementMismatch { .. }
    ));
    let strided = Owner::new(vec![1, 2, 3, 4], &[2]).strided(&[2], 0);
    assert_eq!(rejected::<i32>(own(strided)), Error::NotContiguous);
}

/// The promise of the caller is about writes only; everything else is checked.
#[test]
fn assumed_slice_is_checked_and_releases_the_tensor() {
    let drops = Drops::default();
    let tensor = foreign(Owner::new(vec![1_u8, 2], &[2]).counted(&drops));
    // SAFETY: 1. The vector was moved to the tensor: there is no other reference.
    let slice = unsafe { tensor.assume_owned_slice::<u8>() }.unwrap();
    assert_eq!(*slice, [1, 2]);
    drop(slice);
    assert_eq!(drops.count(), 1);
    let tensor = foreign(Owner::new(vec![1_u8, 2], &[2]).counted(&drops));
    // SAFETY: 1. As above.
    assert!(unsafe { tensor.assume_owned_slice::<u16>() }.is_err());
    assert_eq!(drops.count(), 2);
}

/// Elements with invalid bits are validated once: no one writes them later.
#[test]
fn owned_bools_are_validated() {
    let slice = own(OwnedTensor::from_vec(vec![true, false])).into_owned_slice::<bool>().unwrap();
    assert_eq!(*slice, [true, false]);
    let empty = own(OwnedTensor::from_vec(Vec::<bool>::new())).into_owned_slice::<bool>().unwrap();
    assert!(empty.is_empty());
}

/// It is `Send + Sync + 'static`, as owners of slices in other crates must be.
#[test]
fn owned_slice_can_be_shared_by_threads() {
    fn takes_owner(_: impl AsRef<[f32]> + Send + Sync + 'static) {}
    let slice: OwnedSlice<f32> =
        own(OwnedTensor::from_vec(vec![0.5_f32])).into_owned_slice().unwrap();
    thread::scope(|scope| {
        let reader = scope.spawn(|| slice[0]);
        assert_eq!((reader.join().unwrap(), slice[0]), (0.5, 0.5));
    });
    takes_owner(slice);
}

/// The bytes of the elements are another slice of the same tensor.
#[test]
fn owned_slice_becomes_bytes() {
    let drops = Drops::default();
    let tensor = own(Owner::new(vec![1_u16, 0x203], &[2]).counted(&drops));
    let address = tensor.data_ptr();
    let bytes = tensor.into_owned_slice::<u16>().unwrap().into_bytes();
    assert_eq!((bytes.as_ptr(), bytes.len()), (address, 4));
    assert_eq!(*bytes, [1_u16.to_ne_bytes(), 0x203_u16.to_ne_bytes()].concat());
    assert_eq!((drops.count(), bytes.tensor().shape()), (0, &[2][..]));
    drop(bytes);
    assert_eq!(drops.count(), 1);
    let empty = own(OwnedTensor::from_vec(Vec::<f64>::new())).into_owned_slice::<f64>().unwrap();
    assert!(empty.into_bytes().is_empty());
}
