//! The C header `dlpack.h` 1.3, with its own names in its own order.
//!
//! This module has no logic. Codes that other libraries write into memory
//! ([`DLDeviceType`], [`DLDataTypeCode`]) are transparent integers with named constants: a
//! Rust `enum` with a value that has no variant is undefined behaviour, and later minor
//! versions of the standard add codes.
//!
//! The sizes, alignments and offsets of every struct are asserted at compile time below,
//! and a test of this repository compares them with the original header through a C
//! compiler.

#![expect(non_upper_case_globals, reason = "C names stay verbatim")]
#![allow(non_snake_case, reason = "C names stay verbatim; not every compiler minds this one")]

use core::ffi::{c_char, c_int, c_void};
use core::mem::{align_of, offset_of, size_of};

/// Major version of the header that this module mirrors.
pub const DLPACK_MAJOR_VERSION: u32 = 1;
/// Minor version of the header that this module mirrors.
pub const DLPACK_MINOR_VERSION: u32 = 3;

/// Version of the ABI (`major`) and of the set of codes (`minor`).
///
/// A consumer of a struct with another `major` may only call its deleter.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DLPackVersion {
    /// Changes when the layout of [`DLManagedTensorVersioned`] changes.
    pub major: u32,
    /// Changes when codes are added.
    pub minor: u32,
}

/// Device type (a C `enum` of 32 bits).
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DLDeviceType(pub i32);

/// Host memory.
pub const kDLCPU: DLDeviceType = DLDeviceType(1);
/// CUDA device memory.
pub const kDLCUDA: DLDeviceType = DLDeviceType(2);
/// Host memory pinned by CUDA.
pub const kDLCUDAHost: DLDeviceType = DLDeviceType(3);
/// OpenCL; `data` is a `cl_mem`.
pub const kDLOpenCL: DLDeviceType = DLDeviceType(4);
/// Vulkan buffer.
pub const kDLVulkan: DLDeviceType = DLDeviceType(7);
/// Metal; `data` is the buffer object (`id<MTLBuffer>`), a handle, as the main branch of the header
/// states, and `byte_offset` counts from the start of the buffer.
pub const kDLMetal: DLDeviceType = DLDeviceType(8);
/// Verilog simulator buffer.
pub const kDLVPI: DLDeviceType = DLDeviceType(9);
/// ROCm device memory.
pub const kDLROCM: DLDeviceType = DLDeviceType(10);
/// Host memory pinned by ROCm.
pub const kDLROCMHost: DLDeviceType = DLDeviceType(11);
/// Reserved for devices under test.
pub const kDLExtDev: DLDeviceType = DLDeviceType(12);
/// CUDA managed (unified) memory.
pub const kDLCUDAManaged: DLDeviceType = DLDeviceType(13);
/// SYCL unified shared memory.
pub const kDLOneAPI: DLDeviceType = DLDeviceType(14);
/// WebGPU buffer.
pub const kDLWebGPU: DLDeviceType = DLDeviceType(15);
/// Qualcomm Hexagon.
pub const kDLHexagon: DLDeviceType = DLDeviceType(16);
/// Microsoft MAIA.
pub const kDLMAIA: DLDeviceType = DLDeviceType(17);
/// AWS Trainium.
pub const kDLTrn: DLDeviceType = DLDeviceType(18);
/// Google TPU. Provisional: the main branch of the header has it, no release.
pub const kDLTPU: DLDeviceType = DLDeviceType(19);
/// Host memory pinned by the TPU runtime. Provisional: the main branch of the header has it, no
/// release; JAX 0.12 uses the same number.
pub const kDLTPUHost: DLDeviceType = DLDeviceType(20);
/// Huawei Ascend. Provisional: the main branch of the header has it, no release.
pub const kDLAscend: DLDeviceType = DLDeviceType(21);

/// A device: its type and its index.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DLDevice {
    /// Device type.
    pub device_type: DLDeviceType,
    /// Index among devices of that type; 0 for host, pinned and managed memory.
    pub device_id: i32,
}

/// Type code of an element type.
///
/// The C `enum` is as wide as an `int`, but it is stored only in [`DLDataType::code`],
/// which has 8 bits; this type is that field.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DLDataTypeCode(pub u8);

/// Signed integer.
pub const kDLInt: DLDataTypeCode = DLDataTypeCode(0);
/// Unsigned integer.
pub const kDLUInt: DLDataTypeCode = DLDataTypeCode(1);
/// IEEE floating point.
pub const kDLFloat: DLDataTypeCode = DLDataTypeCode(2);
/// Opaque handle, for tests between frameworks that agree on its meaning.
pub const kDLOpaqueHandle: DLDataTypeCode = DLDataTypeCode(3);
/// Brain floating point.
pub const kDLBfloat: DLDataTypeCode = DLDataTypeCode(4);
/// Complex number: real part, then imaginary part.
pub const kDLComplex: DLDataTypeCode = DLDataTypeCode(5);
/// Truth value.
pub const kDLBool: DLDataTypeCode = DLDataTypeCode(6);
/// 8-bit float, 3 exponent and 4 mantissa bits.
pub const kDLFloat8_e3m4: DLDataTypeCode = DLDataTypeCode(7);
/// 8-bit float, 4 exponent and 3 mantissa bits.
pub const kDLFloat8_e4m3: DLDataTypeCode = DLDataTypeCode(8);
/// 8-bit float, e4m3, bias 11, finite, one NaN, no negative zero.
pub const kDLFloat8_e4m3b11fnuz: DLDataTypeCode = DLDataTypeCode(9);
/// 8-bit float, e4m3, finite.
pub const kDLFloat8_e4m3fn: DLDataTypeCode = DLDataTypeCode(10);
/// 8-bit float, e4m3, finite, one NaN, no negative zero.
pub const kDLFloat8_e4m3fnuz: DLDataTypeCode = DLDataTypeCode(11);
/// 8-bit float, 5 exponent and 2 mantissa bits.
pub const kDLFloat8_e5m2: DLDataTypeCode = DLDataTypeCode(12);
/// 8-bit float, e5m2, finite, one NaN, no negative zero.
pub const kDLFloat8_e5m2fnuz: DLDataTypeCode = DLDataTypeCode(13);
/// 8-bit power of two, unsigned.
pub const kDLFloat8_e8m0fnu: DLDataTypeCode = DLDataTypeCode(14);
/// 6-bit float, 2 exponent and 3 mantissa bits.
pub const kDLFloat6_e2m3fn: DLDataTypeCode = DLDataTypeCode(15);
/// 6-bit float, 3 exponent and 2 mantissa bits.
pub const kDLFloat6_e3m2fn: DLDataTypeCode = DLDataTypeCode(16);
/// 4-bit float, 2 exponent and 1 mantissa bit.
pub const kDLFloat4_e2m1fn: DLDataTypeCode = DLDataTypeCode(17);
/// Complex number with parts of type bfloat16. It was added to the header after version 1.3;
/// nanobind 3.1 uses the same number.
pub const kDLBcomplex: DLDataTypeCode = DLDataTypeCode(18);

/// Element type: type code, width of one lane in bits, number of lanes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DLDataType {
    /// Type code.
    pub code: DLDataTypeCode,
    /// Bits of one lane.
    pub bits: u8,
    /// Lanes of one element; 1 for scalars.
    pub lanes: u16,
}

/// A tensor without an owner (a borrowed view).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// Address, or an opaque handle on devices without addresses.
    pub data: *mut c_void,
    /// Device of the memory.
    pub device: DLDevice,
    /// Number of dimensions.
    pub ndim: i32,
    /// Element type.
    pub dtype: DLDataType,
    /// `ndim` extents, in elements. May be NULL if `ndim` is 0.
    pub shape: *mut i64,
    /// `ndim` strides, in elements. May be NULL for contiguous tensors before version 1.2
    /// only.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// A managed tensor of before 1.0 ("legacy"): it has no version and no flags.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// Private data of the producer; may be NULL.
    pub manager_ctx: *mut c_void,
    /// Releases the tensor and this struct; NULL if there is nothing to release.
    pub deleter: Option<unsafe extern "C" fn(self_: *mut DLManagedTensor)>,
}

/// The consumer must not write.
pub const DLPACK_FLAG_BITMASK_READ_ONLY: u64 = 1 << 0;
/// The producer made a copy that only the consumer owns until the deleter runs.
pub const DLPACK_FLAG_BITMASK_IS_COPIED: u64 = 1 << 1;
/// Elements narrower than a byte are padded to one byte each instead of being packed.
pub const DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED: u64 = 1 << 2;

/// A managed tensor: an owned tensor with a version and flags.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLManagedTensorVersioned {
    /// Version of this struct. The layout of the fields up to `flags` never changes.
    pub version: DLPackVersion,
    /// Private data of the producer; may be NULL.
    pub manager_ctx: *mut c_void,
    /// Releases the tensor and this struct; NULL if there is nothing to release.
    pub deleter: Option<unsafe extern "C" fn(self_: *mut DLManagedTensorVersioned)>,
    /// Union of the `DLPACK_FLAG_BITMASK_*` constants.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

/// Reports an error of [`DLPackManagedTensorAllocator`]: context, kind, message.
///
/// The header declares this type inline, without a name.
pub type SetError = Option<
    unsafe extern "C" fn(error_ctx: *mut c_void, kind: *const c_char, message: *const c_char),
>;

/// Allocates a tensor in the producer's framework with the `dtype`, `ndim`, `shape` and
/// `device` of a prototype. Returns 0 on success; otherwise `SetError` was called once. No one
/// writes the prototype or its shape during the call.
pub type DLPackManagedTensorAllocator = Option<
    unsafe extern "C" fn(
        prototype: *mut DLTensor,
        out: *mut *mut DLManagedTensorVersioned,
        error_ctx: *mut c_void,
        SetError: SetError,
    ) -> c_int,
>;

/// Exports an object of the framework as an owned tensor, without synchronization. Returns
/// 0 on success; otherwise an exception is pending.
pub type DLPackManagedTensorFromPyObjectNoSync = Option<
    unsafe extern "C" fn(py_object: *mut c_void, out: *mut *mut DLManagedTensorVersioned) -> c_int,
>;

/// Fills a borrowed tensor from an object of the framework, without synchronization.
/// Returns 0 on success; otherwise an exception is pending.
pub type DLPackDLTensorFromPyObjectNoSync =
    Option<unsafe extern "C" fn(py_object: *mut c_void, out: *mut DLTensor) -> c_int>;

/// Returns the stream on which the framework currently launches work; NULL on the CPU.
/// Returns 0 on success; otherwise an exception is pending.
pub type DLPackCurrentWorkStream = Option<
    unsafe extern "C" fn(
        device_type: DLDeviceType,
        device_id: i32,
        out_current_stream: *mut *mut c_void,
    ) -> c_int,
>;

/// Converts an owned tensor, whose reference is stolen, to an object of the framework,
/// without synchronization. Returns 0 on success; otherwise an exception is pending.
pub type DLPackManagedTensorToPyObjectNoSync = Option<
    unsafe extern "C" fn(
        tensor: *mut DLManagedTensorVersioned,
        out_py_object: *mut *mut c_void,
    ) -> c_int,
>;

/// The part of the exchange table whose layout never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLPackExchangeAPIHeader {
    /// Version of the table; check `major` before reading the fields after the header.
    pub version: DLPackVersion,
    /// An older table of the same framework, or NULL.
    pub prev_api: *mut DLPackExchangeAPIHeader,
}

/// The DLPack C exchange API of a type, published as `__dlpack_c_exchange_api__`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLPackExchangeAPI {
    /// The stable header.
    pub header: DLPackExchangeAPIHeader,
    /// Must not be NULL.
    pub managed_tensor_allocator: DLPackManagedTensorAllocator,
    /// Must not be NULL.
    pub managed_tensor_from_py_object_no_sync: DLPackManagedTensorFromPyObjectNoSync,
    /// Must not be NULL.
    pub managed_tensor_to_py_object_no_sync: DLPackManagedTensorToPyObjectNoSync,
    /// NULL if the framework has no borrowed exports.
    pub dltensor_from_py_object_no_sync: DLPackDLTensorFromPyObjectNoSync,
    /// Must not be NULL.
    pub current_work_stream: DLPackCurrentWorkStream,
}

/// Asserts the layout of one struct: size, alignment, and the offset of every field.
macro_rules! assert_layout {
    ($type:ident: $size:expr, $align:expr; $($field:ident $offset:expr),+ $(,)?) => {
        const _: () = {
            assert!(size_of::<$type>() == $size);
            assert!(align_of::<$type>() == $align);
            $(assert!(offset_of!($type, $field) == $offset);)+
        };
    };
}

assert_layout!(DLPackVersion: 8, 4; major 0, minor 4);
assert_layout!(DLDevice: 8, 4; device_type 0, device_id 4);
assert_layout!(DLDataType: 4, 2; code 0, bits 1, lanes 2);

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert_layout!(DLTensor: 48, 8;
        data 0, device 8, ndim 16, dtype 20, shape 24, strides 32, byte_offset 40);
    assert_layout!(DLManagedTensor: 64, 8; dl_tensor 0, manager_ctx 48, deleter 56);
    assert_layout!(DLManagedTensorVersioned: 80, 8;
        version 0, manager_ctx 8, deleter 16, flags 24, dl_tensor 32);
    assert_layout!(DLPackExchangeAPIHeader: 16, 8; version 0, prev_api 8);
    assert_layout!(DLPackExchangeAPI: 56, 8;
        header 0,
        managed_tensor_allocator 16,
        managed_tensor_from_py_object_no_sync 24,
        managed_tensor_to_py_object_no_sync 32,
        dltensor_from_py_object_no_sync 40,
        current_work_stream 48);
};
