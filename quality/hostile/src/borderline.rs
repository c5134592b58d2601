//! Unusual but valid structs: [`borderline`], [`on_devices`].

use tensors::ffi::{self, DLDataTypeCode, DLDeviceType};
use tensors::{DataType, Device, Flags, Version};

use crate::{Array, Case, Clause, Data};

const BIG: i64 = i64::MAX;

fn sound(words: &str) -> Case {
    Case::new(words, &[2, 3]).said()
}

/// Structs that are odd and in order.
pub fn borderline() -> Vec<Case> {
    let mut cases = vec![
        sound("an ordinary one"),
        sound("L4 NULL manager_ctx").of(Clause::Context).with(|case| case.has_context = false),
    ];
    cases.extend(dimensions());
    cases.extend(layouts());
    cases.extend(elements());
    cases.extend(flags_and_versions());
    cases.extend(nothing_in_them());
    // Every length of the elements, up to a page and beyond.
    for count in [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 1023, 1024, 1025] {
        let mut long = Case::new(&format!("{count} numbers"), &[i64::from(count)]).said();
        long.data = Data::Bytes((0..count).flat_map(i32::to_ne_bytes).collect());
        cases.push(long);
    }
    cases
}

/// Few and many of them.
fn dimensions() -> [Case; 5] {
    [
        Case::new("F5 without dimensions, arrays NULL", &[]).of(Clause::Shape).with(|case| {
            (case.shape, case.strides) = (Array::Null, Array::Null);
        }),
        Case::new("F5 without dimensions, arrays nowhere", &[]).of(Clause::Shape).may().with(
            |case| {
                (case.shape, case.strides) = (Array::Nowhere, Array::Nowhere);
            },
        ),
        Case::new("F4 64 dimensions", &[1; 64]).of(Clause::Ndim).may(),
        Case::new("F4 64 dimensions with strides", &[1; 64])
            .of(Clause::Strides)
            .may()
            .dims(&[1; 64], Some(&[i64::MIN; 64])),
        Case::new("F4 9 dimensions", &[1, 1, 1, 1, 1, 1, 1, 2, 3]).of(Clause::Ndim).may(),
    ]
}

/// Steps and offsets.
fn layouts() -> [Case; 12] {
    let case = |words| sound(words).of(Clause::Strides).may();
    let shifted = |words| sound(words).of(Clause::ByteOffset);
    [
        case("backwards").dims(&[6], Some(&[-1])).with(|case| case.byte_offset = 20),
        case("rows backwards").dims(&[2, 3], Some(&[-3, 1])).with(|case| case.byte_offset = 12),
        case("by columns").dims(&[3, 2], Some(&[1, 3])),
        case("every fifth").dims(&[2], Some(&[5])),
        case("a diagonal").dims(&[2, 2], Some(&[3, 2])),
        Case::new("one element, often", &[1])
            .of(Clause::Strides)
            .may()
            .dims(&[4, 5], Some(&[0, 0])),
        case("F8 strides that are never used").dims(&[1, 6, 1], Some(&[i64::MIN, 1, BIG])),
        shifted("an offset to the last").dims(&[], None).with(|case| case.byte_offset = 20),
        shifted("an offset to the second row")
            .dims(&[3], Some(&[1]))
            .with(|case| case.byte_offset = 12),
        shifted("A12 unaligned by offset").may().dims(&[2, 2], None).with(|case| {
            case.data = Data::Bytes(vec![1; 17]);
            case.byte_offset = 1;
        }),
        shifted("A12 unaligned backwards").may().dims(&[4], Some(&[-1])).with(|case| {
            case.data = Data::Bytes(vec![2; 17]);
            case.byte_offset = 13;
        }),
        Case::new("F7 as many as can be, in one byte", &[1]).of(Clause::Size).may().with(|case| {
            (case.shape, case.strides) = (Array::Of(vec![BIG]), Array::Of(vec![0]));
            (case.dtype, case.data) = (DataType::U8, Data::Bytes(vec![7]));
        }),
    ]
}

/// Types of elements.
fn elements() -> [Case; 4] {
    let case = |words| sound(words).of(Clause::DType).may();
    [
        case("bytes").dims(&[5], Some(&[1])).with(|case| {
            (case.dtype, case.data) = (DataType::U8, Data::Bytes(vec![1, 2, 3, 4, 5]));
        }),
        case("A14 a byte that is not a bool").dims(&[3], None).with(|case| {
            (case.dtype, case.data) = (DataType::BOOL, Data::Bytes(vec![0, 2, 1]));
        }),
        case("F11 packed elements").dims(&[5], None).with(|case| {
            (case.dtype, case.data) = (DataType::FLOAT4_E2M1FN, Data::Bytes(vec![0; 3]));
        }),
        case("F2 a type of a later version").dims(&[2], None).with(|case| {
            (case.version, case.versioned_only) = (Version::new(1, 99), true);
            case.dtype = DataType::new(DLDataTypeCode(99), 12, 1);
            case.data = Data::Bytes(vec![0; 3]);
        }),
    ]
}

/// Metadata that only the versioned struct has; and NULL strides in every minor version.
fn flags_and_versions() -> Vec<Case> {
    let flagged = |words, flags| Case { flags, ..sound(words).of(Clause::Flags) };
    let mut cases = vec![
        flagged("F3 flags without a name", Flags::from_bits(u64::MAX << 8)).may(),
        flagged("A3 read-only", Flags::READ_ONLY),
        flagged("A2 a copy", Flags::IS_COPIED),
        sound("F2 a later minor version").of(Clause::Version).with(|case| {
            case.version = Version::new(1, 99);
        }),
    ];
    for case in &mut cases {
        case.versioned_only = true;
    }
    for minor in [0, 1, 2, 3, u32::MAX] {
        let case = Case::new(&format!("F5 NULL strides in 1.{minor}"), &[2, 3]);
        let case = case.of(Clause::Strides).with(|case| case.version = Version::new(1, minor));
        // 1.2 forbids them; importers that accepted them before may continue.
        cases.push(if minor < 2 { case } else { case.may() });
    }
    cases
}

/// L6, F7: without elements, whatever the other fields are.
fn nothing_in_them() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in [&[0][..], &[0, 3], &[BIG, 0, BIG], &[2, 0, 1, 1, 1, 1, 1, 1, 1, 1]] {
        for data in [Data::Null, Data::Nowhere] {
            for byte_offset in [0, u64::MAX] {
                let place = if data == Data::Null { "NULL" } else { "nowhere" };
                let words = format!("L6 {shape:?} at {place} + {byte_offset:#x}");
                let empty = Case { data: data.clone(), byte_offset, ..sound(&words) };
                let compact = empty.dims(shape, None).said();
                let strange = Case { words: format!("{words}, odd strides"), ..compact.clone() };
                let strange = strange.dims(shape, Some(&vec![i64::MIN; shape.len()])).may();
                let ordinary = byte_offset == 0 && shape.len() < 3;
                cases.push(if ordinary { compact } else { compact.may() });
                cases.push(strange);
            }
        }
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
        .map(|device| {
            let case = sound(&format!("F12 {device}")).of(Clause::Device).may();
            Case { device, data: Data::Nowhere, ..case }
        })
        .collect()
}
