//! Copies of imported elements, in an order that is asked for.

use alloc::vec::Vec;

use super::{Imported, Readable};
use crate::described::{Order, stored_bits};
use crate::dtype::DataType;
use crate::error::Error;
use crate::flags::Flags;
use crate::layout::{MAX_NDIM, Walk};
use crate::storage::Cells;

/// A copy of all elements, compact in that order. As `u8`s the bytes of any
/// elements can be had; otherwise their type is `T`'s.
pub(crate) fn copy_elements<T: Readable>(tensor: &Imported, order: Order) -> Result<Vec<T>, Error> {
    let (asked, found) = (T::DTYPE, tensor.dtype());
    if asked == found && (order == Order::RowMajor || tensor.ndim() < 2) {
        return tensor.elements::<T>()?.to_vec();
    }
    if asked != found && asked != DataType::U8 {
        return Err(Error::ElementMismatch { asked, found });
    }
    let bytes = copy_bytes(tensor, order)?;
    let elements = bytes.chunks_exact(size_of::<T>());
    let mut copy = room(elements.len(), size_of::<T>())?;
    for element in elements {
        let element = bytemuck::checked::try_pod_read_unaligned(element);
        copy.push(element.map_err(|_| Error::InvalidBits { dtype: asked })?);
    }
    Ok(copy)
}

/// A copy of the bytes of all elements, whatever their type, compact in that
/// order. Elements that share bytes are copied as they are, if they are compact.
fn copy_bytes(tensor: &Imported, order: Order) -> Result<Vec<u8>, Error> {
    if !tensor.device().is_host() {
        return Err(Error::NotOnHost { device: tensor.device() });
    }
    let padded = tensor.flags().contains(Flags::IS_SUBBYTE_TYPE_PADDED);
    let bits = stored_bits(tensor.dtype(), padded);
    let (shape, strides) = (tensor.shape(), tensor.strides());
    let end = usize::try_from(tensor.byte_range().end).unwrap_or(0);
    if bits % 8 != 0 {
        let compact = match order {
            Order::RowMajor => tensor.is_row_major(),
            Order::ColumnMajor => tensor.is_column_major(),
        };
        if !compact {
            return Err(Error::PackedStrides { dtype: tensor.dtype() });
        }
        let bytes = i64::try_from(end).map_err(|_| Error::SizeOverflow)?;
        return copy(tensor, &[bytes], &[1], (end, 1));
    }
    // All elements together have at most `isize::MAX` bytes.
    let numel = usize::try_from(tensor.numel()).unwrap_or(0);
    let size = usize::try_from(bits >> 3).map_err(|_| Error::SizeOverflow)?;
    let (mut turned_shape, mut turned_strides) = ([0; MAX_NDIM], [0; MAX_NDIM]);
    match order {
        Order::RowMajor => copy(tensor, shape, strides, (numel, size)),
        Order::ColumnMajor => {
            let shape = turned(shape, &mut turned_shape);
            copy(tensor, shape, turned(strides, &mut turned_strides), (numel, size))
        }
    }
}

/// The numbers from the last to the first.
fn turned<'a>(numbers: &[i64], to: &'a mut [i64; MAX_NDIM]) -> &'a [i64] {
    let to = to.get_mut(..numbers.len()).unwrap_or_default();
    for (to, from) in to.iter_mut().zip(numbers.iter().rev()) {
        *to = *from;
    }
    to
}

/// Copies elements of that number and size, in row-major order of that shape.
/// Shape and strides are those of the tensor, or its axes in another order, or
/// its bytes as they lie.
fn copy(
    tensor: &Imported,
    shape: &[i64],
    strides: &[i64],
    (numel, size): (usize, usize),
) -> Result<Vec<u8>, Error> {
    let first = tensor.as_ptr().cast_mut();
    let mut copy = room(numel, size)?;
    copy.resize(numel.saturating_mul(size), 0);
    let align = 1_usize << size.trailing_zeros().min(3);
    let aligned = first.addr() & align.wrapping_sub(1) == 0;
    let step = isize::try_from(size).map_err(|_| Error::SizeOverflow)?;
    let mut walk = Walk::new(shape, strides);
    for to in copy.chunks_exact_mut(size) {
        // What is inside of the extent fits, as it does in bytes.
        let position = isize::try_from(walk.position()).unwrap_or(0);
        let skip = position.wrapping_mul(step);
        // SAFETY: the walk visits indices inside of the shape. By 4 of
        // `Imported::from_raw` their elements are part of one allocation.
        let place = unsafe { first.offset(skip) };
        walk.advance();
        if tensor.is_read_only() {
            // SAFETY: by 4 of `from_raw` the element is initialised and alive
            // as long as the handle, which is borrowed; by 5 nobody writes it
            // now. `to` has its size, and is ours.
            unsafe { place.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
        } else if aligned {
            // SAFETY: 1. As above, and READ_ONLY is not set. 2. It is aligned
            // as the first element is: strides count elements. 3. Every view
            // of this size reads it like this, others keep to 5 of `from_raw`.
            // 4. `to` has the element's size.
            unsafe { Cells::new(place) }.load(to);
        } else {
            for (offset, byte) in to.iter_mut().enumerate() {
                // SAFETY: the byte is one of the element's.
                let place = unsafe { place.add(offset) };
                // SAFETY: as above, for an element of one byte.
                unsafe { Cells::new(place) }.load(core::slice::from_mut(byte));
            }
        }
    }
    Ok(copy)
}

/// Room for elements of that number and size.
fn room<T>(numel: usize, size: usize) -> Result<Vec<T>, Error> {
    let bytes = numel.saturating_mul(size);
    let mut room = Vec::new();
    let items = bytes.checked_div(size_of::<T>()).unwrap_or(0);
    room.try_reserve_exact(items).map_err(|_| Error::OutOfMemory { bytes })?;
    Ok(room)
}
