//! The sizes, offsets and constants of `ffi`, in the format of `probe.c`: [`of_ffi`].

use core::ffi::{c_char, c_int, c_void};
use core::mem::offset_of;
use std::collections::BTreeMap;

use tensors::ffi::{
    self, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned, DLPackExchangeAPI,
    DLPackExchangeAPIHeader, DLPackVersion, DLTensor,
};

/// Numbers by kind and name.
pub(crate) type Facts = BTreeMap<String, i64>;

fn width_of<S, F>(_: impl FnOnce(&S) -> &F) -> usize {
    size_of::<F>()
}

/// The facts that `probe.c` prints, as Rust sees them.
pub(crate) fn of_ffi() -> Facts {
    let mut facts = Facts::new();
    let mut note = |kind: &str, name: &str, number: i64| {
        let before = facts.insert(format!("{kind} {name}"), number);
        assert_eq!(before, None, "{kind} {name} is noted twice");
    };
    macro_rules! constants {
        ($($name:ident $(. $field:tt)?),+ $(,)?) => {
            $(note("constant", stringify!($name), i64::try_from(ffi::$name $(. $field)?).unwrap());)+
        };
    }
    macro_rules! types {
        ($($type:ident { $($field:ident),* $(,)? })+) => {$(
            note("size", stringify!($type), i64::try_from(size_of::<ffi::$type>()).unwrap());
            note("align", stringify!($type), i64::try_from(align_of::<ffi::$type>()).unwrap());
            $(
                let name = concat!(stringify!($type), ".", stringify!($field));
                note("offset", name, i64::try_from(offset_of!(ffi::$type, $field)).unwrap());
                let width = width_of(|whole: &ffi::$type| &whole.$field);
                note("width", name, i64::try_from(width).unwrap());
            )*
        )+};
    }
    constants! {
        DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION,
        DLPACK_FLAG_BITMASK_READ_ONLY, DLPACK_FLAG_BITMASK_IS_COPIED,
        DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
        kDLCPU.0, kDLCUDA.0, kDLCUDAHost.0, kDLOpenCL.0, kDLVulkan.0, kDLMetal.0, kDLVPI.0,
        kDLROCM.0, kDLROCMHost.0, kDLExtDev.0, kDLCUDAManaged.0, kDLOneAPI.0, kDLWebGPU.0,
        kDLHexagon.0, kDLMAIA.0, kDLTrn.0,
        kDLInt.0, kDLUInt.0, kDLFloat.0, kDLOpaqueHandle.0, kDLBfloat.0, kDLComplex.0, kDLBool.0,
        kDLFloat8_e3m4.0, kDLFloat8_e4m3.0, kDLFloat8_e4m3b11fnuz.0, kDLFloat8_e4m3fn.0,
        kDLFloat8_e4m3fnuz.0, kDLFloat8_e5m2.0, kDLFloat8_e5m2fnuz.0, kDLFloat8_e8m0fnu.0,
        kDLFloat6_e2m3fn.0, kDLFloat6_e3m2fn.0, kDLFloat4_e2m1fn.0,
    }
    types! {
        DLPackVersion { major, minor }
        DLDeviceType {}
        DLDevice { device_type, device_id }
        DLDataType { code, bits, lanes }
        DLTensor { data, device, ndim, dtype, shape, strides, byte_offset }
        DLManagedTensor { dl_tensor, manager_ctx, deleter }
        DLManagedTensorVersioned { version, manager_ctx, deleter, flags, dl_tensor }
        DLPackManagedTensorAllocator {}
        DLPackManagedTensorFromPyObjectNoSync {}
        DLPackDLTensorFromPyObjectNoSync {}
        DLPackCurrentWorkStream {}
        DLPackManagedTensorToPyObjectNoSync {}
        DLPackExchangeAPIHeader { version, prev_api }
        DLPackExchangeAPI {
            header, managed_tensor_allocator, managed_tensor_from_py_object_no_sync,
            managed_tensor_to_py_object_no_sync, dltensor_from_py_object_no_sync,
            current_work_stream,
        }
    }
    facts
}

type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);
type Out = *mut *mut DLManagedTensorVersioned;
type Object = *mut c_void;

/// Takes the struct apart into the types that the header writes. The signatures
/// here are those of `probe.c`, which the C compiler holds against the header.
#[expect(dead_code, reason = "compiling is the test")]
pub(crate) fn signatures(
    api: DLPackExchangeAPI,
    tensor: DLTensor,
    legacy: DLManagedTensor,
    versioned: DLManagedTensorVersioned,
) {
    let _: Option<unsafe extern "C" fn(*mut DLTensor, Out, Object, Option<SetError>) -> c_int> =
        api.managed_tensor_allocator;
    let _: Option<unsafe extern "C" fn(Object, Out) -> c_int> =
        api.managed_tensor_from_py_object_no_sync;
    let _: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut Object) -> c_int> =
        api.managed_tensor_to_py_object_no_sync;
    let _: Option<unsafe extern "C" fn(Object, *mut DLTensor) -> c_int> =
        api.dltensor_from_py_object_no_sync;
    let _: Option<unsafe extern "C" fn(DLDeviceType, i32, *mut Object) -> c_int> =
        api.current_work_stream;
    let _: (DLPackVersion, *mut DLPackExchangeAPIHeader) =
        (api.header.version, api.header.prev_api);
    let _: Option<unsafe extern "C" fn(*mut DLManagedTensor)> = legacy.deleter;
    let _: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)> = versioned.deleter;
    let _: (*mut c_void, *mut c_void, u64) =
        (legacy.manager_ctx, versioned.manager_ctx, versioned.flags);
    let DLTensor { data, device, ndim, dtype, shape, strides, byte_offset } = tensor;
    let _: (*mut c_void, DLDevice, i32, *mut i64, *mut i64, u64) =
        (data, device, ndim, shape, strides, byte_offset);
    let _: (DLDeviceType, i32) = (device.device_type, device.device_id);
    let _: (u8, u8, u16) = (dtype.code.0, dtype.bits, dtype.lanes);
}
