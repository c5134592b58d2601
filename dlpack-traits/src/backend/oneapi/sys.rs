//! The functions of DPCTL's C interface: [`Calls`].

#![expect(ffi_unwind_calls, reason = "an exception that leaves one of them ends the process")]

use core::ffi::c_int;

use crate::backend::library::{Object, Ref, calls};

/// An owned object of SYCL: a reference counted handle.
pub(super) type SyclObject = Object<Calls>;

calls! {
    /// The functions that this crate calls.
    extern "C-unwind" Calls {
        object device_mgr_get_devices(identifier: c_int):
            "DPCTLDeviceMgr_GetDevices" => device_vector_delete;
        object device_vector_get_at(devices: Ref, index: usize):
            "DPCTLDeviceVector_GetAt" => device_delete;
        object device_get_platform(device: Ref): "DPCTLDevice_GetPlatform" => platform_delete;
        object device_get_parent_device(device: Ref):
            "DPCTLDevice_GetParentDevice" => device_delete;
        object platform_get_default_context(platform: Ref):
            "DPCTLPlatform_GetDefaultContext" => context_delete;
        object queue_create(context: Ref, device: Ref, handler: Ref, properties: c_int):
            "DPCTLQueue_Create" => queue_delete;
        object queue_copy(queue: Ref): "DPCTLQueue_Copy" => queue_delete;
        object queue_get_context(queue: Ref): "DPCTLQueue_GetContext" => context_delete;
        object queue_get_device(queue: Ref): "DPCTLQueue_GetDevice" => device_delete;
        object queue_memset(queue: Ref, data: Ref, byte: u8, count: usize):
            "DPCTLQueue_Memset" => event_delete;
        object queue_memcpy(queue: Ref, to: Ref, from: Ref, count: usize):
            "DPCTLQueue_Memcpy" => event_delete;
        object queue_submit_barrier(queue: Ref): "DPCTLQueue_SubmitBarrier" => event_delete;
        object queue_submit_barrier_for_events(queue: Ref, events: *const Ref, count: usize):
            "DPCTLQueue_SubmitBarrierForEvents" => event_delete;
        object usm_get_pointer_device(data: Ref, context: Ref):
            "DPCTLUSM_GetPointerDevice" => device_delete;
        value device_vector_size(devices: Ref) -> usize: "DPCTLDeviceVector_Size";
        value device_vector_delete(devices: Ref): "DPCTLDeviceVector_Delete";
        value device_are_eq(one: Ref, other: Ref) -> bool: "DPCTLDevice_AreEq";
        value device_has_aspect(device: Ref, aspect: c_int) -> bool: "DPCTLDevice_HasAspect";
        value device_delete(device: Ref): "DPCTLDevice_Delete";
        value platform_delete(platform: Ref): "DPCTLPlatform_Delete";
        value context_are_eq(one: Ref, other: Ref) -> bool: "DPCTLContext_AreEq";
        value context_delete(context: Ref): "DPCTLContext_Delete";
        value queue_are_eq(one: Ref, other: Ref) -> bool: "DPCTLQueue_AreEq";
        value queue_is_in_order(queue: Ref) -> bool: "DPCTLQueue_IsInOrder";
        value queue_wait(queue: Ref): "DPCTLQueue_Wait";
        value queue_delete(queue: Ref): "DPCTLQueue_Delete";
        value event_wait(event: Ref): "DPCTLEvent_Wait";
        value event_delete(event: Ref): "DPCTLEvent_Delete";
        value aligned_alloc_device(align: usize, count: usize, queue: Ref) -> Ref:
            "DPCTLaligned_alloc_device";
        value aligned_alloc_shared(align: usize, count: usize, queue: Ref) -> Ref:
            "DPCTLaligned_alloc_shared";
        value aligned_alloc_host(align: usize, count: usize, queue: Ref) -> Ref:
            "DPCTLaligned_alloc_host";
        value free_with_context(data: Ref, context: Ref): "DPCTLfree_with_context";
        value usm_get_pointer_type(data: Ref, context: Ref) -> c_int: "DPCTLUSM_GetPointerType";
    }
}
