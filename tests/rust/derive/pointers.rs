//! Memory behind a raw pointer, with a length and an owner.

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{DLPackExport, DataType, Device, Error, StreamArg};

/// A handle of a C library: it frees the memory when it is dropped.
struct Handle {
    memory: *mut f32,
    len: usize,
    drops: Arc<AtomicUsize>,
}

// SAFETY: the memory is used by this handle alone.
unsafe impl Send for Handle {}

impl Handle {
    fn new(elements: &[f32], drops: &Arc<AtomicUsize>) -> Self {
        let memory = Box::into_raw(Box::<[f32]>::from(elements)).cast();
        Self { memory, len: elements.len(), drops: drops.clone() }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
        let memory = ptr::slice_from_raw_parts_mut(self.memory, self.len);
        // SAFETY: it was made from a box of that length, and this is the last use.
        drop(unsafe { Box::from_raw(memory) });
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Tensor {
    // SAFETY: the owner keeps the memory, which has that length, and no one writes to it.
    #[dlpack(unsafe(ptr, len(elements) = size))]
    pointer: *mut f32,
    size: i64,
    #[dlpack(owner)]
    handle: Handle,
    #[dlpack(ndim)]
    ndim: i32,
    shape: [i32; 8],
    strides: [i32; 8],
}

// SAFETY: the pointer is into the memory of the handle, which is `Send`.
unsafe impl Send for Tensor {}

fn tensor(drops: &Arc<AtomicUsize>) -> Tensor {
    let handle = Handle::new(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], drops);
    let (mut shape, mut strides) = ([0; 8], [0; 8]);
    shape[..2].copy_from_slice(&[2, 3]);
    strides[..2].copy_from_slice(&[1, 2]);
    Tensor { pointer: handle.memory, size: 6, handle, ndim: 2, shape, strides }
}

#[test]
fn a_struct_from_c() {
    let drops = Arc::default();
    let tensor = tensor(&drops);
    let address = tensor.handle.memory;
    let foreign = ImportedStorage::from(tensor.into_dlpack().unwrap());
    assert_eq!(foreign.data(), address.cast());
    assert_eq!(foreign.elements::<f32>(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    assert!(!foreign.is_writable(), "it was not declared as writable");
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    foreign.delete_elsewhere(Farewell::Scribbled);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

#[test]
fn layouts_are_checked_against_the_length() {
    let drops = Arc::default();
    let short = Tensor { size: 5, ..tensor(&drops) };
    let error = Error::OutOfBounds { start: 0, end: 24, len: 20 };
    assert_eq!(short.into_dlpack().unwrap_err(), error);
    let negative = Tensor { size: -1, ..tensor(&drops) };
    assert_eq!(negative.tensor().unwrap_err(), Error::SizeOverflow);
    let huge = Tensor { size: i64::MAX / 2, ..tensor(&drops) };
    assert_eq!(huge.tensor().unwrap_err(), Error::SizeOverflow);
    let null = Tensor { pointer: ptr::null_mut(), ..tensor(&drops) };
    assert!(matches!(null.tensor(), Err(Error::Custom(_))));
    assert_eq!(tensor(&drops).to_dlpack().unwrap_err(), Error::NotShareable);
}

/// The owner comes back with the pointer, which stays valid.
#[test]
fn a_failed_export_returns_the_pointer_and_its_owner() {
    let drops = Arc::default();
    let address = |tensor: &Tensor| tensor.handle.memory;
    let short = Tensor { size: 5, ..tensor(&drops) };
    let expected = address(&short);
    let (mut short, error) = short.try_into_dlpack().unwrap_err();
    assert_eq!(error, Error::OutOfBounds { start: 0, end: 24, len: 20 });
    assert_eq!((address(&short), drops.load(Ordering::Relaxed)), (expected, 0));
    short.size = 6;
    let foreign = ImportedStorage::from(short.try_into_dlpack().map_err(|_| ()).unwrap());
    assert_eq!(foreign.elements::<f32>(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    foreign.delete_elsewhere(Farewell::Scribbled);
    assert_eq!(drops.load(Ordering::Relaxed), 1);

    let null = Tensor { pointer: ptr::null_mut(), ..tensor(&drops) };
    let (null, error) = null.try_into_dlpack().unwrap_err();
    assert!(matches!(error, Error::Custom(_)));
    drop(null);
    assert_eq!(drops.load(Ordering::Relaxed), 2);
}

#[test]
fn a_null_pointer_has_no_elements() {
    let drops = Arc::default();
    let mut empty = Tensor { pointer: ptr::null_mut(), size: 0, ..tensor(&drops) };
    empty.shape[0] = 0;
    let foreign = ImportedStorage::from(empty.into_dlpack().unwrap());
    assert!(foreign.elements::<f32>().is_empty());
    foreign.delete(Farewell::Plain);
}

/// Untyped memory of a constant size, on a device that a field names.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(2))]
struct Untyped {
    // SAFETY: the owner keeps the memory, which has that length, and no one writes to it.
    #[dlpack(unsafe(ptr, len(bytes) = Self::BYTES))]
    pointer: NonNull<u8>,
    #[dlpack(owner)]
    memory: Box<[u32; 2]>,
    dtype: DataType,
    device: Device,
}

impl Untyped {
    const BYTES: usize = 8;
}

// SAFETY: the pointer is into the box.
unsafe impl Send for Untyped {}

fn untyped(device: Device) -> Untyped {
    let mut memory = Box::new([7, 8]);
    let pointer = NonNull::from(&mut *memory).cast();
    Untyped { pointer, memory, dtype: DataType::U32, device }
}

#[test]
fn a_declared_device_is_not_checked() {
    // Not read here: no test machine has a device of that type.
    let view = untyped(Device::cuda(1));
    assert_eq!(view.tensor().unwrap().device(), Device::cuda(1));
    assert_eq!(view.memory[0], 7);
    assert!(view.tensor().unwrap().sync_for(StreamArg::no_sync()).is_ok());
    assert!(untyped(Device::CPU).tensor().unwrap().sync_for(StreamArg::no_sync()).is_err());
    let view = untyped(Device::CPU);
    assert_eq!(view.tensor().unwrap().dtype(), DataType::U32);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(3))]
struct Static(
    // SAFETY: the owner keeps the memory, which has that length, and no one writes to it.
    #[dlpack(unsafe(ptr, len(elements) = 3))] *const i8,
    #[dlpack(owner)] &'static [i8; 3],
);

// SAFETY: the pointer is to something static.
unsafe impl Send for Static {}

#[test]
fn a_length_in_the_attribute() {
    static NUMBERS: [i8; 3] = [1, 2, 3];
    let tensor = Static(NUMBERS.as_ptr(), &NUMBERS);
    assert_eq!(tensor.1.len(), 3);
    let foreign = ImportedStorage::from(tensor.into_dlpack().unwrap());
    assert_eq!(foreign.elements::<i8>(), [1, 2, 3]);
    foreign.delete(Farewell::Plain);
}

/// An image of a C library, with a reference count and padded rows, as OpenCV's `Mat`.
#[expect(clippy::unused_self, reason = "as the functions of a library")]
mod c {
    use core::ptr::{self, NonNull};
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;

    struct Image {
        count: AtomicUsize,
        pixels: [u8; 16],
        drops: Arc<AtomicUsize>,
    }

    pub(crate) struct Mat(NonNull<Image>);

    // SAFETY: the count is atomic, and the pixels are only accessed through pointers.
    unsafe impl Send for Mat {}

    impl Mat {
        pub(crate) fn new(drops: &Arc<AtomicUsize>) -> Self {
            let pixels = core::array::from_fn(|index| u8::try_from(index).unwrap());
            let image = Image { count: AtomicUsize::new(1), pixels, drops: drops.clone() };
            Self(NonNull::from(Box::leak(Box::new(image))))
        }

        pub(crate) fn data(&self) -> *mut u8 {
            // SAFETY: the count of this handle keeps the image alive.
            unsafe { (&raw mut (*self.0.as_ptr()).pixels).cast() }
        }

        fn count(&self) -> &AtomicUsize {
            // SAFETY: the count of this handle keeps the image alive.
            unsafe { &(*self.0.as_ptr()).count }
        }

        pub(crate) fn owners(&self) -> usize {
            self.count().load(Ordering::Relaxed)
        }

        pub(crate) fn rows(&self) -> i32 {
            2
        }

        pub(crate) fn step(&self) -> usize {
            8
        }

        pub(crate) fn len(&self) -> usize {
            16
        }
    }

    impl Clone for Mat {
        fn clone(&self) -> Self {
            self.count().fetch_add(1, Ordering::Relaxed);
            Self(self.0)
        }
    }

    impl Drop for Mat {
        fn drop(&mut self) {
            if self.count().fetch_sub(1, Ordering::AcqRel) == 1 {
                // SAFETY: it was made from a box, and this was the last owner.
                let image = unsafe { Box::from_raw(self.0.as_ptr()) };
                image.drops.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// A type whose clones are copies.
    pub(crate) struct Deep(pub(crate) *mut u8);

    // SAFETY: the pixels are leaked and not accessed.
    unsafe impl Send for Deep {}

    impl Deep {
        pub(crate) fn new() -> Self {
            Self(ptr::from_mut(Box::leak(Box::new([0_u8; 4]))).cast())
        }

        pub(crate) fn data(&self) -> *mut u8 {
            self.0
        }
    }

    impl Clone for Deep {
        fn clone(&self) -> Self {
            Self::new()
        }
    }

    impl Drop for Deep {
        fn drop(&mut self) {
            // SAFETY: it was made from a box, and this is the only owner.
            drop(unsafe { Box::from_raw(self.0.cast::<[u8; 4]>()) });
        }
    }
}

/// The handle is both the owner and the source of the pointer.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
#[dlpack(shape(self.mat.rows(), 2, 3), byte_strides(self.mat.step(), 3, 1))]
#[allow(clippy::unnecessary_safety_comment, reason = "an assertion has the span of the type")]
struct Image {
    // SAFETY: the handle keeps the pixels, which only pointers access.
    #[dlpack(unsafe(mut ptr, len(bytes) = self.mat.len()), with = c::Mat::data, shared)]
    mat: c::Mat,
}

#[test]
fn a_handle_with_a_reference_count_is_shared() {
    let drops = Arc::default();
    let image = Image { mat: c::Mat::new(&drops) };
    let first = ImportedStorage::from(image.to_dlpack().unwrap());
    let second = ImportedStorage::from(image.to_dlpack().unwrap());
    assert_eq!((first.data(), image.mat.owners()), (image.mat.data(), 3));
    assert!(first.is_writable());
    assert_eq!(second.elements::<u8>(), [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13]);
    first.delete_elsewhere(Farewell::Plain);
    let moved = ImportedStorage::from(image.into_dlpack().unwrap());
    assert!(moved.is_writable());
    moved.delete(Farewell::Plain);
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    second.delete_elsewhere(Farewell::Scribbled);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

/// The pointer in a field of its own, and READ_ONLY.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(len))]
struct Rows {
    // SAFETY: the handle keeps the pixels, and no one writes them.
    #[dlpack(unsafe(ptr, len(bytes) = len))]
    first: *const u8,
    len: isize,
    #[dlpack(owner, shared)]
    handle: c::Mat,
}

// SAFETY: the pointer is into the memory of the handle, which is `Send`.
unsafe impl Send for Rows {}

#[test]
fn an_owner_beside_the_pointer_is_shared() {
    let drops = Arc::default();
    let handle = c::Mat::new(&drops);
    let rows = |len| Rows { first: handle.data(), len, handle: handle.clone() };
    let tensor = rows(16).to_dlpack().unwrap();
    assert!(tensor.is_read_only() && tensor.data_ptr() == handle.data().cast_const());
    assert_eq!(handle.owners(), 2);
    assert_eq!(rows(-1).to_dlpack().unwrap_err(), Error::SizeOverflow);
    assert_eq!(handle.owners(), 2);
    drop(tensor);
    assert_eq!(handle.owners(), 1);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(4))]
#[allow(clippy::unnecessary_safety_comment, reason = "an assertion has the span of the type")]
struct Copied {
    // SAFETY: the owner keeps the pixels, which only pointers access.
    #[dlpack(unsafe(mut ptr, len(bytes) = 4), with = c::Deep::data, shared)]
    deep: c::Deep,
}

#[test]
fn a_clone_with_other_memory_is_not_shared() {
    let copied = Copied { deep: c::Deep::new() };
    assert_eq!(copied.to_dlpack().unwrap_err(), Error::NotShareable);
    assert!(!copied.into_dlpack().unwrap().is_read_only());
}
