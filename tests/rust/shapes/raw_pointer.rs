//! A tensor from a C library: a pointer, arrays of a fixed capacity, a rank,
//! and a handle that keeps the memory. The pointer needs `unsafe(...)`, and a
//! length.

use std::sync::Arc;

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, Error, Flags};

use super::consumer::Expected;

/// A stand-in for the library, whose memory is freed after its last use.
struct Library {
    memory: *mut f32,
    len: usize,
    _drop: Ticket,
}

// SAFETY: it frees on whatever thread, and gives out nothing but the address.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    fn new(elements: &[f32], drop: Ticket) -> Self {
        let memory: Box<[f32]> = elements.into();
        Self { len: memory.len(), memory: Box::into_raw(memory).cast(), _drop: drop }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let memory = core::ptr::slice_from_raw_parts_mut(self.memory, self.len);
        // SAFETY: the memory was made from a box of that length, and only this handle has
        // its address.
        drop(unsafe { Box::from_raw(memory) });
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct CTensor {
    // SAFETY: the owner keeps the memory, which has that length, and no one writes to it.
    #[dlpack(unsafe(ptr, len(elements) = size))]
    pointer: *mut f32,
    size: u32,
    #[dlpack(owner)]
    handle: Arc<Library>,
    #[dlpack(ndim)]
    ndim: i32,
    shape: [i32; 8],
    strides: [i32; 8],
}

// SAFETY: the pointer points into the memory of `handle`, which any thread may
// read.
unsafe impl Send for CTensor {}

fn tensor<const N: usize>(shape: [i32; N], strides: [i32; N], drops: &Drops) -> CTensor {
    let handle = Arc::new(Library::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], drops.ticket()));
    let padded = |dims: [i32; N]| {
        let mut all = [0; 8];
        all[..N].copy_from_slice(&dims);
        all
    };
    CTensor {
        pointer: handle.memory,
        size: 6,
        handle,
        ndim: i32::try_from(N).unwrap_or(-1),
        shape: padded(shape),
        strides: padded(strides),
    }
}

#[test]
fn a_pointer_with_an_owner() {
    let drops = Drops::new();
    let transposed = tensor([3, 2], [1, 3], &drops);
    assert_eq!(transposed.handle.len, 6);
    let expected = Expected {
        shape: &[3, 2],
        strides: &[1, 3],
        flags: Flags::READ_ONLY,
        elements: &[1.0_f32, 4.0, 2.0, 5.0, 3.0, 6.0],
    };
    expected.assert_viewed(&transposed.tensor().unwrap());
    expected.assert_moved(transposed, &drops);
}

#[test]
fn metadata_of_a_c_library_is_checked() {
    let drops = Drops::new();
    let error = |tensor: CTensor| tensor.into_dlpack().unwrap_err();
    assert_eq!(
        error(tensor([3, 2], [2, 2], &drops)),
        Error::OutOfBounds { start: 0, end: 28, len: 24 }
    );
    let nine = CTensor { ndim: 9, ..tensor([6], [1], &drops) };
    assert_eq!(error(nine), Error::RankBeyondCapacity { ndim: 9, capacity: 8 });
    let unknown = CTensor { ndim: -1, ..tensor([6], [1], &drops) };
    assert_eq!(error(unknown), Error::RankBeyondCapacity { ndim: -1, capacity: 8 });
    let negative = tensor([-6], [1], &drops);
    assert_eq!(error(negative), Error::NegativeDim { axis: 0, dim: -6 });
    assert_eq!(drops.count(), 4);
}

/// Nothing at a NULL pointer is an empty tensor; something is an error.
#[test]
fn a_null_pointer_is_an_error() {
    let drops = Drops::new();
    let null =
        |size, dim| CTensor { pointer: core::ptr::null_mut(), size, ..tensor([dim], [1], &drops) };
    assert!(matches!(null(6, 6).into_dlpack().unwrap_err(), Error::Custom(_)));
    let expected =
        Expected::<f32> { shape: &[0], strides: &[1], flags: Flags::READ_ONLY, elements: &[] };
    expected.assert_moved(null(0, 0), &drops);
}
