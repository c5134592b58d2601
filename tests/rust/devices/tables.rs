//! The exchange table of a class whose memory is on a device.

use core::ptr;
use core::time::Duration;

use dlpack_tests::counted::Owner;
use dlpack_tests::foreign::Farewell;
use new_device::Npu;
use new_device::runtime::{self, Event, Stream};
use tensors::DataType;
use tensors::backend::{Cpu, DeviceBuffer};
use tensors::exchange::{NotImportable, table};
use tensors::ffi::{DLTensor, kDLExtDev};

use super::npu::{NPU, Session, address, filled, held_by, vector};
use super::objects::{Called, Heap, free, object, only_raised, raised};

/// A class of tensors on the device.
type OnNpu = Owner<DeviceBuffer<Npu>>;

fn npu() -> Called {
    Called(table::<OnNpu, Heap, (Cpu, Npu), NotImportable>())
}

/// An export does not wait; a consumer that works on the current stream, as the header
/// requires, is ordered after the work that fills the memory.
#[test]
fn an_export_is_ordered_before_the_current_stream() {
    let _session = Session;
    let gate = Event::of_host();
    let value = vector(filled(held_by(&gate), 3.0), 4);
    let copy = value.data.clone();
    let tensor = object(value);
    let theirs = Stream::new(0).unwrap();
    // With a wait of the host this would never return: the gate is shut.
    let exported = runtime::with_stream(&theirs, || npu().tensor(tensor));
    assert_eq!(exported.tensor().device, NPU.into());
    // The consumer's write is the last one. Without the order it would be overwritten,
    // because it has time to run early.
    theirs.fill(address(&copy), 0..8, 7.0);
    std::thread::sleep(Duration::from_millis(20));
    gate.set();
    theirs.synchronize().unwrap();
    assert_eq!(copy.to_vec::<f32>().unwrap(), [7.0, 7.0, 3.0, 3.0]);
    exported.delete(Farewell::Plain);
    free::<OnNpu>(tensor);
}

#[test]
fn a_view_is_ordered_before_the_current_stream() {
    let _session = Session;
    let gate = Event::of_host();
    let tensor = object(vector(filled(held_by(&gate), 3.0), 4));
    let theirs = Stream::new(0).unwrap();
    let function = npu().0.dltensor_from_py_object_no_sync.expect("set");
    let mut view = core::mem::MaybeUninit::<DLTensor>::uninit();
    // SAFETY: the object is alive; `view` may be written.
    let code = runtime::with_stream(&theirs, || unsafe { function(tensor, view.as_mut_ptr()) });
    gate.set();
    assert_eq!((code, raised().len()), (0, 0));
    theirs.synchronize().unwrap();
    free::<OnNpu>(tensor);
}

#[test]
#[cfg_attr(miri, ignore = "a handle becomes an address for C, which strict provenance forbids")]
fn the_current_stream_is_that_of_the_device() {
    let _session = Session;
    let current = npu().0.current_work_stream.expect("set");
    let theirs = Stream::new(0).unwrap();
    let mut out = ptr::null_mut();
    // SAFETY: `out` may be written.
    let code = runtime::with_stream(&theirs, || unsafe { current(kDLExtDev, 0, &raw mut out) });
    assert_eq!((code, out.addr()), (0, theirs.handle()));
    // SAFETY: as above.
    assert_eq!(unsafe { current(kDLExtDev, 99, &raw mut out) }, -1);
    assert!(out.is_null());
    only_raised();
}

#[test]
fn the_allocator_serves_each_device() {
    let _session = Session;
    let allocate = npu().0.managed_tensor_allocator.expect("set");
    let mut shape = [2_i64, 3];
    for device in [NPU, tensors::Device::CPU] {
        let mut prototype = DLTensor {
            data: ptr::null_mut(),
            device: device.into(),
            ndim: 2,
            dtype: DataType::F32.into(),
            shape: shape.as_mut_ptr(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let mut out = ptr::null_mut();
        // SAFETY: the prototype is complete; `out` may be written; there is no
        // `SetError`.
        let code = unsafe { allocate(&raw mut prototype, &raw mut out, ptr::null_mut(), None) };
        assert_eq!(code, 0);
        // SAFETY: 1. The allocator gave it away, alive.
        let tensor = unsafe { dlpack_tests::foreign::ImportedStorage::from_raw(out) };
        assert_eq!(tensor.tensor().device, device.into());
        assert_eq!((tensor.shape(), tensor.strides()), (vec![2, 3], vec![3, 1]));
        tensor.delete(Farewell::Plain);
    }
}
