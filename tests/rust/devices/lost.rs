//! A device that cannot be waited for: the memory of its work is kept.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr::{self, NonNull};

use dlpack_tests::counted::Owner;
use tensors::backend::{
    Backend, DeviceBuffer, Event, MemoryRange, MemoryRef, MemoryType, Stream, StreamHandle,
    WorkStream, copy_to_device, copy_to_host,
};
use tensors::{Device, DriverText, Error, Storage, ffi};

const DEVICE: Device = Device::new(ffi::kDLExtDev, 0);
const LOST: Error =
    Error::Device { device: DEVICE, call: "synchronize", code: 1, text: DriverText::NONE };
/// Memory of the device, which no one follows.
const DATA: NonNull<c_void> = NonNull::dangling();

thread_local! {
    /// The host's memory that a copy of this thread uses, and how many bytes of it.
    static USED: Cell<(*mut u8, usize)> = const { Cell::new((ptr::null_mut(), 0)) };
    /// Whether a free of this thread fails.
    static FREE_FAILS: Cell<bool> = const { Cell::new(false) };
    /// How many waits of this thread succeed, before they fail.
    static WAITS: Cell<usize> = const { Cell::new(0) };
    /// How often memory was freed.
    static FREED: Cell<usize> = const { Cell::new(0) };
    /// The bytes that were given up.
    static ABANDONED: Cell<usize> = const { Cell::new(0) };
}

/// A queue that has begun its work, and whose wait fails.
#[derive(Clone, Copy)]
struct Lost;

// SAFETY: 1. There is nothing to free.
unsafe impl Event for Lost {}

// SAFETY: 1. to 11. No work is ever done but by the tests, and no wait succeeds.
unsafe impl Stream for Lost {
    type Event = Lost;

    const IN_ORDER: bool = true;
    const GRAPHS: bool = false;

    fn record(&self) -> Result<Lost, Error> {
        Ok(Lost)
    }

    fn wait(&self, _: &Lost) -> Result<(), Error> {
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        let left = WAITS.get().checked_sub(1).ok_or(LOST)?;
        WAITS.set(left);
        Ok(())
    }
}

// SAFETY: 1. There is one device, with one queue. 2. to 7. The defaults.
// 8. No byte of its memory is ever used; nothing is copied but by the tests, and the error of a
// wait is not one that says that nothing was enqueued.
unsafe impl Backend for Lost {
    const MEMORY_TYPES: &'static [MemoryType] = &[MemoryType::with_handles(ffi::kDLExtDev)];
    type Stream = Lost;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        // SAFETY: 1. and 2. It is the one.
        Ok(unsafe { WorkStream::new(device, StreamHandle::from_number(1), Lost) })
    }

    unsafe fn borrow_stream(_: Device, _: StreamHandle) -> Result<Lost, Error> {
        Ok(Lost)
    }

    fn allocate(_: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        Ok(MemoryRange::new(DATA, byte_len))
    }

    unsafe fn deallocate(_: &WorkStream<Self>, _: MemoryRange) -> Result<(), Error> {
        FREED.set(FREED.get() + 1);
        if FREE_FAILS.get() { Err(LOST) } else { Ok(()) }
    }

    unsafe fn abandon(_: &WorkStream<Self>, memory: MemoryRange) {
        assert_eq!(memory.data, DATA);
        ABANDONED.set(ABANDONED.get() + memory.byte_len);
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

/// The backend learns that memory is never freed, and of no memory twice.
#[test]
fn memory_that_cannot_be_freed_is_abandoned() {
    let buffer = || DeviceBuffer::<Lost>::zeroed(DEVICE, tensors::DataType::U32, 4).unwrap();
    drop(buffer());
    assert_eq!(ABANDONED.get(), 0);
    FREE_FAILS.set(true);
    drop(buffer());
    FREE_FAILS.set(false);
    assert_eq!(ABANDONED.get(), 16);
    // A consumer's stream that is unknown, on a device that cannot be waited for: no order.
    let used = buffer();
    assert!(used.sync_for(tensors::StreamArg::no_sync()).is_err());
    drop(used);
    assert_eq!(ABANDONED.get(), 16);
}

/// A copy to another device is work of the first one: a free on the other does not wait for it.
#[test]
fn memory_of_an_unfinished_copy_between_devices_is_kept() {
    let other = Device::new(ffi::kDLExtDev, 1);
    let buffer = DeviceBuffer::<Lost>::zeroed(DEVICE, tensors::DataType::U32, 4).unwrap();
    let tensor = Owner::new(buffer, &[4]);
    // The memory is there, and the wait for the copy fails.
    WAITS.set(1);
    let copy = copy_to_device::<Lost, _>(&tensor, other, tensors::StreamArg::on_host());
    assert_eq!(copy.map(drop), Err(LOST));
    assert_eq!((USED.take().1, FREED.get()), (16, 0));
    // The wait for the memory fails: nothing was enqueued.
    let copy = copy_to_device::<Lost, _>(&tensor, other, tensors::StreamArg::on_host());
    assert_eq!(copy.map(drop), Err(LOST));
    assert_eq!((USED.take().1, FREED.get()), (0, 1));
}
