//! The shape and the strides in a slot: [`Lists`] while they are written, [`Described`] when
//! the tensor is complete.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::slot::{INLINE, Slot, spill};
use crate::dims::Dim;
use crate::error::Error;
use crate::ffi::DLTensor;
use crate::layout::MAX_NDIM;

/// The shape and the strides in a slot, while they are written there.
///
/// Invariant: `start` is followed by room for twice `ndim` numbers, in the slot or in its
/// spill. The first `ndim` are initialised, and `ndim` more if `strided`.
#[derive(Debug)]
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
            // SAFETY: 1. Guaranteed by our caller's 1.
            match unsafe { spill(slot, shape.len()) } {
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

    /// Removes the strides.
    #[inline(always)]
    pub(super) fn forget_strides(&mut self) {
        self.strided = false;
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
            // SAFETY: 1. Guaranteed by 1 of `new`. The lists were copied before.
            self.start = unsafe { spill(self.slot, ndim) }?;
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
pub(crate) struct Described<'a> {
    slot: NonNull<Slot>,
    life: PhantomData<&'a Slot>,
}

impl<'a> Described<'a> {
    /// Whether the tensor was described in this slot.
    #[inline(always)]
    pub(super) fn is_in(self, slot: NonNull<Slot>) -> bool {
        self.slot == slot
    }

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
/// Each store is volatile, which keeps the compiler from vectorising the loop: lists are
/// short, and the prologue of a vectorised loop costs more than they do (measured: 3 ns).
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
        unsafe { place.write_volatile(number) };
    }
    None
}

/// `front`, then `back`.
fn join(to: &mut [i64], front: &[i64], back: &[i64]) {
    for (to, &from) in to.iter_mut().zip(front.iter().chain(back)) {
        *to = from;
    }
}
