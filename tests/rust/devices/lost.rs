//! A device that cannot be waited for: the memory of its work is kept.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr::{self, NonNull};

use dlpack_tests::counted::Owner;
use tensors::backend::{
    Backend, DeviceBuffer, Event, MemoryRef, Stream, StreamHandle, WorkStream, copy_to_host,
};
use tensors::{Device, Error, Storage, ffi};

const DEVICE: Device = Device::new(ffi::kDLExtDev, 0);
const LOST: Error = Error::Device { device: DEVICE, call: "synchronize", code: 1 };
/// Memory of the device, which no one follows.
const DATA: NonNull<c_void> = NonNull::dangling();

thread_local! {
    /// The host's memory that a copy of this thread uses, and how many bytes of it.
    static USED: Cell<(*mut u8, usize)> = const { Cell::new((ptr::null_mut(), 0)) };
}

/// A queue that has begun its work, and whose wait fails.
#[derive(Clone, Copy)]
struct Lost;

// SAFETY: 1. There is nothing to free.
unsafe impl Event for Lost {}

// SAFETY: 1. to 11. No work is ever done but by the tests, and no wait succeeds.
unsafe impl Stream for Lost {
    type Event = Lost;

    fn record(&self) -> Result<Lost, Error> {
        Ok(Lost)
    }

    fn wait(&self, _: &Lost) -> Result<(), Error> {
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Err(LOST)
    }
}

// SAFETY: 1. There is one device, with one queue. 2. to 7. The defaults.
// 8. No byte of its memory is ever used; nothing is copied but by the tests, and the error of a
// wait is not one that says that nothing was enqueued.
unsafe impl Backend for Lost {
    const DEVICE_TYPES: &'static [ffi::DLDeviceType] = &[ffi::kDLExtDev];
    type Stream = Lost;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        // SAFETY: 1. and 2. It is the one.
        Ok(unsafe { WorkStream::new(device, StreamHandle::from_number(1), Lost) })
    }

    unsafe fn borrow_stream(_: Device, _: StreamHandle) -> Result<Lost, Error> {
        Ok(Lost)
    }

    fn allocate(_: &WorkStream<Self>, _: usize) -> Result<NonNull<c_void>, Error> {
        Ok(DATA)
    }

    unsafe fn deallocate(_: &WorkStream<Self>, _: NonNull<c_void>, _: usize) -> Result<(), Error> {
        Ok(())
    }

    unsafe fn copy(
        _: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        let host = if from.device == Device::CPU { from } else { to };
        USED.set((host.address(), byte_len));
        Ok(())
    }
}

/// Lets the device continue with the copy.
fn go_on() {
    let (first, byte_len) = USED.take();
    for at in 0..byte_len {
        // SAFETY: the memory of a copy that was not waited for stays, which Miri checks.
        unsafe { first.wrapping_add(at).write(9) };
    }
    assert_ne!(byte_len, 0, "no copy was enqueued");
}

/// The caller frees its memory after the call has failed. The copy continues in other
/// memory.
#[test]
fn memory_of_an_unfinished_copy_is_kept() {
    let elements = vec![1_u32; 4];
    let outcome = DeviceBuffer::<Lost>::from_slice(DEVICE, &elements).map(drop);
    assert_eq!(outcome, Err(LOST));
    go_on();
    assert_eq!(elements, [1; 4], "the device has the caller's memory");

    let buffer = DeviceBuffer::<Lost>::zeroed(DEVICE, tensors::DataType::U32, 4).unwrap();
    assert_eq!(buffer.to_vec::<u32>(), Err(LOST));
    go_on();
    assert_eq!(buffer.data().device(), DEVICE);
    assert_eq!(copy_to_host::<Lost, _>(&Owner::new(buffer, &[4])).map(drop), Err(LOST));
    go_on();
}
