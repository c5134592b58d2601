//! Borrowed tensors that outlive the call which made them: [`borrowed`].

use core::mem::MaybeUninit;

use super::Fault;
use super::dims::lasting;
use crate::described::Plain;
use crate::dims::{Dims, Space};
use crate::error::Error;
use crate::export::{DLPackExport, tensor_of};
use crate::ffi::DLTensor;
use crate::flags::Flags;
use crate::stream::StreamArg;
use crate::view::TensorView;

/// Writes the tensor of a value as a `DLTensor` that is good for as long as the
/// borrow is. This allocates nothing.
///
/// Shape and strides are those that the value stores, if it stores them as
/// numbers of the right size, and otherwise in a place that is never freed.
///
/// # Errors
///
/// Those of the export; [`Fault::ReadOnlyView`], unless `read_only` says that
/// views of such memory may be had; [`Fault::PaddedView`];
/// [`Fault::NoPlaceForDims`].
#[inline(always)]
pub(super) fn borrowed<T: DLPackExport, E>(
    value: &T,
    read_only: bool,
    out: &mut MaybeUninit<DLTensor>,
) -> Result<(), Fault<E>> {
    value.sync_for(StreamArg::work_stream())?;
    if let Some(tensor) = plain(value, read_only)? {
        out.write(tensor);
        return Ok(());
    }
    described(&tensor_of(value), read_only, out)
}

/// The same for a tensor that is not plain, or none.
#[inline(never)]
fn described<E>(
    view: &Result<TensorView<'_>, Error>,
    read_only: bool,
    out: &mut MaybeUninit<DLTensor>,
) -> Result<(), Fault<E>> {
    let described = match view {
        Ok(view) => view.described(),
        Err(error) => return Err(Fault::Tensor(*error)),
    };
    let flags = described.flags();
    if flags.contains(Flags::READ_ONLY) && !read_only {
        return Err(Fault::ReadOnlyView);
    }
    if flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED) {
        return Err(Fault::PaddedView);
    }
    let [shape, strides] = described.dims();
    let (Some(shape), Some(strides)) = (place(shape), place(strides)) else {
        return Err(Fault::NoPlaceForDims);
    };
    // SAFETY: 1. It is borrowed from `view`.
    unsafe { described.sync_for(StreamArg::work_stream()) }?;
    out.write(described.to_ffi(shape, strides));
    Ok(())
}

/// The same for a tensor that needs no words, and stores its shape. `None` leaves it to
/// the long way, which also knows what to call an error.
#[inline(always)]
fn plain<T: DLPackExport>(value: &T, read_only: bool) -> Result<Option<DLTensor>, Error> {
    let mut space = Space::new();
    let Some(shape) = value.stored_shape().filter(|shape| !shape.is_empty()) else {
        return Ok(None);
    };
    let Some(plain) = value.tensor_in(space.room()) else { return Ok(None) };
    let Some(tensor) = with_shape(&plain, shape, read_only) else { return Ok(None) };
    // SAFETY: 1. The value lent it, and is borrowed still.
    unsafe { plain.sync_for(StreamArg::work_stream()) }?;
    Ok(Some(tensor))
}

/// The C struct of a plain tensor, with the shape that its value stores.
#[inline(always)]
fn with_shape(plain: &Plain<'_>, shape: &[i64], read_only: bool) -> Option<DLTensor> {
    let mut strides = [0_i64; Space::CAPACITY];
    let strides = strides.get_mut(..plain.ndim())?;
    if shape.len() != strides.len() {
        return None;
    }
    let mut step = 1_i64;
    for (stride, &dim) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = if dim < 1 { None } else { step.checked_mul(dim) }?;
    }
    // The shape that was checked has as many elements, or it is not this one.
    if step != plain.numel() {
        return None;
    }
    let writable = read_only || !plain.flags().contains(Flags::READ_ONLY);
    let strides = if writable { lasting(strides) } else { None };
    Some(plain.to_ffi(shape.as_ptr().cast_mut(), strides?))
}

/// Where dimensions are for as long as they are borrowed from somebody, or for ever.
#[inline]
fn place(dims: &Dims<'_>) -> Option<*mut i64> {
    match dims.as_borrowed() {
        Some(dims) if !dims.is_empty() => Some(dims.as_ptr().cast_mut()),
        _ => lasting(dims.as_slice()),
    }
}
