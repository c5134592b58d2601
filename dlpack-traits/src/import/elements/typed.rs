//! The elements of a tensor as a Rust type: [`Typed`].

use core::slice;

use crate::copy::{Axes, Positions};
use crate::dtype::DataType;
use crate::element::{AnyBits, BitsAreValid, Element, Readable, SizeMatches};
use crate::error::Error;
use crate::import::ImportedTensor;
use crate::strides;

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

    /// The axes of elements of type `T`, in row-major order.
    #[inline]
    pub(in crate::import) fn axes<T: Element>(&self) -> Axes {
        Axes::new(self.shape, self.strides, self.step.unsigned_abs(), size_of::<T>())
    }

    /// The positions of the elements, in bytes from the first one.
    #[inline]
    pub(in crate::import) fn positions<T: Element>(&self) -> Positions {
        Positions::new(self.axes::<T>(), size_of::<T>(), self.len)
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
        strides::is_row_major_of(parts, self.shape, self.strides)
    }

    /// Whether the elements, which span so many bytes, fill the span in any order: those of a
    /// transposed or reversed matrix do.
    #[inline]
    pub(in crate::import) fn is_dense<T: Element>(&self, span: usize) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Complex, Lanes};

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
        struct Bytes<const N: usize>([u8; N]);

        // SAFETY: the struct is a transparent array of bytes.
        unsafe impl<const N: usize> Element for Bytes<N> {
            const DTYPE: DataType = DataType::U8;
            #[expect(clippy::cast_possible_wrap, reason = "no array is that long")]
            const AXES: &'static [i64] = &[N as i64];
            const ANY_BITS: bool = true;
        }

        assert_eq!(lanes::<Bytes<3>>(), Some(DataType::U8.with_lanes(3)));
        assert_eq!(lanes::<Bytes<65_535>>(), Some(DataType::U8.with_lanes(65_535)));
        assert_eq!(lanes::<Bytes<65_536>>(), None);
    }
}
