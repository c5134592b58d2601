//! Exports whose `share` returns another owner of imported memory: that owner must guarantee
//! what the producer of the memory guaranteed.

use tensors::ffi;
use tensors::{
    DLPackExport, DataRef, DataType, Describe, Description, Device, Error, ImportedStorage,
    SharedOwner, Storage,
};

use crate::import::forge::{Forged, forged};

/// A tensor of imported elements, whose `share` returns what the test chooses.
struct Sharing<F> {
    storage: ImportedStorage,
    share: F,
}

impl<F: Fn(&ImportedStorage) -> Option<SharedOwner>> DLPackExport for Sharing<F> {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[5_i64]).data(self.storage.data())
    }

    fn share(&self) -> Option<SharedOwner> {
        (self.share)(&self.storage)
    }
}

/// Five integers, that many bytes from an address that is a multiple of 8.
fn imported(skip: usize) -> ImportedStorage {
    let case = Forged { data: Some(skip), bytes: vec![7; 32], ..forged(&[5], &[]) };
    ImportedStorage::new(case.imported()).unwrap()
}

fn shared(
    skip: usize,
    share: impl Fn(&ImportedStorage) -> Option<SharedOwner>,
) -> Result<(), Error> {
    Sharing { storage: imported(skip), share }.to_dlpack().map(drop)
}

/// The same bytes, of an owner that guarantees nothing about other types.
struct Bytes {
    first: usize,
    device: Device,
    len: usize,
}

// The pointer is an address here, so that the owner can be sent.
impl Storage for Bytes {
    fn data(&self) -> DataRef<'_> {
        let first = core::ptr::without_provenance(self.first);
        // SAFETY: 1. and 2. The tests drop the export, and no one reads the memory. 3. No one
        // writes it.
        unsafe { DataRef::from_raw_parts(first, self.len, DataType::U8, self.device) }
    }
}

fn bytes(of: &ImportedStorage) -> Option<SharedOwner> {
    SharedOwner::new(Bytes { first: of.data().as_ptr().addr(), device: Device::CPU, len: 20 })
}

/// Another import of the same memory, as elements of a type.
fn import(of: &ImportedStorage, dtype: DataType, dim: i64) -> Option<SharedOwner> {
    let case = Forged { address: Some(of.data().as_ptr().addr()), dtype, ..forged(&[dim], &[]) };
    SharedOwner::new(ImportedStorage::<tensors::AnyElement>::new(case.imported()).unwrap())
}

#[test]
fn another_owner_must_guarantee_the_alignment() {
    let misaligned = Err(Error::Misaligned { dtype: DataType::I32, align: 4 });
    for skip in [1, 2, 3, 5] {
        assert_eq!(shared(skip, bytes), misaligned, "{skip}");
        assert_eq!(shared(skip, |of| import(of, DataType::U8, 20)), misaligned, "{skip}");
        // Its producer guarantees elements of that type.
        assert_eq!(shared(skip, |of| import(of, DataType::I32, 5)), Ok(()), "{skip}");
    }
    for skip in [0, 4, 8] {
        assert_eq!(shared(skip, bytes), Ok(()), "{skip}");
        assert_eq!(shared(skip, |of| import(of, DataType::U8, 20)), Ok(()), "{skip}");
    }
}

/// A handle to other memory is another object, and so is less of the same.
#[test]
fn handles_without_addresses_must_be_the_same() {
    let device = Device::new(ffi::kDLOpenCL, 0);
    let of = |first, len| {
        let case = Forged { address: Some(16), device, ..forged(&[5], &[]) };
        let storage = ImportedStorage::new(case.imported()).unwrap();
        let share = move |_: &ImportedStorage| SharedOwner::new(Bytes { first, device, len });
        Sharing { storage, share }.to_dlpack().map(drop)
    };
    assert_eq!(of(16, 19), Err(Error::ShareOutOfRange));
    assert_eq!(of(32, 20), Err(Error::ShareOutOfRange));
    assert_ne!(of(16, 20), Err(Error::ShareOutOfRange));
}
