//! Copies of imported elements, in a given order.

use alloc::vec::Vec;
use core::ops::Range;

use super::ImportedTensor;
use crate::copy::Source;
use crate::describe::{Order, stored_bits};
use crate::dtype::DataType;
use crate::element::Readable;
use crate::error::Error;
use crate::flags::Flags;
use crate::storage::try_vec;
use crate::strides::MAX_NDIM;

/// Copies all elements, contiguously in the given order. A `T` of `u8` copies the bytes of
/// elements of any type; any other `T` must be the type of the elements.
pub(crate) fn copy_elements<T: Readable>(
    tensor: &ImportedTensor,
    order: Order,
) -> Result<Vec<T>, Error> {
    let (asked, found) = (T::DTYPE, tensor.dtype());
    let as_bytes = asked == DataType::U8 && asked != found && T::AXES.is_empty();
    // The axes of each element are the last ones, so after the copy they are contiguous,
    // whatever their strides were.
    let as_arrays = asked == found && !T::AXES.is_empty() && tensor.shape().ends_with(T::AXES);
    let bytes = if as_bytes || as_arrays {
        copy_bytes(tensor, order, T::AXES)?
    } else {
        let elements = tensor.elements::<T>()?;
        if order == Order::RowMajor || elements.shape().len() < 2 {
            return elements.to_vec();
        }
        let typed = tensor.typed::<T>()?;
        let (shape, strides) = (typed.shape, typed.strides);
        let place =
            CopyLayout { shape, strides, step: typed.step.unsigned_abs(), size: size_of::<T>() };
        copy(tensor, order, &[], &place, typed.len)?
    };
    let elements = bytes.chunks_exact(size_of::<T>());
    let mut copy = try_vec(elements.len())?;
    if !T::are_valid(&bytes) {
        return Err(Error::InvalidBits { dtype: asked });
    }
    for element in elements {
        // SAFETY: the chunk has the size of a `T`. By 1 of `Readable` valid bytes are a
        // value.
        copy.push(unsafe { element.as_ptr().cast::<T>().read_unaligned() });
    }
    Ok(copy)
}

/// Copies the bytes of all elements, of any type, contiguously in the given order, as elements
/// with those axes. Packed elements that share bytes are copied only if they are contiguous.
fn copy_bytes(tensor: &ImportedTensor, order: Order, axes: &[i64]) -> Result<Vec<u8>, Error> {
    tensor.on_host()?;
    let padded = tensor.flags().contains(Flags::IS_SUBBYTE_TYPE_PADDED);
    let bits = stored_bits(tensor.dtype(), padded);
    if bits % 8 != 0 {
        let compact = match order {
            Order::RowMajor => tensor.is_row_major(),
            Order::ColumnMajor => tensor.is_column_major(),
        };
        if !compact {
            return Err(Error::PackedStrides { dtype: tensor.dtype() });
        }
        let end = tensor.byte_range().end;
        let (shape, strides) = ([end as i64], [1]);
        let place = CopyLayout { shape: &shape, strides: &strides, step: 1, size: 1 };
        return copy(tensor, Order::RowMajor, &[], &place, end.unsigned_abs());
    }
    let size = usize::try_from(bits >> 3).map_err(|_| Error::SizeOverflow)?;
    let place = CopyLayout { shape: tensor.shape(), strides: tensor.strides(), step: size, size };
    // All elements together have at most `isize::MAX` bytes.
    copy(tensor, order, axes, &place, usize::try_from(tensor.numel()).unwrap_or(0))
}

impl ImportedTensor {
    /// The memory of the elements of a tensor of the host.
    #[inline]
    pub(super) fn source(&self) -> Source<'_> {
        let Range { start, end } = self.byte_range();
        // SAFETY: 1. By 4 of `from_raw` these bytes are initialized, and alive as long as the
        // handle, which is borrowed. This crate lent them with this access, or 5 of `from_raw`
        // guarantees the same.
        unsafe { Source::new(self.data_ptr().cast_mut(), start, end, self.access()) }
    }
}

/// The layout of the elements of a tensor, as elements of a given size.
struct CopyLayout<'a> {
    shape: &'a [i64],
    strides: &'a [i64],
    /// Bytes per unit of stride.
    step: usize,
    /// Bytes per element.
    size: usize,
}

/// Copies `len` elements, contiguously in the given order, in which the last dimensions, `axes`,
/// stay the fastest, in row-major order. `place` is the tensor's own layout, for elements of its
/// type, of a Rust type that they can be read as, or for bytes.
fn copy(
    tensor: &ImportedTensor,
    order: Order,
    axes: &[i64],
    place: &CopyLayout<'_>,
    len: usize,
) -> Result<Vec<u8>, Error> {
    let source = tensor.source();
    let (mut shape, mut strides) = ([0; MAX_NDIM], [0; MAX_NDIM]);
    let (shape, strides) = match order {
        Order::RowMajor => (place.shape, place.strides),
        // The same elements with the outer axes reversed.
        Order::ColumnMajor => (
            turned(place.shape, axes.len(), &mut shape),
            turned(place.strides, axes.len(), &mut strides),
        ),
    };
    let bytes = len.saturating_mul(place.size);
    let mut copy = try_vec(bytes)?;
    copy.resize(bytes, 0);
    source.copy((shape, strides), place.step, place.size, &mut copy);
    Ok(copy)
}

/// Copies the numbers in reverse order, except for the last ones, `inner` of them, which stay at the
/// end.
pub(super) fn turned<'a>(numbers: &[i64], inner: usize, to: &'a mut [i64; MAX_NDIM]) -> &'a [i64] {
    let (outer, inner) = numbers.split_at(numbers.len().saturating_sub(inner));
    let to = to.get_mut(..numbers.len()).unwrap_or_default();
    for (to, from) in to.iter_mut().zip(outer.iter().rev().chain(inner)) {
        *to = *from;
    }
    to
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::error::Error;
    use crate::export::DLPackExport;
    use crate::storage::Storage;
    use crate::{Complex, Describe, Description};

    /// Six numbers in two rows.
    struct Numbers(Vec<i32>);

    impl DLPackExport for Numbers {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[2, 3]).data(self.0.data())
        }
    }

    /// `copy_elements` checks the type itself: elements of another type are copied only as
    /// bytes, in either order, whatever its caller has checked before.
    #[test]
    fn elements_are_what_they_are() {
        let tensor = Numbers((0..6).collect()).into_dlpack().expect("a tensor");
        let tensor = tensor.import().expect("ours");
        let found = DataType::I32;
        for order in [Order::RowMajor, Order::ColumnMajor] {
            let copy = copy_elements::<f32>(&tensor, order);
            assert_eq!(copy, Err(Error::ElementMismatch { requested: DataType::F32, found }));
            let copy = copy_elements::<i8>(&tensor, order);
            assert_eq!(copy, Err(Error::ElementMismatch { requested: DataType::I8, found }));
            let copy = copy_elements::<Complex<f32>>(&tensor, order);
            assert_eq!(copy, Err(Error::ElementMismatch { requested: DataType::COMPLEX64, found }));
        }
        assert_eq!(copy_elements::<i32>(&tensor, Order::RowMajor), Ok((0..6).collect()));
        assert_eq!(copy_elements::<i32>(&tensor, Order::ColumnMajor), Ok(vec![0, 3, 1, 4, 2, 5]));
        let bytes: Vec<u8> = (0..6_i32).flat_map(i32::to_ne_bytes).collect();
        assert_eq!(copy_elements::<u8>(&tensor, Order::RowMajor), Ok(bytes));
    }
}
