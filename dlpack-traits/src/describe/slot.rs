//! Where a tensor is described, and stays: [`Slot`].

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{MaybeUninit, offset_of};
use core::ptr::NonNull;

use crate::dims::Dim;
use crate::error::Error;
use crate::ffi::{DLManagedTensor, DLTensor};
use crate::layout::MAX_NDIM;

use super::Describe;

/// The most dimensions that a slot holds without an allocation of their own.
pub(crate) const INLINE: usize = 8;

/// The C struct of one tensor together with its shape and strides.
///
/// A packet contains one, at the place where the consumer reads the `DLTensor`. A view
/// that is borrowed for the time of a call keeps one on the stack.
#[repr(C)]
pub(crate) struct Slot {
    tensor: MaybeUninit<DLTensor>,
    /// The fields of the legacy struct that follow its `DLTensor`.
    legacy: MaybeUninit<[*mut c_void; 2]>,
    /// Shape and strides of more than [`INLINE`] dimensions.
    spill: Option<NonNull<i64>>,
    /// Shape, then strides, of fewer. Last, so that the bytes in use lie together.
    dims: [MaybeUninit<i64>; 2 * INLINE],
}

const _: () = {
    assert!(offset_of!(Slot, tensor) == offset_of!(DLManagedTensor, dl_tensor));
    assert!(offset_of!(Slot, spill) == size_of::<DLManagedTensor>());
    assert!(align_of::<DLManagedTensor>() <= align_of::<Slot>());
};

impl Slot {
    /// An empty slot.
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self {
            tensor: MaybeUninit::uninit(),
            legacy: MaybeUninit::uninit(),
            spill: None,
            dims: [MaybeUninit::uninit(); 2 * INLINE],
        }
    }

    /// The right to describe one tensor here. It replaces what was described before.
    #[inline(always)]
    pub(crate) fn describe(&mut self) -> Describe<'_> {
        // SAFETY: 1. The slot is mutably borrowed for the lifetime of the result.
        // 2. `new` initialised its spill.
        unsafe { Describe::at(NonNull::from(self)) }
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
        // SAFETY: by 1 the field is inside the slot.
        let place = unsafe { &raw mut (*slot.as_ptr()).spill };
        // SAFETY: by 1 it is initialised and only we access it.
        let spill = unsafe { place.replace(None) };
        if let Some(start) = spill {
            // SAFETY: 1. `Lists::new` put it there, and it was just taken out. By 2 its
            // numbers are not needed any more.
            unsafe { Spill::free(start) }
        }
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
        // its lifetime a description of a tensor here is over.
        unsafe { Self::clear(NonNull::from(self)) }
    }
}

/// One allocation for the lists of many dimensions: their capacity, then shape and
/// strides. Its handle is one pointer, which fits into the fixed layout of a slot.
struct Spill;

impl Spill {
    fn layout(ndim: usize) -> Option<Layout> {
        Layout::array::<i64>(ndim.checked_mul(2)?.checked_add(1)?).ok()
    }

    /// Room for twice `ndim` numbers behind the number at the returned pointer.
    fn alloc(ndim: usize) -> Result<NonNull<i64>, Error> {
        let too_many = Error::TooManyDims { ndim };
        let number = i64::try_from(ndim).map_err(|_| too_many)?;
        let layout = Self::layout(ndim).ok_or(too_many)?;
        // SAFETY: the layout holds at least the number in front, so its size is not zero.
        let start = unsafe { alloc(layout) };
        #[expect(clippy::cast_ptr_alignment, reason = "the layout is that of `i64`s")]
        let start = start.cast::<i64>();
        let start = NonNull::new(start).ok_or(Error::OutOfMemory { bytes: layout.size() })?;
        // SAFETY: the allocation is aligned for an `i64` and holds at least one.
        unsafe { start.write(number) };
        Ok(start)
    }

    /// # Safety
    ///
    /// 1. `start` came from [`alloc`](Self::alloc) and is not used again.
    #[cold]
    unsafe fn free(start: NonNull<i64>) {
        // SAFETY: `alloc` wrote the number in front.
        let ndim = unsafe { start.read() };
        // `alloc` computed the same layout from the same number.
        if let Some(layout) = usize::try_from(ndim).ok().and_then(Self::layout) {
            // SAFETY: `alloc` allocated it with this layout.
            unsafe { dealloc(start.as_ptr().cast(), layout) }
        }
    }
}

/// The shape and the strides in a slot, while they are written there.
///
/// Invariant: `start` is followed by room for twice `ndim` numbers, in the slot or in its
/// spill. The first `ndim` are initialised, and `ndim` more if `strided`.
pub(super) struct Lists<'a> {
    slot: NonNull<Slot>,
    start: NonNull<i64>,
    ndim: usize,
    strided: bool,
    life: PhantomData<&'a mut Slot>,
}

impl<'a> Lists<'a> {
    /// Copies a shape into the slot. An error leaves lists without dimensions.
    ///
    /// # Safety
    ///
    /// 1. `slot` points to a slot that the caller alone accesses for `'a`, and whose
    ///    `spill` is initialised.
    #[inline(always)]
    pub(super) unsafe fn new<I: Dim>(slot: NonNull<Slot>, shape: &[I]) -> (Self, Option<Error>) {
        // SAFETY: by 1 the field is inside the slot.
        let inline = unsafe { &raw mut (*slot.as_ptr()).dims };
        // SAFETY: a field of a slot is not at address 0.
        let start = unsafe { NonNull::new_unchecked(inline.cast::<i64>()) };
        let mut lists = Self { slot, start, ndim: 0, strided: false, life: PhantomData };
        if shape.len() > INLINE {
            match lists.spill(shape.len()) {
                Ok(start) => lists.start = start,
                Err(error) => return (lists, Some(error)),
            }
        }
        // SAFETY: 1. There is room for twice as many, and 2. only we access it.
        let fault = unsafe { copy(shape, lists.start) };
        if fault.is_none() {
            lists.ndim = shape.len();
        }
        (lists, fault.map(|axis| Error::DimTooLarge { axis }))
    }

    /// Gives the slot a spill for that many dimensions, and returns the first of them.
    #[cold]
    #[inline(never)]
    fn spill(&self, ndim: usize) -> Result<NonNull<i64>, Error> {
        if ndim > MAX_NDIM {
            return Err(Error::TooManyDims { ndim });
        }
        let spill = Spill::alloc(ndim)?;
        // SAFETY: by 1 of `new` the field is inside the slot.
        let place = unsafe { &raw mut (*self.slot.as_ptr()).spill };
        // SAFETY: by 1 of `new` it is initialised and ours to write.
        let before = unsafe { place.replace(Some(spill)) };
        if let Some(before) = before {
            // SAFETY: 1. It came from `alloc` and was just taken out. The lists that it
            // held are those of an earlier description, which is over, or are copied
            // by `append`, which reads them before.
            unsafe { Spill::free(before) }
        }
        // SAFETY: the allocation holds the number in front and at least one more.
        Ok(unsafe { spill.add(1) })
    }

    /// Copies as many strides as dimensions into the slot.
    #[inline(always)]
    pub(super) fn set_strides<I: Dim>(&mut self, strides: &[I]) -> Result<(), Error> {
        if strides.len() != self.ndim {
            return Err(rank_mismatch(self.ndim, strides.len()));
        }
        // SAFETY: behind the shape there is room for as many strides.
        let place = unsafe { self.start.add(self.ndim) };
        // SAFETY: 1. As above. 2. By 1 of `new` only we access it.
        match unsafe { copy(strides, place) } {
            None => self.strided = true,
            Some(axis) => return Err(Error::StrideTooLarge { axis }),
        }
        Ok(())
    }

    /// Keeps the first `ndim` dimensions, of which there are at least as many.
    #[cold]
    #[inline(never)]
    pub(super) fn truncate(&mut self, ndim: usize) {
        let kept = ndim.min(self.ndim);
        if self.strided {
            // SAFETY: the strides begin behind the shape.
            let from = unsafe { self.start.add(self.ndim) };
            // SAFETY: `kept` is at most `ndim`, so this is inside of the room.
            let to = unsafe { self.start.add(kept) };
            // SAFETY: by the invariant `ndim` strides are initialised from `from` on, and
            // from `to` on there is room for `kept` of them, which may be the same room.
            unsafe { from.copy_to(to, kept) };
        }
        self.ndim = kept;
    }

    /// Adds axes behind the others, with their strides.
    #[cold]
    #[inline(never)]
    pub(super) fn append(&mut self, axes: &[i64], inner: &[i64]) -> Result<(), Error> {
        let old = self.ndim;
        let ndim = old.saturating_add(axes.len());
        let mut shape = [0; MAX_NDIM];
        let mut strides = [0; MAX_NDIM];
        let (Some(new_shape), Some(new_strides)) = (shape.get_mut(..ndim), strides.get_mut(..ndim))
        else {
            return Err(Error::TooManyDims { ndim });
        };
        join(new_shape, self.shape(), axes);
        if self.strided {
            join(new_strides, self.strides(), inner);
        }
        if ndim > INLINE {
            self.start = self.spill(ndim)?;
        }
        self.ndim = ndim;
        // SAFETY: 1. There is room for twice `ndim` numbers, in the slot or in the new
        // spill. 2. Only we access it. All numbers of type `i64` fit.
        let _ = unsafe { copy(new_shape, self.start) };
        if self.strided {
            self.set_strides(new_strides)?;
        }
        Ok(())
    }

    /// The extents.
    #[inline(always)]
    pub(super) fn shape(&self) -> &[i64] {
        // SAFETY: by the invariant there are as many initialised numbers, which `&mut
        // self` alone changes.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.ndim) }
    }

    /// The strides; empty as long as there are none.
    #[inline(always)]
    pub(super) fn strides(&self) -> &[i64] {
        let len = if self.strided { self.ndim } else { 0 };
        // SAFETY: the strides begin behind the shape, inside of the room.
        let start = unsafe { self.start.add(self.ndim) };
        // SAFETY: by the invariant there are as many initialised numbers, which `&mut
        // self` alone changes.
        unsafe { core::slice::from_raw_parts(start.as_ptr(), len) }
    }

    /// The extents, and the place for as many strides.
    #[inline(always)]
    pub(super) fn shape_and_place(&mut self) -> (&[i64], &mut [MaybeUninit<i64>]) {
        // SAFETY: the strides begin behind the shape, inside of the room.
        let start = unsafe { self.start.add(self.ndim) };
        // SAFETY: by the invariant there is room for as many numbers, and `self` is
        // mutably borrowed.
        let place = unsafe { core::slice::from_raw_parts_mut(start.as_ptr().cast(), self.ndim) };
        // SAFETY: as in `shape`; the place is behind it.
        let shape = unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.ndim) };
        (shape, place)
    }

    /// The extents, and the strides to be changed.
    #[inline]
    pub(super) fn shape_and_strides_mut(&mut self) -> (&[i64], &mut [i64]) {
        let len = if self.strided { self.ndim } else { 0 };
        // SAFETY: the strides begin behind the shape, inside of the room.
        let start = unsafe { self.start.add(self.ndim) };
        // SAFETY: by the invariant there are as many initialised numbers, and `self` is
        // mutably borrowed.
        let strides = unsafe { core::slice::from_raw_parts_mut(start.as_ptr(), len) };
        // SAFETY: as in `shape`; the strides are behind it.
        let shape = unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.ndim) };
        (shape, strides)
    }

    /// Records that every stride is written.
    ///
    /// # Safety
    ///
    /// 1. Every number of the place that
    ///    [`shape_and_place`](Self::shape_and_place) returned is initialised.
    #[inline(always)]
    pub(super) unsafe fn assume_strides(&mut self) {
        self.strided = true;
    }

    #[inline(always)]
    pub(super) fn is_strided(&self) -> bool {
        self.strided
    }

    #[inline(always)]
    pub(super) fn ndim(&self) -> usize {
        self.ndim
    }

    /// Writes the C struct into the slot, with these lists.
    #[inline(always)]
    pub(super) fn write(self, tensor: DLTensor) -> Described<'a> {
        // SAFETY: the strides begin behind the shape, inside of the room.
        let strides = unsafe { self.start.add(self.ndim) };
        let tensor = DLTensor {
            // `Lists::new` and `append` refuse more than 64 dimensions.
            ndim: i32::try_from(self.ndim).unwrap_or(0),
            shape: self.start.as_ptr(),
            strides: strides.as_ptr(),
            ..tensor
        };
        // SAFETY: by 1 of `new` the field is inside the slot.
        let place = unsafe { &raw mut (*self.slot.as_ptr()).tensor };
        // SAFETY: by 1 of `new` only we access it.
        unsafe { place.write(MaybeUninit::new(tensor)) };
        Described { slot: self.slot, life: PhantomData }
    }
}

/// A slot in which a tensor was described.
///
/// Invariant: its `DLTensor` is initialised, and its lists have `ndim` numbers each, in
/// the slot or in its spill. Nobody writes to them for `'a`.
#[derive(Clone, Copy)]
pub(super) struct Described<'a> {
    slot: NonNull<Slot>,
    life: PhantomData<&'a Slot>,
}

impl<'a> Described<'a> {
    /// The C struct, whose lists are as good as the result.
    #[inline(always)]
    pub(super) fn tensor(self) -> &'a DLTensor {
        // SAFETY: by the invariant the slot is initialised that far, and is alive and
        // unchanged for `'a`.
        unsafe { self.slot.cast::<DLTensor>().as_ref() }
    }

    #[inline(always)]
    pub(super) fn shape(self) -> &'a [i64] {
        let tensor = self.tensor();
        let ndim = usize::try_from(tensor.ndim).unwrap_or(0);
        // SAFETY: by the invariant there are as many numbers, unchanged for `'a`.
        unsafe { core::slice::from_raw_parts(tensor.shape, ndim) }
    }

    #[inline(always)]
    pub(super) fn strides(self) -> &'a [i64] {
        let tensor = self.tensor();
        let ndim = usize::try_from(tensor.ndim).unwrap_or(0);
        // SAFETY: by the invariant there are as many numbers, unchanged for `'a`.
        unsafe { core::slice::from_raw_parts(tensor.strides, ndim) }
    }
}

impl fmt::Debug for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tensor().fmt(f)
    }
}

#[cold]
fn rank_mismatch(shape: usize, strides: usize) -> Error {
    Error::RankMismatch { shape, strides }
}

/// Copies integers as `i64`s. Returns the index of one that does not fit.
///
/// The loop may end early, which keeps the compiler from vectorising it: lists are short,
/// and the prologue of a vectorised loop costs more than they do.
///
/// # Safety
///
/// 1. From `to` on there is room for as many numbers.
/// 2. No one else accesses it.
#[inline(always)]
unsafe fn copy<I: Dim>(from: &[I], to: NonNull<i64>) -> Option<usize> {
    for (axis, number) in from.iter().enumerate() {
        let Some(number) = number.to_i64() else { return Some(axis) };
        // SAFETY: by 1 it is inside of the room.
        let place = unsafe { to.add(axis) };
        // SAFETY: by 2 only we access it.
        unsafe { place.write(number) };
    }
    None
}

/// `front`, then `back`.
fn join(to: &mut [i64], front: &[i64], back: &[i64]) {
    for (to, &from) in to.iter_mut().zip(front.iter().chain(back)) {
        *to = from;
    }
}
