//! Structs with invalid metadata: a typed error, and the deleter is called once.

use dlpack_tests::counted::Drops;
use tensors::ffi::{self, DLDataTypeCode, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned};
use tensors::{DataType, Device, Error, Flags, ImportPolicy, ImportedTensor, Version};

use crate::import::forge::{Forge, Forged, forged, free, other_major};

/// The error of a struct, the deleter being called once, or not at all where it is NULL.
fn refused<M: Forge>(case: &Forged) -> Error {
    let drops = Drops::new();
    let (_, taken) = case.import::<M>(&drops);
    let error = taken.expect_err("a struct that cannot be");
    assert_eq!(drops.count(), 1, "{case:?}");
    let silent = Forged { deleter: false, ..case.clone() };
    let (raw, taken) = silent.import::<M>(&drops);
    assert_eq!(taken.map(|_| ()), Err(error));
    assert_eq!(drops.count(), 1, "a NULL deleter is not called");
    free(raw);
    error
}

/// A sound tensor of which one thing is changed.
fn with(change: impl FnOnce(&mut Forged)) -> Forged {
    let mut case = forged(&[2, 3], &[0, 1, 2, 3, 4, 5]);
    change(&mut case);
    case
}

fn dims(shape: &[i64], strides: Option<&[i64]>) -> Forged {
    with(|case| {
        case.shape = Some(shape.to_vec());
        case.strides = strides.map(<[i64]>::to_vec);
    })
}

fn dtype(code: DLDataTypeCode, bits: u8, lanes: u16) -> (Forged, Error) {
    let dtype = DataType::new(code, bits, lanes);
    (with(|case| case.dtype = dtype), Error::UnsupportedDType { dtype })
}

fn kind(device_type: i32) -> Device {
    Device::new(DLDeviceType(device_type), 0)
}

fn device(device_type: i32) -> (Forged, Error) {
    let device = kind(device_type);
    (with(|case| case.device = device), Error::NoSuchDevice { device })
}

#[test]
fn malformed_structs_are_rejected_with_their_error() {
    const BIG: i64 = i64::MAX;
    let overflow = Error::SizeOverflow;
    let cases = [
        // F4: the number of dimensions, before any array is read.
        (with(|case| case.ndim = Some(-1)), Error::NegativeRank { ndim: -1 }),
        (with(|case| case.ndim = Some(i32::MIN)), Error::NegativeRank { ndim: i32::MIN }),
        (with(|case| case.ndim = Some(65)), Error::TooManyDims { ndim: 65 }),
        (with(|case| case.ndim = Some(i32::MAX)), Error::TooManyDims { ndim: 0x7fff_ffff }),
        // F5: no shape.
        (with(|case| (case.shape, case.ndim) = (None, Some(2))), Error::NullShape { ndim: 2 }),
        // F6: negative dimensions, also two of them, also beside a zero.
        (dims(&[-2, 3], None), Error::NegativeDim { axis: 0, dim: -2 }),
        (dims(&[-2, -3], None), Error::NegativeDim { axis: 0, dim: -2 }),
        (dims(&[0, i64::MIN], None), Error::NegativeDim { axis: 1, dim: i64::MIN }),
        // F7: the number of elements, and of their bytes.
        (dims(&[1 << 32, 1 << 32], None), overflow),
        (dims(&[BIG, 2], None), overflow),
        (dims(&[BIG], None), overflow),
        (dims(&[BIG / 4 + 1], None), overflow),
        (dims(&[1 << 31, 1 << 31], Some(&[0, 0])), overflow),
        (dims(&[1 << 31, 1 << 30], Some(&[0, 0])), overflow),
        // F8: the byte range of strides.
        (Forged { dtype: DataType::U8, ..dims(&[2, 2], Some(&[BIG - 1, -1])) }, overflow),
        (dims(&[3], Some(&[i64::MIN])), overflow),
        (dims(&[2, 2], Some(&[BIG, BIG])), overflow),
        (dims(&[2, 2], Some(&[BIG / 2, -BIG / 2])), overflow),
        (dims(&[2], Some(&[1 << 61])), overflow),
        (dims(&[2, 2], Some(&[1 << 60, -(1 << 60)])), overflow),
        (dims(&[2], Some(&[-(1 << 60)])), overflow),
        // F9: offsets that leave the address space.
        (with(|case| case.byte_offset = u64::MAX), overflow),
        (with(|case| case.byte_offset = u64::MAX - 4), overflow),
        // F9: offsets and ends that lie outside of every allocation, which has at most
        // `isize::MAX` bytes, although no address wraps.
        (with(|case| case.byte_offset = 1 << 63), overflow),
        (with(|case| case.byte_offset = BIG.unsigned_abs() + 1), overflow),
        (with(|case| case.byte_offset = BIG.unsigned_abs() - 23), overflow),
        (dims(&[6], Some(&[1])).strided(&[1], 1 << 63), overflow),
        (dims(&[3], Some(&[-1])).strided(&[-1], BIG.unsigned_abs()), overflow),
        // F10: elements without memory.
        (with(|case| case.data = None), Error::NullData),
        (with(|case| (case.data, case.byte_offset) = (None, 64)), Error::NullData),
        (with(|case| (case.data, case.device) = (None, Device::CUDA_HOST)), Error::NullData),
        (with(|case| (case.data, case.shape) = (None, Some(vec![]))), Error::NullData),
        // F11: element types without a size, or with an invalid one.
        dtype(ffi::kDLInt, 0, 1),
        dtype(ffi::kDLInt, 32, 0),
        dtype(ffi::kDLInt, 33, 1),
        dtype(ffi::kDLFloat, 8, 1),
        dtype(ffi::kDLBfloat, 32, 1),
        dtype(ffi::kDLComplex, 16, 1),
        dtype(ffi::kDLBool, 32, 1),
        dtype(ffi::kDLFloat4_e2m1fn, 8, 1),
        dtype(ffi::kDLBcomplex, 64, 1),
        dtype(DLDataTypeCode(99), 8, 1),
        dtype(DLDataTypeCode(255), 255, u16::MAX),
        // A later version defines new type codes, and no new widths of old ones.
        {
            let (case, error) = dtype(ffi::kDLBcomplex, 64, 1);
            (Forged { version: Version::new(1, 7), ..case }, error)
        },
        // F15: device types start at 1.
        device(0),
        device(-1),
        device(i32::MIN),
        (
            with(|case| (case.data, case.device) = (None, kind(0))),
            Error::NoSuchDevice { device: kind(0) },
        ),
        (Forged { device: kind(-2), ..dims(&[0], None) }, Error::NoSuchDevice { device: kind(-2) }),
    ];
    for (case, error) in cases {
        assert_eq!(refused::<DLManagedTensorVersioned>(&case), error, "{case:?}");
        assert_eq!(refused::<DLManagedTensor>(&case), error, "legacy {case:?}");
    }
}

/// F5: a strict import rejects NULL strides, in versions that forbid them.
/// F17: a policy limits the bytes that a copy of the tensor would have.
#[test]
fn elements_of_more_bytes_than_the_policy_allows_are_rejected() {
    fn limited<M: Forge>(case: &Forged, most: u64) -> Result<u64, Error> {
        let drops = Drops::new();
        let policy = ImportPolicy::new().max_bytes(most);
        // SAFETY: as `Forged::import` does.
        let taken = unsafe { ImportedTensor::from_raw_with(case.raw::<M>(&drops), policy) };
        assert_eq!(drops.count(), usize::from(taken.is_err()));
        taken.map(|tensor| tensor.nbytes())
    }
    let numbers: Vec<i32> = (0..6).collect();
    let broadcast = forged(&[1 << 20, 3], &numbers).strided(&[0, 1], 0);
    let packed = Forged { dtype: DataType::FLOAT4_E2M1FN, ..forged(&[3], &numbers) };
    let padded = Forged { flags: Flags::IS_SUBBYTE_TYPE_PADDED, ..packed.clone() };
    for (case, bytes) in [
        (forged(&[2, 3], &numbers), 24),
        (forged(&[0, 3], &[]), 0),
        (forged(&[], &numbers), 4),
        // 10 dimensions, which only the slow path accepts.
        (forged(&[1, 1, 1, 1, 1, 1, 1, 1, 2, 3], &numbers), 24),
        (broadcast, 12 << 20),
        (packed, 2),
        (padded, 3),
    ] {
        assert_eq!(limited::<DLManagedTensorVersioned>(&case, bytes), Ok(bytes));
        assert_eq!(limited::<DLManagedTensorVersioned>(&case, u64::MAX), Ok(bytes));
        if let Some(most) = bytes.checked_sub(1) {
            let error = Err(Error::TooManyBytes { bytes, most });
            assert_eq!(limited::<DLManagedTensorVersioned>(&case, most), error);
        }
    }
    let plain = forged(&[2, 3], &numbers);
    assert_eq!(limited::<DLManagedTensor>(&plain, 24), Ok(24));
    let error = Err(Error::TooManyBytes { bytes: 24, most: 0 });
    assert_eq!(limited::<DLManagedTensor>(&plain, 0), error);
}

#[test]
fn strict_imports_reject_null_strides() {
    fn strictly<M: Forge>(case: &Forged) -> Result<ImportedTensor, Error> {
        let drops = Drops::new();
        let policy = ImportPolicy::new().strict_strides(true);
        // SAFETY: as `Forged::import` does.
        let taken = unsafe { ImportedTensor::from_raw_with(case.raw::<M>(&drops), policy) };
        assert_eq!(drops.count(), usize::from(taken.is_err()));
        taken
    }
    let null = |minor| with(|case| case.version = Version::new(1, minor));
    for minor in [2, 3, 99] {
        let error = strictly::<DLManagedTensorVersioned>(&null(minor)).map(drop);
        assert_eq!(error, Err(Error::NullStrides { ndim: 2 }));
        assert!(strictly::<DLManagedTensor>(&null(minor)).is_ok());
        assert!(null(minor).imported().is_row_major());
        let given = null(minor).strided(&[3, 1], 0);
        assert!(strictly::<DLManagedTensorVersioned>(&given).is_ok());
        // Without elements too, but not without dimensions.
        let empty = Forged { shape: Some(vec![0]), ..null(minor) };
        let error = strictly::<DLManagedTensorVersioned>(&empty).map(drop);
        assert_eq!(error, Err(Error::NullStrides { ndim: 1 }));
        let scalar = Forged { shape: None, ..null(minor) };
        assert!(strictly::<DLManagedTensorVersioned>(&scalar).is_ok());
    }
    for minor in [0, 1] {
        assert!(strictly::<DLManagedTensorVersioned>(&null(minor)).is_ok());
    }
}

/// F8: below a handle there is nothing, as there is nothing below address 0.
#[test]
fn ranges_before_a_handle_are_rejected() {
    let opencl = Device::new(ffi::kDLOpenCL, 0);
    let case = with(|case| {
        (case.device, case.strides, case.byte_offset) = (opencl, Some(vec![-3, 1]), 11);
    });
    assert_eq!(refused::<DLManagedTensorVersioned>(&case), Error::SizeOverflow);
    let beyond = Forged { strides: None, byte_offset: u64::MAX - 23, ..case };
    assert_eq!(refused::<DLManagedTensor>(&beyond), Error::SizeOverflow);
    // Either end fits, but the distance from the handle to the higher one does not.
    let far = Forged { shape: Some(vec![2, 2]), ..beyond.clone() };
    let far = far.strided(&[1 << 60, -(1 << 60)], (1 << 63) - 25);
    assert_eq!(refused::<DLManagedTensorVersioned>(&far), Error::SizeOverflow);
    // An object has at most `isize::MAX` bytes, as an allocation has.
    let last = isize::MAX as u64 - 24;
    let fits = Forged { byte_offset: last, ..beyond };
    assert_eq!(fits.imported().byte_offset(), last);
    for byte_offset in [last + 1, isize::MAX as u64 + 1, u64::MAX - 24] {
        let beyond = Forged { byte_offset, ..fits.clone() };
        assert_eq!(refused::<DLManagedTensorVersioned>(&beyond), Error::SizeOverflow);
    }
    let empty = Forged { shape: Some(vec![0]), byte_offset: 1 << 63, ..fits };
    assert_eq!(empty.imported().byte_offset(), 0, "no element is anywhere");
}

/// F8: each end of the elements is inside of the address space, and the distance to it
/// fits, but no object is as large as the range between them.
#[cfg(target_pointer_width = "64")]
#[test]
fn ranges_larger_than_any_object_are_rejected() {
    let mut case = dims(&[2, 2], None).strided(&[1 << 60, -(1 << 60)], 0);
    case.address = Some(1 << 63);
    assert_eq!(refused::<DLManagedTensorVersioned>(&case), Error::SizeOverflow);
    let fits = case.clone().strided(&[1 << 59, -(1 << 59)], 0);
    assert!(fits.import::<DLManagedTensorVersioned>(&Drops::new()).1.is_ok());
}

/// F10: no element is at address 0, also where `data` is another address.
#[test]
fn elements_at_address_zero_are_rejected() {
    for (data, strides, byte_offset, error) in [
        (8, &[-1][..], 0, Some(Error::SizeOverflow)),
        (4, &[-1], 4, Some(Error::SizeOverflow)),
        (4, &[-1], 0, Some(Error::SizeOverflow)),
        (9, &[-1], 0, None),
        (1, &[1], 0, None),
        (usize::MAX - 11, &[1], 0, Some(Error::SizeOverflow)),
        (usize::MAX - 12, &[1], 0, None),
        (usize::MAX - 16, &[1], 8, Some(Error::SizeOverflow)),
        // The same highest bits in both.
        (usize::MAX - 1023, &[1], 7 << 61, Some(Error::SizeOverflow)),
    ] {
        let mut case = dims(&[3], Some(strides)).strided(strides, byte_offset);
        case.address = Some(data);
        let outcome = case.import::<DLManagedTensorVersioned>(&Drops::new()).1.map(drop);
        assert_eq!(outcome.err(), error, "{case:?}");
    }
}

/// F1: of another major version only the deleter is used. The struct ends there,
/// which Miri would tell.
#[test]
fn other_major_versions_are_rejected() {
    for (major, minor) in [(0, 0), (0, 8), (2, 0), (u32::MAX, 3)] {
        let found = Version::new(major, minor);
        let drops = Drops::new();
        // SAFETY: 1. The fields up to `deleter` exist. 2. We own it.
        let error = unsafe { ImportedTensor::from_raw(other_major(found, &drops)) }.unwrap_err();
        assert_eq!((error, drops.count()), (Error::VersionUnsupported { found }, 1));
    }
}

#[test]
fn null_is_rejected() {
    let null = core::ptr::null_mut::<DLManagedTensorVersioned>();
    // SAFETY: 1. NULL is allowed.
    assert_eq!(unsafe { ImportedTensor::from_raw(null) }.map(|_| ()), Err(Error::NullTensor));
    // SAFETY: as above.
    let legacy = unsafe { ImportedTensor::from_raw(core::ptr::null_mut::<DLManagedTensor>()) };
    assert_eq!(legacy.map(|_| ()), Err(Error::NullTensor));
}

/// F2 and F3: codes and bits that a later version may define are kept; a request for
/// elements of an unknown type is rejected.
#[test]
fn unknown_codes_and_flags_are_kept() {
    let unknown = DataType::new(DLDataTypeCode(99), 12, 1);
    let tensor = with(|case| {
        case.version = Version::new(1, 99);
        case.flags = Flags::from_bits(1 << 40);
        case.dtype = unknown;
        case.device = Device::new(DLDeviceType(77), -1);
    })
    .imported();
    assert_eq!(tensor.version(), Some(Version::new(1, 99)));
    assert_eq!(tensor.flags(), Flags::from_bits(1 << 40));
    assert_eq!((tensor.dtype(), tensor.byte_range()), (unknown, 0..9));
    assert_eq!(tensor.device().device_id(), -1);
    assert!(matches!(tensor.elements::<i32>(), Err(Error::NotOnHost { .. })));
    let tensor = with(|case| (case.version, case.dtype) = (Version::new(1, 4), unknown)).imported();
    let error = tensor.elements::<i32>().map(|_| ());
    assert_eq!(error, Err(Error::ElementMismatch { requested: DataType::I32, found: unknown }));
    // A later version may define it; this one does not.
    for version in [Version::CURRENT, Version::new(1, 0)] {
        let case = with(|case| (case.version, case.dtype) = (version, unknown));
        let error = Error::UnsupportedDType { dtype: unknown };
        assert_eq!(refused::<DLManagedTensorVersioned>(&case), error);
    }
    // A type family that this version defines has the same widths in a later one.
    let odd = DataType::new(DataType::FLOAT4_E2M1FN.code(), 8, 1);
    let case = with(|case| (case.version, case.dtype) = (Version::new(1, 99), odd));
    let error = Error::UnsupportedDType { dtype: odd };
    assert_eq!(refused::<DLManagedTensorVersioned>(&case), error);
    // An unknown type without a size is rejected too.
    let case = with(|case| {
        case.version = Version::new(1, 99);
        case.dtype = DataType::new(DLDataTypeCode(99), 0, 1);
    });
    assert_eq!(
        refused::<DLManagedTensorVersioned>(&case),
        Error::UnsupportedDType { dtype: case.dtype }
    );
}
