//! The shape and the strides in a slot: [`Lists`] while they are written, [`Described`]
//! when the tensor is complete.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::slice;

use super::slot::{INLINE, Slot, refusal, refuse, room};
use super::walk::{Reach, contiguous};
use crate::dims::Dim;
use crate::error::Error;
use crate::ffi::DLTensor;
use crate::strides::{self, MAX_NDIM};

/// The shape and the strides in a slot, while they are written there.
///
/// Invariant: `start` points to twice `ndim` initialised numbers, in the slot or in its
/// spill, which only this value accesses for `'a`.
#[derive(Debug)]
pub(super) struct Lists<'a> {
    slot: NonNull<Slot>,
    start: NonNull<i64>,
    ndim: usize,
    life: PhantomData<&'a mut Slot>,
}

impl<'a> Lists<'a> {
    /// Writes a shape into the slot, and the strides of a contiguous row-major tensor.
    ///
    /// Returns the lists, and the elements that they reach.
    ///
    /// # Safety
    ///
    /// 1. `slot` points to a slot that only the caller accesses for `'a`, and whose `spill`
    ///    is initialised.
    #[inline(always)]
    pub(super) unsafe fn new<I: Dim>(
        slot: NonNull<Slot>,
        shape: &[I],
    ) -> (Self, Result<Reach, Error>) {
        let (ndim, life) = (shape.len(), PhantomData);
        // SAFETY: 1. and 2. Guaranteed by our caller's 1.
        let start = match unsafe { room(slot, ndim) } {
            Ok(start) => start,
            Err(error) => {
                return (Self { slot, start: NonNull::dangling(), ndim: 0, life }, Err(error));
            }
        };
        let numbers = start.as_ptr().cast::<MaybeUninit<i64>>();
        // SAFETY: there is room for twice `ndim` numbers, which by 1 only we access.
        let numbers = unsafe { slice::from_raw_parts_mut(numbers, ndim.wrapping_mul(2)) };
        // A `match`, because `unwrap_or_default` compiles to two conditional moves.
        let (dims, strides) = match numbers.split_at_mut_checked(ndim) {
            Some(halves) => halves,
            None => nothing(),
        };
        let axes = shape.iter().zip(dims.iter_mut().zip(strides.iter_mut())).rev();
        let numel = contiguous(
            axes.map(|(dim, places)| (dim.to_i64(), places)),
            |(to, place), dim, stride| {
                to.write(dim);
                place.write(stride);
            },
        );
        let reach = match numel {
            Some(numel) => Ok(Reach::of_contiguous(numel)),
            None => write_unusual(shape, dims, strides),
        };
        (Self { slot, start, ndim, life }, reach)
    }

    /// Rewrites the lists with only the first `ndim` dimensions. There are at least `ndim`,
    /// and `ndim` is at most `N`.
    pub(super) fn truncated<const N: usize>(self, ndim: usize) -> (Self, Result<Reach, Error>) {
        let mut kept = [0; N];
        let (shape, _) = self.split();
        let kept = match (kept.get_mut(..ndim), shape.get(..ndim)) {
            (Some(kept), Some(shape)) => {
                kept.copy_from_slice(shape);
                kept
            }
            _ => &mut [],
        };
        // SAFETY: 1. By 1 of `new` only we access it. 2. The numbers that are kept were
        // copied.
        unsafe { Slot::clear(self.slot) };
        // SAFETY: 1. Guaranteed by 1 of `new`.
        unsafe { Self::new(self.slot, kept) }
    }

    /// Returns a copy, for a call that completes the lists in the slot.
    #[inline(always)]
    pub(super) fn copied(&self) -> Self {
        Self { ..*self }
    }

    /// Writes one stride per dimension, and returns the elements that they reach.
    /// `contiguous` is the reach of a contiguous tensor of this shape.
    #[inline(always)]
    pub(super) fn set_strides<I: Dim>(
        &mut self,
        strides: &[I],
        contiguous: Reach,
    ) -> Result<Reach, Error> {
        if strides.len() != self.ndim {
            return Err(rank_mismatch(self.ndim, strides.len()));
        }
        let (shape, places) = self.split_mut();
        let axes = shape.iter().zip(strides.iter().zip(places.iter_mut())).rev();
        let axes = axes.map(|(&dim, (stride, place))| (dim, stride.to_i64(), place));
        match contiguous.strided(axes, |place, stride| *place = stride) {
            Some(reach) => Ok(reach),
            None => write_all(strides, places),
        }
    }

    /// Appends the axes of elements that are contiguous arrays; the existing strides count
    /// such elements.
    #[inline(never)]
    pub(super) fn append(&mut self, axes: &[i64]) -> Result<(), Error> {
        if self.ndim.saturating_add(axes.len()) <= INLINE {
            self.append_within::<INLINE>(axes)
        } else {
            self.append_within::<MAX_NDIM>(axes)
        }
    }

    /// As [`append`](Self::append), up to `N` dimensions.
    fn append_within<const N: usize>(&mut self, axes: &[i64]) -> Result<(), Error> {
        let old = self.ndim;
        let ndim = old.saturating_add(axes.len());
        let (mut new_shape, mut new_strides) = ([0; N], [0; N]);
        let (Some(new_shape), Some(new_strides)) =
            (new_shape.get_mut(..ndim), new_strides.get_mut(..old))
        else {
            return Err(Error::TooManyDims { ndim });
        };
        let inner = strides::numel(axes)?;
        let (shape, strides) = self.split();
        for (to, &from) in new_shape.iter_mut().zip(shape.iter().chain(axes)) {
            *to = from;
        }
        for (to, &from) in new_strides.iter_mut().zip(strides) {
            *to = from.checked_mul(inner).ok_or(Error::SizeOverflow)?;
        }
        // SAFETY: 1. Guaranteed by 1 of `new`. The lists were copied before.
        let (lists, written) = unsafe { Self::new(self.slot, new_shape) };
        written?;
        *self = lists;
        // `new` has already written the strides of the appended axes.
        for (to, &from) in self.split_mut().1.iter_mut().zip(new_strides.iter()) {
            *to = from;
        }
        Ok(())
    }

    /// The shape and the strides.
    #[inline(always)]
    pub(super) fn split(&self) -> (&[i64], &[i64]) {
        let len = self.ndim.wrapping_mul(2);
        // SAFETY: by the invariant there are `len` numbers, which only `&mut self` changes.
        let numbers = unsafe { slice::from_raw_parts(self.start.as_ptr(), len) };
        match numbers.split_at_checked(self.ndim) {
            Some(halves) => halves,
            None => nothing(),
        }
    }

    /// The shape, and the strides for writing.
    #[inline(always)]
    pub(super) fn split_mut(&mut self) -> (&[i64], &mut [i64]) {
        let len = self.ndim.wrapping_mul(2);
        // SAFETY: by the invariant there are `len` numbers, and `self` is mutably borrowed.
        let numbers = unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), len) };
        match numbers.split_at_mut_checked(self.ndim) {
            Some((shape, strides)) => (shape, strides),
            None => nothing(),
        }
    }

    #[inline(always)]
    pub(super) fn ndim(&self) -> usize {
        self.ndim
    }

    /// Stores the error of the description in the slot.
    #[inline(always)]
    pub(super) fn refuse(&self, error: Error) {
        // SAFETY: 1. Guaranteed by 1 of `new`.
        unsafe { refuse(self.slot, error) }
    }

    /// The error that [`refuse`](Self::refuse) stored.
    ///
    /// # Safety
    ///
    /// 1. `refuse` was called, and [`write`](Self::write) was not.
    #[cold]
    pub(super) unsafe fn refusal(&self) -> Error {
        // SAFETY: 1. Guaranteed by 1 of `new`. 2. Guaranteed by our caller's 1.
        unsafe { refusal(self.slot) }
    }

    /// Writes the C struct into the slot, with these lists.
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "`room` refuses more than 64 dimensions"
    )]
    pub(super) fn write(&self, tensor: DLTensor) {
        let tensor = DLTensor {
            ndim: self.ndim as i32,
            shape: self.start.as_ptr(),
            // After the shape, inside of the room.
            strides: self.start.as_ptr().wrapping_add(self.ndim),
            ..tensor
        };
        // SAFETY: by 1 of `new` only we access the slot, whose first field is the struct.
        unsafe { self.slot.cast::<DLTensor>().write(tensor) };
    }

    /// Returns the complete tensor.
    ///
    /// # Safety
    ///
    /// 1. [`write`](Self::write) was called, for these lists or a [copy](Self::copied).
    #[inline(always)]
    pub(super) unsafe fn described(self) -> Described<'a> {
        Described { slot: self.slot, life: PhantomData }
    }
}

/// Writes a shape for which [`contiguous`] returned `None`, and strides as if its zero
/// dimensions were 1. A dimension that does not fit is written as 0.
#[cold]
#[inline(never)]
fn write_unusual<I: Dim>(
    shape: &[I],
    dims: &mut [MaybeUninit<i64>],
    strides: &mut [MaybeUninit<i64>],
) -> Result<Reach, Error> {
    let mut reach = Ok(Reach::BEYOND);
    let mut step = 1_i64;
    let axes = shape.iter().zip(dims.iter_mut().zip(strides)).enumerate();
    for (axis, (dim, (to, stride))) in axes.rev() {
        let dim = dim.to_i64().unwrap_or_else(|| {
            reach = Err(Error::DimTooLarge { axis });
            0
        });
        to.write(dim);
        stride.write(step);
        step = step.saturating_mul(dim.max(1));
    }
    reach
}

/// Writes strides for which [`Reach::strided`] returned `None`.
#[cold]
#[inline(never)]
fn write_all<I: Dim>(strides: &[I], places: &mut [i64]) -> Result<Reach, Error> {
    for (axis, (place, stride)) in places.iter_mut().zip(strides).enumerate() {
        *place = stride.to_i64().ok_or(Error::StrideTooLarge { axis })?;
    }
    Ok(Reach::BEYOND)
}

/// Unreachable: lists can always be split into halves.
#[cold]
fn nothing<T: Default>() -> T {
    T::default()
}

/// A slot in which a tensor was described.
///
/// Invariant: its `DLTensor` is initialised, and its lists have `ndim` numbers each, in the
/// slot or in its spill. No one writes to them for `'a`.
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

    /// The C struct. Its pointers to the lists are valid for the lifetime of the result.
    #[inline(always)]
    pub(super) fn tensor(self) -> &'a DLTensor {
        // SAFETY: by the invariant the `DLTensor` is initialised, and is alive and
        // unchanged for `'a`.
        unsafe { self.slot.cast::<DLTensor>().as_ref() }
    }

    #[inline(always)]
    pub(super) fn shape(self) -> &'a [i64] {
        let tensor = self.tensor();
        let ndim = usize::try_from(tensor.ndim).unwrap_or(0);
        // SAFETY: by the invariant there are `ndim` numbers, unchanged for `'a`.
        unsafe { core::slice::from_raw_parts(tensor.shape, ndim) }
    }

    #[inline(always)]
    pub(super) fn strides(self) -> &'a [i64] {
        let tensor = self.tensor();
        let ndim = usize::try_from(tensor.ndim).unwrap_or(0);
        // SAFETY: by the invariant there are `ndim` numbers, unchanged for `'a`.
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
