//! Copies of all elements of an imported tensor: [`Elements::to_vec`],
//! [`Elements::copy_to_slice`].

use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::slice;

use super::block;
use super::by_value::{Elements, Visit};
use crate::copy::{Part, Pieces};
use crate::element::Readable;
use crate::error::Error;
use crate::storage::{LARGE, try_vec};

/// The bytes that are copied at a time to memory that the program has not used before: the
/// operating system provides its pages during the copy, which interrupts `rep movsb`, the copy
/// of larger blocks. Measured with 16 million `f32` without huge pages, as ratios to
/// `slice::to_vec`: 2 KiB 0.95, 4 KiB 1.10, one block 1.23. With huge pages all of them take 0.25.
const FRESH: usize = 2048;

impl<T: Readable> Elements<'_, T> {
    /// Copies all elements in row-major order. The copy is not a snapshot: elements can be written
    /// while it is made.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::InvalidBits`].
    #[inline]
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let mut copy = try_vec::<T>(self.len())?;
        self.fill(&mut copy)?;
        Ok(copy)
    }

    /// Replaces the elements of a vector, which has room for all, by these in row-major order.
    #[inline]
    pub(super) fn fill(&self, to: &mut Vec<T>) -> Result<(), Error> {
        to.clear();
        let room = to.spare_capacity_mut().get_mut(..self.len()).unwrap_or_default();
        let read = self.write_fresh(room)?;
        // SAFETY: the capacity is at least `read`, and that many elements were written.
        unsafe { to.set_len(read) };
        Ok(())
    }

    /// Fills memory that the program has not used before, as [`copy_to`](Self::copy_to).
    #[inline]
    pub(in crate::import) fn write_fresh(&self, to: &mut [MaybeUninit<T>]) -> Result<usize, Error> {
        let bytes = self.len().saturating_mul(size_of::<T>());
        let block_len = if bytes >= LARGE { FRESH.div_ceil(size_of::<T>()) } else { self.len() };
        self.copy_to(to, block_len)
    }

    /// Copies all elements in row-major order to a slice. The copy is not a snapshot: elements can
    /// be written while it is made.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
    /// # struct Samples(Vec<f32>);
    /// # impl DLPackExport for Samples {
    /// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    /// #         out.shape(&[2]).data(self.0.data())
    /// #     }
    /// # }
    /// let tensor = Samples(vec![1.5, 2.5]).into_dlpack()?.import()?;
    /// let mut copy = [0.0; 2];
    /// tensor.elements::<f32>()?.copy_to_slice(&mut copy)?;
    /// assert_eq!(copy, [1.5, 2.5]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LenMismatch`] if the slice does not have [`len`](Self::len) elements;
    /// [`Error::InvalidBits`], after which the slice contains some of the elements.
    pub fn copy_to_slice(&self, to: &mut [T]) -> Result<(), Error> {
        self.typed().same_len(to.len())?;
        if T::ANY_BITS {
            // SAFETY: it is the same memory, borrowed uniquely. `copy_to` writes initialized
            // bytes only, and by 4 of `Element` any such bytes are a valid `T`.
            let room = unsafe {
                slice::from_raw_parts_mut(to.as_mut_ptr().cast::<MaybeUninit<T>>(), to.len())
            };
            return self.copy_to(room, self.len()).map(|_| ());
        }
        let mut rest = to;
        self.visit(Visit::RowMajor, |_, block| {
            let (to, after) = core::mem::take(&mut rest).split_at_mut(block.len());
            to.copy_from_slice(block);
            rest = after;
        })
    }

    /// Fills a buffer of `len` elements in row-major order, `block_len` elements at a time if
    /// the tensor is contiguous. Returns the number of elements that were written from its start
    /// on, all of them valid values.
    fn copy_to(&self, to: &mut [MaybeUninit<T>], block_len: usize) -> Result<usize, Error> {
        if self.is_empty() {
            return Ok(0);
        }
        let source = self.source();
        let mut written = 0_usize;
        if self.typed().is_contiguous::<T>() {
            for block in to.chunks_mut(block_len) {
                let position = 0_isize.wrapping_add_unsigned(written.wrapping_mul(size_of::<T>()));
                let run = Part::of_run(position, size_of_val(block));
                written = written.saturating_add(block::read(run, &source, block)?.len());
            }
            return Ok(written);
        }
        let (axes, first) = self.axes(Visit::RowMajor);
        // A piece is zeroed before it is read, and is still cached then.
        let room = Pieces::room_for_copy(&axes);
        let mut pieces = Pieces::new(axes, first, size_of::<T>(), room);
        let mut rest = to;
        while let Some(piece) = pieces.take() {
            let read = block::read(piece, &source, rest)?.len();
            rest = rest.get_mut(read..).unwrap_or_default();
            written = written.saturating_add(read);
        }
        Ok(written)
    }
}
