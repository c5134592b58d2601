//! Makes borrowed tensors that outlive the call which made them: [`borrowed`].
//!
//! A `DLTensor` has no flags, so read-only memory is rejected unless the class promises in
//! `unsafe` that no one writes through such views (`ClassBuilder::read_only_views`). A
//! consumer of the table uses the current work stream of the device;
//! `StreamArg::work_stream` synchronizes work on other streams with it.

use core::mem::MaybeUninit;

use super::TableError;
use super::interned_dims::{empty, lasting};
use crate::describe::{Description, Slot, described_elsewhere};
use crate::export::DLPackExport;
use crate::ffi::DLTensor;
use crate::stream_arg::StreamArg;

/// Writes the tensor of a value as a `DLTensor` that is valid as long as the borrow of
/// the value. This allocates nothing for up to 8 dimensions.
///
/// Shape and strides point into the value, if it stores them as integers of the right
/// size, and otherwise to a list that is never freed.
///
/// # Errors
///
/// Those of the export; [`TableError::ReadOnlyView`], unless `read_only` allows views of such
/// memory; [`TableError::PaddedView`]; [`TableError::NoPlaceForDims`].
///
/// # Safety
///
/// 1. Until the last use of the written struct, which has no lifetime, the value is borrowed: it does
///    not move, no code changes it by `&mut`, and it is not dropped.
#[inline(always)]
pub(super) unsafe fn borrowed<T: DLPackExport, E>(
    value: &T,
    read_only: bool,
    out: &mut MaybeUninit<DLTensor>,
) -> Result<(), TableError<E>> {
    value.sync_for(StreamArg::work_stream())?;
    let mut slot = Slot::new();
    let place = &raw const slot;
    let description = value.describe(slot.describe())?;
    // The memory and the lists of a description are borrowed from the value, as our caller's 1
    // requires, and outlive the slot, only if it was made in this slot.
    if !description.checked().is_in(place) {
        return Err(described_elsewhere().into());
    }
    out.write(lasting_tensor(&description, read_only)?);
    Ok(())
}

/// Makes the C struct of a tensor, with shape and strides that outlive its description.
#[inline(always)]
fn lasting_tensor<E>(
    description: &Description<'_>,
    read_only: bool,
) -> Result<DLTensor, TableError<E>> {
    let facts = &description.checked().facts;
    if !facts.is_plain() {
        check_lasting(description, read_only)?;
    }
    let [shape, strides] = facts.stored();
    // A list without numbers may be stored at a dangling address. It has a branch of its own, because
    // `lasting` would be inlined once more for it (measured: 500 bytes per class).
    let ndim = description.shape().len();
    let is_scalar = ndim == 0;
    let place = |stored: *const i64, list: &[i64]| {
        if is_scalar {
            Some(empty())
        } else if stored.is_null() {
            lasting(list)
        } else {
            Some(stored.cast_mut())
        }
    };
    // Not `ok_or`, which would make and drop an error that is not used.
    let full = || TableError::NoPlaceForDims;
    let shape = place(shape, description.shape()).ok_or_else(full)?;
    let strides = place(strides, description.strides()).ok_or_else(full)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "at most 64")]
    Ok(DLTensor { ndim: ndim as i32, shape, strides, ..*description.dl_tensor() })
}

/// Checks that a consumer without flags may use the tensor, and synchronizes it.
#[inline]
fn check_lasting<E>(description: &Description<'_>, read_only: bool) -> Result<(), TableError<E>> {
    let facts = &description.checked().facts;
    if facts.is_read_only() && !read_only {
        return Err(TableError::ReadOnlyView);
    }
    if facts.is_padded() {
        return Err(TableError::PaddedView);
    }
    // SAFETY: 1. The description is borrowed, and with it the loan.
    unsafe { facts.sync_for(StreamArg::work_stream()) }?;
    Ok(())
}
