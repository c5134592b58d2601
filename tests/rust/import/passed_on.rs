//! `ImportedStorage` of any element type: an import is exported again unchanged.

use std::sync::Arc;

use dlpack_tests::counted::{Drops, Owner};
use dlpack_tests::foreign::{Farewell, ImportedStorage as Consumer};
use tensors::ffi::{
    self, DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLManagedTensor,
    DLManagedTensorVersioned,
};
use tensors::{
    AsLayout, DLPackExport, DLPackImport, DataRef, DataType, Device, Element, Error, Flags,
    ImportError, ImportPolicy, ImportedStorage, ImportedTensor, Layout, Readable, Slot, Storage,
    StreamArg, Version,
};

use crate::import::forge::{self, Forge, Forged, forged};

/// A struct with 24 bytes of elements, changed.
fn with(change: impl FnOnce(&mut Forged)) -> Forged {
    let mut case = forged(&[2, 3], &[0, 1, 2, 3, 4, 5]);
    change(&mut case);
    case
}

fn vulkan() -> Device {
    Device::new(ffi::kDLVulkan, 2)
}

/// Structs of every kind that can be held, and how many of their flags go on.
fn cases() -> Vec<Forged> {
    let narrow = |dtype: DataType, shape: &[i64], strides: &[i64], byte_offset, flags| {
        with(|case| {
            (case.dtype, case.shape, case.flags) = (dtype, Some(shape.to_vec()), flags);
            (case.strides, case.byte_offset) = (Some(strides.to_vec()), byte_offset);
        })
    };
    let none = Flags::NONE;
    let (padded, read_only) = (Flags::IS_SUBBYTE_TYPE_PADDED, Flags::READ_ONLY);
    let int4 = DataType::new(ffi::kDLInt, 4, 1);
    let bit = DataType::new(ffi::kDLUInt, 1, 1);
    let unknown = DataType::new(DLDataTypeCode(99), 12, 1);
    let mut cases = vec![
        with(|_| ()),
        with(|case| case.flags = read_only),
        // A later version with elements of this one.
        with(|case| case.version = Version::new(1, 77)),
        with(|case| case.strides = Some(vec![1, 2])),
        with(|case| (case.strides, case.byte_offset) = (Some(vec![-3, -1]), 20)),
        // Misaligned memory is exported as it is, not moved.
        with(|case| (case.shape, case.byte_offset) = (Some(vec![5]), 1)),
        with(|case| {
            (case.dtype, case.shape) = (DataType::COMPLEX128, Some(vec![1]));
            case.data = Some(3);
        }),
        // Narrow, packed and padded, forwards and backwards, with lanes.
        narrow(int4, &[5], &[1], 0, none),
        narrow(int4, &[5], &[-1], 2, none),
        narrow(int4, &[4], &[-1], 2, none),
        narrow(bit, &[9], &[-1], 1, read_only),
        narrow(int4, &[5], &[-1], 4, padded),
        narrow(DataType::FLOAT6_E2M3FN, &[3, 5], &[5, 1], 1, none),
        narrow(DataType::FLOAT6_E3M2FN, &[3, 5], &[5, 1], 1, padded | read_only),
        narrow(DataType::FLOAT4_E2M1FN.with_lanes(2), &[3], &[2], 0, none),
        narrow(int4.with_lanes(3), &[3], &[1], 0, padded),
        narrow(DataType::F32.with_lanes(3), &[2], &[-1], 12, none),
        narrow(DataType::F32.with_lanes(2), &[2], &[1], 0, padded),
        narrow(DataType::new(ffi::kDLFloat, 128, 1), &[1], &[7], 0, none),
        narrow(DataType::new(ffi::kDLOpaqueHandle, 64, 1), &[3], &[1], 0, none),
        narrow(DataType::BOOL, &[3], &[1], 0, none),
        narrow(DataType::FLOAT8_E8M0FNU, &[3], &[1], 0, none),
        // Nothing at all, and a scalar.
        with(|case| (case.shape, case.data) = (Some(vec![0, 3]), None)),
        with(|case| (case.shape, case.byte_offset) = (Some(vec![]), 8)),
        // A later version's elements, also where no place for them can be had.
        with(|case| (case.version, case.dtype) = (Version::new(1, 7), unknown)),
        with(|case| {
            (case.version, case.dtype) = (Version::new(1, 7), unknown.with_lanes(2));
            (case.strides, case.byte_offset) = (Some(vec![-3, 1]), 9);
        }),
    ];
    // Elsewhere.
    let mut devices = vec![Device::cuda(1), Device::rocm(0), Device::new(DLDeviceType(77), -1)];
    // In the header's main branch only.
    devices.extend([ffi::kDLTPU, ffi::kDLTPUHost, ffi::kDLAscend].map(|kind| Device::new(kind, 3)));
    for device in devices {
        cases.push(with(|case| case.device = device));
        cases.push(with(|case| {
            (case.device, case.flags) = (device, read_only);
            (case.strides, case.byte_offset) = (Some(vec![-3, 1]), 12);
        }));
    }
    let at = |device, strides: &[i64], byte_offset| {
        with(|case| {
            (case.device, case.strides) = (device, Some(strides.to_vec()));
            case.byte_offset = byte_offset;
        })
    };
    cases.push(at(vulkan(), &[3, 1], 0));
    cases.push(at(vulkan(), &[3, 1], 1 << 40));
    cases.push(at(vulkan(), &[-3, 1], 12));
    cases.push(Forged { data: None, ..at(vulkan(), &[3, 1], 5) });
    cases.push(Forged { shape: Some(vec![0, 3]), ..at(vulkan(), &[3, 1], 5) });
    cases
}

/// Returns the place of the first element: an address, or a handle with an offset.
fn place(case: &Forged, tensor: &ImportedTensor) -> (usize, u64) {
    let address = tensor.data_ptr().addr();
    let empty = case.shape.as_ref().is_some_and(|shape| shape.contains(&0));
    let offset = if empty || case.device.has_addresses() { 0 } else { case.byte_offset };
    (address, offset)
}

#[test]
fn an_import_is_exported_unchanged() {
    for case in cases() {
        let drops = Drops::new();
        let (_, taken) = case.import::<DLManagedTensorVersioned>(&drops);
        let tensor = taken.unwrap();
        let (strides, expected) = (tensor.strides().to_vec(), place(&case, &tensor));
        let any: ImportedStorage = ImportedStorage::from_dlpack(tensor).unwrap();
        let later = !case.dtype.is_well_formed();
        let legacy = any.clone().into_dlpack_legacy().map(drop);
        assert_eq!(legacy.is_ok(), case.flags == Flags::NONE && !later, "{case:?} {legacy:?}");
        let exports =
            [any.to_dlpack().unwrap(), any.clone().into_dlpack().unwrap()].map(Consumer::from);
        for export in &exports {
            // SAFETY: the struct is alive.
            let managed = unsafe { export.as_ptr().read() };
            let found = managed.dl_tensor;
            assert_eq!(found.dtype, DLDataType::from(case.dtype), "{case:?}");
            assert_eq!(found.device, DLDevice::from(case.device), "{case:?}");
            assert_eq!(Some(export.shape()), case.shape, "{case:?}");
            assert_eq!(export.strides(), strides, "{case:?}");
            assert_eq!((found.data.addr(), found.byte_offset), expected, "{case:?}");
            assert_eq!(managed.flags, case.flags.bits(), "{case:?}");
            let version = if later { case.version } else { Version::CURRENT };
            assert_eq!(Version::from(managed.version), version, "{case:?}");
        }
        drop(any);
        assert_eq!(drops.count(), 0);
        for export in exports {
            export.delete_elsewhere(Farewell::Plain);
        }
        assert_eq!(drops.count(), 1);
    }
}

/// An element type that a later version of DLPack defines, and this program too.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Later(u32);

// SAFETY: 1. and 2. It is a `u32`. 3. The size agrees, and no version defines the code. 4. Any
// bits are a valid `u32`.
unsafe impl Element for Later {
    const DTYPE: DataType = DataType::new(DLDataTypeCode(99), 32, 1);
    const ANY_BITS: bool = true;
}

// SAFETY: 1. This is the default.
unsafe impl Readable for Later {}

#[test]
fn an_element_type_of_a_later_version_is_exported_with_that_version() {
    let case = with(|case| (case.version, case.dtype) = (Version::new(1, 7), Later::DTYPE));
    let drops = Drops::new();
    let (_, taken) = case.import::<DLManagedTensorVersioned>(&drops);
    let later: ImportedStorage<Later> = ImportedStorage::new(taken.unwrap()).unwrap();
    let export = Consumer::from(later.to_dlpack().unwrap());
    // SAFETY: the struct is alive.
    let managed = unsafe { export.as_ptr().read() };
    assert_eq!(Version::from(managed.version), case.version);
    export.delete(Farewell::Plain);
    assert!(matches!(later.into_dlpack_legacy(), Err(Error::UnsupportedDType { .. })));
    assert_eq!(drops.count(), 1);
}

/// And in again, as often as one likes.
#[test]
fn an_import_is_exported_many_times() {
    for case in cases() {
        let drops = Drops::new();
        let (_, taken) = case.import::<DLManagedTensorVersioned>(&drops);
        let mut tensor = taken.unwrap();
        let before = format!("{tensor:?} {:?}", tensor.byte_range());
        let before = before.split("release").next().map(str::to_owned);
        for _ in 0..3 {
            tensor = forge::import(
                ImportedStorage::<tensors::AnyElement>::new(tensor).unwrap().into_dlpack().unwrap(),
            );
        }
        let after = format!("{tensor:?} {:?}", tensor.byte_range());
        assert_eq!(after.split("release").next().map(str::to_owned), before);
        drop(tensor);
        assert_eq!(drops.count(), 1);
    }
}

/// As a tensor it shares the memory that it shares as a storage.
#[test]
fn an_import_shares_its_memory() {
    let drops = Drops::new();
    let (_, taken) = cases()[0].import::<DLManagedTensorVersioned>(&drops);
    let storage = ImportedStorage::<tensors::AnyElement>::new(taken.unwrap()).unwrap();
    let (first, tensor): (_, &dyn DLPackExport) = (storage.data().as_ptr(), &storage);
    let owners = [tensor.share(), tensor.storage().and_then(Storage::share)];
    for owner in owners {
        assert_eq!(owner.expect("an owner").data().as_ptr(), first);
    }
    assert_eq!(drops.count(), 0);
    drop(storage);
    assert_eq!(drops.count(), 1);
}

/// Flags that are not defined by the standard, and IS_COPIED, are not passed on.
#[test]
fn flags_of_the_producer_are_not_passed_on() {
    let case = with(|case| case.flags = Flags::IS_COPIED | Flags::from_bits(1 << 40));
    let any: ImportedStorage = ImportedStorage::new(case.imported()).unwrap();
    assert_eq!(any.to_dlpack().unwrap().flags(), Flags::NONE);
    // Two indices name one element: the export is read-only.
    let case = with(|case| case.strides = Some(vec![0, 1]));
    let any: ImportedStorage = ImportedStorage::new(case.imported()).unwrap();
    assert_eq!(any.to_dlpack().unwrap().flags(), Flags::READ_ONLY);
}

/// Copies are read byte by byte where elements are not aligned.
#[test]
fn copies_are_exported_as_copies() {
    let case = with(|case| {
        case.bytes.insert(0, 9);
        (case.strides, case.byte_offset) = (Some(vec![-3, -1]), 21);
    });
    for flags in [Flags::NONE, Flags::READ_ONLY] {
        let any: ImportedStorage =
            ImportedStorage::new(Forged { flags, ..case.clone() }.imported()).unwrap();
        let copy = forge::import(any.copy_to_dlpack().unwrap());
        assert_eq!(copy.elements::<i32>().unwrap().to_vec().unwrap(), [5, 4, 3, 2, 1, 0]);
        assert_eq!(copy.data_ptr().addr() % 64, 0);
        let error = Error::Misaligned { dtype: DataType::I32, align: 4 };
        assert_eq!(any.typed::<i32>().map(drop), Err(error));
    }
    let cuda = with(|case| case.device = Device::cuda(0));
    let any: ImportedStorage = ImportedStorage::new(cuda.imported()).unwrap();
    let error = Error::NotOrdered { device: Device::cuda(0) };
    assert_eq!(any.copy_to_dlpack().map(drop), Err(error));
    // The elements of an unknown type cannot be checked.
    let unknown = cases().into_iter().find(|case| !case.dtype.is_well_formed()).unwrap();
    let any: ImportedStorage = ImportedStorage::new(unknown.imported()).unwrap();
    let error = Error::UnsupportedDType { dtype: unknown.dtype };
    assert_eq!(any.copy_to_dlpack().map(drop), Err(error));
}

/// Elsewhere, a stream is a matter for a backend.
#[test]
fn stream_values_of_imported_memory() {
    let sync_for = |device, consumer| {
        let any: ImportedStorage =
            ImportedStorage::new(with(|case| case.device = device).imported()).unwrap();
        DLPackExport::tensor(&any).unwrap().sync_for(consumer)
    };
    // SAFETY: 1. A sentinel.
    let handle = unsafe { StreamArg::from_handle(1) };
    for device in [Device::CPU, Device::CUDA_HOST, Device::ROCM_HOST] {
        // A device may still fill pinned memory, and a consumer without a stream may read
        // at once.
        let pinned = Err(Error::NotOrdered { device });
        let unspecified = if device == Device::CPU { Ok(()) } else { pinned };
        assert_eq!(sync_for(device, StreamArg::unspecified()), unspecified);
        assert_eq!(sync_for(device, StreamArg::on_host()), Ok(()));
        assert_eq!(sync_for(device, StreamArg::no_sync()), Err(Error::StreamOnHost));
        assert_eq!(sync_for(device, handle), Err(Error::StreamOnHost));
    }
    for device in [Device::cuda(3), Device::CUDA_MANAGED, vulkan()] {
        let managed = device == Device::CUDA_MANAGED;
        let unspecified = if managed { Err(Error::NotOrdered { device }) } else { Ok(()) };
        assert_eq!(sync_for(device, StreamArg::unspecified()), unspecified);
        // The producer frees the memory, and would not learn of the consumer's stream.
        let unnamed = sync_for(device, StreamArg::no_sync());
        assert_eq!(unnamed, Err(Error::NotOrdered { device }));
        assert_eq!(sync_for(device, handle), Err(Error::NotOrdered { device }));
    }
}

/// Pinned memory with typed elements was imported for the host, which reads the elements
/// without a wait too. The export is the same after the type was erased.
#[test]
fn pinned_memory_for_the_host_is_passed_on() {
    let pinned = || with(|case| case.device = Device::CUDA_HOST).imported();
    let typed = ImportedStorage::<i32>::new(pinned()).unwrap();
    assert_eq!(typed.clone().to_dlpack().map(drop), Ok(()));
    let any: ImportedStorage = ImportedStorage::from(typed);
    assert_eq!(any.to_dlpack().map(drop), Ok(()));
    assert_eq!(any.into_dlpack().map(drop), Ok(()));
    let any: ImportedStorage = ImportedStorage::new(pinned()).unwrap();
    let refused = Err(Error::NotOrdered { device: Device::CUDA_HOST });
    assert_eq!(any.to_dlpack().map(drop), refused);
    let typed = any.typed::<i32>().unwrap();
    assert_eq!(typed.to_dlpack().map(drop), Ok(()));
}

#[test]
fn typed_and_untyped_imports_export_the_same() {
    let drops = Drops::new();
    let (_, taken) = with(|_| ()).import::<DLManagedTensorVersioned>(&drops);
    let any: ImportedStorage = ImportedStorage::new(taken.unwrap()).unwrap();
    let typed = any.clone().typed::<i32>().unwrap();
    let any = any.into_tensor().unwrap_err();
    let error = Error::ElementMismatch { requested: DataType::F32, found: DataType::I32 };
    assert_eq!(any.clone().typed::<f32>().map(drop), Err(error));
    drop(any);
    let any: ImportedStorage = typed.into();
    let shared = any.to_dlpack().unwrap();
    let any = any.into_tensor().expect_err("an export is in use");
    drop(shared);
    let tensor = any.into_tensor().unwrap();
    assert_eq!(drops.count(), 0);
    drop(tensor);
    assert_eq!(drops.count(), 1);
}

#[test]
fn offsets_too_far_from_a_handle_are_refused() {
    let drops = Drops::new();
    let case = with(|case| (case.device, case.byte_offset) = (vulkan(), u64::MAX / 2 - 23));
    let (_, taken) = case.import::<DLManagedTensorVersioned>(&drops);
    assert_eq!((taken.map(drop), drops.count()), (Err(Error::SizeOverflow), 1));
    let case = with(|case| (case.device, case.byte_offset) = (vulkan(), u64::MAX / 2 - 24));
    let any: ImportedStorage = ImportedStorage::new(case.imported()).unwrap();
    assert!(any.to_dlpack().is_ok());
}

#[test]
fn the_offset_from_a_handle_is_that_of_the_memory() {
    for offset in [0, 8] {
        let case = with(|case| (case.device, case.byte_offset) = (vulkan(), offset));
        let any: ImportedStorage = ImportedStorage::new(case.imported()).unwrap();
        assert_eq!(any.data().byte_offset() as u64, offset);
    }
    assert_eq!(DataRef::from_slice(&[1_u8]).byte_offset(), 0);
}

/// A field of any elements, beside other fields.
#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
struct Labelled {
    data: ImportedStorage,
    #[dlpack(layout)]
    layout: Whole,
    name: &'static str,
}

/// The layout of the import, which the storage contains.
struct Whole(ImportedStorage);

impl AsLayout for Whole {
    fn layout(&self) -> Layout<'_> {
        self.0.layout()
    }
}

impl DLPackImport for Labelled {
    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        let data = ImportedStorage::new(tensor)?;
        Ok(Self { layout: Whole(data.clone()), data, name: "label" })
    }
}

#[test]
fn an_imported_field_is_exported() {
    for case in cases() {
        let labelled = Labelled::from_dlpack(case.imported()).unwrap();
        assert_eq!(labelled.name, "label");
        let again = forge::import(labelled.to_dlpack().unwrap());
        assert_eq!((again.dtype(), Some(again.shape())), (case.dtype, case.shape.as_deref()));
        assert_eq!(place(&case, &again), place(&case, labelled.data.imported()), "{case:?}");
    }
    // Foreign elements may be of any type as they are, not as others read them.
    let case = with(|case| (case.version, case.dtype) = (Version::new(1, 4), DataType::U8));
    let data: ImportedStorage = ImportedStorage::new(case.imported()).unwrap();
    let unknown = DataType::new(DLDataTypeCode(99), 8, 1);
    let mut slot = Slot::new();
    let layout = slot.describe().layout(data.layout()).dtype(unknown);
    let view = layout.data(data.data()).map(drop);
    assert_eq!(view, Err(Error::UnsupportedDType { dtype: unknown }));
    let layout = Layout::new([1]).byte_offset(1);
    let view = tensors::TensorView::new(data.data(), layout.dtype(DataType::F32)).map(drop);
    assert_eq!(view, Err(Error::Misaligned { dtype: DataType::F32, align: 4 }));
}

/// Bits of no standard type, and elements without bits.
const UNKNOWN: DataType = DataType::new(DLDataTypeCode(99), 32, 1);
const NO_BITS: DataType = DataType::new(ffi::kDLFloat, 0, 1);

/// Bytes of another library, read as something else.
#[derive(Storage)]
#[dlpack(crate = ::tensors)]
enum Read {
    #[dlpack(dtype = F32)]
    Floats(ImportedStorage<u8>),
    #[dlpack(dtype = self::UNKNOWN)]
    Unknown(ImportedStorage<u8>),
    #[dlpack(dtype = self::NO_BITS)]
    NoBits(ImportedStorage<u8>),
}

/// The producer's bytes are exported as bytes only, not as another type made of them.
#[test]
fn imported_bytes_are_exported_as_bytes_only() {
    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors)]
    struct Array {
        data: Read,
        shape: [i64; 1],
    }
    // Frozen memory, which may be read as any numbers.
    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors)]
    struct Bytes {
        data: Arc<[u8]>,
        shape: [i64; 1],
        byte_offset: usize,
    }
    let bytes = |byte_offset| {
        let bytes = Bytes { data: Arc::from([7; 24]), shape: [16], byte_offset };
        ImportedStorage::<u8>::new(forge::import(bytes.to_dlpack().unwrap())).unwrap()
    };
    let refused = |data: Read, shape: i64| {
        let array = Array { data, shape: [shape] };
        let error = array.tensor().map(drop).unwrap_err();
        assert_eq!(array.to_dlpack().map(drop), Err(error));
        assert_eq!(array.into_dlpack().map(drop), Err(error));
        error
    };
    let floats = Array { data: Read::Floats(bytes(4)), shape: [4] };
    assert_eq!(floats.to_dlpack().map(|tensor| tensor.dtype()), Ok(DataType::F32));
    let misaligned = Error::Misaligned { dtype: DataType::F32, align: 4 };
    assert_eq!(refused(Read::Floats(bytes(1)), 4), misaligned);
    let unsupported = |dtype| Error::UnsupportedDType { dtype };
    assert_eq!(refused(Read::Unknown(bytes(0)), 4), unsupported(UNKNOWN));
    assert_eq!(refused(Read::NoBits(bytes(0)), 1 << 62), unsupported(NO_BITS));
}

/// F16: a legacy struct has no READ_ONLY, so its memory is read-only unless the caller
/// promises otherwise.
#[test]
fn legacy_structs_are_read_only() {
    fn taken<M: Forge>(case: &Forged, policy: ImportPolicy) -> ImportedTensor {
        // SAFETY: as `Forged::import` does.
        unsafe { ImportedTensor::from_raw_with(case.raw::<M>(&Drops::new()), policy) }.unwrap()
    }
    let (lenient, writable) = (ImportPolicy::new(), ImportPolicy::new().legacy_writable(true));
    let case = with(|_| ());
    let read_only = with(|case| case.flags = Flags::READ_ONLY);
    for (mut tensor, expected) in [
        (taken::<DLManagedTensor>(&case, lenient), true),
        (taken::<DLManagedTensor>(&case, writable), false),
        (taken::<DLManagedTensorVersioned>(&case, lenient), false),
        (taken::<DLManagedTensorVersioned>(&case, writable), false),
        (taken::<DLManagedTensorVersioned>(&read_only, lenient), true),
        (taken::<DLManagedTensorVersioned>(&read_only, writable), true),
    ] {
        assert_eq!(tensor.is_read_only(), expected);
        assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), [0, 1, 2, 3, 4, 5]);
        // SAFETY: 1. The memory has no other owner.
        let written = unsafe { tensor.assume_exclusive() }.map(drop);
        assert_eq!(written, if expected { Err(Error::ReadOnly) } else { Ok(()) });
        // Every later consumer gets the flag, however often the tensor is exported.
        let any: ImportedStorage = ImportedStorage::new(tensor).unwrap();
        assert_eq!(any.imported().is_read_only(), expected);
        let again = any.to_dlpack().unwrap();
        assert_eq!(again.is_read_only(), expected);
        let any: ImportedStorage = ImportedStorage::new(again.import().unwrap()).unwrap();
        assert_eq!(any.to_dlpack().unwrap().is_read_only(), expected);
        let legacy = any.into_dlpack_legacy().map(drop);
        assert_eq!(legacy, if expected { Err(Error::ReadOnlyLegacy) } else { Ok(()) });
    }
}

/// An export of this crate in a legacy struct keeps its access, until it leaves Rust.
#[test]
fn own_legacy_structs_keep_their_access() {
    let owner = || Owner::new(vec![1_i32, 2], &[2]);
    let mut tensor = owner().into_dlpack_legacy().unwrap().import().unwrap();
    assert!(!tensor.is_read_only());
    tensor.exclusive().unwrap().as_mut_slice::<i32>().unwrap()[0] = 5;
    assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), [5, 2]);
    let raw = tensor.into_raw::<DLManagedTensor>().unwrap();
    // SAFETY: 1. to 5. It is a struct of this crate, and the vector has no other owner.
    let tensor = unsafe { ImportedTensor::from_raw(raw) }.unwrap();
    assert!(tensor.is_read_only());
}
