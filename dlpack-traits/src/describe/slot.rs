//! The memory in which a tensor is described: [`Slot`].

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::ffi::c_void;
use core::fmt;
use core::mem::{MaybeUninit, offset_of};
use core::ptr::NonNull;

use crate::error::Error;
use crate::ffi::{DLManagedTensor, DLTensor};
use crate::strides::MAX_NDIM;

/// The maximum number of dimensions that a slot stores without an allocation.
pub(crate) const INLINE: usize = 8;

/// The C struct of one tensor together with its shape and strides.
///
/// A packet contains one, at the address where the consumer reads the `DLTensor`. A view
/// that is borrowed for the duration of a call stores one on the stack:
///
/// ```
/// use dlpack_traits::{DLPackExport, DataRef, Slot};
/// # use dlpack_traits::{Describe, Description, Error, Storage};
/// # struct Samples(Vec<f32>);
/// # impl DLPackExport for Samples {
/// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
/// #         out.shape(&[2]).data(self.0.data())
/// #     }
/// # }
///
/// let samples = Samples(vec![1.0, 2.0]);
/// let mut slot = Slot::new();
/// let tensor = samples.describe(slot.describe())?;
/// assert_eq!(tensor.shape(), [2]); // no allocation, and nothing is moved
/// # Ok::<(), Error>(())
/// ```
#[repr(C)]
pub struct Slot {
    pub(super) tensor: MaybeUninit<DLTensor>,
    /// The fields of the legacy struct that follow its `DLTensor`.
    legacy: [MaybeUninit<*mut c_void>; 2],
    /// Shape and strides of more than [`INLINE`] dimensions. If it is `Some`, the lists of
    /// the tensor are in it.
    spill: Option<NonNull<i64>>,
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
            legacy: [MaybeUninit::uninit(); 2],
            spill: None,
            dims: [MaybeUninit::uninit(); 2 * INLINE],
        }
    }

    /// Ends an earlier description of a tensor in this slot.
    #[inline(always)]
    pub(super) fn reset(&mut self) {
        if self.spill.is_some() {
            // SAFETY: 1. `new` initialised the spill, and the slot is mutably borrowed. 2.
            // By its lifetime an earlier description of a tensor here has ended.
            unsafe { Self::clear(NonNull::from(self)) }
        }
    }

    /// Frees the spill, if there is one.
    ///
    /// # Safety
    ///
    /// 1. `slot` points to a slot whose `spill` is initialised, and no one else accesses
    ///    that field meanwhile.
    /// 2. Nothing reads the lists of a tensor that was described there any more.
    #[inline(always)]
    pub(crate) unsafe fn clear(slot: NonNull<Self>) {
        let place = spill_of(slot);
        // SAFETY: by 1 it is initialised and only we access it.
        if let Some(start) = unsafe { place.read() } {
            // The store is inside of the branch, which is rare, so that most exports skip
            // it.
            // SAFETY: as above.
            unsafe { place.write(None) };
            // SAFETY: 1. `spill` stored the pointer there, and it was just removed. By 2
            // its numbers are not needed any more.
            unsafe { Spill::free(start) }
        }
    }
}

impl Slot {
    /// Initialises the fields that are read before a tensor is described.
    ///
    /// # Safety
    ///
    /// 1. `slot` points to memory for a slot, which no one else accesses.
    #[inline(always)]
    pub(crate) unsafe fn init(slot: NonNull<Self>) {
        // SAFETY: by 1 it may be written.
        unsafe { spill_of(slot).write(None) }
    }

    /// The address of the lists that were last written in a slot.
    ///
    /// # Safety
    ///
    /// 1. `slot` points to a slot whose `spill` is initialised, and no one else accesses it.
    pub(super) unsafe fn start(slot: NonNull<Self>) -> NonNull<i64> {
        // SAFETY: by 1 the field is inside of the slot.
        let place = unsafe { &raw const (*slot.as_ptr()).spill };
        // SAFETY: by 1 it is initialised and only we access it.
        match unsafe { place.read() } {
            // SAFETY: the allocation has the capacity in front and at least one more
            // number.
            Some(spill) => unsafe { spill.add(1) },
            None => inline(slot),
        }
    }

    /// Replaces the data pointer of the C struct.
    ///
    /// # Safety
    ///
    /// 1. A tensor was described in `slot`, its description has ended, and no one else
    ///    accesses the slot.
    #[inline(always)]
    pub(crate) unsafe fn set_data(slot: NonNull<Self>, data: *mut u8) {
        const DATA: usize = offset_of!(Slot, tensor).wrapping_add(offset_of!(DLTensor, data));
        let place = slot.as_ptr().wrapping_byte_add(DATA).cast::<*mut c_void>();
        // SAFETY: by 1 it may be written.
        unsafe { place.write(data.cast()) }
    }

    /// The C struct, which is initialised once a tensor was described.
    #[inline(always)]
    pub(crate) fn tensor(&self) -> &MaybeUninit<DLTensor> {
        &self.tensor
    }

    /// The address of the shape of a tensor that was described here, also if the slot was
    /// moved since.
    #[inline(always)]
    pub(crate) fn lists(&self) -> *const i64 {
        match self.spill {
            // After the capacity.
            Some(start) => start.as_ptr().cast_const().wrapping_add(1),
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
        // SAFETY: 1. `new` initialised the spill, and the slot is mutably borrowed. 2. By
        // its lifetime a description of a tensor here has ended.
        unsafe { Self::clear(NonNull::from(self)) }
    }
}

/// One allocation for the lists of many dimensions: their capacity, then shape and strides.
/// It is referred to by one pointer, which fits in the fixed layout of a slot.
struct Spill;

impl Spill {
    fn layout(ndim: usize) -> Option<Layout> {
        Layout::array::<i64>(ndim.checked_mul(2)?.checked_add(1)?).ok()
    }

    /// Allocates room for twice `ndim` numbers, after the capacity, to which the result
    /// points.
    fn alloc(ndim: usize) -> Result<NonNull<i64>, Error> {
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
        Ok(start)
    }

    /// # Safety
    ///
    /// 1. `start` was returned by [`alloc`](Self::alloc) and is not used again.
    #[cold]
    unsafe fn free(start: NonNull<i64>) {
        // SAFETY: `alloc` wrote the capacity there.
        let ndim = unsafe { start.read() };
        // `alloc` computed the same layout from the same number.
        if let Some(layout) = usize::try_from(ndim).ok().and_then(Self::layout) {
            // SAFETY: `alloc` allocated the memory with this layout.
            unsafe { dealloc(start.as_ptr().cast(), layout) }
        }
    }
}

/// The address of the spill of a slot.
#[inline(always)]
fn spill_of(slot: NonNull<Slot>) -> *mut Option<NonNull<i64>> {
    slot.as_ptr().wrapping_byte_add(offset_of!(Slot, spill)).cast()
}

/// Returns room for shape and strides of `ndim` dimensions, in the slot or in a new spill.
/// `None` if there is no room: then the description was refused.
///
/// # Safety
///
/// 1. `slot` points to a slot whose `spill` is initialised, and no one else accesses it.
/// 2. Nothing reads lists that are in its spill any more.
#[inline(always)]
pub(super) unsafe fn room(slot: NonNull<Slot>, ndim: usize) -> Option<NonNull<i64>> {
    if ndim > INLINE {
        // SAFETY: 1. and 2. Guaranteed by our caller's 1 and 2.
        return unsafe { spill(slot, ndim) };
    }
    Some(inline(slot))
}

/// The address of the lists that a slot stores itself.
#[inline(always)]
fn inline(slot: NonNull<Slot>) -> NonNull<i64> {
    let start = slot.as_ptr().wrapping_byte_add(offset_of!(Slot, dims)).cast();
    // SAFETY: a field of a slot is not at address 0.
    unsafe { NonNull::new_unchecked(start) }
}

/// Gives a slot a spill for `ndim` dimensions, and returns the address of the first. A
/// previous spill is freed.
///
/// # Safety
///
/// 1. and 2. As for [`room`].
#[cold]
#[inline(never)]
unsafe fn spill(slot: NonNull<Slot>, ndim: usize) -> Option<NonNull<i64>> {
    let spill = match Spill::alloc(ndim) {
        Ok(spill) => spill,
        Err(error) => {
            // SAFETY: 1. Guaranteed by our caller's 1.
            unsafe { refuse(slot, error) };
            return None;
        }
    };
    // SAFETY: 1. and 2. Guaranteed by our caller's 1 and 2.
    unsafe { Slot::clear(slot) };
    // SAFETY: by 1 it is initialised and only we access it.
    unsafe { spill_of(slot).write(Some(spill)) };
    // SAFETY: the allocation has the capacity in front and at least one more number.
    Some(unsafe { spill.add(1) })
}

/// Stores the error of a description in place of the C struct. In registers, the error
/// would be carried and moved on paths without an error too (measured: 12 instructions per
/// export).
///
/// # Safety
///
/// 1. As 1 of [`room`].
#[cold]
#[inline(never)]
pub(super) unsafe fn refuse(slot: NonNull<Slot>, error: Error) {
    // SAFETY: by the assertion below an error fits in place of the struct, and by 1 it may
    // be written.
    unsafe { slot.cast::<Error>().write(error) }
}

/// The error that [`refuse`] stored.
///
/// # Safety
///
/// 1. As 1 of [`room`].
/// 2. `refuse` was called, and nothing was written there since.
#[cold]
pub(super) unsafe fn refusal(slot: NonNull<Slot>) -> Error {
    // SAFETY: by 1 it may be read, and by 2 an error is stored there.
    unsafe { slot.cast::<Error>().read() }
}

const _: () = {
    assert!(
        size_of::<Error>() <= size_of::<DLTensor>() && align_of::<Error>() <= align_of::<Slot>()
    );
    assert!(offset_of!(Slot, tensor) == 0);
};
