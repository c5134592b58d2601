//! Structs over memory of a device that derive `DLPackImport`.

use dlpack_tests::counted::Owner;
use new_device::Npu;
use new_device::runtime::Event;
use tensors::backend::{
    Cpu, DeviceBuffer, DeviceTensor, FreeOrder, WorkStream, copy_on_device, copy_to_host,
};
use tensors::{
    DLPackExport, DLPackImport, Device, Error, Flags, ImportError, ImportedStorage, ManagedTensor,
    MismatchKind, StreamArg,
};

use super::npu::{NPU, Session, filled, held_by, stream, vector};

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct OnNpu {
    data: DeviceBuffer<Npu>,
    shape: Vec<i64>,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Stored {
    data: ImportedStorage,
    shape: Vec<i64>,
}

fn numbers(copy: ManagedTensor) -> Vec<f32> {
    copy.import().unwrap().elements::<f32>().unwrap().to_vec().unwrap()
}

/// The import waits for the producer; consumers with a stream of their own are ordered.
#[test]
fn a_buffer_is_imported_with_its_stream() {
    let _session = Session;
    let producer = vector(filled(stream(), 2.0), 4).into_dlpack().unwrap();
    let kept = OnNpu::from_dlpack(producer.import().unwrap()).unwrap();
    assert_eq!(kept.data.to_vec::<f32>().unwrap(), [2.0; 4]);
    let gate = Event::of_host();
    let theirs = held_by(&gate);
    let export = kept.to_dlpack_on(theirs.as_arg()).unwrap();
    // The release of the import waits for the consumer's work.
    gate.set();
    drop((kept, export));
}

/// With its offset, and its strides: a shape alone is the imported tensor.
#[test]
fn an_imported_part_is_that_part() {
    let _session = Session;
    let pool = DeviceBuffer::<Npu>::from_slice(NPU, &[0_f32, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    for (strides, byte_offset, expected) in
        [([1], 12, [3.0, 4.0, 5.0]), ([2], 4, [1.0, 3.0, 5.0]), ([-2], 16, [4.0, 2.0, 0.0])]
    {
        let part = Owner::new(pool.clone(), &[3]).strided(&strides, byte_offset);
        let part = part.into_dlpack().unwrap().import().unwrap();
        let kept = OnNpu::from_dlpack(part).unwrap();
        assert_eq!(kept.data.to_vec::<f32>().unwrap(), expected);
        assert_eq!(numbers(copy_to_host::<Npu, _>(&kept).unwrap()), expected);
    }
}

/// The memory is ready for another consumer only.
#[test]
fn a_tensor_for_a_stream_is_not_imported() {
    let _session = Session;
    let theirs = stream::<Npu>();
    let tensor = vector(filled(stream(), 2.0), 4).into_dlpack_on(theirs.as_arg()).unwrap();
    let refused = OnNpu::from_dlpack(tensor.import().unwrap()).map(drop);
    assert_eq!(refused, Err(ImportError::Tensor(Error::NotOrdered { device: NPU })));
    let tensor = vector(filled(stream(), 2.0), 4).into_dlpack_on(StreamArg::on_host()).unwrap();
    assert!(OnNpu::from_dlpack(tensor.import().unwrap()).is_ok());
}

#[test]
fn memory_of_another_device_or_without_writes_is_not_accepted() {
    let _session = Session;
    let unmet = |tensor| match OnNpu::from_dlpack(tensor).map(drop) {
        Err(ImportError::Mismatch(mismatch)) => (mismatch.unmet().clone(), mismatch.to_string()),
        other => panic!("{other:?}"),
    };
    let (kind, text) =
        unmet(Owner::new(vec![1.0_f32], &[1]).into_dlpack().unwrap().import().unwrap());
    assert_eq!(kind, MismatchKind::Device { needed: vec!["ext_dev".into()], found: Device::CPU });
    assert_eq!(text, "`OnNpu`: expected ext_dev, got cpu; move it there");
    let tensor = vector(filled(stream(), 2.0), 4).into_dlpack().unwrap();
    let managed = tensor.into_raw();
    // SAFETY: the struct is alive, and no one else has it.
    unsafe { (*managed).flags |= Flags::READ_ONLY.bits() };
    // SAFETY: 1. to 5. It is an export of this crate.
    let tensor = unsafe { tensors::ImportedTensor::from_raw(managed) }.unwrap();
    let (kind, text) = unmet(tensor);
    assert_eq!(kind, MismatchKind::Writable);
    assert_eq!(text, "`OnNpu`: expected memory that may be written, got read-only memory");
}

/// Memory without a backend can be copied, and its error names what to use.
#[test]
fn stored_memory_is_copied_by_the_backend_of_the_set() {
    let _session = Session;
    let tensor = vector(filled(stream(), 2.0), 4).into_dlpack().unwrap();
    let stored = Stored::from_dlpack(tensor.import().unwrap()).unwrap();
    assert_eq!(numbers(copy_to_host::<(Cpu, Npu), _>(&stored).unwrap()), [2.0; 4]);
    let theirs = stream::<Npu>();
    let copy = copy_on_device::<(Cpu, Npu), _>(&stored, theirs.as_arg()).unwrap();
    assert_eq!(copy.device(), NPU);
    let refused = stored.to_dlpack_on(theirs.as_arg()).map(drop).unwrap_err();
    assert_eq!(refused, Error::NotOrdered { device: NPU });
    assert_eq!(
        refused.to_string(),
        "nothing orders work on imported memory of ext_dev:0 before this consumer; import it into a \
         `DeviceBuffer`, or pass no `stream`"
    );
}

/// The stream of an argument is that of the buffer, and the argument's other streams are waited for.
#[test]
fn an_argument_is_kept_with_its_stream() {
    let _session = Session;
    let gate = Event::of_host();
    let ours = held_by(&gate);
    let buffer = filled(ours.clone(), 3.0);
    let tensor = vector(buffer, 4).into_dlpack_on(ours.as_arg()).unwrap().import().unwrap();
    // SAFETY: 1. It was exported for the stream. 2. It is freed after a wait.
    let tensor = unsafe { DeviceTensor::new(tensor, ours.clone(), FreeOrder::Immediate) }.unwrap();
    assert!(tensor.as_ptr_on(&stream()).is_ok());
    // Nothing waits on the host: the gate is closed.
    let kept = tensor.into_buffer().unwrap();
    assert_eq!(kept.stream().handle(), ours.handle());
    gate.set();
    assert_eq!(kept.to_vec::<f32>().unwrap(), [3.0; 4]);
}

#[test]
fn a_read_only_argument_is_released() {
    let data = SharedRead(vec![1.0_f32]);
    let tensor = data.into_dlpack().unwrap().import().unwrap();
    let stream = WorkStream::<Cpu>::current(Device::CPU).unwrap();
    // SAFETY: 1. and 2. No work is pending.
    let tensor = unsafe { DeviceTensor::new(tensor, stream, FreeOrder::Immediate) }.unwrap();
    assert_eq!(tensor.into_buffer().map(drop), Err(Error::ReadOnly));
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, read_only, shape(1))]
struct SharedRead(#[dlpack(data)] Vec<f32>);
