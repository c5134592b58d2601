//! The functions of DPCTL's C interface: [`Calls`].

#![expect(ffi_unwind_calls, reason = "an exception that leaves one of them ends the process")]

use core::ffi::c_int;

use crate::backend::library::{Object, Ref, calls, kinds};

/// An owned object of SYCL: a reference counted handle.
pub(super) type SyclObject<K> = Object<Calls, K>;

kinds! { Devices Device Platform Context Queue Event }

calls! {
    /// The functions that this crate calls.
    extern "C-unwind" Calls {
        safe {
            object device_mgr_get_devices(identifier: c_int) -> Devices:
                "DPCTLDeviceMgr_GetDevices" => device_vector_delete;
            object device_get_platform(device: &Device) -> Platform:
                "DPCTLDevice_GetPlatform" => platform_delete;
            object device_get_parent_device(device: &Device) -> Device:
                "DPCTLDevice_GetParentDevice" => device_delete;
            object platform_get_default_context(platform: &Platform) -> Context:
                "DPCTLPlatform_GetDefaultContext" => context_delete;
            object queue_copy(queue: &Queue) -> Queue:
                "DPCTLQueue_Copy" => queue_delete;
            object queue_get_context(queue: &Queue) -> Context:
                "DPCTLQueue_GetContext" => context_delete;
            object queue_get_device(queue: &Queue) -> Device:
                "DPCTLQueue_GetDevice" => device_delete;
            object queue_submit_barrier(queue: &Queue) -> Event:
                "DPCTLQueue_SubmitBarrier" => event_delete;
            object usm_get_pointer_device(data: Ref, context: &Context) -> Device:
                "DPCTLUSM_GetPointerDevice" => device_delete;
            value usm_get_pointer_type(data: Ref, context: &Context) -> c_int:
                "DPCTLUSM_GetPointerType";
            value device_vector_size(devices: &Devices) -> usize:
                "DPCTLDeviceVector_Size";
            value device_are_eq(one: &Device, other: &Device) -> bool:
                "DPCTLDevice_AreEq";
            value device_has_aspect(device: &Device, aspect: c_int) -> bool:
                "DPCTLDevice_HasAspect";
            value context_are_eq(one: &Context, other: &Context) -> bool:
                "DPCTLContext_AreEq";
            value queue_are_eq(one: &Queue, other: &Queue) -> bool:
                "DPCTLQueue_AreEq";
            value queue_is_in_order(queue: &Queue) -> bool: "DPCTLQueue_IsInOrder";
            value queue_wait(queue: &Queue): "DPCTLQueue_Wait";
            value event_wait(event: &Event): "DPCTLEvent_Wait";
        }
        unsafe {
            object device_vector_get_at(devices: &Devices, index: usize) -> Device:
                "DPCTLDeviceVector_GetAt" => device_delete;
            object queue_create(
                context: &Context, device: &Device, handler: Ref,
                properties: c_int
            ) -> Queue: "DPCTLQueue_Create" => queue_delete;
            object queue_memset(queue: &Queue, data: Ref, byte: u8, count: usize)
                -> Event: "DPCTLQueue_Memset" => event_delete;
            object queue_memcpy(queue: &Queue, to: Ref, from: Ref, count: usize)
                -> Event: "DPCTLQueue_Memcpy" => event_delete;
            object queue_submit_barrier_for_events(
                queue: &Queue, events: &&Event, count: usize
            ) -> Event: "DPCTLQueue_SubmitBarrierForEvents" => event_delete;
            value aligned_alloc_device(align: usize, count: usize, queue: &Queue)
                -> Ref: "DPCTLaligned_alloc_device";
            value aligned_alloc_shared(align: usize, count: usize, queue: &Queue)
                -> Ref: "DPCTLaligned_alloc_shared";
            value aligned_alloc_host(align: usize, count: usize, queue: &Queue)
                -> Ref: "DPCTLaligned_alloc_host";
            value free_with_context(data: Ref, context: &Context):
                "DPCTLfree_with_context";
            value device_vector_delete(devices: Ref): "DPCTLDeviceVector_Delete";
            value device_delete(device: Ref): "DPCTLDevice_Delete";
            value platform_delete(platform: Ref): "DPCTLPlatform_Delete";
            value context_delete(context: Ref): "DPCTLContext_Delete";
            value queue_delete(queue: Ref): "DPCTLQueue_Delete";
            value event_delete(event: Ref): "DPCTLEvent_Delete";
        }
    }
}
