//! The floor: what any exchange has to do, and nothing else.
//!
//! Export: one allocation that holds the C struct, the dimensions and the
//! owner; every field written; the deleter drops the owner and frees it.
//! Import: every check without which a slice could be wrong, each once.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use dlpack_traits::ffi::{self, DLManagedTensorVersioned};

use crate::contender::{Contender, Samples, look};

/// A hand-written exchange without abstractions.
pub struct Floor;

#[repr(C)]
struct Packet {
    managed: DLManagedTensorVersioned,
    dims: [i64; 4],
    owner: Vec<f32>,
}

unsafe extern "C" fn delete(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: only `export` sets this deleter, with the packet in `manager_ctx`.
    let packet = unsafe { (*managed).manager_ctx }.cast::<Packet>();
    // SAFETY: the owner is initialized, and this is its end.
    unsafe { ptr::drop_in_place(&raw mut (*packet).owner) };
    // SAFETY: `export` allocated it with this layout.
    unsafe { dealloc(packet.cast(), Layout::new::<Packet>()) };
}

impl Contender for Floor {
    const NAME: &'static str = "floor";

    #[inline(always)]
    fn export(samples: Samples) -> *mut DLManagedTensorVersioned {
        let Samples { mut data, shape: [rows, columns] } = samples;
        let layout = Layout::new::<Packet>();
        // SAFETY: a packet has a size.
        let packet: *mut Packet = unsafe { alloc(layout) }.cast();
        if packet.is_null() {
            handle_alloc_error(layout);
        }
        let first = data.as_mut_ptr();
        // SAFETY: the allocation has room for a packet.
        let dims: *mut i64 = unsafe { &raw mut (*packet).dims }.cast();
        let value = Packet {
            managed: DLManagedTensorVersioned {
                version: ffi::DLPackVersion { major: 1, minor: 3 },
                manager_ctx: packet.cast(),
                deleter: Some(delete),
                flags: 0,
                dl_tensor: ffi::DLTensor {
                    data: first.cast(),
                    device: ffi::DLDevice { device_type: ffi::kDLCPU, device_id: 0 },
                    ndim: 2,
                    dtype: ffi::DLDataType { code: ffi::kDLFloat, bits: 32, lanes: 1 },
                    shape: dims,
                    strides: dims.wrapping_add(2),
                    byte_offset: 0,
                },
            },
            dims: [rows as i64, columns as i64, columns as i64, 1],
            owner: data,
        };
        // SAFETY: as above, and it holds nothing yet.
        unsafe { packet.write(value) };
        packet.cast()
    }

    #[inline(always)]
    unsafe fn import(managed: *mut DLManagedTensorVersioned) -> f32 {
        // SAFETY: by 1 of the trait.
        let value = unsafe { checked(managed) }.map_or(0.0, look);
        // SAFETY: by 1 of the trait; the slice is not used any more.
        unsafe { Self::delete(managed) };
        value
    }
}

/// A tensor with its metadata, in one allocation, as an import has to keep it. There is
/// room for `NUMBERS` extents and strides together.
pub struct Node<const NUMBERS: usize> {
    managed: NonNull<DLManagedTensorVersioned>,
    deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    #[expect(dead_code, reason = "a consumer would read it")]
    tensor: ffi::DLTensor,
    dims: [MaybeUninit<i64>; NUMBERS],
}

impl<const NUMBERS: usize> Drop for Node<NUMBERS> {
    fn drop(&mut self) {
        if let Some(deleter) = self.deleter {
            // SAFETY: `import` took over the call.
            unsafe { deleter(self.managed.as_ptr()) }
        }
    }
}

/// Imports a tensor whose shape and strides have at most `NUMBERS` numbers: each number is
/// copied once, and the elements end inside of the address space.
///
/// # Safety
///
/// 1. `managed` is a valid managed tensor.
#[inline(always)]
pub unsafe fn import<const NUMBERS: usize>(
    managed: *mut DLManagedTensorVersioned,
) -> Option<Box<Node<NUMBERS>>> {
    let managed = NonNull::new(managed)?;
    // SAFETY: by 1.
    let from = unsafe { managed.as_ref() };
    let tensor = from.dl_tensor;
    let ndim = usize::try_from(tensor.ndim).ok().filter(|&ndim| ndim <= NUMBERS / 2)?;
    if from.version.major != 1 || tensor.shape.is_null() || tensor.strides.is_null() {
        return None;
    }
    let dims = [MaybeUninit::uninit(); NUMBERS];
    let mut node = Box::new(Node { managed, deleter: from.deleter, tensor, dims });
    let (mut numel, mut low, mut high) = (1_i64, 0_i64, 0_i64);
    for axis in (0..ndim).rev() {
        // SAFETY: by 1 there are `ndim` extents.
        let dim = unsafe { *tensor.shape.add(axis) };
        // SAFETY: by 1 there are `ndim` strides.
        let stride = unsafe { *tensor.strides.add(axis) };
        if dim < 1 {
            return None;
        }
        node.dims[axis].write(dim);
        node.dims[ndim + axis].write(stride);
        let last = (dim - 1).checked_mul(stride)?;
        let end = if last < 0 { &mut low } else { &mut high };
        *end = end.checked_add(last)?;
        numel = numel.checked_mul(dim)?;
    }
    let size = i64::from(tensor.dtype.bits / 8);
    numel.checked_mul(size)?;
    let (low, end) = (low.checked_mul(size)?, high.checked_add(1)?.checked_mul(size)?);
    let first = i64::try_from(tensor.data.addr()).ok()?;
    let first = first.checked_add(i64::try_from(tensor.byte_offset).ok()?)?;
    (first.checked_add(low)? > 0 && first.checked_add(end).is_some()).then_some(node)
}

/// The elements as a slice, if they are contiguous `f32`s in host memory.
///
/// # Safety
///
/// 1. `managed` is NULL or a valid managed tensor.
#[inline(always)]
unsafe fn checked<'a>(managed: *mut DLManagedTensorVersioned) -> Option<&'a [f32]> {
    let managed = NonNull::new(managed)?;
    // SAFETY: by 1.
    let managed = unsafe { managed.as_ref() };
    let tensor = &managed.dl_tensor;
    if managed.version.major != 1 || tensor.ndim < 0 || tensor.ndim > 64 {
        return None;
    }
    let host = tensor.device.device_type == ffi::kDLCPU;
    let dtype = tensor.dtype;
    if !host || (dtype.code, dtype.bits, dtype.lanes) != (ffi::kDLFloat, 32, 1) {
        return None;
    }
    let ndim = tensor.ndim as usize;
    if ndim > 0 && tensor.shape.is_null() {
        return None;
    }
    let mut len = 1_i64;
    for axis in (0..ndim).rev() {
        // SAFETY: by 1 there are `ndim` extents.
        let dim = unsafe { *tensor.shape.add(axis) };
        if dim < 0 {
            return None;
        }
        if !tensor.strides.is_null() && dim > 1 {
            // SAFETY: by 1 there are `ndim` strides.
            let stride = unsafe { *tensor.strides.add(axis) };
            if stride != len {
                return None;
            }
        }
        len = len.checked_mul(dim)?;
    }
    let bytes = len.checked_mul(4)?;
    if len == 0 {
        return Some(&[]);
    }
    let offset = usize::try_from(tensor.byte_offset).ok()?;
    let first = (tensor.data.addr()).checked_add(offset)?;
    first.checked_add(bytes as usize)?;
    if tensor.data.is_null() || first % align_of::<f32>() != 0 {
        return None;
    }
    let first = tensor.data.cast::<u8>().wrapping_add(offset).cast::<f32>();
    // SAFETY: by 1 the elements are there, and the checks above found them contiguous.
    Some(unsafe { std::slice::from_raw_parts(first, len as usize) })
}
