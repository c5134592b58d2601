//! What shape, strides and an address amount to.

use dlpack_traits::strides::{self, Extent};
use dlpack_traits::{DataType, Device, Flags, MAX_NDIM};

use crate::memory;
use crate::report::{Array, LayoutFacts, TensorFacts};

/// The strides of a tensor; those of a row-major tensor if the pointer is NULL.
pub(crate) fn strides(tensor: &TensorFacts) -> Option<Vec<i64>> {
    let shape = tensor.shape.values()?;
    match &tensor.strides {
        Array::Values(strides) => Some(strides.clone()),
        Array::Null => {
            let mut strides = vec![0; shape.len()];
            strides::row_major_strides(shape, &mut strides);
            Some(strides)
        }
        Array::Unreadable | Array::Uncounted => None,
    }
}

/// The size of an element in memory, in bits; `None` if the type has none.
pub(crate) fn stored_bits(dtype: DataType, flags: u64) -> Option<i64> {
    let bits = i64::from(dtype.element_bits());
    let padded = Flags::from_bits(flags).contains(Flags::IS_SUBBYTE_TYPE_PADDED);
    match bits {
        0 => None,
        1..8 if padded => Some(8),
        bits => Some(bits),
    }
}

/// `None` if some number is invalid.
pub(crate) fn facts(tensor: &TensorFacts, dtype: DataType, device: Device) -> Option<LayoutFacts> {
    let shape = tensor.shape.values().filter(|shape| shape.len() <= MAX_NDIM)?;
    let strides = strides(tensor)?;
    let numel = strides::numel(shape).ok()?;
    let extent = strides::extent(shape, &strides).ok()?;
    let bits = stored_bits(dtype, tensor.flags)?;
    let bytes = match extent {
        None => (0, 0),
        Some(Extent { low, high }) => {
            let start = low.checked_mul(bits)?.div_euclid(8);
            let end = high.checked_add(1)?.checked_mul(bits)?.checked_add(7)?.div_euclid(8);
            (start, end)
        }
    };
    let used = || shape.iter().zip(&strides).filter(|&(&dim, _)| numel > 0 && dim > 1);
    let first = tensor.data.checked_add(tensor.byte_offset)?;
    let has_elements = device.has_addresses() && numel > 0 && tensor.data != 0;
    Some(LayoutFacts {
        numel,
        row_major: strides::is_row_major(shape, &strides),
        column_major: strides::is_column_major(shape, &strides),
        compact: is_compact_in_some_order(shape, &strides),
        broadcast: used().any(|(_, &stride)| stride == 0),
        negative: used().any(|(_, &stride)| stride < 0),
        overlap: strides::may_overlap(shape, &strides),
        bytes,
        alignment: has_elements.then(|| 1 << first.trailing_zeros().min(12)),
        mapped: (has_elements && device.is_host() && cfg!(unix)).then(|| is_mapped(first, bytes)),
    })
}

fn is_mapped(first: u64, (start, end): (i64, i64)) -> bool {
    let length = end.abs_diff(start);
    first.checked_add_signed(start).is_some_and(|start| memory::is_mapped(start, length))
}

/// Whether the axes can be permuted so that the elements have no gaps.
fn is_compact_in_some_order(shape: &[i64], strides: &[i64]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let axes = shape.iter().copied().zip(strides.iter().copied());
    let mut axes: Vec<(i64, i64)> = axes.filter(|&(dim, _)| dim != 1).collect();
    axes.sort_by_key(|&(_, stride)| stride);
    let mut step = Some(1_i64);
    axes.into_iter().all(|(dim, stride)| {
        let fits = step == Some(stride);
        step = step.and_then(|step| step.checked_mul(dim));
        fits
    })
}
