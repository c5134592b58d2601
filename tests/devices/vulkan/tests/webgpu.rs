//! WebGPU by wgpu-native, on the same drivers. `DLPACK_WGPU_NATIVE` names the
//! library; the wheel `wgpu` has one.

#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

use std::ffi::OsStr;
use std::process::Command;
use std::ptr::NonNull;
use std::sync::OnceLock;

use dlpack_traits::backend::{
    Backends, Cpu, DeviceBuffer, Prototype, Stream, WebGpu, WorkStream, copy_on_device,
    copy_to_host,
};
use dlpack_traits::{
    DLPackExport, DataType, Device, Dims, Error, ImportedStorage, ImportedTensor, ManagedTensor,
    StreamArg, ffi,
};
use dlpack_vulkan_tests::webgpu::{raw_device, skipped};

/// The device, made by the library itself and adopted once.
fn device() -> Option<Device> {
    static DEVICE: OnceLock<Option<Device>> = OnceLock::new();
    let found = *DEVICE.get_or_init(|| Some(adopt(&std::env::var_os("DLPACK_WGPU_NATIVE")?)));
    if found.is_none() {
        skipped();
    }
    found
}

fn adopt(path: &OsStr) -> Device {
    let device = raw_device(path);
    // SAFETY: 1. and 2. By the line above.
    let adopt = || unsafe { WebGpu::adopt(path, device) }.expect("wgpu-native");
    let adopted = adopt();
    // Two records of it would mix their errors up.
    assert_eq!(adopt(), adopted);
    adopted
}

#[derive(DLPackExport)]
struct Part {
    data: DeviceBuffer<WebGpu>,
    #[dlpack(shape)]
    shape: [usize; 1],
    #[dlpack(strides)]
    strides: [isize; 1],
    #[dlpack(offset(elements))]
    offset: usize,
}

fn part(device: Device) -> Part {
    let data = DeviceBuffer::from_slice(device, &[10_u16, 11, 12, 13, 14, 15, 16, 17]);
    Part { data: data.expect("memory"), shape: [3], strides: [2], offset: 3 }
}

fn raw(tensor: &ManagedTensor) -> (usize, u64) {
    // SAFETY: the tensor is alive.
    let managed = unsafe { &*tensor.as_raw() };
    (managed.dl_tensor.data.addr(), managed.dl_tensor.byte_offset)
}

#[test]
fn memory_is_zeroed_and_copied() -> Result<(), Error> {
    let Some(device) = device() else { return Ok(()) };
    let zeros = DeviceBuffer::<WebGpu>::zeroed(device, DataType::U8, 1001)?;
    assert_eq!(zeros.to_vec::<u8>()?, [0; 1001]);
    let odd = DeviceBuffer::<WebGpu>::from_slice(device, &[1_u8, 2, 3, 4, 5])?;
    assert_eq!(odd.to_vec::<u8>()?, [1, 2, 3, 4, 5]);
    let nothing = DeviceBuffer::<WebGpu>::from_slice::<u8>(device, &[])?;
    assert!(nothing.to_vec::<u8>()?.is_empty());
    Ok(())
}

#[test]
fn handle_and_offset_survive_a_round_trip() -> Result<(), Error> {
    let Some(device) = device() else { return Ok(()) };
    let part = part(device);
    let handle = part.data.as_ptr().addr();
    let copy = copy_to_host::<(Cpu, WebGpu), _>(&part)?.import()?;
    assert_eq!(copy.elements::<u16>()?.to_vec()?, [13, 15, 17]);
    // SAFETY: 1. It was just exported.
    let imported = unsafe { ImportedTensor::from_raw(part.into_dlpack()?.into_raw()) }?;
    assert_eq!((imported.device(), imported.byte_offset()), (device, 6));
    assert_eq!(imported.data_ptr().addr(), handle);
    let foreign: ImportedStorage = ImportedStorage::new(imported)?;
    assert_eq!(raw(&foreign.into_dlpack()?), (handle, 6));
    Ok(())
}

#[test]
fn the_queue_is_the_stream() -> Result<(), Error> {
    let Some(device) = device() else { return Ok(()) };
    let part = part(device);
    let stream = WorkStream::<WebGpu>::current(device)?;
    assert_eq!(part.to_dlpack_on(stream.as_arg()).map(drop), Ok(()));
    for consumer in [StreamArg::unspecified(), StreamArg::no_sync(), StreamArg::work_stream()] {
        assert_eq!(part.to_dlpack_on(consumer).map(drop), Ok(()));
    }
    // SAFETY: 1. Refused: handles are compared.
    let other = part.to_dlpack_on(unsafe { StreamArg::from_handle(12345) }).map(drop);
    assert_eq!(other, Err(Error::Unsupported { device, what: "queue but its own" }));
    let event = stream.stream().record()?;
    stream.stream().wait(&event)
}

#[test]
fn a_table_allocates_on_it() -> Result<(), Error> {
    let Some(device) = device() else { return Ok(()) };
    let shape = [2_i64, 3];
    let prototype = Prototype::new(DataType::F32, Dims::of(&shape)?, device)?;
    let tensor = <(Cpu, WebGpu)>::allocate(&prototype)?;
    assert_eq!((tensor.device(), tensor.shape()), (device, &[2, 3][..]));
    let stream = <(Cpu, WebGpu)>::current_work_stream(device)?;
    let queue = WorkStream::<WebGpu>::current(device)?.handle();
    assert_eq!(stream.addr(), queue.number());
    Ok(())
}

#[test]
fn webgpu_errors_are_returned() -> Result<(), Error> {
    let Some(device) = device() else { return Ok(()) };
    // More than any device allows for one buffer. Without care it ends the process.
    let huge = DeviceBuffer::<WebGpu>::zeroed(device, DataType::U8, 1 << 46).map(drop);
    assert!(matches!(huge, Err(Error::Device { .. } | Error::OutOfMemory { .. })), "{huge:?}");
    assert_eq!(DeviceBuffer::<WebGpu>::from_slice(device, &[7_u32])?.to_vec::<u32>()?, [7]);
    Ok(())
}

#[test]
fn copies_of_partial_units_are_refused() -> Result<(), Error> {
    let Some(device) = device() else { return Ok(()) };
    let part = part(device);
    // Its bytes begin in the middle of a unit of four.
    let copy = copy_on_device::<WebGpu, _>(&part, StreamArg::unspecified()).map(drop);
    assert_eq!(copy, Err(Error::Unsupported { device, what: "copy to parts of four bytes" }));
    let even = Part { offset: 2, ..part };
    let copy = copy_on_device::<WebGpu, _>(&even, StreamArg::unspecified())?;
    assert_ne!(raw(&copy).0, even.data.as_ptr().addr());
    Ok(())
}

#[test]
fn threads_share_the_device() -> Result<(), Error> {
    let Some(device) = device() else { return Ok(()) };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0_u32..4)
            .map(|value| {
                scope.spawn(move || {
                    for _ in 0..20 {
                        let data = DeviceBuffer::<WebGpu>::from_slice(device, &[value; 100])?;
                        assert_eq!(data.to_vec::<u32>()?, [value; 100]);
                        // Errors stay with whom they belong to.
                        let huge = DeviceBuffer::<WebGpu>::zeroed(device, DataType::U8, 1 << 46);
                        assert!(huge.is_err());
                    }
                    Ok::<(), Error>(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}

#[test]
fn missing_libraries_and_devices_are_errors() {
    let missing = Device::new(ffi::kDLWebGPU, 99);
    let made = DeviceBuffer::<WebGpu>::from_slice(missing, &[1_u8]).map(drop);
    assert_eq!(made, Err(Error::NoBackend { device: missing }));
    // SAFETY: 1. and 2. The file does not exist, so nothing is called.
    let none = unsafe { WebGpu::adopt("/no/such/library", NonNull::dangling()) };
    assert_eq!(none, Err(Error::NoLibrary { name: "libwgpu_native" }));
}

/// Whatever was named, it is not wgpu-native.
#[test]
#[cfg(target_os = "linux")]
fn a_library_without_the_functions_is_an_error() {
    // SAFETY: 1. and 2. The C library has none of the functions, so none is called.
    let other = unsafe { WebGpu::adopt("libc.so.6", NonNull::dangling()) };
    assert!(
        matches!(other, Err(Error::Unsupported { what, .. }) if what.starts_with("wgpu")),
        "{other:?}"
    );
}

/// Without wgpu-native the tests are skipped aloud, and fail where `DLPACK_REQUIRE`
/// names it.
#[test]
fn a_required_library_that_is_missing_fails_the_test() {
    let run = |required: Option<&str>| {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "memory_is_zeroed_and_copied", "--nocapture"]);
        command.env_remove("DLPACK_WGPU_NATIVE").env_remove("DLPACK_REQUIRE");
        command.envs(required.map(|names| ("DLPACK_REQUIRE", names)));
        let output = command.output().expect("a process");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (passed, said) = run(None);
    assert!(passed && said.contains("SKIPPED"), "{said}");
    let (passed, said) = run(Some("vulkan, webgpu"));
    assert!(!passed && said.contains("DLPACK_REQUIRE names webgpu, but"), "{said}");
}
