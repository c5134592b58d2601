//! Exports order the work of streams, also if types in safe code wrap the memory. The tests
//! do not depend on timing: a gate that the host opens holds the device's work back.

use std::fs;
use std::path::Path;

use dlpack_traits::backend::{DeviceBuffer, WorkStream};
use dlpack_traits::ffi::kDLExtDev;
use dlpack_traits::{
    DLPackExport, DataRef, DataType, Describe, Description, Device, Error, Flags, SharedOwner,
    Storage, StreamArg, Synchronize,
};
use new_device::consumer::Consumer;
use new_device::runtime::{self, Event, Stream};
use new_device::{Npu, Tensor};

const NPU: Device = Device::new(kDLExtDev, 0);

/// A stream of its own.
fn stream() -> WorkStream<Npu> {
    let stream = Stream::new(0).unwrap();
    runtime::with_stream(&stream, || WorkStream::current(NPU)).unwrap()
}

/// Waits for all threads of the device when a test ends, because Miri requires it.
struct Session;

impl Drop for Session {
    fn drop(&mut self) {
        if cfg!(miri) {
            runtime::shutdown();
        }
    }
}

/// A type in safe code around a buffer, which reports that no work is pending.
struct Forgetful(DeviceBuffer<Npu>);

impl Storage for Forgetful {
    fn data(&self) -> DataRef<'_> {
        self.0.data()
    }

    fn share(&self) -> Option<SharedOwner> {
        self.0.share()
    }
}

impl Synchronize for Forgetful {
    fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
        Ok(())
    }
}

impl DLPackExport for Forgetful {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[4]).data(self.data())
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(self)
    }

    fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// A tensor that will be filled with sevens when the gate opens.
fn pending(gate: &Event) -> Tensor {
    let tensor = Tensor::zeroed(stream(), &[4]).unwrap();
    tensor.stream().wait(gate);
    tensor.fill(7.0);
    tensor
}

#[test]
fn a_forgetful_type_does_not_export_stale_values() {
    let _session = Session;
    let gate = Event::of_host();
    let forgetful = Forgetful(pending(&gate).data().clone());
    let consumer = Consumer::new(stream()).unwrap();
    let managed = forgetful.to_dlpack_on(consumer.stream().as_arg()).unwrap();
    // SAFETY: 1. It was exported for that stream, and has no other consumer.
    unsafe { consumer.sum(managed.into_raw()) }.unwrap();
    gate.set();
    assert_eq!(consumer.result(), Ok(28.0));
}

#[test]
fn a_sync_for_waits_on_the_device_and_not_on_the_host() {
    let _session = Session;
    let gate = Event::of_host();
    let tensor = pending(&gate);
    let consumer = Consumer::new(stream()).unwrap();
    // All of these calls return while the gate is closed.
    let managed = tensor.to_dlpack_on(consumer.stream().as_arg()).unwrap();
    assert_eq!((managed.device(), managed.dtype()), (NPU, DataType::F32));
    assert_eq!(managed.flags(), Flags::NONE, "others may write");
    // SAFETY: 1. It was exported for that stream, and has no other consumer.
    unsafe { consumer.sum(managed.into_raw()) }.unwrap();
    gate.set();
    assert_eq!(consumer.result(), Ok(28.0));
}

#[test]
fn memory_is_freed_after_a_consumers_kernels() {
    let _session = Session;
    let gate = Event::of_host();
    let tensor = Tensor::zeroed(stream(), &[4]).unwrap();
    tensor.fill(7.0);
    let ours = tensor.stream().clone();
    let consumer = Consumer::new(stream()).unwrap();
    let managed = tensor.into_dlpack_on(consumer.stream().as_arg()).unwrap();
    // The consumer's kernel cannot begin, and the consumer is the last owner.
    consumer.stream().stream().wait(&gate);
    // SAFETY: 1. It was exported for that stream, and has no other consumer.
    unsafe { consumer.sum(managed.into_raw()) }.unwrap();
    gate.set();
    assert_eq!(consumer.result(), Ok(28.0));
    assert_eq!(ours.synchronize(), Ok(()));
}

#[test]
fn a_forgetful_type_does_not_free_memory_in_use() {
    let _session = Session;
    let gate = Event::of_host();
    let tensor = Tensor::zeroed(stream(), &[4]).unwrap();
    let ours = tensor.stream().clone();
    let forgetful = Forgetful(tensor.data().clone());
    drop(tensor);
    let consumer = Consumer::new(stream()).unwrap();
    let managed = forgetful.into_dlpack_on(consumer.stream().as_arg()).unwrap();
    consumer.stream().stream().wait(&gate);
    // The consumer is the last owner, and releases the tensor before its kernel begins.
    // SAFETY: 1. It was exported for that stream, and has no other consumer.
    unsafe { consumer.sum(managed.into_raw()) }.unwrap();
    gate.set();
    assert_eq!(consumer.result(), Ok(0.0));
    assert_eq!(ours.synchronize(), Ok(()));
}

/// The offset stays in `byte_offset`, beside the handle.
#[test]
fn a_part_of_a_tensor() {
    #[derive(DLPackExport)]
    struct Tail {
        data: DeviceBuffer<Npu>,
        shape: [u32; 1],
        #[dlpack(offset(elements))]
        first: usize,
    }
    let _session = Session;
    let gate = Event::of_host();
    let data = pending(&gate).data().clone();
    let handle = data.as_ptr();
    let tail = Tail { data, shape: [3], first: 1 };
    let consumer = Consumer::new(stream()).unwrap();
    let managed = tail.into_dlpack_on(consumer.stream().as_arg()).unwrap();
    assert_eq!(managed.data_ptr().cast(), handle.cast_const());
    // SAFETY: 1. It was exported for that stream, and has no other consumer.
    unsafe { consumer.sum(managed.into_raw()) }.unwrap();
    gate.set();
    assert_eq!(consumer.result(), Ok(21.0));
}

/// A host that dereferences a device's address crashes.
#[test]
#[cfg(all(unix, not(miri)))]
fn the_host_cannot_touch_the_memory() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    const ASKED: &str = "NEW_DEVICE_TOUCH";
    let name = "the_host_cannot_touch_the_memory";
    if std::env::var_os(ASKED).is_some() {
        let tensor = Tensor::zeroed(stream(), &[4]).unwrap();
        let first = tensor.data().as_ptr().cast::<u8>();
        // SAFETY: none. This process exists to crash here.
        let byte = unsafe { first.read_volatile() };
        panic!("the host read {byte}");
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", name, "--nocapture"]).env(ASKED, "1").output().unwrap();
    assert!(output.status.signal().is_some(), "{output:?}");
}

/// The comment before the functions of the backend that exports do not need.
const OPTIONAL: &str = "// Exports do not need the functions below.";

/// The README states this number.
#[test]
#[cfg_attr(miri, ignore = "it reads files, and has nothing that Miri could see")]
fn sixty_lines_are_enough() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut lines = 0;
    for file in ["backend.rs", "tensor.rs"] {
        let text = fs::read_to_string(source.join(file)).unwrap();
        let (before, optional) = text.split_once(OPTIONAL).unwrap_or((&text, "\n}\n"));
        let (_, after) = optional.split_once("\n}\n").unwrap();
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        lines += before.lines().chain(["}"]).chain(after.lines()).filter(is_code).count();
    }
    println!("{lines} lines of code");
    assert!(lines <= 60, "{lines}");
}
