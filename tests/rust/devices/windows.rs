//! The parts of a device's memory that imports lend: as buffers, and as arguments of kernels. The
//! accelerator has handles, so the place of a part is its `byte_offset`; the host has addresses.

use dlpack_tests::counted::Owner;
use dlpack_tests::foreign::{Farewell, ImportedStorage as Consumer};
use new_device::Npu;
use tensors::backend::{
    Backend, Cpu, DeviceBuffer, DeviceTensor, FreeOrder, MemoryRef, WorkStream, copy_to_host,
};
use tensors::{DLPackExport, Device, Error, ImportedStorage, ImportedTensor};

use super::npu::{NPU, Session};

type Layout = (&'static [i64], &'static [i64], u64);

/// Layouts in memory of 24 numbers, and all of them lend a part.
const PARTS: [Layout; 9] = [
    (&[3], &[1], 12),
    (&[2, 3], &[3, 1], 24),
    (&[], &[], 20),
    (&[3], &[2], 8),
    (&[3], &[-2], 80),
    (&[3, 2], &[1, 4], 16),
    (&[2, 3], &[-8, 2], 40),
    (&[2, 1, 3], &[-1, 9, -4], 92),
    (&[0, 3], &[3, 1], 8),
];

/// The shortest struct over a buffer.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Shape<B: Backend> {
    data: DeviceBuffer<B>,
    shape: Vec<i64>,
}

fn numbers() -> Vec<i32> {
    (0..24).collect()
}

/// Part of the memory of a device, as another library lends it, and its numbers in row-major order.
fn part<B: Backend>(
    device: Device,
    (shape, strides, byte_offset): Layout,
) -> (ImportedTensor, Vec<i32>) {
    let pool = DeviceBuffer::<B>::from_slice(device, &numbers()).unwrap();
    let lent = Owner::new(pool, shape).strided(strides, byte_offset).into_dlpack().unwrap();
    let on_host = Owner::new(numbers(), shape).strided(strides, byte_offset);
    let expected = on_host.into_dlpack().unwrap().import().unwrap();
    let expected = expected.elements::<i32>().unwrap().to_vec().unwrap();
    (lent.import().unwrap(), expected)
}

fn buffer<B: Backend>(tensor: ImportedTensor, stream: &WorkStream<B>) -> DeviceBuffer<B> {
    let foreign = ImportedStorage::new(tensor).unwrap();
    // SAFETY: 1. The export waited for the work on the memory.
    unsafe { DeviceBuffer::from_foreign(foreign, stream.clone()) }.unwrap()
}

/// The place of the first element, its strides, and the numbers.
type Facts = ((usize, u64), Vec<i64>, Vec<i32>);

fn facts<B: Backend>(tensor: &impl DLPackExport) -> Facts {
    let copy = copy_to_host::<B, _>(tensor).unwrap().import().unwrap();
    let elements = copy.elements::<i32>().unwrap().to_vec().unwrap();
    let consumer = Consumer::from(tensor.to_dlpack().unwrap());
    let place = (consumer.tensor().data.addr(), consumer.tensor().byte_offset);
    let strides = consumer.strides();
    consumer.delete(Farewell::Plain);
    (place, strides, elements)
}

fn check_buffers<B: Backend>(device: Device) {
    let stream = WorkStream::<B>::current(device).unwrap();
    for layout in PARTS {
        let (tensor, expected) = part::<B>(device, layout);
        let (shape, strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
        let place = (tensor.data_ptr().addr(), tensor.byte_offset());
        let (below, span) = (tensor.byte_range().start, tensor.byte_range().len());
        let data = buffer(tensor, &stream);
        assert_eq!(data.to_vec::<i32>().unwrap(), expected, "{layout:?}");
        assert_eq!(data.byte_len(), span, "{layout:?}");
        let whole = Shape { data: data.clone(), shape: shape.clone() };
        let expected = (place, strides.clone(), expected);
        assert_eq!(facts::<B>(&whole), expected, "{layout:?}");
        if span == 0 {
            continue;
        }
        // The first byte of the buffer is the lowest one of the import.
        let found = data.place();
        assert_eq!(found.device, device);
        let found = found.data.addr() as u64 + found.byte_offset;
        let lowest = (place.0 as u64 + place.1).wrapping_add_signed(below as i64);
        assert_eq!(found, lowest, "{layout:?}");
        // Offsets count from there.
        let first = u64::try_from(-below).unwrap();
        let again = Owner::new(data.clone(), &shape).strided(&strides, first);
        assert_eq!(facts::<B>(&again), expected, "{layout:?}");
        let beyond = Owner::new(data, &[1]).strided(&[1], span as u64).into_dlpack().map(drop);
        assert!(matches!(beyond, Err(Error::OutOfBounds { .. })), "{layout:?}");
    }
}

/// The elements of a buffer, and of a struct that states its shape, are those of the import.
#[test]
fn a_buffer_of_an_import_is_the_imported_part() {
    let _session = Session;
    check_buffers::<Npu>(NPU);
    check_buffers::<Cpu>(Device::CPU);
}

/// A shape of other dimensions is not that of the strides.
#[test]
fn strides_of_a_buffer_belong_to_one_shape() {
    let _session = Session;
    let stream = WorkStream::<Npu>::current(NPU).unwrap();
    let data = buffer(part::<Npu>(NPU, (&[2, 3], &[-8, 2], 40)).0, &stream);
    let other = Shape { data, shape: vec![6] }.into_dlpack().map(drop);
    assert_eq!(other, Err(Error::StridesMissing));
    let data = buffer(part::<Npu>(NPU, (&[2, 3], &[3, 1], 24)).0, &stream);
    assert!(Shape { data, shape: vec![6] }.into_dlpack().is_ok());
}

fn check_places<B: Backend>(device: Device) {
    let stream = WorkStream::<B>::current(device).unwrap();
    for layout in PARTS {
        let (tensor, expected) = part::<B>(device, layout);
        // SAFETY: 1. The export waited for the work on the memory. 2. It is freed after a wait.
        let tensor = unsafe { DeviceTensor::new(tensor, stream.clone(), FreeOrder::Immediate) };
        let tensor = tensor.unwrap();
        let from = tensor.as_ptr_on(&stream).unwrap();
        assert_eq!(from.device, device);
        let Some(&expected) = expected.first() else { continue };
        let mut first = -1_i32;
        let to = MemoryRef { device: Device::CPU, data: (&raw mut first).cast(), byte_offset: 0 };
        // SAFETY: 1. The place has an element, and so has the variable, until the wait ends.
        unsafe { B::copy(&stream, from, to, 4) }.unwrap();
        stream.synchronize().unwrap();
        assert_eq!(first, expected, "{layout:?}");
        assert_eq!(tensor.as_mut_ptr_on(&stream), Ok(from));
    }
}

/// What a kernel gets of an argument: the handle and the offset, or the address.
#[test]
fn an_argument_of_a_kernel_is_the_first_element() {
    let _session = Session;
    check_places::<Npu>(NPU);
    check_places::<Cpu>(Device::CPU);
}
