//! Borrowed tensors that outlive the call which made them: [`borrowed`].

use super::Fault;
use super::dims::lasting;
use crate::dims::Dims;
use crate::export::DLPackExport;
use crate::ffi::DLTensor;
use crate::flags::Flags;
use crate::stream::StreamArg;

/// The tensor of a value as a `DLTensor` that is good for as long as the borrow
/// is. This allocates nothing.
///
/// Shape and strides are those that the value stores, if it stores them as
/// numbers of the right size, and otherwise in a place that is never freed.
///
/// # Errors
///
/// Those of the export; [`Fault::ReadOnlyView`], unless `read_only` says that
/// views of such memory may be had; [`Fault::PaddedView`];
/// [`Fault::NoPlaceForDims`].
#[inline]
pub(super) fn borrowed<T: DLPackExport, E>(
    value: &T,
    read_only: bool,
) -> Result<DLTensor, Fault<E>> {
    value.hand_off(StreamArg::work_stream())?;
    let described = value.tensor()?.into_described();
    let flags = described.flags();
    if flags.contains(Flags::READ_ONLY) && !read_only {
        return Err(Fault::ReadOnlyView);
    }
    if flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED) {
        return Err(Fault::PaddedView);
    }
    let [shape, strides] = described.dims();
    let shape = place(shape).ok_or(Fault::NoPlaceForDims)?;
    let strides = place(strides).ok_or(Fault::NoPlaceForDims)?;
    Ok(described.to_ffi(shape, strides))
}

/// Where dimensions are for as long as they are borrowed from somebody, or for ever.
#[inline]
fn place(dims: &Dims<'_>) -> Option<*mut i64> {
    match dims.as_borrowed() {
        Some(dims) if !dims.is_empty() => Some(dims.as_ptr().cast_mut()),
        _ => lasting(dims.as_slice()),
    }
}
