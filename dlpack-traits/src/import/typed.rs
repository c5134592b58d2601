//! The elements of a tensor as a Rust type: [`Typed`].

use core::iter::FusedIterator;
use core::slice;

use super::ImportedTensor;
use crate::dtype::DataType;
use crate::element::{AnyBits, BitsAreValid, Element, Readable, SizeMatches};
use crate::error::Error;
use crate::strides::{self, Walk};

/// The layout of the elements of a tensor as elements of a Rust type. If that type is an
/// array, its axes may be dimensions of the tensor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Typed<'a> {
    /// The first element; NULL if the tensor is empty. It may be unaligned.
    pub(crate) first: *mut u8,
    /// The shape without the axes of the elements.
    pub(crate) shape: &'a [i64],
    /// The strides, one for each entry of `shape`.
    pub(crate) strides: &'a [i64],
    /// Bytes per unit of stride.
    pub(crate) step: isize,
    /// Number of elements.
    pub(crate) len: usize,
}

// SAFETY: the fields are an address, two slices and numbers, and safe code only copies
// them.
unsafe impl Send for Typed<'_> {}
// SAFETY: as above.
unsafe impl Sync for Typed<'_> {}

impl ImportedTensor {
    /// The offset of an index from the first element, in units of stride.
    #[inline]
    pub(crate) fn position(&self, index: &[usize]) -> Result<i64, Error> {
        position(self.shape(), self.strides(), index)
    }

    /// Returns the layout of the elements as `T`s, if the processor can access them as
    /// such.
    ///
    /// A `T` with axes covers either one element with that number of lanes, or the last
    /// dimensions of the tensor.
    #[inline]
    pub(crate) fn typed<T: Element>(&self) -> Result<Typed<'_>, Error> {
        let () = SizeMatches::<T>::OK;
        let found = self.dtype();
        self.on_host()?;
        let (shape, strides) = (self.shape(), self.strides());
        let (outer, each) = if found == T::DTYPE && T::AXES.is_empty() {
            (shape.len(), 1)
        } else if found == T::DTYPE {
            (inner_axes(shape, strides, T::AXES)?, const { parts(T::AXES) })
        } else if !T::AXES.is_empty() && Some(found) == const { lanes::<T>() } {
            (shape.len(), 1)
        } else {
            return Err(Error::ElementMismatch { requested: T::DTYPE, found });
        };
        // All elements together have at most `isize::MAX` bytes.
        let numel = usize::try_from(self.numel()).unwrap_or(0);
        let (len, step) = if each == 1 {
            (numel, size_of::<T>())
        } else {
            (numel.checked_div(each).unwrap_or(0), const { size_of::<T>() / parts(T::AXES) })
        };
        Ok(Typed {
            first: self.data_ptr().cast_mut(),
            shape: shape.get(..outer).unwrap_or(shape),
            strides: strides.get(..outer).unwrap_or(strides),
            step: isize::try_from(step).unwrap_or(0),
            len,
        })
    }

    /// Returns the same for a type without invalid bit patterns: by 4 of `Element`, whose
    /// `ANY_BITS` is asserted here.
    #[inline]
    pub(crate) fn typed_any_bits<T: AnyBits>(&self) -> Result<Typed<'_>, Error> {
        let () = BitsAreValid::<T>::OK;
        self.typed::<T>()
    }
}

/// The offset of an index from the first element, in units of stride.
fn position(shape: &[i64], strides: &[i64], index: &[usize]) -> Result<i64, Error> {
    if index.len() != shape.len() {
        return Err(Error::NoSuchElement);
    }
    let mut position = 0_i64;
    for ((&index, &dim), &stride) in index.iter().zip(shape).zip(strides) {
        let index = i64::try_from(index).ok().filter(|&index| index < dim);
        let index = index.ok_or(Error::NoSuchElement)?;
        // An offset inside of the extent fits.
        position = position.wrapping_add(index.wrapping_mul(stride));
    }
    Ok(position)
}

/// The data type with lanes that has the layout of a `T`.
const fn lanes<T: Element>() -> Option<DataType> {
    let parts = parts(T::AXES);
    if T::DTYPE.lanes() != 1 || parts > u16::MAX as usize {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "compared above")]
    Some(T::DTYPE.with_lanes(parts as u16))
}

/// The number of parts of an element with these axes. The element has a size, so it fits.
const fn parts(mut axes: &[i64]) -> usize {
    let mut parts = 1_usize;
    while let Some((&dim, rest)) = axes.split_first() {
        #[expect(clippy::cast_possible_truncation, reason = "the axes of a Rust type fit")]
        let dim = dim.unsigned_abs() as usize;
        parts = parts.saturating_mul(dim);
        axes = rest;
    }
    parts
}

/// The stride from one element with these axes to the next, in parts.
const fn parts_as_stride(axes: &[i64]) -> i64 {
    #[expect(clippy::cast_possible_wrap, reason = "the size of a Rust type fits")]
    let parts = parts(axes) as i64;
    parts
}

/// The number of dimensions before the last ones, which must equal `axes` and be
/// contiguous, unless the tensor is empty.
fn inner_axes(shape: &[i64], strides: &[i64], axes: &'static [i64]) -> Result<usize, Error> {
    let outer = shape.len().checked_sub(axes.len());
    let fits = |&outer: &usize| {
        shape.get(outer..) == Some(axes) && strides::is_row_major_from(outer, shape, strides)
    };
    outer.filter(fits).ok_or(Error::AxesMismatch { axes })
}

impl<'a> Typed<'a> {
    /// The offset of an index from the first element, in bytes.
    #[inline]
    pub(crate) fn position(&self, index: &[usize]) -> Result<isize, Error> {
        Ok(self.bytes(position(self.shape, self.strides, index)?))
    }

    /// Checks the number of elements of a slice that is copied from or to.
    #[inline]
    pub(crate) fn same_len(&self, found: usize) -> Result<(), Error> {
        if found == self.len { Ok(()) } else { Err(Error::LenMismatch { needed: self.len, found }) }
    }

    /// Converts an offset inside of the extent from units of stride to bytes.
    #[inline]
    pub(crate) fn bytes(&self, position: i64) -> isize {
        // An offset inside of the extent fits, and so does its value in bytes.
        isize::try_from(position).unwrap_or(0).wrapping_mul(self.step)
    }

    /// Whether the elements are contiguous, in row-major order.
    #[inline]
    pub(crate) fn is_contiguous<T: Element>(&self) -> bool {
        // If strides count parts, the parts inside of an element are contiguous, so the
        // elements are contiguous if the innermost stride is the number of parts.
        let parts = if self.step.unsigned_abs() == size_of::<T>() {
            1
        } else {
            const { parts_as_stride(T::AXES) }
        };
        is_row_major(self.shape, self.strides, parts)
    }

    /// Whether the elements, which span so many bytes, fill the span in any order: those of a
    /// transposed or reversed matrix do.
    #[inline]
    pub(super) fn is_dense<T: Element>(&self, span: usize) -> bool {
        self.step.unsigned_abs() == size_of::<T>()
            && self.len.checked_mul(size_of::<T>()) == Some(span)
            && !strides::may_overlap(self.shape, self.strides)
    }

    /// Returns the address and the number of the elements, if they are a slice of `T`s.
    #[inline]
    pub(crate) fn as_raw_slice<T: Element>(&self) -> Result<(*mut T, usize), Error> {
        if !self.is_contiguous::<T>() {
            return Err(Error::NotContiguous);
        }
        Ok((self.as_aligned::<T>()?, self.len))
    }

    /// Borrows the elements as a slice, and validates them.
    ///
    /// # Safety
    ///
    /// 1. For `'a`, the elements are initialized and alive, and no one writes them.
    #[inline]
    pub(crate) unsafe fn as_slice<T: Readable>(&self) -> Result<&'a [T], Error> {
        let (first, len) = self.as_raw_slice::<T>()?;
        let byte_len = len.saturating_mul(size_of::<T>());
        // SAFETY: `as_raw_slice` returned the address of `byte_len` contiguous bytes, which by
        // 1 are initialized, and which no one writes for `'a`.
        let bytes = unsafe { slice::from_raw_parts(first.cast::<u8>(), byte_len) };
        if !T::are_valid(bytes) {
            return Err(Error::InvalidBits { dtype: T::DTYPE });
        }
        // SAFETY: `as_raw_slice` returned `len` aligned elements. They are the bytes above,
        // which by 1 of `Readable` are valid values.
        Ok(unsafe { slice::from_raw_parts(first, len) })
    }

    /// Returns the address of the first element, if all elements are aligned.
    #[inline]
    pub(crate) fn as_aligned<T: Element>(&self) -> Result<*mut T, Error> {
        let first = self.first.cast::<T>();
        if self.len == 0 {
            Ok(core::ptr::dangling_mut())
        } else if first.is_aligned() && self.steps_are_aligned::<T>() {
            Ok(first)
        } else {
            Err(Error::Misaligned { dtype: T::DTYPE, align: align_of::<T>() })
        }
    }

    /// Whether all elements are aligned if the first one is. They are if strides count
    /// whole elements. If strides count parts, each stride is checked, because the
    /// alignment of an element may be stricter than that of its parts.
    #[inline]
    fn steps_are_aligned<T: Element>(&self) -> bool {
        let align = align_of::<T>();
        let aligned = |step: isize| step.unsigned_abs() & align.wrapping_sub(1) == 0;
        aligned(self.step)
            || self
                .shape
                .iter()
                .zip(self.strides)
                .all(|(&dim, &stride)| dim == 1 || aligned(self.bytes(stride)))
    }
}

/// A run of elements with a constant stride: the last axis, merged with the axes before it
/// as far as their strides continue it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Bytes from the first element of the tensor to the first one of the run.
    pub(crate) start: isize,
    /// Bytes from each element to the next.
    pub(crate) step: isize,
    pub(crate) len: usize,
}

/// Iterates over the runs of a tensor, in row-major order of the indices.
#[derive(Clone, Debug)]
pub(crate) struct Runs<'a> {
    typed: Typed<'a>,
    walk: Walk<'a>,
    run: Run,
    /// Number of elements in the remaining runs.
    left: usize,
}

impl<'a> Runs<'a> {
    #[inline]
    pub(crate) fn of(typed: Typed<'a>) -> Self {
        let (mut outer, mut len, mut stride) = (typed.shape, 1_i64, 0);
        while let (Some((&dim, rest)), Some(&next)) =
            (outer.split_last(), typed.strides.get(outer.len().wrapping_sub(1)))
        {
            let continues = len.checked_mul(stride) == Some(next);
            if len == 1 {
                (len, stride) = (dim, next);
            } else if dim != 1 && !continues {
                break;
            } else {
                // The number of elements fits in 64 bits, so this does not wrap.
                len = len.wrapping_mul(dim);
            }
            outer = rest;
        }
        let (len, step) = (usize::try_from(len).unwrap_or(0), typed.bytes(stride));
        let walk = Walk::new(outer, typed.strides);
        Self { typed, walk, run: Run { start: 0, step, len }, left: typed.len }
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    #[inline]
    fn next(&mut self) -> Option<Run> {
        if self.left == 0 {
            return None;
        }
        self.left = self.left.saturating_sub(self.run.len);
        let start = self.typed.bytes(self.walk.position());
        self.walk.advance();
        Some(Run { start, ..self.run })
    }
}

/// Iterates over the byte offsets of the elements, in row-major order of their indices.
#[derive(Clone, Debug)]
pub(crate) struct Positions<'a> {
    runs: Runs<'a>,
    /// The rest of the current run.
    run: Run,
}

impl<'a> Positions<'a> {
    #[inline]
    pub(crate) fn of(typed: Typed<'a>) -> Self {
        let runs = Runs::of(typed);
        let run = Run { len: 0, ..runs.run };
        Self { runs, run }
    }

    /// The rest of the current run, then the remaining runs.
    #[inline]
    pub(crate) fn into_runs(self) -> impl Iterator<Item = Run> {
        core::iter::once(self.run).chain(self.runs)
    }
}

impl Iterator for Positions<'_> {
    /// Bytes from the first element.
    type Item = isize;

    #[inline]
    fn next(&mut self) -> Option<isize> {
        if self.run.len == 0 {
            self.run = self.runs.next()?;
        }
        let position = self.run.start;
        self.run.len = self.run.len.wrapping_sub(1);
        // After the last element this value is not used, so it may wrap.
        self.run.start = position.wrapping_add(self.run.step);
        Some(position)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.runs.left.saturating_add(self.run.len);
        (left, Some(left))
    }

    #[inline]
    fn fold<A, F: FnMut(A, isize) -> A>(self, mut result: A, mut f: F) -> A {
        for run in self.into_runs() {
            let mut position = run.start;
            for _ in 0..run.len {
                result = f(result, position);
                position = position.wrapping_add(run.step);
            }
        }
        result
    }
}

impl ExactSizeIterator for Positions<'_> {}
impl FusedIterator for Positions<'_> {}

/// Whether the elements are contiguous in row-major order, if each is `parts` strides wide.
fn is_row_major(shape: &[i64], strides: &[i64], parts: i64) -> bool {
    let mut expected = parts;
    let mut compact = true;
    for (&dim, &stride) in shape.iter().zip(strides).rev() {
        if dim == 0 {
            return true;
        }
        if dim != 1 {
            compact &= stride == expected;
            expected = expected.saturating_mul(dim);
        }
    }
    compact
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Complex, Lanes};

    /// A run consists of the last axis, and of the axes before it that continue it.
    #[test]
    fn runs_are_as_long_as_they_can_be() {
        let runs = |shape: &[i64], strides: &[i64], len| {
            let first = core::ptr::null_mut();
            let runs = Runs::of(Typed { first, shape, strides, step: 4, len });
            runs.map(|run| (run.start, run.step, run.len)).collect::<alloc::vec::Vec<_>>()
        };
        assert_eq!(runs(&[], &[], 1), [(0, 0, 1)]);
        assert_eq!(runs(&[5], &[-2], 5), [(0, -8, 5)]);
        assert_eq!(runs(&[2, 3], &[3, 1], 6), [(0, 4, 6)]);
        assert_eq!(runs(&[2, 3], &[-3, -1], 6), [(0, -4, 6)]);
        assert_eq!(runs(&[2, 3], &[4, 1], 6), [(0, 4, 3), (16, 4, 3)]);
        assert_eq!(runs(&[2, 3], &[0, 0], 6), [(0, 0, 6)]);
        assert_eq!(runs(&[2, 1, 3, 1], &[3, 7, 1, 9], 6), [(0, 4, 6)]);
        assert_eq!(runs(&[4, 1, 1], &[2, 5, 7], 4), [(0, 8, 4)]);
        assert_eq!(runs(&[1, 1], &[2, 5], 1), [(0, 8, 1)]);
        assert_eq!(runs(&[2, 2, 3], &[9, 3, 1], 12), [(0, 4, 6), (36, 4, 6)]);
        assert_eq!(runs(&[2, 3], &[1, 2], 6), [(0, 8, 3), (4, 8, 3)]);
        assert_eq!(runs(&[2, 0], &[1, 1], 0), []);
    }

    /// The compiler evaluates these functions in constants; here they run.
    #[test]
    fn parts_of_elements() {
        assert_eq!((parts(&[]), parts(&[3]), parts(&[3, 2])), (1, 3, 6));
        assert_eq!((parts_as_stride(&[]), parts_as_stride(&[3, 2])), (1, 6));
        assert_eq!(lanes::<f32>(), Some(DataType::F32));
        assert_eq!(lanes::<Complex<f32>>(), Some(DataType::COMPLEX64));
        assert_eq!(lanes::<Lanes<f32, 4>>(), None, "lanes of lanes");
    }

    #[test]
    fn parts_as_lanes() {
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        #[allow(dead_code, reason = "nothing but its type matters")]
        struct Row<const N: usize>([u8; N]);

        // SAFETY: the struct is a transparent array of bytes.
        unsafe impl<const N: usize> Element for Row<N> {
            const DTYPE: DataType = DataType::U8;
            #[expect(clippy::cast_possible_wrap, reason = "no array is that long")]
            const AXES: &'static [i64] = &[N as i64];
            const ANY_BITS: bool = true;
        }

        assert_eq!(lanes::<Row<3>>(), Some(DataType::U8.with_lanes(3)));
        assert_eq!(lanes::<Row<65_535>>(), Some(DataType::U8.with_lanes(65_535)));
        assert_eq!(lanes::<Row<65_536>>(), None);
    }
}
