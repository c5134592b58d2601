//! Copies of host tensors: compact, aligned, and the consumer's own.

use crate::described::{Described, Layout};
use crate::device::Device;
use crate::dims::Dims;
use crate::dtype::DataType;
use crate::error::Error;
use crate::layout::{self, Walk};
use crate::storage::{Access, Block, Cells, Data, Terms};
use crate::view::{Lend, TensorView};

/// A compact row-major copy, aligned to 64 bytes.
pub(crate) struct Copied {
    block: Block,
    dtype: DataType,
    padded: bool,
    shape: Dims<'static>,
}

impl Copied {
    /// Copies the elements of a host tensor.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::OutOfMemory`], and [`Error::PackedStrides`]
    /// for elements packed into bytes that are not compact.
    pub(crate) fn of(view: &TensorView<'_>) -> Result<Self, Error> {
        let from = view.described();
        let device = from.memory().device;
        if !device.is_host() {
            return Err(Error::NotOnHost { device });
        }
        Self::compacted(from, &Source::of(from))
    }

    /// Copies the elements of a tensor of any device. `fetch` is asked once, for
    /// the bytes from one offset of its storage on that hold elements; not for
    /// none.
    ///
    /// # Errors
    ///
    /// As for [`of`](Self::of), and those of `fetch`.
    pub(crate) fn fetched(
        view: &TensorView<'_>,
        fetch: impl FnOnce(u64, &mut [u8]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let from = view.described();
        let (start, byte_len) = from.span();
        let mut span = Block::zeroed(byte_len)?;
        if byte_len != 0 {
            // SAFETY: the block is new: nobody else knows its address.
            fetch(start, unsafe { span.bytes_mut() })?;
        }
        if layout::is_row_major(from.shape(), from.strides()) {
            // The span is the elements, one after the other.
            return Self::new(from, span);
        }
        Self::compacted(from, &Source::in_span(from, &span))
    }

    /// The elements of `from`, read from `source`, one after the other.
    fn compacted(from: &Described<'_>, source: &Source) -> Result<Self, Error> {
        let bits = i128::from(from.numel()).saturating_mul(i128::from(from.element_bits()));
        let bytes = usize::try_from(bits.saturating_add(7).div_euclid(8))
            .map_err(|_| Error::SizeOverflow)?;
        let mut block = Block::zeroed(bytes)?;
        // SAFETY: the block is new: nobody else knows its address.
        copy_elements(from, source, unsafe { block.bytes_mut() })?;
        Self::new(from, block)
    }

    /// A block with the elements of `from`, one after the other.
    fn new(from: &Described<'_>, block: Block) -> Result<Self, Error> {
        let shape = Dims::filled(from.shape().len(), |dims| {
            dims.copy_from_slice(from.shape());
            Ok(())
        })?;
        let (dtype, padded) = (from.dtype(), from.is_padded());
        Ok(Self { block, dtype, padded, shape })
    }

    /// The copy, lent exclusively.
    pub(crate) fn lend(&mut self) -> Result<Lend<'_>, Error> {
        // SAFETY:
        // 1. The block owns that many bytes of host memory.
        // 2. It was zeroed, is aligned to 64 bytes, and any bits will do in it.
        // 3. It is borrowed uniquely, and so is its memory, for which it is the
        //    only owner.
        let data = unsafe {
            Data::from_raw_parts(
                self.block.as_ptr(),
                self.block.byte_len(),
                self.dtype,
                Device::CPU,
            )
        };
        let layout = Layout::row_major(&self.shape)?;
        Lend::new(data, if self.padded { layout.padded() } else { layout })
    }
}

/// Writes the elements of `from` one after the other, in row-major order.
///
/// `to` has exactly the bytes that they take.
fn copy_elements(from: &Described<'_>, source: &Source, to: &mut [u8]) -> Result<(), Error> {
    if to.is_empty() {
        return Ok(());
    }
    let (shape, strides) = (from.shape(), from.strides());
    if layout::is_row_major(shape, strides) {
        // SAFETY: the elements are compact from the first one on, and `to` has
        // the bytes that hold them, the last of which may be partly theirs.
        unsafe { source.read(0, to) };
        return Ok(());
    }
    let dtype = from.dtype();
    let size = from.element_bytes().ok_or(Error::PackedStrides { dtype })?;
    // As many trailing axes as lie without gaps are copied in one go.
    let gapless = |&axis: &usize| {
        let inner = shape.get(axis..).zip(strides.get(axis..));
        inner.is_some_and(|(shape, strides)| layout::is_row_major(shape, strides))
    };
    let outer = (0..shape.len()).rev().take_while(gapless).last().unwrap_or(shape.len());
    let (walked, run) = shape.split_at(outer);
    let run: i64 = run.iter().product();
    let run_bytes = bytes(run, size).unsigned_abs();
    let mut walk = Walk::new(walked, strides);
    for part in to.chunks_exact_mut(run_bytes) {
        // SAFETY: the walk visits exactly the indices of the outer axes, each
        // of which is followed by a run of the inner ones.
        unsafe { source.read(bytes(walk.position(), size), part) };
        walk.advance();
    }
    Ok(())
}

/// A number of elements of a size, in bytes. What lies in memory fits.
#[expect(clippy::cast_possible_truncation, reason = "addresses differ by at most `isize::MAX`")]
#[expect(clippy::cast_possible_wrap, reason = "an element has less than 2^24 bits")]
const fn bytes(elements: i64, size: usize) -> isize {
    (elements as isize).saturating_mul(size as isize)
}

/// The memory that is copied from.
struct Source {
    first: *mut u8,
    terms: Terms,
}

impl Source {
    fn of(from: &Described<'_>) -> Self {
        Self { first: from.data().0, terms: from.memory().terms() }
    }

    /// The same elements in a copy of the bytes that they span.
    fn in_span(from: &Described<'_>, span: &Block) -> Self {
        let before = from.byte_offset().saturating_sub(from.span().0);
        // The first element lies in the span, so its offset fits.
        let before = usize::try_from(before).unwrap_or(0);
        Self {
            first: span.as_ptr().wrapping_add(before),
            terms: Terms { access: Access::Frozen, unit: 1 },
        }
    }

    /// Reads `to.len()` bytes that begin `position` bytes from the first element.
    ///
    /// # Safety
    ///
    /// 1. Those bytes are whole elements of the tensor that this was made from,
    ///    which is still lent.
    unsafe fn read(&self, position: isize, to: &mut [u8]) {
        // SAFETY: by 1 the position lies inside the memory of the tensor.
        let from = unsafe { self.first.offset(position) };
        match self.terms.access {
            Access::Frozen | Access::Exclusive | Access::ForeignReadOnly => {
                // SAFETY: by 1 there are as many bytes, which nobody writes
                // while they are lent, or, if they are foreign, now (5 of
                // `Imported::from_raw`), and `to` is memory of our own.
                unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
            }
            Access::Shared | Access::SharedReadOnly => {
                // SAFETY: 1. The elements are lent, and a description keeps
                // them inside of memory that is made of such atomics. 2. is
                // what a shared loan promises.
                unsafe { Cells::read(from, self.terms.unit, to) }
            }
        }
    }
}
