//! The allocator of the exchange table, over all cases as prototypes.

use core::ffi::{c_char, c_void};
use core::ptr;

use dlpack_tests::counted::Owner;
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use dlpack_tests::guarded::{Flush, announce};
use dlpack_tests::hostile::{Array, Case, borderline, malformed};
use tensors::backend::Cpu;
use tensors::exchange::{NotImportable, ObjectHost, TableError, table};
use tensors::ffi::{DLManagedTensorVersioned, DLTensor};
use tensors::{DataType, Device, Error, ManagedTensor};

/// A host without objects: an allocator needs none.
struct Nobody;

/// The type that a table needs.
type Nothing = Owner<[u8; 0]>;

// SAFETY: it never calls `run`.
unsafe impl ObjectHost<Nothing> for Nobody {
    type Error = &'static str;

    unsafe fn with<R>(
        _: *mut c_void,
        _: impl FnOnce(&Nothing) -> Result<R, TableError<Self::Error>>,
    ) -> Result<R, TableError<Self::Error>> {
        Err(TableError::Host("there are no objects"))
    }

    unsafe fn view<R>(
        _: *mut c_void,
        _: impl FnOnce(&Nothing) -> Result<R, TableError<Self::Error>>,
    ) -> Result<R, TableError<Self::Error>> {
        Err(TableError::Host("there are no objects"))
    }

    unsafe fn export(_: *mut c_void) -> Result<ManagedTensor, TableError<Self::Error>> {
        Err(TableError::Host("there are no objects"))
    }

    unsafe fn raise(_: TableError<Self::Error>) {
        unreachable!("an allocator has SetError");
    }
}

unsafe extern "C" fn count(calls: *mut c_void, _: *const c_char, _: *const c_char) {
    // SAFETY: the tests pass such a number.
    unsafe { *calls.cast::<usize>() += 1 };
}

/// Returns the allocator's result for the tensor of a case as its prototype, and the
/// number of calls of SetError.
fn allocate(case: &Case) -> (i32, *mut DLManagedTensorVersioned, usize) {
    announce(&case.words);
    let built = case.build::<DLManagedTensorVersioned>(true, Flush::End);
    // SAFETY: the struct is there.
    let prototype: *mut DLTensor = unsafe { &raw mut (*built.raw()).dl_tensor };
    let (mut out, mut calls) = (ptr::dangling_mut(), 0_usize);
    let table = table::<Nothing, Nobody, Cpu, NotImportable>();
    let allocator = table.managed_tensor_allocator.expect("set");
    // SAFETY: 1. The struct exists, with the shape that it declares, where `ndim` is in
    // range. 2. It may be written. 3. `count` takes such a number.
    let code = unsafe { allocator(prototype, &raw mut out, (&raw mut calls).cast(), Some(count)) };
    assert_eq!(built.deletes(), 0, "a prototype is not owned");
    (code, out, calls)
}

/// X8: the allocator refuses every prototype that no import would accept, and reads
/// nothing more.
#[test]
#[cfg_attr(miri, ignore = "Miri has no pages to protect")]
fn malformed_prototypes_are_refused() {
    let mut seen = 0;
    for case in malformed() {
        // A prototype has no strides, no offset and no memory.
        let has_strides = matches!(case.strides, Array::Of(_));
        if has_strides || case.error == Some(Error::NullData) || case.byte_offset != 0 {
            continue;
        }
        seen += 1;
        assert_eq!(allocate(&case), (-1, ptr::null_mut(), 1), "{}", case.words);
    }
    assert!(seen > 30, "only {seen} cases");
}

/// The allocated tensor is the requested one, and nothing else is read.
#[test]
#[cfg_attr(miri, ignore = "Miri has no pages to protect")]
fn borderline_prototypes_are_allocated() {
    let mut seen = 0;
    for case in borderline() {
        if case.dtype != DataType::I32 || case.device != Device::CPU {
            continue;
        }
        seen += 1;
        let (code, tensor, calls) = allocate(&case);
        assert_eq!((code, calls), (0, 0), "{}", case.words);
        // SAFETY: 1. The allocator gave it away, alive.
        let tensor = unsafe { ImportedStorage::from_raw(tensor) };
        assert_eq!(tensor.shape(), case.shape(), "{}", case.words);
        if !tensor.data().is_null() {
            assert!(tensor.elements::<i32>().iter().all(|&element| element == 0));
        }
        tensor.delete(Farewell::Plain);
    }
    assert!(seen > 50, "only {seen} cases");
}
