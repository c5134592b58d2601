//! The floor of each shape: one allocation, every field written once, and every check
//! without which the tensor could reach outside of its storage.

use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr;
use std::alloc::{alloc, dealloc, handle_alloc_error};
use std::sync::Arc;

use dlpack_traits::ffi::{
    self, DLDataType, DLDevice, DLManagedTensorVersioned, DLPackVersion, DLTensor,
};

use super::element::{Element, F32, U8};
use super::types::{Buffer, Bytes, Contiguous, General, Offset, Strided};

/// The most dimensions that the floor has room for.
const MOST: usize = 8;

/// Shape, then strides.
pub(crate) struct Lists([MaybeUninit<i64>; 2 * MOST]);

impl Lists {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self([MaybeUninit::uninit(); 2 * MOST])
    }

    /// Replaces the first extent.
    pub(crate) fn set_first(&mut self, dim: i64) {
        self.0[0].write(dim);
    }
}

/// A tensor of host memory, with its lists written.
pub(crate) struct Placed {
    first: *const u8,
    dtype: DLDataType,
    ndim: usize,
}

impl Placed {
    /// The same tensor with another first element.
    pub(crate) fn at(self, first: *const u8) -> Self {
        Self { first, ..self }
    }
}

/// What the floor of a shape does.
pub(crate) trait Floor {
    /// Another owner of the memory.
    type Owner: 'static;

    fn owner(&self) -> Self::Owner;

    /// Writes the lists, and returns where the elements are: nothing unless all of them
    /// lie inside the storage.
    fn place(&self, lists: &mut Lists) -> Option<Placed>;
}

/// Contiguous elements at the start of a storage of `len` bytes.
#[inline(always)]
pub(crate) fn contiguous(
    lists: &mut Lists,
    shape: &[usize],
    first: *const u8,
    len: usize,
    element: Element,
) -> Option<Placed> {
    let ndim = shape.len();
    let (dims, strides) = lists.0.split_at_mut_checked(ndim)?;
    let mut numel = 1_i64;
    for ((to, stride), &dim) in dims.iter_mut().zip(strides).zip(shape).rev() {
        let dim = i64::try_from(dim).ok().filter(|&dim| dim > 0)?;
        to.write(dim);
        stride.write(numel);
        numel = numel.checked_mul(dim)?;
    }
    let fits = (numel as usize).checked_mul(element.size)? <= len;
    (fits && element.is_aligned(first)).then_some(Placed { first, dtype: element.dtype, ndim })
}

/// Elements at explicit strides, `offset` elements into a storage of `len` bytes.
#[inline(always)]
pub(crate) fn strided(
    lists: &mut Lists,
    shape: &[usize],
    strides: &[isize],
    offset: usize,
    first: *const u8,
    len: usize,
    element: Element,
) -> Option<Placed> {
    let ndim = shape.len();
    let (dims, places) = lists.0.split_at_mut_checked(ndim)?;
    if strides.len() != ndim || places.len() < ndim {
        return None;
    }
    let (mut below, mut above) = (0_usize, 1_usize);
    for (((to, place), &dim), &stride) in dims.iter_mut().zip(places).zip(shape).zip(strides) {
        let dim = i64::try_from(dim).ok().filter(|&dim| dim > 0)?;
        let stride = stride as i64;
        to.write(dim);
        place.write(stride);
        let last = (dim - 1).checked_mul(stride)?;
        // A branch: strides are rarely negative.
        if last < 0 {
            below = below.checked_add(last.unsigned_abs() as usize)?;
        } else {
            above = above.checked_add(last as usize)?;
        }
    }
    let Element { size, dtype, .. } = element;
    let start = offset.checked_mul(size)?;
    let first = first.wrapping_add(start);
    let fits = above.checked_mul(size)? <= len.checked_sub(start)?
        && (below == 0 || below.checked_mul(size)? <= start);
    (fits && element.is_aligned(first)).then_some(Placed { first, dtype, ndim })
}

/// The bytes of a slice.
#[inline(always)]
pub(crate) fn bytes<T>(slice: &[T]) -> (*const u8, usize) {
    (slice.as_ptr().cast(), size_of_val(slice))
}

impl Floor for Contiguous {
    type Owner = Arc<[f32]>;

    #[inline(always)]
    fn owner(&self) -> Arc<[f32]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        contiguous(lists, &self.shape, first, len, F32)
    }
}

impl Floor for Strided {
    type Owner = Arc<[f32]>;

    #[inline(always)]
    fn owner(&self) -> Arc<[f32]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        strided(lists, &self.shape, &self.strides, 0, first, len, F32)
    }
}

impl Floor for Offset {
    type Owner = Arc<[f32]>;

    #[inline(always)]
    fn owner(&self) -> Arc<[f32]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        strided(lists, &self.shape, &self.strides, self.offset, first, len, F32)
    }
}

impl Floor for General {
    type Owner = Buffer;

    #[inline(always)]
    fn owner(&self) -> Buffer {
        self.data.clone()
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let ((first, len), element) = match &self.data {
            Buffer::F32(data) => (bytes(data), F32),
            Buffer::U8(data) => (bytes(data), U8),
        };
        strided(lists, &self.shape, &self.strides, self.offset, first, len, element)
    }
}

impl Floor for Bytes {
    type Owner = Arc<[u8]>;

    #[inline(always)]
    fn owner(&self) -> Arc<[u8]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        contiguous(lists, &self.shape, first, len, Element::new(self.dtype.to_ffi())?)
    }
}

#[repr(C)]
struct Packet<O> {
    managed: DLManagedTensorVersioned,
    owner: O,
    lists: Lists,
}

unsafe extern "C" fn delete<O>(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: only `finish` sets this deleter, with the packet in `manager_ctx`.
    let packet = unsafe { (*managed).manager_ctx }.cast::<Packet<O>>();
    // SAFETY: the owner is initialized, and this is its end.
    unsafe { ptr::drop_in_place(&raw mut (*packet).owner) };
    // SAFETY: `allocate` allocated it with this layout.
    unsafe { dealloc(packet.cast(), Layout::new::<Packet<O>>()) };
}

/// A new packet with an owner and nothing else.
#[inline(always)]
fn allocate<O>(owner: O) -> *mut Packet<O> {
    let layout = Layout::new::<Packet<O>>();
    // SAFETY: a packet has a size.
    let packet: *mut Packet<O> = unsafe { alloc(layout) }.cast();
    if packet.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: the allocation has room for a packet.
    unsafe { (&raw mut (*packet).owner).write(owner) };
    packet
}

/// The lists of a packet.
#[inline(always)]
fn lists<'a, O>(packet: *mut Packet<O>) -> &'a mut Lists {
    // SAFETY: the callers have just made the packet, and numbers that are not
    // initialized may be in there.
    unsafe { &mut (*packet).lists }
}

fn tensor(placed: &Placed, shape: *mut i64) -> DLTensor {
    DLTensor {
        data: placed.first.cast_mut().cast(),
        device: DLDevice { device_type: ffi::kDLCPU, device_id: 0 },
        ndim: placed.ndim as i32,
        dtype: placed.dtype,
        shape,
        strides: shape.wrapping_add(placed.ndim),
        byte_offset: 0,
    }
}

#[inline(always)]
fn finish<O>(packet: *mut Packet<O>, placed: Option<Placed>) -> *mut DLManagedTensorVersioned {
    let placed = placed.expect("a tensor");
    // SAFETY: the allocation has room for a packet.
    let shape: *mut i64 = unsafe { &raw mut (*packet).lists }.cast();
    let managed = DLManagedTensorVersioned {
        version: DLPackVersion { major: 1, minor: 3 },
        manager_ctx: packet.cast(),
        deleter: Some(delete::<O>),
        flags: ffi::DLPACK_FLAG_BITMASK_READ_ONLY,
        dl_tensor: tensor(&placed, shape),
    };
    // SAFETY: as above.
    unsafe { (&raw mut (*packet).managed).write(managed) };
    packet.cast()
}

/// An export by value: the packet owns the struct.
#[inline(always)]
pub(crate) fn by_value<T: Floor>(value: T) -> *mut DLManagedTensorVersioned {
    let packet = allocate(value);
    // SAFETY: the owner was just written.
    let placed = unsafe { &(*packet).owner }.place(lists(packet));
    finish(packet, placed)
}

/// A shared export: the packet owns another owner of the memory.
#[inline(always)]
pub(crate) fn shared<T: Floor>(value: &T) -> *mut DLManagedTensorVersioned {
    let packet = allocate(value.owner());
    let placed = value.place(lists(packet));
    finish(packet, placed)
}

/// A view that is borrowed for the time of a call.
#[inline(always)]
pub(crate) fn view<T: Floor>(value: &T, lists: &mut Lists) -> DLTensor {
    let placed = value.place(lists).expect("a tensor");
    tensor(&placed, (&raw mut lists.0).cast())
}
