//! Copies of tensors in host memory: contiguous, aligned, and owned by the consumer ([`Copied`]); and new
//! elements in such memory ([`Zeroed`]).

mod axes;
mod map;
mod pieces;
mod source;
mod tiles;

pub(crate) use axes::Axes;
pub(crate) use pieces::Pieces;
pub(crate) use pieces::Positions;
pub(crate) use source::{Run, Source, Target};
pub(crate) use tiles::Part;

use core::marker::PhantomData;
use core::slice;

use crate::describe::{Describe, DescriptionMut, Order};
use crate::device::Device;
use crate::dims::Dims;
use crate::dtype::DataType;
use crate::element::{Element, Readable, SizeMatches};
use crate::error::Error;
use crate::storage::{ALIGNMENT, AlignedBuf, DataMut};
use crate::strides;
use crate::view::TensorView;

/// A compact copy, aligned to 64 bytes.
pub(crate) struct Copied {
    block: AlignedBuf,
    dtype: DataType,
    padded: bool,
    shape: Dims<'static>,
    order: Order,
}

impl Copied {
    /// Copies the elements of a host tensor.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::OutOfMemory`], and [`Error::PackedStrides`]
    /// for elements packed into bytes that are not contiguous.
    pub(crate) fn of(view: &TensorView<'_>) -> Result<Self, Error> {
        let device = view.device();
        if !device.is_host() {
            return Err(Error::NotOnHost { device });
        }
        Self::compacted(view, &Source::of(view))
    }

    /// Copies the elements of a tensor of any device. `fetch` is called once, for
    /// the bytes of its storage that hold elements, given by an offset; if there are none, it
    /// is not called.
    ///
    /// # Errors
    ///
    /// As for [`of`](Self::of), and those of `fetch`.
    pub(crate) fn fetched(
        view: &TensorView<'_>,
        fetch: impl FnOnce(u64, &mut [u8]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let (start, byte_len) = view.facts().span();
        let span = AlignedBuf::filled(byte_len, |span| {
            if span.is_empty() { Ok(()) } else { fetch(start, span) }
        })?;
        if strides::is_row_major(view.shape(), view.strides()) {
            // The span is the elements, one after the other.
            return Self::new(view, span);
        }
        Self::compacted(view, &Source::in_span(view, &span))
    }

    /// The elements of `from`, read from `source`, one after the other.
    fn compacted(from: &TensorView<'_>, source: &Source<'_>) -> Result<Self, Error> {
        let bits = i128::from(from.numel()).saturating_mul(i128::from(from.element_bits()));
        let bytes = usize::try_from(bits.saturating_add(7).div_euclid(8))
            .map_err(|_| Error::SizeOverflow)?;
        Self::new(from, AlignedBuf::filled(bytes, |block| copy_elements(from, source, block))?)
    }

    /// The elements of a block that has no other owner, in row-major order, with the axes of a `T`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], possible only beyond 8 dimensions.
    pub(crate) fn moved<T: Element>(
        block: AlignedBuf,
        dtype: DataType,
        shape: &[i64],
    ) -> Result<Self, Error> {
        let ndim = shape.len().saturating_add(T::AXES.len());
        let shape = Dims::filled(ndim, |dims| {
            dims.iter_mut().zip(shape.iter().chain(T::AXES)).for_each(|(dim, &from)| *dim = from);
            Ok(())
        })?;
        Ok(Self { block, dtype, padded: false, shape, order: Order::RowMajor })
    }

    /// A block with the elements of `from`, one after the other.
    fn new(from: &TensorView<'_>, block: AlignedBuf) -> Result<Self, Error> {
        let shape = Dims::filled(from.shape().len(), |dims| {
            dims.copy_from_slice(from.shape());
            Ok(())
        })?;
        let (dtype, padded) = (from.dtype(), from.facts().is_padded());
        Ok(Self { block, dtype, padded, shape, order: Order::RowMajor })
    }

    /// The same elements of a row-major copy with the axes in reverse, column-major.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], possible only beyond 8 dimensions.
    pub(crate) fn into_transposed(self) -> Result<Self, Error> {
        let from = self.shape.as_slice();
        let shape = Dims::filled(from.len(), |dims| {
            dims.iter_mut().zip(from.iter().rev()).for_each(|(dim, &from)| *dim = from);
            Ok(())
        })?;
        Ok(Self { shape, order: Order::ColumnMajor, ..self })
    }

    /// The copy, lent exclusively.
    pub(crate) fn describe_mut<'a>(
        &'a mut self,
        out: Describe<'a>,
    ) -> Result<DescriptionMut<'a>, Error> {
        // SAFETY:
        // 1. The block owns that many bytes of host memory.
        // 2. It was zeroed and is aligned to 64 bytes, or has elements of the type `dtype`, and no
        //    code of this crate reads it any more, so any bits will do in it.
        // 3. It is borrowed uniquely, and so is its memory, for which it is the
        //    only owner.
        let data = unsafe {
            DataMut::from_raw_parts(
                self.block.as_ptr(),
                self.block.byte_len(),
                self.dtype,
                Device::CPU,
            )
        };
        let layout = out.shape(&self.shape).order(self.order);
        if self.padded { layout.padded() } else { layout }.data_mut(data)
    }
}

/// Writes the elements of `from` one after the other, in row-major order.
///
/// `to` has exactly the bytes that they take.
fn copy_elements(from: &TensorView<'_>, source: &Source<'_>, to: &mut [u8]) -> Result<(), Error> {
    let (shape, strides) = (from.shape(), from.strides());
    if strides::is_row_major(shape, strides) {
        // They are contiguous from the first one on, and `to` has the bytes that hold them,
        // the last of which may be partly theirs.
        Part::of_run(0, to.len()).read(source, to);
        return Ok(());
    }
    let dtype = from.dtype();
    let size = from.element_bytes().ok_or(Error::PackedStrides { dtype })?;
    source.copy((shape, strides), size, size, to);
    Ok(())
}

impl Source<'_> {
    /// Reads elements of `size` bytes, one after the other, in row-major order. Strides count
    /// steps of `step` bytes. `to` has exactly the bytes that the elements take.
    pub(crate) fn copy(
        &self,
        (shape, strides): (&[i64], &[i64]),
        step: usize,
        size: usize,
        to: &mut [u8],
    ) {
        if to.is_empty() {
            return;
        }
        let axes = Axes::new(shape, strides, step, size);
        Part::along(axes.as_slice(), axes.run).read(self, to);
    }
}

/// New elements of a tensor, contiguous in row-major order and aligned to 64 bytes: valid `T`s,
/// which only their owner accesses.
pub(crate) struct Zeroed<T> {
    block: AlignedBuf,
    elements: PhantomData<T>,
}

impl<T: Readable> Zeroed<T> {
    /// Allocates elements of the type `dtype`, each of which Rust accesses as a `T`, whose axes are
    /// the last axes of the tensor.
    ///
    /// # Errors
    ///
    /// [`Error::NegativeDim`], [`Error::SizeOverflow`], [`Error::OutOfMemory`];
    /// [`Error::InvalidBits`] if zero is not a value of `T`.
    pub(crate) fn new(dtype: DataType, shape: &[i64]) -> Result<Self, Error> {
        const { assert!(align_of::<T>() <= ALIGNMENT, "the memory is aligned to 64 bytes") };
        let () = SizeMatches::<T>::OK;
        let numel = usize::try_from(strides::numel(shape)?).map_err(|_| Error::SizeOverflow)?;
        let byte_len = numel.checked_mul(size_of::<T>()).ok_or(Error::SizeOverflow)?;
        let block = AlignedBuf::filled(byte_len, |bytes| {
            let first = bytes.get(..size_of::<T>()).unwrap_or_default();
            if T::are_valid(first) { Ok(()) } else { Err(Error::InvalidBits { dtype }) }
        })?;
        Ok(Self { block, elements: PhantomData })
    }
}

impl<T: Element> Zeroed<T> {
    /// The elements, in row-major order.
    pub(crate) fn as_slice(&self) -> &[T] {
        let (first, len) = self.parts();
        // SAFETY: the block owns that many valid `T`s, aligned to 64 bytes, and is borrowed.
        unsafe { slice::from_raw_parts(first, len) }
    }

    /// The elements, in row-major order, for writing.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        let (first, len) = self.parts();
        // SAFETY: the block owns that many valid `T`s, aligned to 64 bytes, and is borrowed uniquely.
        unsafe { slice::from_raw_parts_mut(first, len) }
    }

    /// The first element and their number.
    fn parts(&self) -> (*mut T, usize) {
        let block = &self.block;
        (block.as_ptr().cast(), block.byte_len().checked_div(size_of::<T>()).unwrap_or(0))
    }

    /// The tensor of this shape, without its element type.
    ///
    /// # Errors
    ///
    /// Those of [`Copied::moved`].
    pub(crate) fn into_copied(self, dtype: DataType, shape: &[i64]) -> Result<Copied, Error> {
        Copied::moved::<T>(self.block, dtype, shape)
    }
}
