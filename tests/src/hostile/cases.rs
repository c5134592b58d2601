//! The cases, each for every importer.

use tensors::ffi::{self, DLDataTypeCode, DLDeviceType};
use tensors::{DataType, Device, Error, Flags, Version};

use super::{Array, Case, Data};

const BIG: i64 = i64::MAX;

fn sound(words: &str) -> Case {
    Case::new(words, &[2, 3])
}

fn wrong(case: Case, error: Error) -> Case {
    // Whoever reads an element of what was refused reads what cannot be read.
    let data = if case.data == Data::Null { Data::Null } else { Data::Nowhere };
    Case { data, error: Some(error), ..case }
}

/// Structs that cannot be: the error is the case's, the deleter is called once.
pub fn malformed() -> Vec<Case> {
    let mut cases = Vec::new();
    // F4, before an array is read: there is none.
    for ndim in [-1, i32::MIN, 65, 1 << 20, i32::MAX] {
        let error = usize::try_from(ndim)
            .map_or(Error::NegativeRank { ndim }, |ndim| Error::TooManyDims { ndim });
        for (shape, strides) in [(Array::Nowhere, Array::Nowhere), (Array::Null, Array::Nowhere)] {
            let case = sound(&format!("F4 ndim {ndim}, shape {shape:?}"));
            cases.push(wrong(Case { ndim, shape, strides, ..case }, error));
        }
    }
    // F5. Strides are not looked at any more.
    for ndim in [1, 2, 64] {
        let case = sound(&format!("F5 NULL shape of {ndim}"));
        let (shape, strides) = (Array::Null, Array::Nowhere);
        let error = Error::NullShape { ndim: usize::try_from(ndim).unwrap_or(0) };
        cases.push(wrong(Case { ndim, shape, strides, ..case }, error));
    }
    // F6.
    for (shape, axis) in [
        (&[-1][..], 0),
        (&[-2, 3], 0),
        (&[-2, -3], 0),
        (&[0, -1], 1),
        (&[-1, 0], 0),
        (&[2, 0, i64::MIN], 2),
        (&[BIG, BIG, -1], 2),
    ] {
        let error = Error::NegativeDim { axis, dim: shape[axis] };
        cases.push(wrong(sound(&format!("F6 {shape:?}")).dims(shape, None), error));
    }
    // F7 and F8: sizes and strides.
    for (shape, strides) in [
        (&[1 << 32, 1 << 32][..], None),
        (&[BIG, 2], None),
        (&[BIG], None),
        (&[BIG / 4 + 1], None),
        (&[1 << 62, 1 << 62, 1 << 62, 1 << 62], None),
        (&[1 << 31, 1 << 31], Some(&[0, 0][..])),
        (&[3], Some(&[i64::MIN])),
        (&[3], Some(&[BIG])),
        (&[2, 2], Some(&[BIG, BIG])),
        (&[2, 2], Some(&[BIG / 2, -BIG / 2])),
        (&[2, 2], Some(&[BIG, i64::MIN])),
        (&[2], Some(&[1 << 61])),
        (&[2], Some(&[-(1 << 60)])),
        (&[2, 2], Some(&[1 << 60, -(1 << 60)])),
    ] {
        let case = sound(&format!("F7 F8 {shape:?} {strides:?}")).dims(shape, strides);
        cases.push(wrong(case, Error::SizeOverflow));
    }
    // F9.
    for byte_offset in [u64::MAX, u64::MAX - 4, u64::MAX - 23] {
        let case = sound(&format!("F9 byte_offset {byte_offset:#x}"));
        cases.push(wrong(Case { byte_offset, ..case }, Error::SizeOverflow));
    }
    // F10.
    for (shape, byte_offset, device) in [
        (&[2, 3][..], 0, Device::CPU),
        (&[2, 3], 64, Device::CPU),
        (&[], 0, Device::CPU),
        (&[1], 0, Device::CUDA_HOST),
        (&[1], 0, Device::cuda(0)),
    ] {
        let case = sound(&format!("F10 NULL with {shape:?} on {device}")).dims(shape, None);
        let data = Data::Null;
        cases.push(wrong(Case { data, byte_offset, device, ..case }, Error::NullData));
    }
    // F11.
    for (code, bits, lanes) in [
        (ffi::kDLInt, 0, 1),
        (ffi::kDLInt, 32, 0),
        (ffi::kDLInt, 33, 1),
        (ffi::kDLUInt, 255, 1),
        (ffi::kDLFloat, 8, 1),
        (ffi::kDLBfloat, 32, 1),
        (ffi::kDLComplex, 16, 1),
        (ffi::kDLBool, 32, 1),
        (ffi::kDLFloat4_e2m1fn, 8, 1),
        (DLDataTypeCode(18), 8, 1),
        (DLDataTypeCode(255), 255, u16::MAX),
    ] {
        let dtype = DataType::new(code, bits, lanes);
        let case = Case { dtype, ..sound(&format!("F11 {dtype}")) };
        cases.push(wrong(case, Error::UnsupportedDType { dtype }));
    }
    cases
}

/// Structs that are odd and in order.
pub fn borderline() -> Vec<Case> {
    let case = sound;
    let numbers = |count: i32| Data::Bytes((0..count).flat_map(i32::to_ne_bytes).collect());
    let mut cases = vec![
        case("an ordinary one"),
        Case::new("F5 without dimensions, arrays NULL", &[]).with(|case| {
            (case.shape, case.strides) = (Array::Null, Array::Null);
        }),
        Case::new("F5 without dimensions, arrays nowhere", &[]).with(|case| {
            (case.shape, case.strides) = (Array::Nowhere, Array::Nowhere);
        }),
        Case::new("F4 64 dimensions", &[1; 64]),
        Case::new("F4 64 dimensions with strides", &[1; 64]).dims(&[1; 64], Some(&[i64::MIN; 64])),
        Case::new("F4 9 dimensions", &[1, 1, 1, 1, 1, 1, 1, 2, 3]),
        case("backwards").dims(&[6], Some(&[-1])).with(|case| case.byte_offset = 20),
        case("rows backwards").dims(&[2, 3], Some(&[-3, 1])).with(|case| case.byte_offset = 12),
        case("by columns").dims(&[3, 2], Some(&[1, 3])),
        case("every fifth").dims(&[2], Some(&[5])),
        case("a diagonal").dims(&[2, 2], Some(&[3, 2])),
        Case::new("one element, often", &[1]).dims(&[4, 5], Some(&[0, 0])),
        case("F8 strides that are never used").dims(&[1, 6, 1], Some(&[i64::MIN, 1, BIG])),
        case("an offset to the last").dims(&[], None).with(|case| case.byte_offset = 20),
        case("A12 unaligned by offset").dims(&[2, 2], None).with(|case| {
            case.data = Data::Bytes(vec![1; 17]);
            case.byte_offset = 1;
        }),
        case("A12 unaligned backwards").dims(&[4], Some(&[-1])).with(|case| {
            case.data = Data::Bytes(vec![2; 17]);
            case.byte_offset = 13;
        }),
        Case::new("F7 as many as can be, in one byte", &[1]).with(|case| {
            (case.shape, case.strides) = (Array::Of(vec![BIG]), Array::Of(vec![0]));
            (case.dtype, case.data) = (DataType::U8, Data::Bytes(vec![7]));
        }),
        case("A14 a byte that is no bool").dims(&[3], None).with(|case| {
            (case.dtype, case.data) = (DataType::BOOL, Data::Bytes(vec![0, 2, 1]));
        }),
        case("F11 packed elements").dims(&[5], None).with(|case| {
            (case.dtype, case.data) = (DataType::FLOAT4_E2M1FN, Data::Bytes(vec![0; 3]));
        }),
        case("F3 flags without a name").with(|case| {
            case.flags = Flags::from_bits(u64::MAX << 8);
            case.versioned_only = true;
        }),
        case("A3 read-only").with(|case| case.flags = Flags::READ_ONLY),
        case("A2 a copy").with(|case| case.flags = Flags::IS_COPIED),
        case("F2 a type of a later version").dims(&[2], None).with(|case| {
            (case.version, case.versioned_only) = (Version::new(1, 99), true);
            case.dtype = DataType::new(DLDataTypeCode(18), 12, 1);
            case.data = Data::Bytes(vec![0; 3]);
        }),
    ];
    // F5: NULL strides, in every minor version.
    for minor in [0, 1, 2, 3, u32::MAX] {
        cases.push(case(&format!("F5 NULL strides in 1.{minor}")).with(|case| {
            case.version = Version::new(1, minor);
        }));
    }
    // L6, F7: without elements, whatever else is said.
    for shape in [&[0][..], &[0, 3], &[BIG, 0, BIG], &[2, 0, 1, 1, 1, 1, 1, 1, 1, 1]] {
        for data in [Data::Null, Data::Nowhere] {
            for byte_offset in [0, u64::MAX] {
                let words = format!("L6 {shape:?} with {data:?} and {byte_offset}");
                let empty = Case { data: data.clone(), byte_offset, ..case(&words) };
                cases.push(empty.clone().dims(shape, None));
                cases.push(empty.dims(shape, Some(&vec![i64::MIN; shape.len()])));
            }
        }
    }
    // Every length of what is read, up to a page and beyond.
    for count in [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 1023, 1024, 1025] {
        let mut long = Case::new(&format!("{count} numbers"), &[i64::from(count)]);
        long.data = numbers(count);
        cases.push(long);
    }
    cases
}

/// F12: memory that the processor cannot read, and here indeed it cannot.
pub fn on_devices() -> Vec<Case> {
    let cuda = Device::cuda(1);
    let vulkan = Device::new(ffi::kDLVulkan, 0);
    let unknown = Device::new(DLDeviceType(77), -1);
    [cuda, Device::CUDA_MANAGED, vulkan, unknown]
        .into_iter()
        .map(|device| Case { device, data: Data::Nowhere, ..sound(&format!("F12 {device}")) })
        .collect()
}

impl Case {
    /// The same with a change.
    #[must_use]
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}
