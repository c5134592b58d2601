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

use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::{DLManagedTensor, DLTensor};
use crate::storage::Memory;
use crate::strides::{self, MAX_NDIM};

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
    /// [`room`](SlotMut::room) makes room for lists, and replaces it.
    spill: Option<Spill>,
    /// The shape, of at most [`INLINE`] dimensions. It is at a constant distance from the strides, so
    /// that the loop that writes both needs one address (measured: 8 to 12 instructions).
    shape: [MaybeUninit<i64>; INLINE],
    /// As many strides.
    strides: [MaybeUninit<i64>; INLINE],
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
            shape: [const { MaybeUninit::uninit() }; INLINE],
            strides: [const { MaybeUninit::uninit() }; INLINE],
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

    /// The addresses of shape and strides of a tensor that was described here, also if the slot was
    /// moved since.
    #[inline(always)]
    pub(crate) fn lists(&self) -> [*const i64; 2] {
        match self.spill {
            Some(spill) => spill.lists().map(<*mut i64>::cast_const),
            None => [self.shape.as_ptr().cast(), self.strides.as_ptr().cast()],
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

    /// The addresses of shape and strides.
    #[inline(always)]
    fn lists(self) -> [*mut i64; 2] {
        let shape = self.0.as_ptr().wrapping_add(1);
        [shape, shape.wrapping_add(self.capacity())]
    }

    /// The number of dimensions for which there is room.
    fn capacity(self) -> usize {
        // SAFETY: by the invariant, `alloc` wrote the capacity there.
        usize::try_from(unsafe { self.0.read() }).unwrap_or(0)
    }

    /// It is `extern "C"`, so that a deleter needs no code for a panic of it (measured: 4
    /// instructions per export).
    ///
    /// # Safety
    ///
    /// 1. No copy of this is used again.
    #[cold]
    unsafe extern "C" fn free(self) {
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

    /// The same access, for a call: it takes the address, and not that of `self`.
    #[inline(always)]
    pub(super) fn reborrow(&mut self) -> SlotMut<'_> {
        SlotMut { slot: self.slot, life: PhantomData }
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

    /// The addresses of the lists that the slot stores itself.
    #[inline(always)]
    fn inline(&self) -> [*mut i64; 2] {
        [offset_of!(Slot, shape), offset_of!(Slot, strides)]
            .map(|offset| self.slot.wrapping_byte_add(offset).cast())
    }

    /// Room for shape and strides of `ndim` dimensions in the slot itself, if there are few.
    #[inline(always)]
    pub(super) fn inline_room(&mut self, ndim: usize) -> Option<Room<'_>> {
        // SAFETY: 1. There is room for `INLINE` numbers in each list, which by the invariant only
        // `self` accesses.
        (ndim <= INLINE).then(|| unsafe { Room::at(self.inline(), ndim) })
    }

    /// Room for shape and strides of `ndim` dimensions, in the slot or in a new spill, which
    /// replaces an earlier one.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyDims`], [`Error::OutOfMemory`].
    pub(super) fn room(&mut self, ndim: usize) -> Result<Room<'_>, Error> {
        self.clear();
        let lists = if ndim > INLINE {
            let spill = Spill::alloc(ndim)?;
            self.set_spill(Some(spill));
            spill.lists()
        } else {
            self.inline()
        };
        // SAFETY: 1. There is room for `ndim` numbers in each list, which by the invariant only
        // `self` accesses.
        Ok(unsafe { Room::at(lists, ndim) })
    }

    /// Writes the C struct of a tensor of `ndim` dimensions, whose lists are in the
    /// [room](Self::room) for as many.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "at most 64")]
    pub(super) fn write(
        &mut self,
        ndim: usize,
        memory: &Memory,
        dtype: DataType,
        (data, byte_offset): (*mut u8, u64),
    ) {
        let [shape, strides] = match ndim {
            0..=INLINE => self.inline(),
            _ => self.spilled().map_or_else(|| self.inline(), Spill::lists),
        };
        let tensor = DLTensor {
            data: data.cast(),
            device: memory.device.to_ffi(),
            ndim: ndim as i32,
            dtype: dtype.to_ffi(),
            shape,
            strides,
            byte_offset,
        };
        // SAFETY: by the invariant only we access the slot, whose first field is the struct.
        unsafe { self.slot.cast::<DLTensor>().write(tensor) };
    }

    /// Returns the complete tensor.
    ///
    /// # Safety
    ///
    /// 1. All numbers of the room for `ndim` dimensions were written, and then the C struct
    ///    ([`write`](Self::write)).
    #[inline(always)]
    pub(super) unsafe fn described(self, ndim: usize) -> Described<'a> {
        Described { slot: self.slot, ndim, life: PhantomData }
    }
}

/// Room for the lists of a tensor, as many numbers in each.
pub(super) struct Room<'s> {
    pub(super) shape: &'s mut [MaybeUninit<i64>],
    pub(super) strides: &'s mut [MaybeUninit<i64>],
}

impl<'s> Room<'s> {
    /// # Safety
    ///
    /// 1. At each address there is room for `ndim` numbers, which only the result accesses.
    #[inline(always)]
    unsafe fn at([shape, strides]: [*mut i64; 2], ndim: usize) -> Self {
        // SAFETY: by 1 there is room, and these may be uninitialized.
        let shape = unsafe { slice::from_raw_parts_mut(shape.cast(), ndim) };
        // SAFETY: as above; the lists do not overlap.
        let strides = unsafe { slice::from_raw_parts_mut(strides.cast(), ndim) };
        Self { shape, strides }
    }

    /// The lists.
    ///
    /// # Safety
    ///
    /// 1. All numbers were written.
    #[inline(always)]
    pub(super) unsafe fn written(self) -> (&'s mut [i64], &'s mut [i64]) {
        let Self { shape, strides } = self;
        // SAFETY: by 1 they are initialized; the borrow is passed on.
        let shape = unsafe { slice::from_raw_parts_mut(shape.as_mut_ptr().cast(), shape.len()) };
        // SAFETY: as above.
        let strides =
            unsafe { slice::from_raw_parts_mut(strides.as_mut_ptr().cast(), strides.len()) };
        (shape, strides)
    }

    /// Whether two indices may name the same element.
    ///
    /// # Safety
    ///
    /// 1. All numbers were written.
    #[inline(always)]
    pub(super) unsafe fn may_overlap(self) -> bool {
        // SAFETY: 1. Guaranteed by our caller's 1.
        let (shape, strides) = unsafe { self.written() };
        strides::may_overlap(shape, strides)
    }
}

/// A slot in which a tensor was described.
///
/// Invariant: its `DLTensor` is initialized, and its lists have `ndim` numbers each, in the
/// slot or in its spill. No one writes to them for `'a`.
#[derive(Clone, Copy)]
pub(crate) struct Described<'a> {
    slot: *const Slot,
    /// As in the `DLTensor`, where it was just written (measured: the compiler would combine a load
    /// of it with others, which waits for the stores; 2 ns per borrowed `DLTensor` of an enum).
    ndim: usize,
    life: PhantomData<&'a Slot>,
}

impl<'a> Described<'a> {
    /// Whether the tensor was described in this slot.
    #[inline(always)]
    pub(super) fn is_in(self, slot: *const Slot) -> bool {
        self.slot == slot
    }

    /// The C struct. Its pointers to the lists are valid for the lifetime of the result.
    #[inline(always)]
    pub(super) fn tensor(self) -> &'a DLTensor {
        // SAFETY: by the invariant the `DLTensor` is initialized, and is alive and
        // unchanged for `'a`.
        unsafe { &*self.slot.cast::<DLTensor>() }
    }

    #[inline(always)]
    pub(super) fn shape(self) -> &'a [i64] {
        // SAFETY: by the invariant there are `ndim` numbers, unchanged for `'a`.
        unsafe { slice::from_raw_parts(self.tensor().shape, self.ndim) }
    }

    #[inline(always)]
    pub(super) fn strides(self) -> &'a [i64] {
        // SAFETY: by the invariant there are `ndim` numbers, unchanged for `'a`.
        unsafe { slice::from_raw_parts(self.tensor().strides, self.ndim) }
    }
}

impl fmt::Debug for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tensor().fmt(f)
    }
}

const _: () = assert!(offset_of!(Slot, tensor) == 0);
