//! Structs that every importer must reject: [`malformed`], [`other_majors`].

use tensors::ffi::{self, DLDataTypeCode, DLDeviceType};
use tensors::{DataType, Device, Error, Version};

use crate::{Array, Case, Clause, Data, Duty};

const BIG: i64 = i64::MAX;

fn sound(words: &str) -> Case {
    Case::new(words, &[2, 3])
}

fn wrong(case: Case, clause: Clause, error: Error) -> Case {
    // An importer that reads an element of a rejected struct reads inaccessible memory.
    let data = if case.data == Data::Null { Data::Null } else { Data::Nowhere };
    Case { data, clause, error: Some(error), duty: Duty::Refuse, ..case }
}

/// Structs that cannot be: the error is the case's, the deleter is called once.
pub fn malformed() -> Vec<Case> {
    let mut cases = Vec::new();
    // F4, before an array is read: there is none.
    for ndim in [-1, i32::MIN, 65, 1 << 20, i32::MAX] {
        let error = usize::try_from(ndim)
            .map_or(Error::NegativeRank { ndim }, |ndim| Error::TooManyDims { ndim });
        for (shape, strides) in [(Array::Nowhere, Array::Nowhere), (Array::Null, Array::Nowhere)] {
            let place = if shape == Array::Null { "NULL" } else { "nowhere" };
            let case = sound(&format!("F4 ndim {ndim}, shape {place}"));
            // Without a limit on the rank, an importer cannot tell that the array is too
            // short.
            let lies = ndim > 0 && shape == Array::Nowhere;
            let case = wrong(Case { ndim, shape, strides, ..case }, Clause::Ndim, error);
            cases.push(if lies { Case { duty: Duty::Undefined, ..case } } else { case });
        }
    }
    // F5. The strides are no longer read.
    for ndim in [1, 2, 64] {
        let case = sound(&format!("F5 NULL shape of {ndim}"));
        let (shape, strides) = (Array::Null, Array::Nowhere);
        let error = Error::NullShape { ndim: usize::try_from(ndim).unwrap_or(0) };
        cases.push(wrong(Case { ndim, shape, strides, ..case }, Clause::Shape, error));
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
        let case = sound(&format!("F6 shape {shape:?}")).dims(shape, None);
        cases.push(wrong(case, Clause::Shape, error));
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
        let words = match strides {
            Some(strides) => format!("F8 shape {shape:?}, strides {strides:?}"),
            None => format!("F7 shape {shape:?}"),
        };
        let clause = if strides.is_some() { Clause::Strides } else { Clause::Size };
        let case = sound(&words).dims(shape, strides);
        let case = wrong(case, clause, Error::SizeOverflow);
        // All of them at one place: too many to count, and no memory but one element.
        let one_place = strides.is_some_and(|strides| strides.iter().all(|&by| by == 0));
        cases.push(if one_place { case.may() } else { case });
    }
    // F9.
    let largest = BIG.unsigned_abs();
    for byte_offset in [u64::MAX, u64::MAX - 4, u64::MAX - 23, largest + 1, largest - 23] {
        let case = sound(&format!("F9 byte_offset {byte_offset:#x}"));
        cases.push(wrong(Case { byte_offset, ..case }, Clause::ByteOffset, Error::SizeOverflow));
    }
    // F10.
    for (shape, byte_offset, device) in [
        (&[2, 3][..], 0, Device::CPU),
        (&[2, 3], 64, Device::CPU),
        (&[], 0, Device::CPU),
        (&[1], 0, Device::CUDA_HOST),
        (&[1], 0, Device::cuda(0)),
    ] {
        let case = sound(&format!("F10 data NULL + {byte_offset}, shape {shape:?}, {device}"));
        let case = case.dims(shape, None);
        let data = Data::Null;
        let case = Case { data, byte_offset, device, ..case };
        cases.push(wrong(case, Clause::Data, Error::NullData));
    }
    // F10: the second element is at address 0.
    let case = sound("F10 elements down to address 0").dims(&[2], Some(&[-1]));
    let case = wrong(case, Clause::Data, Error::SizeOverflow);
    cases.push(Case { data: Data::At(4), ..case });
    cases.extend(element_types());
    cases.extend(device_types());
    cases
}

/// F11.
fn element_types() -> Vec<Case> {
    let mut cases = Vec::new();
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
        (ffi::kDLBcomplex, 64, 1),
        (DLDataTypeCode(99), 8, 1),
        (DLDataTypeCode(255), 255, u16::MAX),
    ] {
        let dtype = DataType::new(code, bits, lanes);
        let words = format!("F11 dtype ({}, {bits}, {lanes})", code.0);
        let case = Case { dtype, ..sound(&words) };
        let case = wrong(case, Clause::DType, Error::UnsupportedDType { dtype });
        // Unusual widths are allowed; elements without a size are not, and for small
        // floats the header requires an error.
        let forbidden = bits == 0 || lanes == 0 || code == ffi::kDLFloat4_e2m1fn;
        cases.push(if forbidden { case } else { case.may() });
    }
    cases
}

/// F15.
fn device_types() -> [Case; 3] {
    [0, -1, i32::MIN].map(|code| {
        let device = Device::new(DLDeviceType(code), 0);
        let case = Case { device, ..sound(&format!("F15 device type {code}")) };
        wrong(case, Clause::Device, Error::NoSuchDevice { device })
    })
}

/// F1: structs of other major versions, to be built by
/// [`Case::build_head`]: behind the deleter there is nothing.
pub fn other_majors() -> Vec<Case> {
    [(0, 0), (0, 8), (2, 0), (3, 1), (u32::MAX, u32::MAX)]
        .into_iter()
        .map(|(major, minor)| {
            let version = Version::new(major, minor);
            let case = Case::new(&format!("F1 version {version}"), &[1]);
            let case = Case { version, versioned_only: true, ..case };
            wrong(case, Clause::Version, Error::VersionUnsupported { found: version })
        })
        .collect()
}
