//! Elements that others may write: [`Elements`].

use alloc::vec::Vec;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

use super::Imported;
use crate::element::Element;
use crate::error::Error;
use crate::layout::Walk;
use crate::storage::Cells;

/// An element type whose values can be told from other bits: every plain one
/// (`bytemuck::Pod`), and `bool`. It is implemented for all of them.
pub trait Readable: Element + CheckedBitPattern<Bits: NoUninit> {}

impl<T: Element + CheckedBitPattern<Bits: NoUninit>> Readable for T {}

/// The elements of an imported tensor, read one by one and by value, while
/// others may write them: [`Imported::elements`].
///
/// Each is read as a relaxed atomic of the element's size (of 8 bytes, if it is
/// wider), byte by byte where it is not aligned. Of a READ_ONLY tensor it is an
/// ordinary load, since atomics need memory that can be written. What Rust reads is some
/// value, never a reference that a foreign store could break. An element that
/// is being written by ordinary stores at the same moment is a race all the
/// same, as it is between two threads of the writer: order the two.
///
/// A `bool` is checked: foreign memory may hold other bytes than 0 and 1.
pub struct Elements<'a, T> {
    tensor: &'a Imported,
    first: *mut u8,
    how: How,
    read_as: PhantomData<fn() -> T>,
}

// SAFETY: it is a `&Imported` with an address in it, and that can be sent.
unsafe impl<T> Send for Elements<'_, T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Elements<'_, T> {}

/// How an element is read.
#[derive(Clone, Copy)]
enum How {
    /// As memory that may not even be written, as atomics may be.
    Plain,
    /// As atomics of its size.
    Atomic,
    /// As atomics of one byte, because it is not aligned.
    Bytewise,
}

impl Imported {
    /// The elements, to be read by value. Others may write them meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`] and [`Error::ElementMismatch`].
    pub fn elements<T: Readable>(&self) -> Result<Elements<'_, T>, Error> {
        let first = self.first_as::<T>()?;
        let how = if self.is_read_only() {
            How::Plain
        } else if first.addr() & atomic_align::<T>().wrapping_sub(1) == 0 {
            How::Atomic
        } else {
            How::Bytewise
        };
        Ok(Elements { tensor: self, first, how, read_as: PhantomData })
    }
}

/// The alignment of the atomics that make up an element: the largest power of
/// two, up to 8, that divides its size.
pub(super) const fn atomic_align<T>() -> usize {
    Cells::align(size_of::<T>())
}

impl<'a, T: Readable> Elements<'a, T> {
    /// Extents.
    pub fn shape(&self) -> &'a [i64] {
        self.tensor.shape()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        // All elements together have at most `isize::MAX` bytes.
        usize::try_from(self.tensor.numel()).unwrap_or(0)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads one element.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchElement`] if the index has not one entry per dimension,
    /// or one that is outside; [`Error::InvalidBits`] for a `bool` that is
    /// neither.
    pub fn load(&self, index: &[usize]) -> Result<T, Error> {
        let (shape, strides) = (self.tensor.shape(), self.tensor.strides());
        if index.len() != shape.len() {
            return Err(Error::NoSuchElement);
        }
        let mut position = 0_i64;
        for ((&index, &dim), &stride) in index.iter().zip(shape).zip(strides) {
            let index = i64::try_from(index).ok().filter(|&index| index < dim);
            let index = index.ok_or(Error::NoSuchElement)?;
            // Inside of the extent, which fits.
            position = position.wrapping_add(index.wrapping_mul(stride));
        }
        // SAFETY: every entry of the index is below its dimension.
        unsafe { self.load_at(position) }
    }

    /// Reads the element that many elements from the first one.
    ///
    /// # Safety
    ///
    /// 1. `position` is that of an index inside of the shape.
    #[inline]
    unsafe fn load_at(&self, position: i64) -> Result<T, Error> {
        // What is inside of the extent fits, as it does in bytes.
        let position = isize::try_from(position).unwrap_or(0);
        // SAFETY: by 1 and by 4 of `Imported::from_raw` an element of the same
        // allocation is there.
        let place = unsafe { self.first.cast::<T>().offset(position) }.cast::<u8>();
        let mut bits = <T::Bits as Zeroable>::zeroed();
        let to = bytemuck::bytes_of_mut(&mut bits);
        match self.how {
            How::Plain => {
                // SAFETY: by 4 of `Imported::from_raw` the element is
                // initialised and alive as long as the handle, which is
                // borrowed; by 5 nobody writes it now. `bits` has its size, as
                // `CheckedBitPattern` demands, and is ours.
                unsafe { place.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
            }
            How::Atomic => {
                // SAFETY: 1. As above, and READ_ONLY is not set. 2. It is
                // aligned as the first element is: strides count elements.
                // 3. Every view of this type reads it like this, others keep to
                // 5 of `from_raw`. 4. `bits` has the element's size.
                unsafe { Cells::new(place) }.load(to);
            }
            How::Bytewise => {
                for (offset, byte) in to.iter_mut().enumerate() {
                    // SAFETY: the byte is one of the element's.
                    let place = unsafe { place.add(offset) };
                    // SAFETY: as above, for an element of one byte.
                    unsafe { Cells::new(place) }.load(core::slice::from_mut(byte));
                }
            }
        }
        bytemuck::checked::try_cast(bits).map_err(|_| Error::InvalidBits { dtype: T::DTYPE })
    }

    /// All elements in row-major order of their indices, each of them checked.
    /// Where any bits are a value, [`iter`](Self::iter) is simpler.
    pub fn try_iter(
        &self,
    ) -> impl ExactSizeIterator<Item = Result<T, Error>> + FusedIterator + use<'a, T> {
        let walk = Walk::new(self.tensor.shape(), self.tensor.strides());
        TryIter { elements: *self, walk, left: self.len() }
    }

    /// A copy of all elements in row-major order, each read at its own moment.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::InvalidBits`].
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let mut copy = Vec::new();
        let bytes = self.len().saturating_mul(size_of::<T>());
        copy.try_reserve_exact(self.len()).map_err(|_| Error::OutOfMemory { bytes })?;
        for element in self.try_iter() {
            copy.push(element?);
        }
        Ok(copy)
    }
}

impl<'a, T: Element + Pod> Elements<'a, T> {
    /// All elements in row-major order of their indices.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + FusedIterator + use<'a, T> {
        // Of plain data every pattern of bits is a value.
        self.try_iter().map(|element| element.unwrap_or_else(|_| T::zeroed()))
    }
}

/// Reads one element after the other.
struct TryIter<'a, T> {
    elements: Elements<'a, T>,
    walk: Walk<'a>,
    left: usize,
}

impl<T: Readable> Iterator for TryIter<'_, T> {
    type Item = Result<T, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: the walk visits as many indices as there are elements, all
        // of them inside of the shape.
        let element = unsafe { self.elements.load_at(self.walk.position()) };
        self.walk.advance();
        Some(element)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T: Readable> ExactSizeIterator for TryIter<'_, T> {}
impl<T: Readable> FusedIterator for TryIter<'_, T> {}

impl<T> Clone for Elements<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Elements<'_, T> {}

impl<T> fmt::Debug for Elements<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Elements").field(self.tensor).finish()
    }
}
