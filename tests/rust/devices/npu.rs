//! The device of these tests, and tensors on it.

use dlpack_tests::counted::Owner;
use new_device::Npu;
use new_device::runtime::{self, Address, Event, Stream};
use tensors::backend::{Backend, DeviceBuffer, WorkStream};
use tensors::ffi::kDLExtDev;
use tensors::{DataType, Device, Storage};

pub(crate) const NPU: Device = Device::new(kDLExtDev, 0);

/// Ends the threads of the device when a test ends, as Miri wants it. The first
/// local of a test, and hence dropped last.
pub(crate) struct Session;

impl Drop for Session {
    fn drop(&mut self) {
        if cfg!(miri) {
            runtime::shutdown();
        }
    }
}

/// A stream of its own, for any backend over the device.
pub(crate) fn stream<B: Backend>() -> WorkStream<B> {
    let stream = Stream::new(0).unwrap();
    runtime::with_stream(&stream, || WorkStream::current(NPU)).unwrap()
}

/// A stream of its own that does nothing until the gate is opened.
pub(crate) fn held_by(gate: &Event) -> WorkStream<Npu> {
    let stream = stream::<Npu>();
    stream.stream().wait(gate);
    stream
}

/// Returns four elements that are `value` once the stream has reached the fill.
pub(crate) fn filled(stream: WorkStream<Npu>, value: f32) -> DeviceBuffer<Npu> {
    let buffer = DeviceBuffer::zeroed_on(stream, DataType::F32, 4).unwrap();
    buffer.stream().stream().fill(address(&buffer), 0..16, value);
    buffer
}

pub(crate) fn address<B: Backend>(buffer: &DeviceBuffer<B>) -> Address {
    Address::from_ptr(buffer.as_ptr())
}

/// A contiguous vector over a storage.
pub(crate) fn vector<S: Storage>(data: S, len: i64) -> Owner<S> {
    Owner::new(data, &[len])
}
