//! A contiguous tensor uses all of its storage, unless an attribute or a call states a part of it or
//! its spare capacity.

use std::sync::Arc;

use tensors::backend::{Cpu, DeviceBuffer};
use tensors::{
    AsLayout, DLPackExport, DLPackImport, DataRef, DataType, Describe, Description, Device, Error,
    ImportedStorage, Layout, Order, SharedBuffer, Slot, Storage, TensorView, ffi,
};

/// The shortest struct over a storage.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Plain<S: Storage> {
    data: S,
    shape: Vec<usize>,
}

/// The same with the attribute.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, spare_capacity)]
struct Roomy<S> {
    data: S,
    shape: Vec<usize>,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Typed {
    data: Vec<u8>,
    shape: [usize; 1],
    dtype: DataType,
}

/// Written by hand; the function adds to the description of the shape.
struct ByHand<F> {
    data: Vec<f32>,
    shape: Vec<usize>,
    more: F,
}

impl<F: Fn(Layout<'_>) -> Layout<'_>> DLPackExport for ByHand<F> {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.layout((self.more)(Layout::new(&self.shape))).data(self.data.data())
    }
}

fn spare(elements: i64, bytes: usize, len: usize) -> Result<(), Error> {
    Err(Error::SpareCapacity { elements, bytes, len })
}

/// Exports the plain struct in all ways.
fn export<S: Storage + Send + 'static>(data: S, shape: &[usize]) -> Result<(), Error> {
    let plain = Plain { data, shape: shape.to_vec() };
    let viewed = plain.tensor().map(|_| ());
    let exported = plain.into_dlpack().map(|_| ());
    assert_eq!(viewed, exported);
    exported
}

#[repr(align(16))]
struct Aligned([u8; 16]);

static BYTES: Aligned = Aligned([0; 16]);

/// Memory of 16 bytes, on any device.
fn memory(dtype: DataType, device: Device) -> DataRef<'static> {
    // SAFETY: 1. to 3. The bytes are those of a static that no one writes, aligned to 16; the
    // memory is only described.
    unsafe { DataRef::from_raw_parts(BYTES.0.as_ptr(), BYTES.0.len(), dtype, device) }
}

#[test]
fn every_kind_of_storage_is_used_whole() {
    // The fast path.
    assert_eq!(export(vec![0_f32; 4], &[3]), spare(3, 12, 16));
    assert_eq!(export(vec![0_f32; 4], &[4]), Ok(()));
    assert_eq!(export([0_u8; 7], &[2, 3]), spare(6, 6, 7));
    assert_eq!(export([0_u8; 6], &[2, 3]), Ok(()));
    assert_eq!(export(Arc::<[i64]>::from([1, 2]), &[]), spare(1, 8, 16));
    assert_eq!(export(Arc::<[i64]>::from([1]), &[]), Ok(()));
    assert_eq!(export(SharedBuffer::<u16>::zeroed(5).unwrap(), &[2, 2]), spare(4, 8, 10));
    assert_eq!(export(vec![[0_f32; 3]; 4], &[3]), spare(9, 36, 48));
    assert_eq!(export(vec![[0_f32; 3]; 4], &[4]), Ok(()));
    let buffer = |len| DeviceBuffer::<Cpu>::from_slice(Device::CPU, &vec![0_i32; len]).unwrap();
    assert_eq!(export(buffer(9), &[2, 4]), spare(8, 32, 36));
    assert_eq!(export(buffer(8), &[2, 4]), Ok(()));
    // More than 8 dimensions, and an array as the element, need the slow path.
    assert_eq!(export(vec![0_f32; 4], &[1; 9]), spare(1, 4, 16));
    assert_eq!(export(vec![[0_f32; 3]; 4], &[1; 9]), spare(3, 12, 48));
    assert_eq!(export(vec![0_f32], &[1; 9]), Ok(()));
    // Too few elements are reported as before.
    let outside = Error::OutOfBounds { start: 0, end: 20, len: 16 };
    assert_eq!(export(vec![0_f32; 4], &[5]), Err(outside));
}

#[test]
fn devices_with_and_without_addresses() {
    let describe = |device, dims: &[i64]| {
        let mut slot = Slot::new();
        slot.describe().shape(dims.to_vec()).data(memory(DataType::F32, device)).map(|_| ())
    };
    for device in [Device::CPU, Device::cuda(0), Device::new(ffi::kDLOpenCL, 1)] {
        assert_eq!(describe(device, &[2, 2]), Ok(()), "{device}");
        assert_eq!(describe(device, &[3]), spare(3, 12, 16), "{device}");
        assert_eq!(describe(device, &[0]), spare(0, 0, 16), "{device}");
    }
}

#[test]
fn bytes_of_a_run_time_type() {
    let export = |bytes, dtype| {
        let typed = Typed { data: vec![0; bytes], shape: [3], dtype };
        typed.into_dlpack().map(|_| ())
    };
    assert_eq!(export(3, DataType::I8), Ok(()));
    assert_eq!(export(8, DataType::I8), spare(3, 3, 8));
    assert_eq!(
        export(9, DataType::F16),
        Err(Error::SpareCapacity { elements: 3, bytes: 6, len: 9 })
    );
    // Three elements of 4 bits are in two bytes, of which the last one has unused bits.
    assert_eq!(export(2, DataType::FLOAT4_E2M1FN), Ok(()));
    assert_eq!(export(3, DataType::FLOAT4_E2M1FN), spare(3, 2, 3));
    assert_eq!(export(3, DataType::FLOAT6_E2M3FN), Ok(()));
}

#[test]
fn padded_elements_have_a_byte_each() {
    let shape = [3];
    let view = |len| {
        let layout = Layout::new(&shape).dtype(DataType::FLOAT4_E2M1FN).padded();
        TensorView::new(DataRef::from_slice(&BYTES.0[..len]), layout).map(|_| ())
    };
    assert_eq!(view(3), Ok(()));
    assert_eq!(view(4), spare(3, 3, 4));
}

#[test]
fn a_tensor_without_elements_has_an_empty_storage() {
    assert_eq!(export(vec![0_f32; 4], &[0]), spare(0, 0, 16));
    assert_eq!(export(vec![0_f32; 4], &[2, 0, 3]), spare(0, 0, 16));
    assert_eq!(export(Vec::<f32>::new(), &[2, 0, 3]), Ok(()));
    // The capacity of a `Vec` is not a part of the storage.
    assert_eq!(export(Vec::<f32>::with_capacity(9), &[0]), Ok(()));
    let roomy = Roomy { data: vec![0_f32; 4], shape: vec![0, 3] };
    assert_eq!(roomy.tensor().unwrap().shape(), [0, 3]);
}

#[test]
fn layouts_and_descriptions_by_hand() {
    let by_hand = |shape: &[usize], more: fn(Layout<'_>) -> Layout<'_>| {
        ByHand { data: vec![0.0; 6], shape: shape.to_vec(), more }.tensor().map(|_| ())
    };
    for order in [Order::RowMajor, Order::ColumnMajor] {
        let numbers = [0_f32; 6];
        let view = |shape: &[i64], more: fn(Layout<'_>) -> Layout<'_>| {
            let layout = more(Layout::new(shape).order(order));
            TensorView::new(DataRef::from_slice(&numbers), layout).map(|_| ())
        };
        assert_eq!(view(&[2, 3], |it| it), Ok(()), "{order:?}");
        assert_eq!(view(&[2, 2], |it| it), spare(4, 16, 24), "{order:?}");
        assert_eq!(view(&[2, 2], |it| it.spare_capacity().rank(2)), Ok(()), "{order:?}");
        assert_eq!(view(&[2, 2], |it| it.offset(0)), Ok(()), "{order:?}");
        assert_eq!(view(&[2, 2], |it| it.byte_offset(0)), Ok(()), "{order:?}");
        assert_eq!(view(&[2, 2], |it| it.len(4)), Ok(()), "{order:?}");
        assert_eq!(view(&[2, 2], |it| it.byte_len(16)), Ok(()), "{order:?}");
        assert_eq!(view(&[2, 2], |it| it.pitch(2)), Ok(()), "{order:?}");
        assert_eq!(view(&[2, 2], |it| it.byte_pitch(8)), Ok(()), "{order:?}");
    }
    assert_eq!(by_hand(&[2, 3], |it| it), Ok(()));
    assert_eq!(by_hand(&[2, 2], |it| it), spare(4, 16, 24));
    assert_eq!(by_hand(&[2, 2], |it| it.order(Order::ColumnMajor)), spare(4, 16, 24));
    assert_eq!(by_hand(&[2, 2], |it| it.spare_capacity().rank(2)), Ok(()));
    assert_eq!(by_hand(&[2, 2], |it| it.offset(0)), Ok(()));
    assert_eq!(by_hand(&[2, 2], |it| it.byte_offset(0)), Ok(()));
    assert_eq!(by_hand(&[2, 2], |it| it.len(4)), Ok(()));
    assert_eq!(by_hand(&[2, 2], |it| it.byte_len(16)), Ok(()));
    assert_eq!(by_hand(&[2, 2], |it| it.pitch(2)), Ok(()));
    assert_eq!(by_hand(&[2, 2], |it| it.byte_pitch(8)), Ok(()));
    assert_eq!(by_hand(&[2, 2], |it| it.strides([2, 1])), Ok(()));
    assert_eq!(by_hand(&[2, 2], |it| it.byte_strides([8, 4])), Ok(()));
    // An order replaces strides, so nothing states a part any more.
    let ordered = by_hand(&[2, 2], |it| it.strides([2, 1]).order(Order::RowMajor));
    assert_eq!(ordered, spare(4, 16, 24));
}

#[derive(AsLayout)]
#[dlpack(crate = ::tensors)]
struct Exact {
    shape: [usize; 1],
}

#[derive(AsLayout)]
#[dlpack(crate = ::tensors, spare_capacity)]
struct Room {
    shape: [usize; 1],
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Nested<L: AsLayout> {
    data: Vec<u8>,
    #[dlpack(layout)]
    layout: L,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(3))]
struct Offset {
    data: Vec<u8>,
    byte_offset: usize,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(1, 3))]
struct Pitch {
    data: Vec<u8>,
    #[dlpack(pitch(elements))]
    row: usize,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(3))]
struct Len {
    data: Vec<u8>,
    #[dlpack(len(elements))]
    size: usize,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Strided {
    data: Vec<u8>,
    shape: [usize; 1],
    strides: [isize; 1],
}

#[test]
fn attributes_state_a_part() {
    let data = || vec![0_u8; 8];
    let shape = || vec![3];
    assert_eq!(Roomy { data: data(), shape: shape() }.tensor().map(|_| ()), Ok(()));
    assert_eq!(Plain { data: data(), shape: shape() }.tensor().map(|_| ()), spare(3, 3, 8));
    assert_eq!(Offset { data: data(), byte_offset: 0 }.tensor().map(|_| ()), Ok(()));
    assert_eq!(Pitch { data: data(), row: 3 }.tensor().map(|_| ()), Ok(()));
    assert_eq!(Len { data: data(), size: 3 }.tensor().map(|_| ()), Ok(()));
    assert_eq!(Len { data: data(), size: 8 }.tensor().map(|_| ()), Ok(()));
    let strided = Strided { data: data(), shape: [3], strides: [1] };
    assert_eq!(strided.tensor().map(|_| ()), Ok(()));
    let nested = Nested { data: data(), layout: Exact { shape: [3] } };
    assert_eq!(nested.tensor().map(|_| ()), spare(3, 3, 8));
    let nested = Nested { data: data(), layout: Room { shape: [3] } };
    assert_eq!(nested.tensor().map(|_| ()), Ok(()));
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(2))]
struct Pointer {
    // SAFETY: the pointer points to a static of at least as many bytes.
    #[dlpack(unsafe(ptr, len(elements) = size))]
    first: *const u8,
    size: usize,
    #[dlpack(owner)]
    _owner: (),
}

// SAFETY: the pointer points to a static.
unsafe impl Send for Pointer {}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(2))]
struct Slice {
    #[dlpack(slice = u8)]
    owner: Box<[u8]>,
}

#[test]
fn pointers_and_slices_of_other_crates() {
    let pointer = |size| Pointer { first: BYTES.0.as_ptr(), size, _owner: () };
    assert_eq!(pointer(2).into_dlpack().map(|_| ()), Ok(()));
    assert_eq!(pointer(3).into_dlpack().map(|_| ()), spare(2, 2, 3));
    let slice = |size| Slice { owner: BYTES.0[..size].into() };
    assert_eq!(slice(2).into_dlpack().map(|_| ()), Ok(()));
    assert_eq!(slice(3).into_dlpack().map(|_| ()), spare(2, 2, 3));
}

/// The storage of an import has the elements of the tensor only, so the attribute has no effect.
#[test]
fn imports_are_exported_again() {
    let foreign = || {
        let roomy = Roomy { data: vec![1_i16, 2, 3, 4, 5], shape: vec![2, 2] };
        roomy.into_dlpack().unwrap().import().unwrap()
    };
    let again = Roomy::<ImportedStorage<i16>>::from_dlpack(foreign()).unwrap();
    assert_eq!(again.into_dlpack().unwrap().shape(), [2, 2]);
    let data = || ImportedStorage::<i16>::new(foreign()).unwrap();
    assert_eq!(export(data(), &[2, 2]), Ok(()));
    assert_eq!(export(data(), &[4]), Ok(()));
    assert_eq!(export(data(), &[3]), spare(3, 6, 8));
}

#[test]
fn the_error_names_both_numbers() {
    let error = Plain { data: vec![0_f32; 4], shape: vec![3] }.into_dlpack().unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected a tensor of all 16 bytes of its storage, got 3 elements in 12 bytes; correct the \
         shape, state the part with `offset` or `len`, or spare capacity behind the tensor with \
         `spare_capacity`"
    );
}
