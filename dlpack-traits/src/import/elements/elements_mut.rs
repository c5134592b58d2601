//! Access by value to elements that other owners may read and write: [`ElementsMut`].

use core::fmt;

use super::block;
use super::by_value::{Elements, Visit};
use super::iter::each_empty;
use crate::byte_atomic;
use crate::copy::{Pieces, Target};
use crate::element::{AnyBits, BitsAreValid, ByValue, Readable, bytes_of};
use crate::error::Error;
use crate::import::ImportedTensor;
use crate::storage::with_repeated;

/// The elements of an imported tensor, read and written by value:
/// [`ImportedTensor::elements_mut`]. Other owners may read and write them meanwhile.
///
/// Every access is byte-wise atomic (relaxed), as those of [`Elements`] are, so it never
/// races with an access of Rust code of the same kind. An element that two threads write
/// at the same moment may be torn. An ordinary load or store of another library at the same
/// moment is a data race, as it is between two threads of that library: order the accesses.
///
/// Large elements are blocks on the heap and are not passed by value, as with [`Elements`].
///
/// Blocks are updated in private memory: an update of another thread between the read and
/// the write of a block is lost.
///
/// ```
/// use dlpack_traits::{DLPackExport, OwnedTensor};
///
/// let matrix = OwnedTensor::new(vec![1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let mut tensor = matrix.into_dlpack()?.import()?;
/// let mut elements = tensor.elements_mut::<f32>()?;
/// elements.update_blocks(|block| {
///     for value in block {
///         *value *= 2.0;
///     }
/// });
/// elements.map_in_place(|value| value.min(6.0));
/// elements.store(&[0, 0], 0.5)?;
/// assert_eq!(elements.as_elements().to_vec()?, [0.5, 4.0, 6.0, 6.0]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
pub struct ElementsMut<'a, T> {
    /// Invariant: the memory may be written, and no two indices name the same element.
    elements: Elements<'a, T>,
}

impl ImportedTensor {
    /// The elements, read and written by value. Other owners may read and write them
    /// meanwhile.
    ///
    /// This takes `&mut self` so that a slice from
    /// [`assume_frozen`](Self::assume_frozen) of the same handle cannot exist meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`] if the memory [is read-only](Self::is_read_only),
    /// [`Error::Overlapping`] if two indices may name the same element; those of
    /// [`elements`](Self::elements).
    #[inline]
    pub fn elements_mut<T: Readable>(&mut self) -> Result<ElementsMut<'_, T>, Error> {
        self.check_writable()?;
        Ok(ElementsMut { elements: self.elements()? })
    }
}

impl<'a, T: Readable> ElementsMut<'a, T> {
    /// Shape, without the dimensions that belong to an element type that is an array.
    #[inline]
    pub fn shape(&self) -> &'a [i64] {
        self.elements.shape()
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether the tensor is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The same elements, for reading.
    #[inline]
    pub fn as_elements(&self) -> Elements<'_, T> {
        self.elements
    }

    /// Reads one element.
    ///
    /// # Errors
    ///
    /// Those of [`Elements::load`].
    #[inline]
    pub fn load(&self, index: &[usize]) -> Result<T, Error> {
        self.elements.load(index)
    }

    /// Writes one element.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchElement`] if the index does not have one entry per dimension or if an
    /// entry is out of bounds.
    #[inline]
    pub fn store(&mut self, index: &[usize], value: T) -> Result<(), Error> {
        let () = ByValue::<T>::FITS;
        let typed = self.elements.typed();
        let position = typed.position(index)?;
        let place = typed.first.wrapping_offset(position);
        // SAFETY: 1. By 1 of `Element` all bytes of an element are initialized. 2. `position`
        // was computed from an index inside of the shape, so by 4 of
        // `ImportedTensor::from_raw` it leads to an element, which is initialized, and may be
        // read and written, because READ_ONLY is not set. 3. Guaranteed by 5 of `ImportedTensor::from_raw`; memory
        // of an own export is shared, so all other accesses in Rust are byte-wise atomic.
        unsafe { byte_atomic::store(place, value) };
        Ok(())
    }

    /// The memory of the elements.
    #[inline]
    fn target(&self) -> Target<'_> {
        let (low, high) = self.elements.byte_range();
        // SAFETY: 1. By 4 of `ImportedTensor::from_raw` these bytes are initialized, may be read
        // and written, because READ_ONLY is not set, and are alive as long as the handle,
        // which is borrowed. Other accesses are byte-wise atomic by 5 of `from_raw`, or this
        // crate lent the memory shared or exclusively.
        unsafe { Target::new(self.elements.typed().first, low, high) }
    }

    /// Writes all elements, in row-major order of their indices.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Describe, Description, Error, SharedBuffer, Storage};
    /// # struct Samples(SharedBuffer<u8>);
    /// # impl DLPackExport for Samples {
    /// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    /// #         out.shape(&[2, 2]).data(self.0.data())
    /// #     }
    /// # }
    /// let buffer = SharedBuffer::<u8>::zeroed(4)?;
    /// let mut tensor = Samples(buffer.clone()).into_dlpack()?.import()?;
    /// tensor.elements_mut::<u8>()?.copy_from_slice(&[1, 2, 3, 4])?;
    /// assert_eq!(buffer.to_vec(), [1, 2, 3, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LenMismatch`] if the slice does not have [`len`](Self::len) elements.
    pub fn copy_from_slice(&mut self, from: &[T]) -> Result<(), Error> {
        let typed = self.elements.typed();
        typed.same_len(from.len())?;
        if from.is_empty() {
            return Ok(());
        }
        let mut pieces = Pieces::new(typed.axes::<T>(), 0, size_of::<T>(), usize::MAX);
        if let Some(whole) = pieces.take() {
            whole.write_from(&self.target(), bytes_of(from));
        }
        Ok(())
    }

    /// Writes one value to all elements.
    pub fn fill(&mut self, value: T) {
        if self.is_empty() {
            return;
        }
        let () = ByValue::<T>::FITS;
        let (axes, first) = self.elements.axes(Visit::Memory);
        let target = self.target();
        with_repeated(value, |block| {
            let mut pieces = Pieces::new(axes, first, size_of::<T>(), size_of_val(block));
            while let Some(piece) = pieces.take() {
                piece.write_from(&target, bytes_of(block));
            }
        });
    }

    /// Calls a function with each row along the last dimension, in row-major order, and
    /// writes the rows back in blocks of whole rows. If the function panics, its row and the
    /// other rows of the same block are unchanged. In all other respects this is as
    /// [`Elements::for_each_row`].
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Describe, Description, Error, SharedBuffer, Storage};
    /// # struct Matrix(SharedBuffer<f32>);
    /// # impl DLPackExport for Matrix {
    /// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    /// #         out.shape(&[2, 2]).data(self.0.data())
    /// #     }
    /// # }
    /// let buffer = SharedBuffer::from_slice(&[1.0, 3.0, 2.0, 2.0])?;
    /// let mut tensor = Matrix(buffer.clone()).into_dlpack()?.import()?;
    /// tensor.elements_mut::<f32>()?.update_rows(|row| {
    ///     let sum: f32 = row.iter().sum();
    ///     row.iter_mut().for_each(|value| *value /= sum);
    /// })?;
    /// assert_eq!(buffer.to_vec(), [0.25, 0.75, 0.5, 0.5]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Elements::for_each_row`].
    #[inline]
    pub fn update_rows(&mut self, mut f: impl FnMut(&mut [T])) -> Result<(), Error> {
        self.try_update_rows(|row| {
            f(row);
            Ok(())
        })
    }

    /// Calls a function that may fail with each row, as [`update_rows`](Self::update_rows) does, and
    /// returns its first error. It is not called again after an error; its row, and the other rows of the
    /// same block, are then unchanged.
    ///
    /// # Errors
    ///
    /// Those of the function, and of [`update_rows`](Self::update_rows), converted by `From`.
    #[inline]
    pub fn try_update_rows<E: From<Error>>(
        &mut self,
        mut f: impl FnMut(&mut [T]) -> Result<(), E>,
    ) -> Result<(), E> {
        let row = self.elements.row_len();
        if row == 0 {
            return each_empty(self.shape(), || f(&mut []));
        }
        let target = self.target();
        self.elements.visit_units(Visit::RowMajor, row, |piece, block| {
            block.chunks_exact_mut(row).try_for_each(&mut f)?;
            piece.write_from(&target, bytes_of(block));
            Ok(())
        })
    }

    /// The elements of a part that the caller made of an `ElementsMut`.
    #[inline]
    pub(in crate::import) const fn of_part(elements: Elements<'a, T>) -> Self {
        Self { elements }
    }

    #[inline]
    fn try_update(&mut self, order: Visit, mut f: impl FnMut(&mut [T])) -> Result<(), Error> {
        let target = self.target();
        self.elements.visit(order, |piece, block| {
            f(block);
            piece.write_from(&target, bytes_of(block));
        })
    }

    /// Calls a function with blocks of elements, in row-major order of their indices, and
    /// writes each block back: [`update_blocks`](Self::update_blocks) for any element type.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidBits`]. The blocks before the one that contains the invalid element
    /// have been updated.
    #[inline]
    pub fn try_update_blocks(&mut self, f: impl FnMut(&mut [T])) -> Result<(), Error> {
        self.try_update(Visit::RowMajor, f)
    }

    /// Replaces each element by a function of it: [`map_in_place`](Self::map_in_place) for
    /// any element type.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidBits`]. Some of the elements have been replaced.
    #[inline]
    pub fn try_map_in_place(&mut self, mut f: impl FnMut(T) -> T) -> Result<(), Error> {
        let () = ByValue::<T>::FITS;
        self.try_update(Visit::Memory, |block| {
            for element in block {
                *element = f(*element);
            }
        })
    }
}

/// Methods for types without invalid bit patterns, with the bound on each method as in
/// [`Elements`].
impl<T> ElementsMut<'_, T> {
    /// Calls a function with blocks of elements, in row-major order of their indices, and
    /// writes each block back.
    ///
    /// The blocks are copies in private memory, as those of [`Elements::for_each_block`]. If
    /// the function panics, the blocks of the calls before have been written, and its own
    /// block has not: the elements of that block and of those after it are unchanged. The
    /// function may access the same memory in other ways, but its block is written last.
    #[inline]
    pub fn update_blocks(&mut self, f: impl FnMut(&mut [T]))
    where
        T: AnyBits,
    {
        let () = BitsAreValid::<T>::OK;
        block::expect_memory::<T>(self.try_update_blocks(f));
    }

    /// Replaces each element by a function of it, one contiguous piece of the memory after
    /// another.
    ///
    /// A dense tensor (without gaps, in any order of its axes, also transposed or reversed) is
    /// changed by up to 256 bytes at a time, in the time of a loop over a slice. So is each
    /// contiguous part of a tensor with gaps. Elements with gaps between them are changed one by one if
    /// they have 8 bytes or more, and otherwise in blocks that are written back. If the function
    /// panics, the group of elements that is being changed and all after it are unchanged.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Describe, Description, Error, SharedBuffer, Storage};
    /// # struct Samples(SharedBuffer<i32>);
    /// # impl DLPackExport for Samples {
    /// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    /// #         out.shape(&[3]).data(self.0.data())
    /// #     }
    /// # }
    /// let buffer = SharedBuffer::from_slice(&[-5, 0, 7])?;
    /// let mut tensor = Samples(buffer.clone()).into_dlpack()?.import()?;
    /// tensor.elements_mut::<i32>()?.map_in_place(|value| value.clamp(-1, 1));
    /// assert_eq!(buffer.to_vec(), [-1, 0, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn map_in_place(&mut self, mut f: impl FnMut(T) -> T)
    where
        T: AnyBits,
    {
        let () = BitsAreValid::<T>::OK;
        let () = ByValue::<T>::FITS;
        // No two elements overlap, so they fill as many bytes as they have, also transposed or
        // reversed.
        if let Some(filled) = self.target().filled_by(self.len().saturating_mul(size_of::<T>())) {
            filled.map_in_place(f);
            return;
        }
        let (axes, first) = self.elements.axes(Visit::Memory);
        // In blocks the compiler makes vector instructions also of a function with branches, which
        // random elements would mispredict. Measured with every second column of 1000 x 1000 random
        // `f32` and `u8`, for a clamp by nested branches: 377 and 319 µs, one by one 2506 and 812.
        // `v.clamp(lo, hi)` of `f32` takes 313, one by one 181. A block of `f64` gains nothing.
        if const { size_of::<T>() < 8 } && axes.run_len() == size_of::<T>() {
            // Every bit pattern is a valid value, so no element is an error.
            let _ = self.try_map_in_place(f);
            return;
        }
        let (mut matrices, target) = (Pieces::inner(axes, first, 2), self.target());
        while let Some(matrix) = matrices.take() {
            matrix.map_in_place(&target, &mut f);
        }
    }
}

impl<T> fmt::Debug for ElementsMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ElementsMut").field(&self.elements).finish()
    }
}
