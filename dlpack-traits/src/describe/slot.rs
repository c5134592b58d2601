//! The memory in which a tensor is described: [`Slot`], and exclusive access to it:
//! [`SlotMut`].

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{MaybeUninit, offset_of};
use core::ptr::NonNull;
use core::slice;

use crate::error::Error;
use crate::ffi::{DLManagedTensor, DLTensor};
use crate::strides::MAX_NDIM;

/// The maximum number of dimensions that a slot stores without an allocation.
pub(crate) const INLINE: usize = 8;

/// The C struct of one tensor together with its shape and strides.
///
/// The allocation of an export contains one, at the address where the consumer reads the
/// `DLTensor`. A view that is borrowed for the duration of a call stores one on the stack:
///
/// ```
/// use dlpack_traits::{DLPackExport, OwnedTensor, Slot};
///
/// let samples = OwnedTensor::from_vec(vec![1.0_f32, 2.0]);
/// let mut slot = Slot::new();
/// let tensor = samples.describe(slot.describe())?;
/// assert_eq!(tensor.shape(), [2]); // no allocation, and nothing is moved
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[repr(C)]
pub struct Slot {
    pub(super) tensor: MaybeUninit<DLTensor>,
    /// The fields of the legacy struct that follow its `DLTensor`.
    legacy: [MaybeUninit<*mut c_void>; 2],
    /// Shape and strides of more than [`INLINE`] dimensions.
    ///
    /// Invariant: it is `Some` if and only if the lists that were written last have more than
    /// [`INLINE`] dimensions, which are then in it; unless their description was refused. Only
    /// [`room`](SlotMut::room) makes room for lists. A description begins without a spill
    /// ([`SlotMut::clear`]), and makes room again only for longer lists, with the axes of the
    /// elements, or clears the spill before.
    spill: Option<Spill>,
    /// Shape, then strides, of at most [`INLINE`] dimensions. Last, so that the bytes in
    /// use are contiguous.
    pub(super) dims: [MaybeUninit<i64>; 2 * INLINE],
}

const _: () = {
    assert!(offset_of!(Slot, tensor) == offset_of!(DLManagedTensor, dl_tensor));
    assert!(offset_of!(Slot, spill) == size_of::<DLManagedTensor>());
    assert!(align_of::<DLManagedTensor>() <= align_of::<Slot>());
};

impl Slot {
    /// Creates an empty slot.
    #[inline(always)]
    pub const fn new() -> Self {
        Self {
            tensor: MaybeUninit::uninit(),
            legacy: [const { MaybeUninit::uninit() }; 2],
            spill: None,
            dims: [const { MaybeUninit::uninit() }; 2 * INLINE],
        }
    }
}

impl Slot {
    /// Initializes the fields that are read before a tensor is described.
    ///
    /// # Safety
    ///
    /// 1. `slot` points to memory for a slot, which no one else accesses.
    #[inline(always)]
    pub(crate) unsafe fn init(slot: *mut Self) {
        // SAFETY: by 1 it may be written.
        unsafe { spill_of(slot).write(None) }
    }

    /// Replaces the data pointer of the C struct.
    ///
    /// # Safety
    ///
    /// 1. A tensor was described in `slot`, its description has ended, and no one else
    ///    accesses the slot.
    #[inline(always)]
    pub(crate) unsafe fn set_data(slot: *mut Self, data: *mut u8) {
        const DATA: usize = offset_of!(Slot, tensor).wrapping_add(offset_of!(DLTensor, data));
        let place = slot.wrapping_byte_add(DATA).cast::<*mut c_void>();
        // SAFETY: by 1 it may be written.
        unsafe { place.write(data.cast()) }
    }

    /// The C struct, which is initialized once a tensor was described.
    #[inline(always)]
    pub(crate) fn tensor(&self) -> &MaybeUninit<DLTensor> {
        &self.tensor
    }

    /// The address of the shape of a tensor that was described here, also if the slot was
    /// moved since.
    #[inline(always)]
    pub(crate) fn lists(&self) -> *const i64 {
        match self.spill {
            Some(spill) => spill.start().cast_const(),
            None => self.dims.as_ptr().cast(),
        }
    }
}

impl Default for Slot {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

impl Drop for Slot {
    #[inline(always)]
    fn drop(&mut self) {
        SlotMut::of(self).clear();
    }
}

/// One allocation for the lists of many dimensions: their capacity, then shape and strides.
/// It is referred to by one pointer, which fits in the fixed layout of a slot.
///
/// Invariant: until [`free`](Self::free), [`alloc`](Self::alloc) allocated it.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Spill(NonNull<i64>);

impl Spill {
    fn layout(ndim: usize) -> Option<Layout> {
        Layout::array::<i64>(ndim.checked_mul(2)?.checked_add(1)?).ok()
    }

    /// Allocates room for twice `ndim` numbers, after the capacity.
    fn alloc(ndim: usize) -> Result<Self, Error> {
        let too_many = Error::TooManyDims { ndim };
        if ndim > MAX_NDIM {
            return Err(too_many);
        }
        let number = i64::try_from(ndim).map_err(|_| too_many)?;
        let layout = Self::layout(ndim).ok_or(too_many)?;
        // SAFETY: the layout has room for at least the capacity, so its size is not zero.
        let start = unsafe { alloc(layout) };
        #[expect(clippy::cast_ptr_alignment, reason = "the layout is that of `i64`s")]
        let start = start.cast::<i64>();
        let start = NonNull::new(start).ok_or(Error::OutOfMemory { bytes: layout.size() })?;
        // SAFETY: the allocation is aligned for an `i64` and has room for at least one.
        unsafe { start.write(number) };
        Ok(Self(start))
    }

    /// The address of the numbers.
    #[inline(always)]
    fn start(self) -> *mut i64 {
        self.0.as_ptr().wrapping_add(1)
    }

    /// The number of dimensions for which there is room.
    fn capacity(self) -> usize {
        // SAFETY: by the invariant, `alloc` wrote the capacity there.
        usize::try_from(unsafe { self.0.read() }).unwrap_or(0)
    }

    /// # Safety
    ///
    /// 1. No copy of this is used again.
    #[cold]
    unsafe fn free(self) {
        // `alloc` computed the same layout from the same number.
        if let Some(layout) = Self::layout(self.capacity()) {
            // SAFETY: `alloc` allocated the memory with this layout, and by 1 it is not used
            // again.
            unsafe { dealloc(self.0.as_ptr().cast(), layout) }
        }
    }
}

/// The address of the spill of a slot.
#[inline(always)]
fn spill_of(slot: *mut Slot) -> *mut Option<Spill> {
    slot.wrapping_byte_add(offset_of!(Slot, spill)).cast()
}

/// Exclusive access to a slot for `'a`.
///
/// It stores the address, because addresses of the lists are derived from it, and a use of a
/// `&mut Slot` would make them invalid.
///
/// Invariant: for `'a` the slot is alive, its `spill` is initialized, and no one else
/// accesses it.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct SlotMut<'a> {
    slot: *mut Slot,
    life: PhantomData<&'a mut Slot>,
}

impl<'a> SlotMut<'a> {
    #[inline(always)]
    pub(crate) fn of(slot: &'a mut Slot) -> Self {
        Self { slot, life: PhantomData }
    }

    /// # Safety
    ///
    /// 1. `slot` points to a slot that only the result accesses for `'a`.
    /// 2. Its `spill` is initialized.
    #[inline(always)]
    pub(crate) unsafe fn at(slot: *mut Slot) -> Self {
        Self { slot, life: PhantomData }
    }

    #[inline(always)]
    pub(super) fn reborrow(&mut self) -> SlotMut<'_> {
        SlotMut { slot: self.slot, life: PhantomData }
    }

    #[inline(always)]
    pub(super) fn as_ptr(&self) -> *mut Slot {
        self.slot
    }

    /// The spill, if there is one.
    #[inline(always)]
    fn spilled(&self) -> Option<Spill> {
        // SAFETY: by the invariant it is initialized, and only we access it.
        unsafe { spill_of(self.slot).read() }
    }

    /// Replaces the spill, without freeing the earlier one.
    #[inline(always)]
    fn set_spill(&mut self, spill: Option<Spill>) {
        // SAFETY: by the invariant only we access it.
        unsafe { spill_of(self.slot).write(spill) }
    }

    /// Frees the spill, if there is one. Addresses of lists that are in it are then dangling.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        if let Some(spill) = self.spilled() {
            // The store is inside of the branch, which is rare, so that most exports skip
            // it.
            self.set_spill(None);
            // SAFETY: 1. The only other copy was just removed.
            unsafe { spill.free() }
        }
    }

    /// The address of the lists that were last written: by the invariant of the spill they are in it,
    /// if there is one.
    #[inline(always)]
    pub(super) fn start(&mut self) -> *mut i64 {
        match self.spilled() {
            Some(spill) => spill.start(),
            None => self.inline(),
        }
    }

    /// Returns the address of room for shape and strides of `ndim` dimensions, in the slot
    /// or in a new spill, which replaces an earlier one. `None` if there is no room: then
    /// the description was refused.
    #[inline(always)]
    pub(super) fn room(&mut self, ndim: usize) -> Option<*mut i64> {
        if ndim > INLINE { self.reborrow().spill(ndim) } else { Some(self.inline()) }
    }

    /// The room for shape and strides of `ndim` dimensions that [`room`](Self::room)
    /// returned last, for as many. It is empty if there is less.
    #[inline(always)]
    pub(super) fn places(
        &mut self,
        ndim: usize,
    ) -> (&mut [MaybeUninit<i64>], &mut [MaybeUninit<i64>]) {
        let (start, capacity) = match self.spilled() {
            Some(spill) if ndim > INLINE => (spill.start(), spill.capacity()),
            _ => (self.inline(), INLINE),
        };
        let len = capacity.wrapping_mul(2);
        // SAFETY: there is room for as many numbers, in the slot, or in its spill, which was allocated
        // for `capacity` dimensions. By the invariant only `self` accesses both. (`room` returned
        // the same memory: by the invariant of the spill there is one if `ndim` is more than
        // `INLINE`; otherwise `places` returns less room, not other memory.)
        let room: &mut [MaybeUninit<i64>] = unsafe { slice::from_raw_parts_mut(start.cast(), len) };
        let Some((dims, rest)) = room.split_at_mut_checked(ndim) else {
            return Default::default();
        };
        (dims, rest.get_mut(..ndim).unwrap_or_default())
    }

    /// The address of the lists that the slot stores itself.
    #[inline(always)]
    pub(super) fn inline(&self) -> *mut i64 {
        self.slot.wrapping_byte_add(offset_of!(Slot, dims)).cast()
    }

    #[cold]
    #[inline(never)]
    fn spill(mut self, ndim: usize) -> Option<*mut i64> {
        let spill = match Spill::alloc(ndim) {
            Ok(spill) => spill,
            Err(error) => {
                self.refuse(error);
                return None;
            }
        };
        self.clear();
        self.set_spill(Some(spill));
        Some(spill.start())
    }

    /// Stores the error of a description in place of the C struct. In registers, the error
    /// would be carried and moved on paths without an error too (measured: 12 instructions
    /// per export).
    #[cold]
    #[inline(never)]
    pub(super) fn refuse(self, error: Error) {
        // SAFETY: by the assertion below an error fits in place of the struct, and by the
        // invariant it may be written.
        unsafe { self.slot.cast::<Error>().write(error) }
    }

    /// The error that [`refuse`](Self::refuse) stored.
    ///
    /// # Safety
    ///
    /// 1. `refuse` was called, and nothing was written there since.
    #[cold]
    pub(super) unsafe fn refusal(&self) -> Error {
        // SAFETY: by the invariant it may be read, and by 1 an error is stored there.
        unsafe { self.slot.cast::<Error>().read() }
    }
}

const _: () = {
    assert!(
        size_of::<Error>() <= size_of::<DLTensor>() && align_of::<Error>() <= align_of::<Slot>()
    );
    assert!(offset_of!(Slot, tensor) == 0);
};
