//! The role of each field, and the tensor that the consumer gets.

use std::sync::Arc;

use tensors::{
    DLPackExport, DataType, Device, Flags, ManagedTensor, SharedBuffer, Storage, TensorView,
};

/// The elements that a consumer finds, in row-major order of the indices.
fn read<T: Copy>(ptr: *const u8, shape: &[i64], strides: &[i64]) -> Vec<T> {
    let mut found = Vec::new();
    let numel: i64 = shape.iter().product();
    for mut rest in 0..numel {
        let mut step = 0;
        for (dim, stride) in shape.iter().zip(strides).rev() {
            step += rest % dim * stride;
            rest /= dim;
        }
        let step = isize::try_from(step).expect("test tensors are small");
        // SAFETY: the export checked that every element lies in its memory.
        let element = unsafe { ptr.cast::<T>().offset(step) };
        // SAFETY: as above, and it is aligned and initialized.
        found.push(unsafe { element.read() });
    }
    found
}

fn view<T: Copy>(view: &TensorView<'_>) -> Vec<T> {
    read(view.data_ptr(), view.shape(), view.strides())
}

fn managed<T: Copy>(tensor: &ManagedTensor) -> Vec<T> {
    read(tensor.data_ptr(), tensor.shape(), tensor.strides())
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Image {
    data: Vec<u8>,
    shape: [usize; 3],
}

#[test]
fn two_fields_by_name() {
    let image = Image { data: (0..12).collect(), shape: [2, 2, 3] };
    let address = image.data.as_ptr();
    let seen = image.tensor().unwrap();
    assert_eq!((seen.shape(), seen.strides()), (&[2, 2, 3][..], &[6, 3, 1][..]));
    assert_eq!((seen.dtype(), seen.device()), (DataType::U8, Device::CPU));
    assert_eq!(view::<u8>(&seen), (0..12).collect::<Vec<_>>());

    let tensor = image.into_dlpack().unwrap();
    assert_eq!(tensor.data_ptr(), address);
    assert_eq!(tensor.flags(), Flags::NONE);
    assert_eq!(managed::<u8>(&tensor), (0..12).collect::<Vec<_>>());
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Packet {
    #[dlpack(data)]
    payload: Arc<[u8]>,
    #[dlpack(shape)]
    extents: Vec<u16>,
    #[dlpack(strides)]
    steps: Box<[i32]>,
    #[dlpack(byte_offset)]
    header: u8,
    #[dlpack(dtype)]
    element: DataType,
    #[dlpack(device)]
    place: Device,
    /// Named like a role, but `payload` is marked.
    data: &'static str,
}

/// A 4-byte header, then 6 numbers, of which the packet shows 2 columns. The
/// bytes of an `Arc` lie behind its counts, so that they are aligned.
fn packet() -> Packet {
    let numbers = [0_u16, 0, 10, 11, 12, 13, 14, 15];
    let payload: Arc<[u8]> = bytemuck::cast_slice(&numbers).into();
    Packet {
        payload,
        extents: vec![2, 2],
        steps: Box::new([1, 3]),
        header: 4,
        element: DataType::U16,
        place: Device::CPU,
        data: "first and fourth column",
    }
}

#[test]
fn every_role_by_attribute() {
    let packet = packet();
    let seen = packet.tensor().unwrap();
    assert_eq!((seen.shape(), seen.strides()), (&[2, 2][..], &[1, 3][..]));
    assert_eq!(seen.dtype(), DataType::U16);
    assert_eq!(seen.data_ptr().addr() - packet.payload.as_ptr().addr(), 4);
    assert_eq!(view::<u16>(&seen), [10, 13, 11, 14]);
    assert_eq!(packet.data.len(), 23);
}

#[test]
fn an_arc_is_shared_and_read_only() {
    let packet = packet();
    let tensor = packet.to_dlpack().unwrap();
    assert_eq!(tensor.flags(), Flags::READ_ONLY);
    assert_eq!(Arc::strong_count(&packet.payload), 2);
    assert_eq!(managed::<u16>(&tensor), [10, 13, 11, 14]);
    drop(tensor);
    assert_eq!(Arc::strong_count(&packet.payload), 1);
    assert_eq!(packet.into_dlpack().unwrap().flags(), Flags::READ_ONLY);
}

/// Attributes beat names, also crosswise.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Crosswise {
    data: Vec<f32>,
    #[dlpack(strides)]
    shape: [isize; 2],
    #[dlpack(shape)]
    strides: [usize; 2],
    #[dlpack(skip)]
    byte_offset: Option<String>,
}

#[test]
fn an_attribute_overrides_the_role_of_a_name() {
    let mut tensor =
        Crosswise { data: vec![1.0, 2.0], shape: [1, 1], strides: [2, 1], byte_offset: None };
    assert_eq!(tensor.byte_offset.take(), None);
    let seen = tensor.tensor().unwrap();
    assert_eq!((seen.shape(), seen.strides()), (&[2, 1][..], &[1, 1][..]));
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(2, Self::WIDTH, CHANNELS))]
struct Fixed {
    data: [i16; 12],
}

const CHANNELS: i128 = 3;

impl Fixed {
    const WIDTH: u8 = 2;
}

#[test]
fn a_constant_shape() {
    let fixed = Fixed { data: [7; 12] };
    assert_eq!(fixed.tensor().unwrap().shape(), [2, 2, 3]);
    assert_eq!(fixed.into_dlpack().unwrap().strides(), [6, 3, 1]);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape())]
struct Scalar {
    data: Box<[f64; 1]>,
}

#[test]
fn a_struct_without_dimensions_is_a_scalar() {
    let scalar = Scalar { data: Box::new([0.5]) };
    let tensor = scalar.into_dlpack().unwrap();
    assert_eq!(tensor.ndim(), 0);
    assert_eq!(managed::<f64>(&tensor), [0.5]);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, read_only)]
struct Sealed {
    data: SharedBuffer<u32>,
    shape: [i64; 1],
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Open {
    data: SharedBuffer<u32>,
    shape: [i64; 1],
}

#[test]
fn read_only_makes_a_writable_storage_read_only() {
    let data = SharedBuffer::from_slice(&[1, 2]).unwrap();
    let open = Open { data: data.clone(), shape: [2] };
    assert!(!open.tensor().unwrap().is_read_only());
    assert_eq!(open.to_dlpack().unwrap().flags(), Flags::NONE);
    assert_eq!(open.into_dlpack().unwrap().flags(), Flags::NONE);

    let sealed = Sealed { data, shape: [2] };
    assert!(sealed.tensor().unwrap().is_read_only());
    assert_eq!(sealed.to_dlpack().unwrap().flags(), Flags::READ_ONLY);
    assert_eq!(sealed.into_dlpack().unwrap().flags(), Flags::READ_ONLY);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Erased {
    data: Box<dyn Storage + Send>,
    shape: Vec<u64>,
}

#[test]
fn a_storage_of_any_type() {
    let erased = Erased { data: Box::new(vec![1_i8, 2]), shape: vec![2] };
    assert_eq!(erased.tensor().unwrap().dtype(), DataType::I8);
    assert_eq!(managed::<i8>(&erased.into_dlpack().unwrap()), [1, 2]);
}

#[test]
fn a_consumer_may_write_what_it_owns_alone() {
    let image = Image { data: vec![1; 3], shape: [1, 1, 3] };
    let tensor = image.into_dlpack().unwrap();
    // SAFETY: the tensor is not READ_ONLY, and has a first byte.
    unsafe { tensor.data_ptr().cast_mut().write(9) };
    assert_eq!(managed::<u8>(&tensor), [9, 1, 1]);
}
