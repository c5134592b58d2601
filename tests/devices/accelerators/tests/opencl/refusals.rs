//! Devices, queues and buffers that are rejected.

use std::ptr;

use dlpack_accelerator_tests::cl::{Cl, check, devices};
use dlpack_accelerator_tests::skipped;
use dlpack_traits::backend::{
    Backends, DeviceBuffer, OpenCl, StreamHandle, WorkStream, copy_to_host,
};
use dlpack_traits::{DLPackExport, DataType, Describe, Description, Device, Error, Storage, ffi};

struct Bytes(DeviceBuffer<OpenCl>, [usize; 1]);

impl From<DeviceBuffer<OpenCl>> for Bytes {
    fn from(buffer: DeviceBuffer<OpenCl>) -> Self {
        let shape = [buffer.byte_len()];
        Self(buffer, shape)
    }
}

impl DLPackExport for Bytes {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&self.1).data(self.0.data())
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.0)
    }
}

#[test]
fn missing_devices_are_refused() {
    let count = i32::try_from(devices().len()).expect("few devices");
    for index in [-1, count, 99, i32::MAX, i32::MIN] {
        if count == 0 {
            continue;
        }
        let device = Device::new(ffi::kDLOpenCL, index);
        let refused = Error::NoBackend { device };
        assert_eq!(WorkStream::<OpenCl>::current(device).map(drop), Err(refused));
        let zeroed = DeviceBuffer::<OpenCl>::zeroed(device, DataType::U8, 1);
        assert_eq!(zeroed.map(drop), Err(refused));
    }
}

/// A queue of a part of the device is the device's; of another device it is not.
#[test]
fn queues_of_other_devices_are_refused() {
    let all = devices();
    for cl in &all {
        for other in &all {
            let handle = StreamHandle::from_ptr(other.queue(true));
            // SAFETY: 1. A queue of the test.
            let stream = unsafe { OpenCl::work_stream(cl.device, handle) };
            assert_eq!(stream.is_ok(), cl.device == other.device, "{stream:?}");
        }
        // SAFETY: 1. NULL is refused.
        let null = unsafe { OpenCl::work_stream(cl.device, StreamHandle::NULL) };
        assert!(matches!(null, Err(Error::StreamRefused { .. })), "{null:?}");
    }
}

/// `CL_INVALID_VALUE`, for a way of division that the device does not support: a GPU of NVIDIA's.
const NOT_DIVISIBLE: i32 = -30;

#[test]
fn sub_devices_have_the_index_of_their_device() {
    for cl in devices() {
        let (mut parts, mut count) = ([ptr::null_mut(); 64], 0);
        // CL_DEVICE_PARTITION_EQUALLY, one unit each.
        let equally = [0x1086_isize, 1, 0];
        // SAFETY: a list that ends with 0, room for 64, and a place for the count.
        let code = unsafe {
            (cl.calls.clCreateSubDevices)(
                cl.raw,
                equally.as_ptr(),
                64,
                parts.as_mut_ptr(),
                &raw mut count,
            )
        };
        if code == NOT_DIVISIBLE {
            let _: Option<()> = skipped("opencl", "the device cannot be divided");
            continue;
        }
        check(code);
        let part = Cl { raw: parts[0], context: ptr::null_mut(), ..cl };
        let queue = part.queue_in(part.fresh_context(), true);
        assert_eq!(part.stream(queue).device(), part.device);
    }
}

/// OpenCL itself refuses to copy a buffer of another context.
#[test]
fn copies_from_other_contexts_are_refused() -> Result<(), Error> {
    for cl in devices() {
        let ours = DeviceBuffer::<OpenCl>::zeroed_on(cl.stream(cl.queue(true)), DataType::U8, 8)?;
        let copy = copy_to_host::<OpenCl, _>(&Bytes::from(ours)).map(drop);
        let what = "order among queues of two contexts";
        assert_eq!(copy, Err(Error::Unsupported { device: cl.device, what }));
    }
    Ok(())
}

#[test]
fn buffers_of_other_contexts_are_refused() -> Result<(), Error> {
    for cl in devices() {
        let queue = cl.queue_in(cl.fresh_context(), true);
        // SAFETY: 1. A buffer of the test.
        let memory = unsafe { OpenCl::memory(cl.buffer(8)) }?;
        // SAFETY: 1. No work is pending. 2. It is of `Cl::buffer`.
        let adopted = unsafe { OpenCl::adopt(memory, DataType::U8, cl.stream(queue)) };
        assert!(matches!(adopted, Err(Error::Unsupported { .. })), "{adopted:?}");
        // SAFETY: 1. NULL is refused.
        let null = unsafe { OpenCl::memory(ptr::null_mut()) };
        assert_eq!(null.map(drop), Err(Error::NullData));
    }
    Ok(())
}

/// A tensor that reaches further than its buffer.
#[test]
fn tensors_beyond_their_buffers_are_refused() -> Result<(), Error> {
    for cl in devices() {
        let tensor =
            Bytes::from(DeviceBuffer::zeroed(cl.device, DataType::U8, 32)?).into_dlpack()?;
        let tensor = tensor.import()?;
        // SAFETY: 1. A buffer of the test.
        let memory = unsafe { OpenCl::memory(cl.buffer(16)) }?;
        let beyond = Error::OutOfBounds { start: 0, end: 32, len: 16 };
        assert_eq!(memory.holds(&tensor), Err(beyond));
    }
    Ok(())
}

/// The metadata of a handle is not available to a consumer that cannot follow it.
#[test]
fn handles_are_not_classified() {
    for Cl { device, .. } in devices() {
        let asked = OpenCl::pointer_attributes(ptr::null(), device);
        assert_eq!(asked, Err(Error::Unsupported { device, what: "pointer attributes" }));
    }
}

#[test]
fn impossible_sizes_are_refused() {
    for cl in devices() {
        for len in [usize::MAX, usize::MAX / 2, usize::MAX / 8] {
            let zeroed = DeviceBuffer::<OpenCl>::zeroed(cl.device, DataType::U8, len).map(drop);
            assert!(
                matches!(zeroed, Err(Error::OutOfMemory { .. } | Error::SizeOverflow)),
                "{zeroed:?}"
            );
        }
    }
}
