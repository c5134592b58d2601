//! Access by value to elements that other owners may write: [`Elements`].

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;

use super::block;
use super::typed::Typed;
use crate::copy::{Axes, Part, Pieces, Source};
use crate::element::{AnyBits, BitsAreValid, ByValue, Readable};
use crate::error::Error;
use crate::import::ImportedTensor;
use crate::storage::{Access, BlockBuffer, block_len};
#[cfg(feature = "pyo3")]
use crate::strides::{MAX_NDIM, turned};

/// The elements of an imported tensor, read by value: [`ImportedTensor::elements`]. Other owners
/// may write them meanwhile.
///
/// Unless [`frozen`](ImportedTensor::frozen) accepts the tensor, every read is *byte-wise atomic*:
/// each byte is read by a relaxed atomic load, in any layout and at any alignment. The result is a
/// copy, never a reference that a foreign store could invalidate. So a read never races with Rust
/// code that writes the memory in the same way, as a [`SharedBuffer`](crate::SharedBuffer) does,
/// even if one side accesses it as `u8` and the other as `f32`. An element that another thread writes at the same moment may be torn: some of its
/// bytes are old, others new. A concurrent write of another library by ordinary stores is still a
/// data race, as it is between two threads of that library: order the write and the read.
///
/// | method | order | speed |
/// |---|---|---|
/// | [`for_each_block`](Self::for_each_block) | row-major | for 16 million contiguous elements 0.9 to 1.4 times the time of a loop over a slice; for 10,000, which are cached, up to 2.3 times |
/// | [`for_each_block_unordered`](Self::for_each_block_unordered) | that of the memory | the same, also if the tensor is transposed or reversed |
/// | [`for_each_row`](Self::for_each_row), [`try_for_each_row`](Self::try_for_each_row) | row-major | as `for_each_block`; each call receives one row |
/// | [`to_vec`](Self::to_vec), [`copy_to_slice`](Self::copy_to_slice) | row-major | that of a memory copy; a transposed tensor is copied by tiles of 16 by 16 elements |
/// | [`iter`](Self::iter) | row-major | elements are copied a block at a time. A sum of floats in one accumulator, over the iterator or by `block.iter().sum()`, is not vectorized, because the order of additions is fixed: for a contiguous `f32` tensor it takes 5 to 10 times as long as a sum of each block in eight accumulators |
/// | [`load`](Self::load) | one element | slow: for a few elements |
///
/// [`split`](Self::split) and [`split_rows`](Self::split_rows) make parts that several threads read.
///
/// Blocks of elements of more than 8 KiB are on the heap. Without memory for one, a method that returns
/// no `Result` aborts, as a `Box` does. Methods that pass elements by value, such as `load` and `iter`, do
/// not compile for elements of more than 64 KiB: each copy on the way would be on the stack.
///
/// Each method reads each element once: after the call began (an iterator: after its creation), and
/// before it passes the element on.
///
/// An element whose type has invalid bit patterns, such as `bool`, is checked: foreign
/// memory may hold bytes other than 0 and 1. For such types use the methods that return a
/// `Result`: [`load`](Self::load), [`to_vec`](Self::to_vec),
/// [`copy_to_slice`](Self::copy_to_slice), [`for_each_row`](Self::for_each_row); and
/// [`try_iter`](Self::try_iter), [`try_for_each_block`](Self::try_for_each_block),
/// [`try_for_each_block_unordered`](Self::try_for_each_block_unordered) in place of `iter`,
/// `for_each_block`, `for_each_block_unordered`.
///
/// An element type that is an array, such as a pixel of `[u8; 3]`, covers the last
/// dimensions of the tensor, or one element with that number of lanes. A tensor with lanes
/// can be read as [`Lanes`](crate::Lanes) or as such a type.
///
/// ```
/// use dlpack_traits::{DLPackExport, Error, ImportedTensor, OwnedTensor};
///
/// fn range(tensor: &ImportedTensor) -> Result<(f32, f32), Error> {
///     let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
///     tensor.elements::<f32>()?.for_each_block_unordered(|block| {
///         for &value in block {
///             low = low.min(value);
///             high = high.max(value);
///         }
///     });
///     Ok((low, high))
/// }
///
/// let matrix = OwnedTensor::new(vec![1.0_f32, -2.0, 3.0, 0.5], &[2, 2])?;
/// assert_eq!(range(&matrix.into_dlpack()?.import()?)?, (-2.0, 3.0));
/// # Ok::<(), Error>(())
/// ```
pub struct Elements<'a, T> {
    typed: Typed<'a>,
    /// The lowest byte of an element, counted from the first one, and the end of the highest.
    bytes: (isize, isize),
    access: Access,
    read_as: PhantomData<fn() -> T>,
}

/// An order in which blocks are visited.
#[derive(Clone, Copy)]
pub(in crate::import) enum Visit {
    RowMajor,
    Memory,
}

impl ImportedTensor {
    /// The elements, read by value. Other owners may write them meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::ElementMismatch`], [`Error::AxesMismatch`] for elements
    /// that are arrays, and [`Error::NoBackend`] for pinned memory that was exported for a stream.
    #[inline]
    pub fn elements<T: Readable>(&self) -> Result<Elements<'_, T>, Error> {
        Ok(Elements::of(self, self.typed::<T>()?))
    }

    /// The elements as a type of the same size: [`elements`](Self::elements) if it is their type,
    /// and otherwise their bits as integers.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`] and [`Error::NoBackend`]; [`Error::ElementMismatch`] for another size.
    pub(crate) fn stored_as<T: Readable>(&self) -> Result<Elements<'_, T>, Error> {
        let (found, requested) = (self.dtype(), T::DTYPE);
        if found == requested {
            return self.elements();
        }
        self.on_host()?;
        let size = size_of::<T>();
        if !T::ANY_BITS || !T::AXES.is_empty() || found.byte_size() != Some(size) {
            return Err(Error::ElementMismatch { requested, found });
        }
        let typed = Typed {
            first: self.data_ptr().cast_mut(),
            shape: self.shape(),
            strides: self.strides(),
            step: isize::try_from(size).unwrap_or(0),
            // All elements together have at most `isize::MAX` bytes.
            len: usize::try_from(self.numel()).unwrap_or(0),
        };
        Ok(Elements::of(self, typed))
    }
}

impl<'a, T: Readable> Elements<'a, T> {
    /// All elements of a tensor, in this layout.
    #[inline(always)]
    fn of(tensor: &'a ImportedTensor, typed: Typed<'a>) -> Self {
        let Range { start, end } = tensor.byte_range();
        Self { typed, bytes: (start, end), access: tensor.access(), read_as: PhantomData }
    }

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

    /// The layout of the elements.
    #[inline]
    pub(in crate::import) fn typed(&self) -> &Typed<'a> {
        &self.typed
    }

    /// The bytes of the elements, counted from the first one.
    #[inline]
    pub(in crate::import) fn byte_range(&self) -> (isize, isize) {
        self.bytes
    }

    /// The memory of the elements.
    #[inline]
    pub(in crate::import) fn source(&self) -> Source<'a> {
        let (low, high) = self.bytes;
        // SAFETY: 1. By 4 of `ImportedTensor::from_raw` these bytes are initialized, and alive as
        // long as the handle, which is borrowed for `'a`. This crate lent them with this
        // access, or 5 of `from_raw` guarantees the same.
        unsafe { Source::new(self.typed.first, low, high, self.access) }
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
        let () = ByValue::<T>::FITS;
        let position = self.typed.position(index)?;
        let place = self.typed.first.wrapping_offset(position);
        // SAFETY: 1. `position` was computed from an index inside of the shape, so by 4 of
        // `ImportedTensor::from_raw` it leads to an element, which is initialized, and alive as
        // long as the handle, which is borrowed. This crate lent it with this access, or 5
        // of `from_raw` guarantees the same.
        let element = unsafe { self.access.load::<T>(place) };
        // SAFETY: 1. `load` read all bytes from initialized memory.
        unsafe { block::checked(element) }
    }

    /// The axes in an order, and the position of the first element in it.
    pub(in crate::import) fn axes(&self, order: Visit) -> (Axes, isize) {
        let Typed { shape, strides, step, .. } = self.typed;
        let (step, size) = (step.unsigned_abs(), size_of::<T>());
        match order {
            Visit::RowMajor => (self.typed.axes::<T>(), 0),
            Visit::Memory => Axes::in_memory_order(shape, strides, step, size),
        }
    }

    /// The position of the first element in an order in which the elements are contiguous;
    /// `None` if they are not.
    #[inline]
    fn first_of_one_run(&self, order: Visit) -> Option<isize> {
        if self.typed.is_contiguous::<T>() {
            return Some(0);
        }
        let (low, high) = self.bytes;
        match order {
            Visit::RowMajor => None,
            Visit::Memory => self.typed.is_dense::<T>(high.abs_diff(low)).then_some(low),
        }
    }

    /// Calls a function with each piece of the tensor, copied to private memory.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidBits`].
    #[inline]
    pub(in crate::import) fn visit(
        &self,
        order: Visit,
        mut f: impl FnMut(Part<'_>, &mut [T]),
    ) -> Result<(), Error> {
        self.visit_units(order, 1, |piece, block| {
            f(piece, block);
            Ok(())
        })
    }

    /// Calls a function with each piece of the tensor, which contains a multiple of `unit`
    /// elements: 1, or in row-major order the size of the last dimension.
    ///
    /// # Errors
    ///
    /// The first error of the function; [`Error::InvalidBits`]; [`Error::OutOfMemory`] for a unit or an
    /// element larger than a block.
    //
    // Always inlined: otherwise the compiler outlines it for some functions and not for others
    // (measured: a clamp of every second column of `f32` takes 42 or 30 µs).
    #[inline(always)]
    pub(in crate::import) fn visit_units<E: From<Error>>(
        &self,
        order: Visit,
        unit: usize,
        mut f: impl FnMut(Part<'_>, &mut [T]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.is_empty() {
            return Ok(());
        }
        let source = self.source();
        let bytes = unit.saturating_mul(size_of::<T>());
        let mut buffer = BlockBuffer::new();
        let buffer = buffer.as_mut_slice();
        let most = block_len::<T>(self.len()).max(unit).min(buffer.len());
        let buffer = buffer.get_mut(..most).unwrap_or_default();
        if let Some(first) = self.first_of_one_run(order) {
            let mut heap = Vec::new();
            let buffer = block::at_least(unit, buffer, &mut heap)?;
            let rest = buffer.len().checked_rem(unit).unwrap_or(0);
            let most = buffer.len().wrapping_sub(rest);
            let buffer = buffer.get_mut(..most).unwrap_or_default();
            let bytes = self.len().saturating_mul(size_of::<T>());
            // The elements lie in the memory of the tensor.
            let mut run = source.run(first, bytes).ok_or(Error::SizeOverflow)?;
            let mut position = first;
            loop {
                let block = block::read_next(&mut run, buffer)?;
                if block.is_empty() {
                    return Ok(());
                }
                let piece = Part::of_run(position, size_of_val(block));
                position = position.wrapping_add_unsigned(size_of_val(block));
                f(piece, block)?;
            }
        }
        let (axes, first) = self.axes(order);
        let tiles = Pieces::room_for_tiles(&axes);
        let mut tiles = block::on_heap::<T>(if tiles > size_of_val(buffer) { tiles } else { 0 });
        let mut heap = Vec::new();
        let buffer = match tiles.spare_capacity_mut() {
            [] => buffer,
            tiles => tiles,
        };
        let buffer = block::at_least(unit, buffer, &mut heap)?;
        let mut pieces = Pieces::new(axes, first, bytes, size_of_val(buffer));
        while let Some(piece) = pieces.take() {
            f(piece, block::read(piece, &source, buffer)?)?;
        }
        Ok(())
    }

    /// The same elements, which other threads of this program may write.
    #[inline]
    pub(in crate::import) fn as_shared(self) -> Self {
        match self.access {
            Access::Exclusive => Self { access: Access::Shared, ..self },
            _ => self,
        }
    }

    /// The elements from the one at `offset`, in units of stride, in a shape that has no index beyond
    /// the tensor.
    #[inline]
    pub(super) fn part<'s>(self, offset: i64, shape: &'s [i64]) -> Elements<'s, T>
    where
        'a: 's,
    {
        let Typed { first, strides, step, .. } = self.typed;
        let offset = self.typed.bytes(offset);
        let (low, high) = self.bytes;
        let len = shape.iter().fold(1, |len: i64, &dim| len.wrapping_mul(dim));
        let len = usize::try_from(len).unwrap_or(0);
        Elements {
            typed: Typed { first: first.wrapping_offset(offset), shape, strides, step, len },
            bytes: (low.wrapping_sub(offset), high.wrapping_sub(offset)),
            access: self.access,
            read_as: PhantomData,
        }
    }

    /// The elements as a slice, if no one writes them, and if they are one.
    #[inline]
    pub(in crate::import) fn as_frozen_slice(&self) -> Result<Option<&'a [T]>, Error> {
        if self.access != Access::Frozen {
            return Ok(None);
        }
        // SAFETY: 1. By 4 of `ImportedTensor::from_raw` the elements are initialized, and alive
        // as long as the handle, which is borrowed for `'a`. This crate lent them from a `&[T]`,
        // so no one writes them.
        match unsafe { self.typed.as_slice() } {
            Ok(slice) => Ok(Some(slice)),
            Err(error @ Error::InvalidBits { .. }) => Err(error),
            // Elements that are not contiguous, or not aligned, are copied.
            Err(_) => Ok(None),
        }
    }

    #[inline]
    fn try_each(&self, order: Visit, mut f: impl FnMut(&[T])) -> Result<(), Error> {
        match self.as_frozen_slice()? {
            Some([]) => Ok(()),
            Some(slice) => {
                f(slice);
                Ok(())
            }
            None => self.visit(order, |_, block| f(block)),
        }
    }

    /// Calls a function with blocks of elements, in row-major order of their indices, and
    /// validates each block: [`for_each_block`](Self::for_each_block) for any element type.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
    /// # struct Mask(Vec<bool>);
    /// # impl DLPackExport for Mask {
    /// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    /// #         out.shape(&[3]).data(self.0.data())
    /// #     }
    /// # }
    /// let tensor = Mask(vec![true, false, true]).into_dlpack()?.import()?;
    /// let mut set = 0;
    /// tensor.elements::<bool>()?.try_for_each_block(|block| {
    ///     set += block.iter().filter(|&&bit| bit).count();
    /// })?;
    /// assert_eq!(set, 2);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidBits`]. The function has been called with the blocks before the one
    /// that contains the invalid element. [`Error::OutOfMemory`] for elements of more than 8 KiB,
    /// which are read to memory on the heap.
    #[inline]
    pub fn try_for_each_block(&self, f: impl FnMut(&[T])) -> Result<(), Error> {
        self.try_each(Visit::RowMajor, f)
    }

    /// As [`try_for_each_block`](Self::try_for_each_block), in column-major order of the indices.
    ///
    /// # Errors
    ///
    /// Those of [`try_for_each_block`](Self::try_for_each_block).
    #[cfg(feature = "pyo3")]
    pub(crate) fn try_for_each_block_by_columns(&self, f: impl FnMut(&[T])) -> Result<(), Error> {
        let (mut shape, mut strides) = ([0; MAX_NDIM], [0; MAX_NDIM]);
        let shape = turned(self.typed.shape, 0, &mut shape);
        let strides = turned(self.typed.strides, 0, &mut strides);
        Elements { typed: Typed { shape, strides, ..self.typed }, ..*self }.try_for_each_block(f)
    }

    /// Calls a function with blocks of elements, in the order of the memory, and validates
    /// each block: [`for_each_block_unordered`](Self::for_each_block_unordered) for any
    /// element type.
    ///
    /// # Errors
    ///
    /// Those of [`try_for_each_block`](Self::try_for_each_block).
    #[inline]
    pub fn try_for_each_block_unordered(&self, f: impl FnMut(&[T])) -> Result<(), Error> {
        self.try_each(Visit::Memory, f)
    }
}

/// Methods for types without invalid bit patterns. The bound is on each method, not on the
/// `impl`, so that the error of a missing bound names `AnyBits` and its notes.
impl<T> Elements<'_, T> {
    /// Calls a function with blocks of elements, in row-major order of their indices.
    ///
    /// Blocks are not empty; their lengths can differ. A block contains whole elements, and may end
    /// inside of a row. It is a copy, unless [`frozen`](ImportedTensor::frozen) accepts the tensor.
    ///
    /// The function may access the same memory in other ways. A panic of the function has no
    /// effect on the memory.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
    /// # struct Samples(Vec<i32>);
    /// # impl DLPackExport for Samples {
    /// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    /// #         out.shape(&[3]).data(self.0.data())
    /// #     }
    /// # }
    /// let tensor = Samples(vec![1, 2, 3]).into_dlpack()?.import()?;
    /// let mut sum = 0_i64;
    /// tensor.elements::<i32>()?.for_each_block(|block| {
    ///     sum += block.iter().map(|&value| i64::from(value)).sum::<i64>();
    /// });
    /// assert_eq!(sum, 6);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn for_each_block(&self, f: impl FnMut(&[T]))
    where
        T: AnyBits,
    {
        let () = BitsAreValid::<T>::OK;
        block::expect_memory::<T>(self.try_for_each_block(f));
    }

    /// Calls a function with blocks of elements, in the order of the memory: for a function
    /// whose result does not depend on the order, such as a sum or a maximum.
    ///
    /// A transposed tensor takes as long as a contiguous one, where `for_each_block` takes 5 to 13
    /// times as long. An element that several indices name, as in a broadcast tensor, is visited
    /// once for each of them. In all other respects this is as
    /// [`for_each_block`](Self::for_each_block).
    #[inline]
    pub fn for_each_block_unordered(&self, f: impl FnMut(&[T]))
    where
        T: AnyBits,
    {
        let () = BitsAreValid::<T>::OK;
        block::expect_memory::<T>(self.try_for_each_block_unordered(f));
    }
}

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
