//! Exports by value and by view, of every storage: the metadata that a consumer gets, and
//! whether it may write.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use dlpack_tests::counted::Owner;
use dlpack_tests::foreign::{CStruct, Farewell, ImportedStorage};
use tensors::ffi::{DLDeviceType, DLManagedTensor};
use tensors::{
    Abi, Complex, DLPackExport, DataMut, DataRef, DataType, Describe, Description, DescriptionMut,
    Device, Element, Error, Flags, Layout, ManagedTensor, SharedBuffer, Slot, Storage, StreamArg,
    TensorView,
};

/// The access of a consumer of an export.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Writable,
    ReadOnly,
}

/// Exports a storage of 0 to 5 in both structs: flags, address, elements, and an error
/// for the legacy struct where it would need READ_ONLY.
fn check<S: Storage + Send + 'static>(make: impl Fn() -> S, mode: Mode) {
    for (shape, strides, byte_offset, expected) in [
        (&[2, 3][..], None, 0, &[0, 1, 2, 3, 4, 5][..]),
        (&[3, 2], Some(&[1, 3][..]), 0, &[0, 3, 1, 4, 2, 5]),
        (&[3], Some(&[-2]), 20, &[5, 3, 1]),
        (&[], None, 8, &[2]),
        (&[2, 0], None, 0, &[]),
        (&[1, 2, 1, 1, 1, 1, 1, 1, 1, 1], None, 4, &[1, 2]),
    ] {
        let owner = || {
            let strides = strides.map(<[i64]>::to_vec);
            Owner { strides, byte_offset, ..Owner::new(make(), shape) }
        };
        let tensor = owner().into_dlpack().unwrap();
        let flags = if mode == Mode::Writable { Flags::NONE } else { Flags::READ_ONLY };
        assert_eq!(tensor.flags(), flags);
        assert_eq!(tensor.is_read_only(), mode == Mode::ReadOnly);
        assert_eq!((tensor.shape(), tensor.dtype()), (shape, DataType::I32));
        if let Some(strides) = strides {
            assert_eq!(tensor.strides(), strides);
        }
        consume(tensor, expected);
        match owner().into_dlpack_legacy() {
            Ok(tensor) => {
                assert_eq!(mode, Mode::Writable);
                assert!(!tensor.is_read_only());
                consume(tensor, expected);
            }
            Err(error) => assert_eq!((error, mode), (Error::ReadOnlyLegacy, Mode::ReadOnly)),
        }

        let mut owner = owner();
        let view = owner.tensor().unwrap();
        assert_eq!(view.is_read_only(), mode == Mode::ReadOnly || !is_shared(&owner.data));
        if !expected.is_empty() {
            let start =
                owner.data.data().as_ptr().wrapping_add(usize::try_from(byte_offset).unwrap());
            assert_eq!(view.data_ptr(), start);
        }
        assert!(owner.describe_mut(Slot::new().describe()).is_ok());
    }
}

/// Returns whether a storage lends writable memory to several consumers.
fn is_shared<S: Storage>(storage: &S) -> bool {
    let layout = Layout::new([1]).spare_capacity();
    !TensorView::new(storage.data(), layout).unwrap().is_read_only()
}

/// Reads a tensor, writes it where that is allowed, and reads it again.
fn consume<M: CStruct + Abi>(tensor: ManagedTensor<M>, expected: &[i32]) {
    let tensor = ImportedStorage::from(tensor);
    assert_eq!(tensor.elements::<i32>(), expected);
    assert_eq!(tensor.tensor().byte_offset, 0);
    if tensor.is_writable() {
        tensor.write(|n: i32| n + 10);
        assert_eq!(tensor.elements::<i32>(), expected.iter().map(|n| n + 10).collect::<Vec<_>>());
    }
    tensor.delete(Farewell::Narrow);
}

const SIX: [i32; 6] = [0, 1, 2, 3, 4, 5];

/// A storage of the test's own, which is safe to write.
struct Samples(Vec<i32>);

impl Storage for Samples {
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(&self.0)
    }
}

#[test]
fn exclusive_storages_are_writable() {
    check(|| SIX.to_vec(), Mode::Writable);
    check(|| Box::<[i32]>::from(SIX), Mode::Writable);
    check(|| SIX, Mode::Writable);
    check(|| Box::new(SIX), Mode::Writable);
    check(|| Box::new(SIX.to_vec()), Mode::Writable);
    check(|| Box::new(SIX.to_vec()) as Box<dyn Storage + Send>, Mode::Writable);
    check(|| Box::new(Box::new(SIX) as Box<dyn Storage + Send>), Mode::Writable);
}

#[test]
fn frozen_storages_are_read_only() {
    static STATIC: [i32; 6] = SIX;
    check(|| Arc::<[i32]>::from(SIX), Mode::ReadOnly);
    check(|| Arc::new(SIX), Mode::ReadOnly);
    check(|| Arc::new(SIX.to_vec()), Mode::ReadOnly);
    check(|| Arc::new(SIX.to_vec()) as Arc<dyn Storage + Send + Sync>, Mode::ReadOnly);
    check(|| &STATIC, Mode::ReadOnly);
    check(|| &STATIC[..], Mode::ReadOnly);
    check(|| Samples(SIX.to_vec()), Mode::ReadOnly);
    check(|| Arc::new(Samples(SIX.to_vec())), Mode::ReadOnly);
    check(|| Box::new(Samples(SIX.to_vec())) as Box<dyn Storage + Send>, Mode::ReadOnly);
}

#[test]
fn shared_storages_are_writable() {
    let buffer = || SharedBuffer::from_slice(&SIX).unwrap();
    check(buffer, Mode::Writable);
    check(|| Box::new(buffer()), Mode::Writable);
    check(|| Arc::new(buffer()), Mode::Writable);
    check(|| Arc::new(buffer()) as Arc<dyn Storage + Send + Sync>, Mode::Writable);
    check(|| buffer().share().unwrap(), Mode::Writable);
}

/// An owner whose drop records its elements.
struct Watched<S: Storage + AsRef<[i32]>> {
    data: S,
    seen: Arc<Mutex<Vec<i32>>>,
}

impl<S: Storage + AsRef<[i32]>> DLPackExport for Watched<S> {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[2, 3]).data(self.data.data())
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        out.shape(&[2, 3]).data_mut(self.data.data_mut())
    }
}

impl<S: Storage + AsRef<[i32]>> Drop for Watched<S> {
    fn drop(&mut self) {
        *self.seen.lock().unwrap() = self.data.as_ref().to_vec();
    }
}

/// The consumer's writes are in the owner when it is dropped. For an inline array this
/// fails if the memory was lent before the owner moved: the tensor would point to the
/// array's earlier address, which no tool reports.
#[test]
fn the_owner_has_the_elements_that_the_consumer_wrote() {
    fn check<S: Storage + AsRef<[i32]> + Send + 'static>(data: S) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let owner = Watched { data, seen: Arc::clone(&seen) };
        let tensor: ImportedStorage = owner.into_dlpack().unwrap().into();
        tensor.write(|n: i32| 100 - n);
        tensor.delete_elsewhere(Farewell::Plain);
        assert_eq!(*seen.lock().unwrap(), [100, 99, 98, 97, 96, 95]);
    }
    check(SIX);
    check(SIX.to_vec());
    check(Box::<[i32]>::from(SIX));

    let seen = Arc::new(Mutex::new(Vec::new()));
    let owner = Box::new(Watched { data: SIX, seen: Arc::clone(&seen) });
    let owner: Box<dyn DLPackExport + Send> = owner;
    let tensor: ImportedStorage<DLManagedTensor> = owner.into_dlpack_legacy().unwrap().into();
    tensor.write(|n: i32| n * n);
    tensor.delete(Farewell::CopyOfWiped);
    assert_eq!(*seen.lock().unwrap(), [0, 1, 4, 9, 16, 25]);
}

/// An inline array lies inside of the one allocation, with its alignment.
#[test]
fn an_inline_owner_is_in_the_packet() {
    #[repr(align(128))]
    struct Lines {
        data: [i32; 6],
    }

    impl DLPackExport for Lines {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[6]).data(self.data.data())
        }
    }

    let tensor: ImportedStorage = Lines { data: SIX }.into_dlpack().unwrap().into();
    let distance = tensor.data().addr().abs_diff(tensor.as_ptr().addr());
    assert!((size_of::<Lines>()..1024).contains(&distance));
    assert_eq!(tensor.data().addr() % 128, 0);
    assert_eq!(tensor.elements::<i32>(), SIX);
    tensor.delete(Farewell::Scribbled);
}

/// Foreign code may write any byte, so a `Vec<bool>` is exported read-only.
#[test]
fn elements_that_are_not_any_bits_are_frozen() {
    let flags = || Owner::new(vec![true, false], &[2]);
    let tensor = flags().into_dlpack().unwrap();
    assert_eq!((tensor.flags(), tensor.dtype()), (Flags::READ_ONLY, DataType::BOOL));
    let tensor = ImportedStorage::from(tensor);
    assert_eq!(tensor.elements::<bool>(), [true, false]);
    tensor.delete(Farewell::Plain);
    assert_eq!(flags().into_dlpack_legacy().unwrap_err(), Error::ReadOnlyLegacy);
    // A copy is the consumer's own: whatever it writes there, no Rust reads.
    assert_eq!(flags().copy_to_dlpack().unwrap().flags(), Flags::IS_COPIED);
}

/// One write would change several elements, so the export is read-only.
#[test]
fn overlapping_elements_are_read_only() {
    // In bytes: axes with a negative stride begin at their last element.
    let offset = |shape: &[i64], strides: &[i64]| {
        let backwards = shape.iter().zip(strides).filter(|&(_, &stride)| stride < 0);
        backwards.map(|(dim, stride)| 4 * (1 - dim).unsigned_abs() * stride.unsigned_abs()).sum()
    };
    let overlapping = |shape: &[i64], strides: &[i64]| {
        let first = offset(shape, strides);
        let owner = Owner::new(SIX.to_vec(), shape).strided(strides, first);
        assert_eq!(owner.into_dlpack().unwrap().flags(), Flags::READ_ONLY, "{shape:?} {strides:?}");
        let owner = Owner::new(SIX.to_vec(), shape).strided(strides, first);
        assert_eq!(owner.into_dlpack_legacy().unwrap_err(), Error::ReadOnlyLegacy);
        let buffer = SharedBuffer::from_slice(&SIX).unwrap();
        let owner = Owner::new(buffer, shape).strided(strides, first);
        assert_eq!(owner.to_dlpack().unwrap().flags(), Flags::READ_ONLY);
        assert!(owner.tensor().unwrap().is_read_only());
    };
    overlapping(&[4], &[0]);
    overlapping(&[2, 3], &[0, 1]);
    overlapping(&[3, 3], &[1, 1]);
    overlapping(&[2, 3], &[2, 1]);
    overlapping(&[2, 3], &[-2, 1]);
    overlapping(&[2, 3], &[2, -1]);
    let apart = |shape: &[i64], strides: &[i64]| {
        let owner = Owner::new(SIX.to_vec(), shape).strided(strides, offset(shape, strides));
        assert_eq!(owner.into_dlpack().unwrap().flags(), Flags::NONE, "{shape:?} {strides:?}");
    };
    apart(&[3], &[2]);
    apart(&[1, 3], &[0, 1]);
    apart(&[2, 3], &[1, 2]);
    apart(&[2, 3], &[-3, 1]);
    apart(&[2, 3], &[3, -1]);
    apart(&[0, 3], &[0, 0]);
}

/// A tensor that is described as read-only is read-only in every export.
#[test]
fn a_read_only_tensor_exports_read_only() {
    struct Sealed(SharedBuffer<i32>);

    impl DLPackExport for Sealed {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            Ok(out.shape(&[6]).data(self.0.data())?.into_read_only())
        }

        fn share(&self) -> Option<tensors::SharedOwner> {
            self.0.share()
        }
    }

    let sealed = Sealed(SharedBuffer::from_slice(&SIX).unwrap());
    assert_eq!(sealed.to_dlpack().unwrap().flags(), Flags::READ_ONLY);
    assert_eq!(sealed.copy_to_dlpack().unwrap().flags(), Flags::IS_COPIED);
    assert_eq!(sealed.into_dlpack().unwrap().flags(), Flags::READ_ONLY);
}

/// The description has the flag that consumers get.
#[test]
fn a_builder_marks_a_tensor_read_only() {
    struct Sealed(SharedBuffer<i32>, bool);

    impl DLPackExport for Sealed {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            let shaped = out.shape(&[6]);
            let shaped = if self.1 { shaped.read_only() } else { shaped };
            let description = shaped.data(self.0.data())?;
            assert_eq!(description.is_read_only(), self.1);
            Ok(description)
        }
    }

    for sealed in [false, true] {
        let tensor = Sealed(SharedBuffer::from_slice(&SIX).unwrap(), sealed);
        assert_eq!(tensor.into_dlpack().unwrap().is_read_only(), sealed);
    }
}

/// Lists of a larger capacity than the rank, on both sides of the capacity of a slot.
#[test]
fn a_rank_truncates_lists_of_a_larger_capacity() {
    struct Ranked(Vec<i32>, [i64; 12], usize);

    impl DLPackExport for Ranked {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&self.1).rank(self.2).data(self.0.data())
        }
    }

    let mut shape = [1; 12];
    shape[1] = 6;
    for rank in [2, 7, 8, 9, 11, 12] {
        let tensor = Ranked(SIX.to_vec(), shape, rank).into_dlpack().unwrap().import().unwrap();
        assert_eq!(tensor.shape().len(), rank);
        assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), SIX);
    }
    assert!(Ranked(SIX.to_vec(), shape, 13).into_dlpack().is_err());
}

/// A pointer has the storage of its content, and waits for the same work.
#[test]
fn pointers_to_tensors_are_tensors() {
    const BUSY: Error = Error::Custom("work is pending");
    struct Busy(Vec<i32>);

    impl DLPackExport for Busy {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[6]).data(self.0.data())
        }

        fn storage(&self) -> Option<&dyn Storage> {
            Some(&self.0)
        }

        fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
            let _ = consumer;
            Err(BUSY)
        }
    }

    let first = |tensor: &dyn DLPackExport| tensor.storage().map(|storage| storage.data().as_ptr());
    let owner = Box::new(Busy(SIX.to_vec()));
    assert_eq!(first(&owner), Some(owner.0.as_ptr().cast()));
    assert_eq!(owner.sync_for(StreamArg::unspecified()), Err(BUSY));
    let owner: Arc<Busy> = Arc::from(owner);
    assert_eq!(first(&owner), Some(owner.0.as_ptr().cast()));
    assert_eq!(owner.sync_for(StreamArg::unspecified()), Err(BUSY));
    assert_eq!(owner.into_dlpack().unwrap_err(), BUSY);
}

/// Bytes may be read as any type of the right size and alignment; nothing else may.
#[test]
fn bytes_are_exported_as_another_type() {
    let numbers = SharedBuffer::from_slice(bytemuck::bytes_of(&SIX)).unwrap();
    let owner = Owner::new(numbers, &[2, 3]).dtype(DataType::I32);
    let tensor: ImportedStorage = owner.to_dlpack().unwrap().into();
    assert_eq!(tensor.elements::<i32>(), SIX);
    tensor.delete(Farewell::Plain);

    let floats = Owner::new(vec![0_f32; 6], &[6]).dtype(DataType::I32);
    let mismatch = Error::DTypeMismatch { dtype: DataType::I32, storage: DataType::F32 };
    assert_eq!(floats.into_dlpack().unwrap_err(), mismatch);
    let flags = Owner::new(vec![true; 8], &[1]).dtype(DataType::U8);
    assert!(matches!(flags.into_dlpack().unwrap_err(), Error::DTypeMismatch { .. }));
    let odd = DataType::new(tensors::ffi::kDLFloat, 24, 1);
    let odd = Owner::new(vec![0_u8; 8], &[1]).dtype(odd).into_dlpack().unwrap_err();
    assert!(matches!(odd, Error::UnsupportedDType { .. }));

    let block = SharedBuffer::<u8>::zeroed(16).unwrap();
    let misaligned = Owner::new(block.clone(), &[2]).strided(&[1], 2).dtype(DataType::F32);
    let error = Error::Misaligned { dtype: DataType::F32, align: 4 };
    assert_eq!(misaligned.to_dlpack().unwrap_err(), error);
    let aligned = Owner::new(block, &[2]).strided(&[1], 4).dtype(DataType::F32);
    assert!(aligned.to_dlpack().is_ok());

    // No element, no address that could be wrong.
    let empty = Owner::new(Vec::<u8>::new(), &[0, 3]).dtype(DataType::COMPLEX128);
    let tensor = empty.into_dlpack().unwrap();
    assert!(tensor.data_ptr().is_null());
    assert_eq!(tensor.dtype(), DataType::COMPLEX128);
}

/// Every element type arrives with its name and its values.
#[test]
fn every_element_type_is_exported() {
    fn check<T: Element + PartialEq + core::fmt::Debug>(values: [T; 3], name: &str) {
        let tensor = Owner::new(values.to_vec(), &[3]).into_dlpack().unwrap();
        assert_eq!(tensor.dtype().to_string(), name);
        let tensor = ImportedStorage::from(tensor);
        assert_eq!(tensor.elements::<T>(), values);
        tensor.delete(Farewell::Plain);
    }
    check([i8::MIN, 0, i8::MAX], "int8");
    check([i16::MIN, 0, i16::MAX], "int16");
    check([i32::MIN, 0, i32::MAX], "int32");
    check([i64::MIN, 0, i64::MAX], "int64");
    check([0, 1, u8::MAX], "uint8");
    check([0, 1, u16::MAX], "uint16");
    check([0, 1, u32::MAX], "uint32");
    check([0, 1, u64::MAX], "uint64");
    check([isize::MIN, 0, isize::MAX], if size_of::<isize>() == 8 { "int64" } else { "int32" });
    check([0, 1, usize::MAX], if size_of::<usize>() == 8 { "uint64" } else { "uint32" });
    check([f32::MIN, 0.0, f32::INFINITY], "float32");
    check([f64::MIN, 0.0, f64::INFINITY], "float64");
    check([half::f16::MIN, half::f16::ZERO, half::f16::ONE], "float16");
    check([half::bf16::MIN, half::bf16::ZERO, half::bf16::ONE], "bfloat16");
    check([true, false, true], "bool");
    check([1_f32, 2.0, 3.0].map(|re| Complex { re, im: -re }), "complex64");
    check([1_f64, 2.0, 3.0].map(|re| Complex { re, im: -re }), "complex128");
    check([half::f16::ONE; 3].map(|re| Complex { re, im: -re }), "complex32");
}

/// The borrowed C struct points into the view.
#[test]
fn borrowed_tensors_are_viewed() {
    let owner = Owner::new(SIX.to_vec(), &[3, 2]).strided(&[1, 3], 0);
    let view = owner.tensor().unwrap();
    let tensor = view.dl_tensor();
    // SAFETY: the struct is borrowed from a view that is alive.
    let tensor = unsafe { &*tensor.as_raw() };
    assert_eq!(tensor.data.cast_const().cast(), owner.data.as_ptr());
    let inside = |list: *mut i64| {
        let start = core::ptr::from_ref(&view).addr();
        (start..start + size_of_val(&view)).contains(&list.addr())
    };
    assert!(inside(tensor.shape) && inside(tensor.strides), "the view's own lists");
    // SAFETY: two extents, borrowed with the struct.
    assert_eq!(unsafe { core::slice::from_raw_parts(tensor.shape, 2) }, [3, 2]);
    assert_eq!((tensor.ndim, tensor.byte_offset), (2, 0));
    // SAFETY: two strides, borrowed with the struct.
    assert_eq!(unsafe { core::slice::from_raw_parts(tensor.strides, 2) }, [1, 3]);
}

/// F15: a storage may name any device; one that DLPack cannot represent is an error.
#[test]
fn device_types_below_one_are_refused() {
    let mut bytes = [0_u8; 4];
    let pointer = bytes.as_mut_ptr();
    for (device_type, is_one) in [(0, false), (-1, false), (i32::MIN, false), (1, true), (77, true)]
    {
        let device = Device::new(DLDeviceType(device_type), 0);
        let expected = if is_one { Ok(()) } else { Err(Error::NoSuchDevice { device }) };
        for len in [bytes.len(), 0] {
            let shape = &[len];
            let layout = || Layout::new(shape);
            // SAFETY: 1. to 3. The array is alive and has no other user. No element is
            // read, so the wrong device does not matter.
            let data = unsafe { DataRef::from_raw_parts(pointer, len, DataType::U8, device) };
            assert_eq!(TensorView::new(data, layout()).map(drop), expected);
            // SAFETY: as above.
            let data = unsafe { DataMut::from_raw_parts(pointer, len, DataType::U8, device) };
            let mut slot = Slot::new();
            assert_eq!(slot.describe().shape(shape).data_mut(data).map(drop), expected);
        }
    }
}

/// Rows of a fixed length are elements in the order of memory; a `Cow` is writable if it owns.
#[test]
fn rows_and_cows_are_storages() {
    fn check<S: Storage + Send + 'static>(storage: S, shape: &'static [i64], flags: Flags) {
        let tensor = Owner::new(storage, shape).into_dlpack().unwrap();
        assert_eq!((tensor.shape(), tensor.flags()), (&[2, 3][..], flags));
        let tensor = tensor.import().unwrap();
        assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), [1, 2, 3, 4, 5, 6]);
    }
    const ROWS: [[i32; 3]; 2] = [[1, 2, 3], [4, 5, 6]];
    static FLAT: [i32; 6] = [1, 2, 3, 4, 5, 6];
    check(ROWS, &[2], Flags::NONE);
    check(ROWS.to_vec(), &[2], Flags::NONE);
    check(Box::<[[i32; 3]]>::from(ROWS), &[2], Flags::NONE);
    check(Arc::<[[i32; 3]]>::from(ROWS), &[2], Flags::READ_ONLY);
    check(&FLAT[..], &[2, 3], Flags::READ_ONLY);
    check(Cow::Borrowed(&FLAT[..]), &[2, 3], Flags::READ_ONLY);
    check(Cow::<'static, [i32]>::Owned(FLAT.to_vec()), &[2, 3], Flags::NONE);
    check(Cow::<'static, [[i32; 3]]>::Owned(ROWS.to_vec()), &[2], Flags::NONE);
}

/// More dimensions than the slot has room for are freed with the packet.
#[test]
fn a_failed_export_of_many_dimensions_returns_the_value() {
    let owner = Owner::new(Vec::<i32>::new(), &[1; 12]);
    let (owner, error) = owner.try_into_dlpack().unwrap_err();
    assert_eq!(error, Error::OutOfBounds { start: 0, end: 4, len: 0 });
    assert_eq!(owner.tensor().unwrap_err(), error);
}
