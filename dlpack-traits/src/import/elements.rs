//! Access by value to elements that other owners may write: [`Elements`].

use alloc::vec::Vec;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::slice;

use super::ImportedTensor;
use super::typed::{Positions, Run, Runs, Typed};
use crate::element::{AnyBits, Readable, zero};
use crate::error::Error;
use crate::storage::Access;

/// The elements of an imported tensor, read by value: [`ImportedTensor::elements`]. Other owners
/// may write them meanwhile.
///
/// Every read is byte-wise atomic (relaxed), in any layout and at any alignment. So it
/// never races with Rust code that writes the memory in the same way, as a
/// [`SharedBuffer`](crate::SharedBuffer) does, whatever the types of both sides are. The
/// result is a copy, never a reference that a foreign store could invalidate. An element
/// that another thread writes at the same moment may be torn: some of its bytes are old,
/// others new. A concurrent write by ordinary stores is still a data race, as it is between
/// two threads of the writer: order the write and the read.
///
/// Iterators read each element at some moment between their creation and the moment at
/// which they return it; [`Iterator::fold`] and the methods built on it (`for_each`, `sum`,
/// `max`) read blocks of elements ahead.
///
/// An element whose type has invalid bit patterns, such as `bool`, is checked: foreign
/// memory may hold bytes other than 0 and 1.
///
/// An element type that is an array, such as a pixel of `[u8; 3]`, covers the last
/// dimensions of the tensor, or one element with that number of lanes. A tensor with lanes
/// is read as [`Lanes`](crate::Lanes).
pub struct Elements<'a, T> {
    typed: Typed<'a>,
    access: Access,
    read_as: PhantomData<fn() -> T>,
}

impl ImportedTensor {
    /// The elements, read by value. Other owners may write them meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::ElementMismatch`], and
    /// [`Error::AxesMismatch`] for elements that are arrays.
    #[inline]
    pub fn elements<T: Readable>(&self) -> Result<Elements<'_, T>, Error> {
        Ok(Elements { typed: self.typed::<T>()?, access: self.access(), read_as: PhantomData })
    }
}

impl<'a, T: Readable> Elements<'a, T> {
    /// Shape, without the dimensions that belong to an element type that is an array.
    #[inline]
    pub fn shape(&self) -> &'a [i64] {
        self.typed.shape
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.typed.len
    }

    /// Whether the tensor is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads one element.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchElement`] if the index does not have one entry per dimension or if an
    /// entry is out of bounds; [`Error::InvalidBits`] if the bytes are not a value of `T`,
    /// such as a `bool` that is neither 0 nor 1.
    #[inline]
    pub fn load(&self, index: &[usize]) -> Result<T, Error> {
        let position = self.typed.position(index)?;
        // SAFETY: 1. `position` was computed from an index inside of the shape.
        unsafe { self.load_at(position) }
    }

    /// Reads the element at `position`, in bytes from the first element.
    ///
    /// # Safety
    ///
    /// 1. `position` is that of an index inside of the shape.
    #[inline]
    unsafe fn load_at(&self, position: isize) -> Result<T, Error> {
        // SAFETY: by 1 and by 4 of `ImportedTensor::from_raw` the offset leads to an element of
        // the same allocation.
        let place = unsafe { self.typed.first.offset(position) };
        // SAFETY: 1. By 4 of `ImportedTensor::from_raw` the element is initialised, and alive as
        // long as the handle, which is borrowed. This crate lent it with this access, or 5
        // of `from_raw` guarantees the same.
        let element = unsafe { self.access.load::<T>(place) };
        // SAFETY: 1. `load` read all bytes from initialised memory.
        unsafe { checked(element) }
    }

    /// Folds `f` over the elements of a run. Contiguous elements are copied in blocks
    /// first.
    ///
    /// # Safety
    ///
    /// 1. All positions of the run are those of indices inside of the shape.
    #[inline]
    unsafe fn fold_run<A>(
        &self,
        run: Run,
        mut result: A,
        f: &mut impl FnMut(A, Result<T, Error>) -> A,
    ) -> A {
        let mut position = run.start;
        let (size, mut left) = (size_of::<T>(), run.len);
        let most = const { BLOCK / size_of::<T>() };
        if usize::try_from(run.step) != Ok(size) || most == 0 {
            for _ in 0..left {
                // SAFETY: 1. Guaranteed by our caller's 1.
                result = f(result, unsafe { self.load_at(position) });
                // After the last element this value is not used, so it may wrap.
                position = position.wrapping_add(run.step);
            }
            return result;
        }
        let mut block = MaybeUninit::<Block>::uninit();
        while left > 0 {
            let count = left.min(most);
            let bytes = count.wrapping_mul(size);
            // SAFETY: by 1 the offset leads to an element of the same allocation.
            let from = unsafe { self.typed.first.offset(position) };
            // SAFETY: 1. As in `load_at`, for contiguous elements. 2. The block is a local
            // variable, and has room for `count` elements.
            unsafe { self.access.copy(from, block.as_mut_ptr().cast(), bytes) };
            for index in 0..count {
                let element = block.as_ptr().cast::<MaybeUninit<T>>().wrapping_add(index);
                // SAFETY: `element` lies in the part of the block that was written, and any
                // bytes are a valid `MaybeUninit`.
                let element = unsafe { element.read_unaligned() };
                // SAFETY: 1. The bytes were copied from initialised memory.
                result = f(result, unsafe { checked(element) });
            }
            left = left.wrapping_sub(count);
            // A size in memory fits. After the last block the value is not used, so it may
            // wrap.
            position = position.wrapping_add_unsigned(bytes);
        }
        result
    }

    /// Iterates over all elements in row-major order of their indices, and validates each
    /// of them. For types without invalid bit patterns, [`iter`](Self::iter) is simpler.
    #[inline]
    pub fn try_iter(
        &self,
    ) -> impl ExactSizeIterator<Item = Result<T, Error>> + FusedIterator + use<'a, T> {
        TryIter { elements: *self, positions: Positions::of(self.typed) }
    }

    /// Copies all elements in row-major order, each read at its own moment.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::InvalidBits`].
    #[inline]
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let mut copy = Vec::new();
        let bytes = self.len().saturating_mul(size_of::<T>());
        copy.try_reserve_exact(self.len()).map_err(|_| Error::OutOfMemory { bytes })?;
        let mut room = copy.spare_capacity_mut();
        for run in Runs::of(self.typed) {
            let (places, rest) = room.split_at_mut_checked(run.len).unwrap_or_default();
            room = rest;
            // SAFETY: 1. All positions of the run are inside of the shape. 2. `places` has
            // as many entries as the run has elements, or none.
            unsafe { self.copy_run(run, places)? };
        }
        // SAFETY: the capacity is at least `len`, and the runs, which have `len` elements
        // together, filled it from the start.
        unsafe { copy.set_len(self.len()) };
        Ok(copy)
    }

    /// Fills `to` with the elements of a run. On success all of them are valid values.
    ///
    /// # Safety
    ///
    /// 1. All positions of the run are those of indices inside of the shape.
    /// 2. `to` is not longer than the run.
    #[inline]
    unsafe fn copy_run(&self, run: Run, to: &mut [MaybeUninit<T>]) -> Result<(), Error> {
        let mut position = run.start;
        if usize::try_from(run.step) != Ok(size_of::<T>()) {
            for place in to {
                // SAFETY: 1. Guaranteed by our caller's 1.
                place.write(unsafe { self.load_at(position) }?);
                // After the last element this value is not used, so it may wrap.
                position = position.wrapping_add(run.step);
            }
            return Ok(());
        }
        // SAFETY: by 1 the offset leads to an element of the same allocation.
        let from = unsafe { self.typed.first.offset(position) };
        // SAFETY: 1. As in `load_at`, for `to.len()` contiguous elements. 2. `to` is
        // uniquely borrowed.
        unsafe { self.access.copy(from, to.as_mut_ptr().cast(), size_of_val(to)) };
        // SAFETY: all bytes of `to` were just written, with bytes from initialised memory.
        let bytes = unsafe { slice::from_raw_parts(to.as_ptr().cast(), size_of_val(to)) };
        if T::are_valid(bytes) { Ok(()) } else { Err(Error::InvalidBits { dtype: T::DTYPE }) }
    }
}

/// Size in bytes of the block into which elements are copied before `fold` calls its
/// function.
const BLOCK: usize = 4096;

/// An aligned buffer of [`BLOCK`] bytes.
#[repr(align(64))]
struct Block {
    _bytes: [u8; BLOCK],
}

/// Returns the value with these bytes, if they are a valid value.
///
/// # Safety
///
/// 1. All bytes are initialised.
#[inline(always)]
unsafe fn checked<T: Readable>(element: MaybeUninit<T>) -> Result<T, Error> {
    // SAFETY: by 1 the bytes of the local variable are initialised.
    let bytes = unsafe { slice::from_raw_parts(element.as_ptr().cast(), size_of::<T>()) };
    if !T::are_valid(bytes) {
        return Err(Error::InvalidBits { dtype: T::DTYPE });
    }
    // SAFETY: by 1 of `Readable` valid bytes are a value.
    Ok(unsafe { element.assume_init() })
}

impl<'a, T: AnyBits> Elements<'a, T> {
    /// Iterates over all elements in row-major order of their indices.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + FusedIterator + use<'a, T> {
        // Every bit pattern is a valid value, so no element is an error.
        self.try_iter().map(|element| element.unwrap_or_else(|_| zero()))
    }
}

/// The iterator of [`Elements::try_iter`].
struct TryIter<'a, T> {
    elements: Elements<'a, T>,
    positions: Positions<'a>,
}

impl<T: Readable> Iterator for TryIter<'_, T> {
    type Item = Result<T, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let position = self.positions.next()?;
        // SAFETY: 1. `Positions` yields positions of indices inside of the shape.
        Some(unsafe { self.elements.load_at(position) })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.positions.size_hint()
    }

    #[inline]
    fn fold<A, F: FnMut(A, Self::Item) -> A>(self, result: A, mut f: F) -> A {
        let elements = self.elements;
        self.positions.into_runs().fold(result, |result, run| {
            // SAFETY: 1. All positions of the run are inside of the shape.
            unsafe { elements.fold_run(run, result, &mut f) }
        })
    }
}

impl<T: Readable> ExactSizeIterator for TryIter<'_, T> {}
impl<T: Readable> FusedIterator for TryIter<'_, T> {}

impl<T> Clone for Elements<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Elements<'_, T> {}

impl<T> fmt::Debug for Elements<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Elements").field(&self.typed).finish()
    }
}
