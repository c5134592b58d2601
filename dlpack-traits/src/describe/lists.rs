//! The shape and the strides in a slot: [`Lists`] while they are written, [`Described`]
//! when the tensor is complete.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::slice;

use super::slot::{INLINE, Slot, SlotMut};
use super::walk::{ElementRange, contiguous, strided};
use crate::dims::Dim;
use crate::error::Error;
use crate::ffi::DLTensor;
use crate::strides::{self, MAX_NDIM};

/// The shape and the strides in a slot, while they are written there.
///
/// Invariant: `start` points to twice `ndim` initialized numbers: in the slot, or, if `ndim` is more
/// than [`INLINE`], in its spill, which then exists and is not replaced as long as this is used.
#[derive(Debug)]
pub(super) struct Lists<'a> {
    slot: SlotMut<'a>,
    start: *mut i64,
    ndim: usize,
}

impl<'a> Lists<'a> {
    /// Writes a shape into the slot, and the strides of a contiguous row-major tensor.
    ///
    /// Returns the lists, the elements that they reach, and whether the shape was refused.
    #[inline(always)]
    pub(super) fn new<I: Dim>(mut slot: SlotMut<'a>, shape: &[I]) -> (Self, ElementRange, bool) {
        let ndim = shape.len();
        let Some(start) = slot.room(ndim) else {
            return (Self { start: slot.inline(), slot, ndim: 0 }, ElementRange::BEYOND, true);
        };
        let numbers = start.cast::<MaybeUninit<i64>>();
        // SAFETY: there is room for twice `ndim` aligned numbers, which only we access, and which may
        // be uninitialized.
        let dims = unsafe { slice::from_raw_parts_mut(numbers, ndim) };
        // SAFETY: as above; this is the second half, which does not overlap the first.
        let strides = unsafe { slice::from_raw_parts_mut(numbers.wrapping_add(ndim), ndim) };
        let axes = shape.iter().zip(dims.iter_mut().zip(strides.iter_mut())).rev();
        let numel = contiguous(
            axes.map(|(dim, places)| (dim.to_i64(), places)),
            |(to, place), dim, stride| {
                to.write(dim);
                place.write(stride);
            },
        );
        let (reach, refused) = match numel {
            Some(numel) => (ElementRange::of_contiguous(numel), false),
            None => (ElementRange::BEYOND, write_unusual(slot.reborrow(), shape)),
        };
        (Self { slot, start, ndim }, reach, refused)
    }

    /// As [`new`](Self::new) and [`set_strides`](Self::set_strides), in one pass: returns the lists,
    /// the elements that they reach, their `repeats`, and whether the lists were refused.
    #[inline(always)]
    pub(super) fn strided<I: Dim, J: Dim>(
        mut slot: SlotMut<'a>,
        shape: &[I],
        strides: &[J],
    ) -> (Self, ElementRange, i64, bool) {
        let ndim = shape.len();
        let Some(start) = slot.room(ndim) else {
            return (Self { start: slot.inline(), slot, ndim: 0 }, ElementRange::BEYOND, 0, true);
        };
        // As in `new`: a function that both call, with the loop as a closure or with the lists as
        // its result, costs 7 to 14 instructions per description.
        let numbers = start.cast::<MaybeUninit<i64>>();
        // SAFETY: there is room for twice `ndim` aligned numbers, which only we access, and which may
        // be uninitialized.
        let dims_to = unsafe { slice::from_raw_parts_mut(numbers, ndim) };
        // SAFETY: as above; this is the second half, which does not overlap the first.
        let strides_to = unsafe { slice::from_raw_parts_mut(numbers.wrapping_add(ndim), ndim) };
        let places = dims_to.iter_mut().zip(strides_to.iter_mut());
        let axes = shape.iter().zip(strides).zip(places).rev();
        let axes = axes.map(|((dim, stride), places)| (dim.to_i64(), stride.to_i64(), places));
        let walked = (strides.len() == ndim).then(|| {
            strided(axes, |(dim_to, stride_to), dim, stride| {
                dim_to.write(dim);
                stride_to.write(stride);
            })
        });
        let (reach, repeats, refused) = match walked.flatten() {
            Some((reach, repeats)) => (reach, repeats, false),
            None => (ElementRange::BEYOND, 0, write_both(slot.reborrow(), shape, strides)),
        };
        (Self { slot, start, ndim }, reach, repeats, refused)
    }

    /// Rewrites the lists with only the first `ndim` dimensions. There are at least `ndim`,
    /// and `ndim` is at most `N`.
    pub(super) fn truncated<const N: usize>(mut self, ndim: usize) -> (Self, ElementRange, bool) {
        let mut kept = [0; N];
        let (shape, _) = self.split();
        let kept = match (kept.get_mut(..ndim), shape.get(..ndim)) {
            (Some(kept), Some(shape)) => {
                kept.copy_from_slice(shape);
                kept
            }
            _ => &mut [],
        };
        self.slot.clear();
        Self::new(self.slot, kept)
    }

    /// The slot, and the number of dimensions, as [`of_parts`](Self::of_parts) takes them.
    #[inline(always)]
    pub(super) fn parts(&self) -> (*mut Slot, usize) {
        (self.slot.as_ptr(), self.ndim)
    }

    /// Returns the lists of `parts`, for a call that completes them in the slot.
    ///
    /// # Safety
    ///
    /// 1. [`parts`](Self::parts) returned them, for lists that are not used before the
    ///    result, and that are alive for `'a`.
    pub(super) unsafe fn of_parts((slot, ndim): (*mut Slot, usize)) -> Self {
        // SAFETY: 1. By our caller's 1 only the result accesses it. 2. By the invariant of
        // the `SlotMut` from which the lists were made.
        let mut slot = unsafe { SlotMut::at(slot) };
        Self { start: slot.start(), slot, ndim }
    }

    /// Writes one stride per dimension. Returns the elements that they reach, their `repeats`
    /// ([`ElementRange::strided`]), and whether the description is refused, which it is if it was
    /// `refused` before.
    ///
    /// `contiguous` is the reach of a contiguous tensor of this shape.
    #[inline(always)]
    pub(super) fn set_strides<I: Dim>(
        &mut self,
        strides: &[I],
        contiguous: ElementRange,
        refused: bool,
    ) -> (ElementRange, i64, bool) {
        if strides.len() != self.ndim {
            refuse_rank(self.slot.reborrow(), refused, self.ndim, strides.len());
            return (ElementRange::BEYOND, 0, true);
        }
        let (shape, places) = self.split_mut();
        let axes = shape.iter().zip(strides.iter().zip(places.iter_mut())).rev();
        let axes = axes.map(|(&dim, (stride, place))| (dim, stride.to_i64(), place));
        match contiguous.strided(axes, |place, stride| *place = stride) {
            Some((reach, repeats)) => (reach, repeats, refused),
            None => (ElementRange::BEYOND, 0, write_all(self.slot.reborrow(), refused, strides)),
        }
    }

    /// Whether the axes of each element fit in the slot, and the number of their parts in all
    /// elements in 64 bits. With strides of 0, that number may be larger than any memory.
    #[inline(always)]
    pub(super) fn can_append(&self, axes: &[i64]) -> bool {
        let (shape, _) = self.split();
        let all = shape.iter().chain(axes).map(|&dim| (Some(dim), ()));
        self.ndim.saturating_add(axes.len()) <= INLINE && contiguous(all, |(), _, _| {}).is_some()
    }

    /// Appends the axes of elements that are contiguous arrays; the existing strides count
    /// such elements.
    pub(super) fn append(&mut self, axes: &[i64]) -> Result<(), Error> {
        if self.can_append(axes) { self.append_inline(axes) } else { self.append_any(axes) }
    }

    /// As [`append`](Self::append), for axes that [`can_append`](Self::can_append) accepts: for
    /// these, the lists are unchanged after an error.
    #[inline]
    pub(super) fn append_inline(&mut self, axes: &[i64]) -> Result<(), Error> {
        let old = self.ndim;
        let ndim = old.saturating_add(axes.len());
        // By `can_append` the product fits.
        let inner = axes.iter().fold(1_i64, |product, &dim| product.wrapping_mul(dim));
        let mut scaled = [0; INLINE];
        for (to, &from) in scaled.iter_mut().zip(self.split().1) {
            *to = from.checked_mul(inner).ok_or(Error::SizeOverflow)?;
        }
        let is_inline = self.start == self.slot.inline();
        let (dims, strides) = self.slot.places(ndim);
        let has_room = is_inline && strides.len() == ndim;
        let (Some(dims), Some((outer, inner)), true) =
            (dims.get_mut(old..), strides.split_at_mut_checked(old), has_room)
        else {
            return Err(Error::TooManyDims { ndim });
        };
        for (to, from) in outer.iter_mut().zip(scaled) {
            to.write(from);
        }
        let appended = axes.iter().zip(dims.iter_mut().zip(inner)).rev();
        let written =
            contiguous(appended.map(|(&dim, to)| (Some(dim), to)), |(dim_to, to), dim, stride| {
                dim_to.write(dim);
                to.write(stride);
            });
        if written.is_none() {
            return Err(Error::SizeOverflow);
        }
        // The first half has the shape as before and the axes, the second half was written.
        (self.start, self.ndim) = (self.slot.inline(), ndim);
        Ok(())
    }

    /// As [`append`](Self::append), for any axes.
    #[cold]
    fn append_any(&mut self, axes: &[i64]) -> Result<(), Error> {
        let old = self.ndim;
        let ndim = old.saturating_add(axes.len());
        let (mut new_shape, mut new_strides) = ([0; MAX_NDIM], [0; MAX_NDIM]);
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
        let (Lists { start, ndim, .. }, _, refused) = Lists::new(self.slot.reborrow(), new_shape);
        (self.start, self.ndim) = (start, ndim);
        if refused {
            // SAFETY: 1. `new` stored the error, and nothing was written since.
            return Err(unsafe { self.refusal() });
        }
        // `new` has already written the strides of the appended axes.
        for (to, &from) in self.split_mut().1.iter_mut().zip(new_strides.iter()) {
            *to = from;
        }
        Ok(())
    }

    /// The shape and the strides.
    #[inline(always)]
    pub(super) fn split(&self) -> (&[i64], &[i64]) {
        // SAFETY: by the invariant there are `ndim` numbers, which only `&mut self` changes.
        let shape = unsafe { slice::from_raw_parts(self.start, self.ndim) };
        // SAFETY: by the invariant there are as many after them.
        let strides = unsafe { slice::from_raw_parts(self.strides(), self.ndim) };
        (shape, strides)
    }

    /// The shape, and the strides for writing.
    ///
    /// Two slices from pointers, because a slice of both that is split has a branch for a
    /// length beyond the middle (measured: 10 instructions per description).
    #[inline(always)]
    pub(super) fn split_mut(&mut self) -> (&[i64], &mut [i64]) {
        // SAFETY: by the invariant there are `ndim` numbers, and `self` is mutably borrowed.
        let shape = unsafe { slice::from_raw_parts(self.start, self.ndim) };
        // SAFETY: by the invariant there are as many after them, which do not overlap them.
        let strides = unsafe { slice::from_raw_parts_mut(self.strides(), self.ndim) };
        (shape, strides)
    }

    /// The address of the strides.
    #[inline(always)]
    fn strides(&self) -> *mut i64 {
        self.start.wrapping_add(self.ndim)
    }

    #[inline(always)]
    pub(super) fn ndim(&self) -> usize {
        self.ndim
    }

    /// Stores the error of the description in the slot.
    #[inline(always)]
    pub(super) fn refuse(&mut self, error: Error) {
        self.slot.reborrow().refuse(error);
    }

    /// The error that [`refuse`](Self::refuse) stored.
    ///
    /// # Safety
    ///
    /// 1. `refuse` was called, and [`write`](Self::write) was not.
    #[inline(always)]
    pub(super) unsafe fn refusal(&self) -> Error {
        // SAFETY: 1. Guaranteed by our caller's 1.
        unsafe { self.slot.refusal() }
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
            shape: self.start,
            strides: self.strides(),
            ..tensor
        };
        // SAFETY: only we access the slot, whose first field is the struct.
        unsafe { self.slot.as_ptr().cast::<DLTensor>().write(tensor) };
    }

    /// Returns the complete tensor.
    ///
    /// # Safety
    ///
    /// 1. [`write`](Self::write) was called, for these lists or for others in the same slot, of
    ///    `ndim` dimensions.
    #[inline(always)]
    pub(super) unsafe fn described(self, ndim: usize) -> Described<'a> {
        Described { slot: self.slot.as_ptr(), ndim, life: PhantomData }
    }
}

/// Writes a shape for which [`contiguous`] returned `None`, and strides as if its zero
/// dimensions were 1. If a dimension does not fit, it is written as 0, and the shape is
/// refused: then this returns `true`.
///
/// It takes few words, because each inlined description contains the call.
#[cold]
#[inline(never)]
fn write_unusual<I: Dim>(mut slot: SlotMut<'_>, shape: &[I]) -> bool {
    let mut unfit = None;
    let (dims, strides) = slot.places(shape.len());
    let mut step = 1_i64;
    let axes = shape.iter().zip(dims.iter_mut().zip(strides)).enumerate();
    for (axis, (dim, (to, stride))) in axes.rev() {
        let dim = dim.to_i64().unwrap_or_else(|| {
            unfit = Some(axis);
            0
        });
        to.write(dim);
        stride.write(step);
        step = step.saturating_mul(dim.max(1));
    }
    if let Some(axis) = unfit {
        slot.refuse(Error::DimTooLarge { axis });
    }
    unfit.is_some()
}

/// Writes strides for which [`ElementRange::strided`] returned `None`. If one does not fit, they
/// are refused, unless the description was `refused` before. Returns whether it is refused.
#[cold]
#[inline(never)]
fn write_all<I: Dim>(mut slot: SlotMut<'_>, refused: bool, strides: &[I]) -> bool {
    let (_, places) = slot.places(strides.len());
    for (axis, (place, stride)) in places.iter_mut().zip(strides).enumerate() {
        let Some(stride) = stride.to_i64() else {
            if !refused {
                slot.refuse(Error::StrideTooLarge { axis });
            }
            return true;
        };
        place.write(stride);
    }
    refused
}

/// Writes a shape and strides that [`strided`] did not accept. Returns whether one of them is
/// refused. All numbers of both lists are initialized in any case: [`write_unusual`] writes them.
#[cold]
#[inline(never)]
fn write_both<I: Dim, J: Dim>(mut slot: SlotMut<'_>, shape: &[I], strides: &[J]) -> bool {
    let refused = write_unusual(slot.reborrow(), shape);
    if strides.len() == shape.len() {
        return write_all(slot, refused, strides);
    }
    refuse_rank(slot, refused, shape.len(), strides.len());
    true
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
        unsafe { core::slice::from_raw_parts(self.tensor().shape, self.ndim) }
    }

    #[inline(always)]
    pub(super) fn strides(self) -> &'a [i64] {
        // SAFETY: by the invariant there are `ndim` numbers, unchanged for `'a`.
        unsafe { core::slice::from_raw_parts(self.tensor().strides, self.ndim) }
    }
}

impl fmt::Debug for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tensor().fmt(f)
    }
}

/// Refuses strides of another rank than the shape, unless the description was `refused`
/// before.
#[cold]
#[inline(never)]
fn refuse_rank(slot: SlotMut<'_>, refused: bool, shape: usize, strides: usize) {
    if !refused {
        slot.refuse(Error::RankMismatch { shape, strides });
    }
}
