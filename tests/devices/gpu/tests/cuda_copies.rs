//! Copies of CUDA tensors with pending work, to the host and on the GPU.

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

use std::thread;
use std::time::Duration;

use dlpack_gpu_tests::session::{Session, session};
use dlpack_traits::backend::{Cpu, Cuda, DeviceBuffer, copy_on_device, copy_to_host};
use dlpack_traits::{DLPackExport, DataType, Device, Error, Flags, Storage, StreamArg};

type Both = (Cpu, Cuda);
const COUNT: usize = 12;

/// A window of a buffer: not contiguous, and not at its start.
struct Window(DeviceBuffer<Cuda>);

impl DLPackExport for Window {
    fn describe<'a>(
        &'a self,
        out: dlpack_traits::Describe<'a>,
    ) -> Result<dlpack_traits::Description<'a>, Error> {
        out.shape(&[2, 3]).strides(&[4, 1]).offset(5).data(self.0.data())
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.0)
    }
}

fn pending(session: &Session, stream: usize, value: u32) -> Window {
    let work_stream = session.work_stream(stream);
    let buffer = DeviceBuffer::zeroed_on(work_stream, DataType::U32, COUNT).expect("memory");
    session.fill_on(stream, buffer.as_ptr().addr(), value, COUNT);
    Window(buffer)
}

#[test]
fn copies_to_the_host_include_pending_work() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let stream = session.new_stream();
    let gate = session.hold(stream);
    let window = pending(&session, stream, 7);
    let opener = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        gate.open();
    });
    let copy = copy_to_host::<Both, _>(&window)?;
    opener.join().expect("no panic");
    assert_eq!((copy.device(), copy.flags()), (Device::CPU, Flags::IS_COPIED));
    // SAFETY: a contiguous copy of six numbers, which has no other owner.
    let read = unsafe { std::slice::from_raw_parts(copy.data_ptr(), 24) };
    assert_eq!(read, 7_u32.to_ne_bytes().repeat(6));
    drop(window);
    session.destroy_stream(stream);
    Ok(())
}

#[test]
fn copies_on_the_gpu_include_pending_work() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let (producer, consumer) = (session.new_stream(), session.new_stream());
    let window = pending(&session, producer, 0);
    session.synchronize(producer);
    let gate = session.hold(producer);
    session.fill_on(producer, window.0.as_ptr().addr(), 8, COUNT);
    // SAFETY: destroyed at the end.
    let says = unsafe { StreamArg::from_handle(consumer) };
    let opener = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        gate.open();
    });
    let copy = copy_on_device::<Both, _>(&window, says)?;
    opener.join().expect("no panic");
    assert_eq!((copy.device(), copy.flags()), (Device::cuda(0), Flags::IS_COPIED));
    assert_ne!(copy.data_ptr().addr(), window.0.as_ptr().addr());
    // SAFETY: the struct lives as long as the tensor.
    let offset = unsafe { (*copy.as_raw()).dl_tensor.byte_offset };
    let first = copy.data_ptr().addr() + usize::try_from(offset).expect("a size");
    assert_eq!(session.read_on(consumer, first, 3), [8; 3]);
    drop((copy, window));
    session.destroy_stream(consumer);
    session.destroy_stream(producer);
    Ok(())
}

/// The thread enters a stream that it keeps. That stream is recorded for the copy, so
/// that the later free of the source does not wait for the whole device.
#[test]
fn a_copy_on_an_entered_stream_leaves_the_free_in_order() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let Some(simulator) = session.only_simulated() else { return Ok(()) };
    let (producer, entered) = (session.new_stream(), session.new_stream());
    let window = pending(&session, producer, 7);
    {
        let _entered = Cuda::enter(session.work_stream(entered));
        drop(copy_to_host::<Both, _>(&window)?);
        drop(copy_on_device::<Both, _>(&window, StreamArg::work_stream())?);
    }
    let waits = simulator.calls("cuCtxSynchronize");
    drop(window);
    assert_eq!(simulator.calls("cuCtxSynchronize"), waits, "the free waits for the device");
    session.destroy_stream(entered);
    session.destroy_stream(producer);
    Ok(())
}
