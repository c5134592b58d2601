//! Elements as a Rust type sees them: [`Typed`].

use core::iter::FusedIterator;

use super::Imported;
use crate::dtype::DataType;
use crate::element::{Element, SizeMatches};
use crate::error::Error;
use crate::layout::{self, Walk};

/// Where the elements of a tensor lie, as elements of a Rust type, which may
/// be arrays that the tensor has axes for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Typed<'a> {
    /// The first one. NULL without elements; it need not be aligned.
    pub(crate) first: *mut u8,
    /// Without the axes of the elements.
    pub(crate) shape: &'a [i64],
    /// As many.
    pub(crate) strides: &'a [i64],
    /// Bytes that a stride of 1 goes.
    pub(crate) step: isize,
    /// Number of elements.
    pub(crate) len: usize,
}

// SAFETY: it is an address and two slices, and safe code only copies it.
unsafe impl Send for Typed<'_> {}
// SAFETY: as above.
unsafe impl Sync for Typed<'_> {}

impl Imported {
    /// Elements from the first one to that of an index.
    pub(crate) fn position(&self, index: &[usize]) -> Result<i64, Error> {
        position(self.shape(), self.strides(), index)
    }

    /// The elements, if they can be accessed here as `T`s.
    ///
    /// A `T` with axes is either one element with as many lanes, or all that is
    /// in the last dimensions of the tensor.
    pub(crate) fn typed<T: Element>(&self) -> Result<Typed<'_>, Error> {
        let () = SizeMatches::<T>::OK;
        let (device, found) = (self.device(), self.dtype());
        if !device.is_host() {
            return Err(Error::NotOnHost { device });
        }
        let (shape, strides) = (self.shape(), self.strides());
        let outer = if found == T::DTYPE {
            inner_axes(shape, strides, T::AXES)?
        } else if !T::AXES.is_empty() && Some(found) == lanes::<T>() {
            shape.len()
        } else {
            return Err(Error::ElementMismatch { asked: T::DTYPE, found });
        };
        let (shape, inner) = shape.split_at_checked(outer).unwrap_or((shape, &[]));
        let strides = strides.get(..outer).unwrap_or(strides);
        // What is inside of an element has a number that fits, and is not 0.
        let parts: i64 = inner.iter().product();
        let whole = self.numel().checked_div(parts).unwrap_or(0);
        let step = size_of::<T>().checked_div(usize::try_from(parts).unwrap_or(0));
        Ok(Typed {
            first: self.as_ptr().cast_mut(),
            shape,
            strides,
            step: isize::try_from(step.unwrap_or(0)).unwrap_or(0),
            // All elements together have at most `isize::MAX` bytes.
            len: usize::try_from(whole).unwrap_or(0),
        })
    }
}

/// Strides of 1 from the first element to that of an index.
fn position(shape: &[i64], strides: &[i64], index: &[usize]) -> Result<i64, Error> {
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
    Ok(position)
}

/// The type whose lanes are the parts of a `T`.
fn lanes<T: Element>() -> Option<DataType> {
    let parts: i64 = T::AXES.iter().product();
    let one_lane = T::DTYPE.lanes() == 1;
    u16::try_from(parts).ok().filter(|_| one_lane).map(|lanes| T::DTYPE.with_lanes(lanes))
}

/// The number of dimensions in front of those that are `axes`, compact.
fn inner_axes(shape: &[i64], strides: &[i64], axes: &'static [i64]) -> Result<usize, Error> {
    let outer = shape.len().checked_sub(axes.len());
    let split = outer.and_then(|outer| Some((outer, shape.get(outer..)?, strides.get(outer..)?)));
    match split {
        Some((outer, inner, strides)) if inner == axes && layout::is_row_major(inner, strides) => {
            Ok(outer)
        }
        _ => Err(Error::AxesMismatch { axes }),
    }
}

impl Typed<'_> {
    /// Bytes from the first element to that of an index.
    pub(crate) fn position(&self, index: &[usize]) -> Result<isize, Error> {
        Ok(self.bytes(position(self.shape, self.strides, index)?))
    }

    /// Strides of 1, summed up to a place inside of the extent, in bytes.
    #[inline]
    pub(crate) fn bytes(&self, position: i64) -> isize {
        // What is inside of the extent fits, as it does in bytes.
        isize::try_from(position).unwrap_or(0).wrapping_mul(self.step)
    }

    /// Address and number of the elements, if they are a slice of `T`s.
    pub(crate) fn as_raw_slice<T: Element>(&self) -> Result<(*mut T, usize), Error> {
        // With a step that is a part of an element, the parts are compact
        // inside of it, and so the elements are if their strides are those parts.
        let parts = size_of::<T>().checked_div(self.step.unsigned_abs());
        if !is_row_major(self.shape, self.strides, parts.and_then(|parts| parts.try_into().ok())) {
            return Err(Error::NotCompact);
        }
        Ok((self.as_aligned::<T>()?, self.len))
    }

    /// The first element, if it is aligned; then all of them are.
    pub(crate) fn as_aligned<T: Element>(&self) -> Result<*mut T, Error> {
        let first = self.first.cast::<T>();
        if self.len == 0 {
            Ok(core::ptr::dangling_mut())
        } else if first.is_aligned() {
            Ok(first)
        } else {
            Err(Error::Misaligned { dtype: T::DTYPE, align: align_of::<T>() })
        }
    }
}

/// Visits the elements in row-major order of their indices.
#[derive(Clone, Debug)]
pub(crate) struct Positions<'a> {
    typed: Typed<'a>,
    walk: Walk<'a>,
    left: usize,
}

impl<'a> Positions<'a> {
    pub(crate) fn of(typed: Typed<'a>) -> Self {
        Self { typed, walk: Walk::new(typed.shape, typed.strides), left: typed.len }
    }
}

impl Iterator for Positions<'_> {
    /// Bytes from the first element.
    type Item = isize;

    #[inline]
    fn next(&mut self) -> Option<isize> {
        self.left = self.left.checked_sub(1)?;
        let position = self.typed.bytes(self.walk.position());
        self.walk.advance();
        Some(position)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Positions<'_> {}
impl FusedIterator for Positions<'_> {}

/// Whether the elements lie one after the other, each as wide as `parts` strides.
fn is_row_major(shape: &[i64], strides: &[i64], parts: Option<i64>) -> bool {
    let Some(parts) = parts else { return false };
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
