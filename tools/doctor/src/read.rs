//! The fields of capsules and their structs.

use core::mem::{offset_of, size_of};
use std::ffi::CStr;

use dlpack_traits::ffi::{
    DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned,
    DLPackVersion, DLTensor,
};
use dlpack_traits::{DataType, Device, MAX_NDIM};
use pyo3::ffi as py_ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::report::{Array, CapsuleFacts, DeviceFacts, TensorFacts};
use crate::{dims, memory, place};

/// The name of a capsule with the legacy struct.
pub(crate) const LEGACY: &str = "dltensor";
/// The name of a capsule with the versioned struct.
pub(crate) const VERSIONED: &str = "dltensor_versioned";

/// The bytes of a struct that was read.
#[derive(Debug)]
pub(crate) struct Bytes(Vec<u8>);

impl Bytes {
    /// A struct of that size, from an address.
    pub(crate) fn read(address: u64, size: usize) -> Option<Self> {
        memory::read(address, size).map(Self)
    }

    fn at<const N: usize>(&self, offset: usize) -> [u8; N] {
        let field = self.0.get(offset..).and_then(|rest| rest.first_chunk::<N>());
        field.copied().unwrap_or([0; N])
    }

    pub(crate) fn u32(&self, offset: usize) -> u32 {
        u32::from_ne_bytes(self.at(offset))
    }

    fn i32(&self, offset: usize) -> i32 {
        i32::from_ne_bytes(self.at(offset))
    }

    fn u64(&self, offset: usize) -> u64 {
        u64::from_ne_bytes(self.at(offset))
    }

    /// The pointer at an offset, as a number.
    pub(crate) fn pointer(&self, offset: usize) -> u64 {
        usize::from_ne_bytes(self.at(offset)) as u64
    }
}

/// Reads the struct in a capsule without consuming it.
pub(crate) fn capsule(capsule: &Bound<'_, PyCapsule>) -> CapsuleFacts {
    let object = capsule.as_ptr();
    // SAFETY: this thread is attached, and the object is a living capsule.
    let name = unsafe { py_ffi::PyCapsule_GetName(object) };
    // SAFETY: as above.
    let destructor = unsafe { py_ffi::PyCapsule_GetDestructor(object) };
    // SAFETY: as above, and `name` is the name that the capsule has.
    let pointer = unsafe { py_ffi::PyCapsule_GetPointer(object, name) };
    let name = (!name.is_null()).then(|| {
        // SAFETY: the name of a capsule is a C string that outlives it.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    });
    let address = pointer.expose_provenance() as u64;
    CapsuleFacts {
        tensor: match name.as_deref() {
            Some(LEGACY) => legacy(address),
            Some(VERSIONED) => versioned(address),
            _ => None,
        },
        name,
        destructor: destructor.map(|function| place::of(function as usize as u64)),
        accepted: None,
    }
}

fn legacy(address: u64) -> Option<TensorFacts> {
    let bytes = Bytes::read(address, size_of::<DLManagedTensor>())?;
    let mut tensor = tensor(&bytes, offset_of!(DLManagedTensor, dl_tensor));
    tensor.manager_ctx = bytes.pointer(offset_of!(DLManagedTensor, manager_ctx));
    tensor.deleter = function(bytes.pointer(offset_of!(DLManagedTensor, deleter)));
    Some(tensor)
}

fn versioned(address: u64) -> Option<TensorFacts> {
    let bytes = Bytes::read(address, size_of::<DLManagedTensorVersioned>())?;
    let mut tensor = tensor(&bytes, offset_of!(DLManagedTensorVersioned, dl_tensor));
    tensor.version = Some(version(&bytes, offset_of!(DLManagedTensorVersioned, version)));
    tensor.manager_ctx = bytes.pointer(offset_of!(DLManagedTensorVersioned, manager_ctx));
    tensor.deleter = function(bytes.pointer(offset_of!(DLManagedTensorVersioned, deleter)));
    tensor.flags = bytes.u64(offset_of!(DLManagedTensorVersioned, flags));
    // The flags decide the size of sub-byte elements.
    tensor.layout = dims::facts(&tensor, dtype_of(&tensor), device_of(&tensor));
    Some(tensor)
}

/// A version, major first.
pub(crate) fn version(bytes: &Bytes, offset: usize) -> (u32, u32) {
    (
        bytes.u32(offset + offset_of!(DLPackVersion, major)),
        bytes.u32(offset + offset_of!(DLPackVersion, minor)),
    )
}

fn function(address: u64) -> Option<crate::report::Place> {
    (address != 0).then(|| place::of(address))
}

fn tensor(bytes: &Bytes, start: usize) -> TensorFacts {
    let device = start + offset_of!(DLTensor, device);
    let dtype = start + offset_of!(DLTensor, dtype);
    let ndim = bytes.i32(start + offset_of!(DLTensor, ndim));
    let device = Device::new(
        DLDeviceType(bytes.i32(device + offset_of!(DLDevice, device_type))),
        bytes.i32(device + offset_of!(DLDevice, device_id)),
    );
    let [code] = bytes.at(dtype + offset_of!(DLDataType, code));
    let [bits] = bytes.at(dtype + offset_of!(DLDataType, bits));
    let lanes = u16::from_ne_bytes(bytes.at(dtype + offset_of!(DLDataType, lanes)));
    let dtype = DataType::new(DLDataTypeCode(code), bits, lanes);
    let mut tensor = TensorFacts {
        version: None,
        flags: 0,
        manager_ctx: 0,
        deleter: None,
        data: bytes.pointer(start + offset_of!(DLTensor, data)),
        device: device_facts(device),
        ndim,
        dtype: (code, bits, lanes),
        dtype_name: dtype.to_string(),
        shape: array(bytes.pointer(start + offset_of!(DLTensor, shape)), ndim),
        strides: array(bytes.pointer(start + offset_of!(DLTensor, strides)), ndim),
        byte_offset: bytes.u64(start + offset_of!(DLTensor, byte_offset)),
        layout: None,
    };
    tensor.layout = dims::facts(&tensor, dtype, device);
    tensor
}

/// A device, and its name.
pub(crate) fn device_facts(device: Device) -> DeviceFacts {
    DeviceFacts {
        device_type: device.device_type().0,
        device_id: device.device_id(),
        name: device.to_string(),
    }
}

pub(crate) fn device_of(tensor: &TensorFacts) -> Device {
    Device::new(DLDeviceType(tensor.device.device_type), tensor.device.device_id)
}

pub(crate) fn dtype_of(tensor: &TensorFacts) -> DataType {
    let (code, bits, lanes) = tensor.dtype;
    DataType::new(DLDataTypeCode(code), bits, lanes)
}

fn array(address: u64, ndim: i32) -> Array {
    match usize::try_from(ndim) {
        // Without dimensions no consumer reads it.
        Ok(0) => Array::Values(Vec::new()),
        _ if address == 0 => Array::Null,
        Ok(ndim) if ndim <= MAX_NDIM => match memory::read(address, ndim * size_of::<i64>()) {
            None => Array::Unreadable,
            Some(bytes) => Array::Values(
                bytes
                    .chunks_exact(size_of::<i64>())
                    .map(|one| i64::from_ne_bytes(one.try_into().unwrap_or_default()))
                    .collect(),
            ),
        },
        _ => Array::Uncounted,
    }
}
