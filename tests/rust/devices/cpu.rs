//! A device without streams has no cost for them.

use std::thread;

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::backend::{Cpu, DeviceBuffer, NoStream, Stream, UsedStreams, WorkStream, sync_for};
use tensors::{DLPackExport, DataType, Device, Error, Flags, StreamArg};

use super::npu::vector;

#[test]
fn an_empty_buffer_allocates_nothing() {
    assert_eq!(size_of::<NoStream>(), 0);
    assert_eq!(size_of::<<NoStream as Stream>::Event>(), 0);
    // The device and a name, which is NULL.
    assert_eq!(size_of::<WorkStream<Cpu>>(), size_of::<(Device, usize)>());
}

#[test]
fn the_cpu_accepts_no_stream_handles() {
    let stream = WorkStream::<Cpu>::current(Device::CPU).unwrap();
    sync_for(&stream, stream.as_arg()).unwrap();
    sync_for(&stream, StreamArg::unspecified()).unwrap();
    let uses = UsedStreams::<Cpu>::new();
    for refused in [
        StreamArg::no_sync(),
        // SAFETY: 1. The host has no streams, so it is not used as one.
        unsafe { StreamArg::from_handle(1) },
    ] {
        assert_eq!(sync_for(&stream, refused), Err(Error::StreamOnHost));
        assert_eq!(uses.sync_for(&stream, refused), Err(Error::StreamOnHost));
    }
    let elsewhere = Device::new(tensors::ffi::kDLCPU, 1);
    let error = WorkStream::<Cpu>::current(elsewhere).unwrap_err();
    assert_eq!(error, Error::NoBackend { device: elsewhere });
}

#[test]
fn a_buffer_on_the_host_is_shared_memory() {
    let buffer = DeviceBuffer::<Cpu>::from_slice(Device::CPU, &[1_i16, 2, 3]).unwrap();
    let tensor = vector(buffer.clone(), 3).into_dlpack().unwrap();
    assert_eq!((tensor.dtype(), tensor.flags()), (DataType::I16, Flags::NONE));
    let foreign = ImportedStorage::from(tensor);
    foreign.write(|element: i16| element * 10);
    foreign.delete_elsewhere(Farewell::Plain);
    assert_eq!(buffer.to_vec::<i16>().unwrap(), [10, 20, 30]);
    let empty = DeviceBuffer::<Cpu>::from_slice::<f32>(Device::CPU, &[]).unwrap();
    assert!(empty.to_vec::<f32>().unwrap().is_empty());
}

/// The memory is that of an import too, through which another thread writes it. Miri reports
/// an ordinary access as a race.
#[test]
fn a_buffer_on_the_host_is_read_byte_wise_atomically() {
    let buffer = DeviceBuffer::<Cpu>::from_slice(Device::CPU, &[0x0101_i16; 5]).unwrap();
    let mut tensor = vector(buffer.clone(), 5).into_dlpack().unwrap().import().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || tensor.elements_mut::<i16>().unwrap().fill(0x0202));
        for value in buffer.to_vec::<i16>().unwrap() {
            assert!(value.to_ne_bytes().iter().all(|&byte| byte == 1 || byte == 2));
        }
    });
    assert_eq!(buffer.to_vec::<i16>().unwrap(), [0x0202; 5]);
}
