//! Which layouts are valid, computed in two ways: by listing every element and by exact
//! arithmetic.

use std::collections::HashMap;

use tensors::{DataType, ffi};

use super::cases::{Case, Place};

/// The expected result of a case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// So many elements, all of them in these bits of the storage.
    Accepted { count: i128, low: i128, high: i128 },
    /// It must be an error.
    Refused(Refusal),
}

/// Why a case must be refused.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// A number, the rank, the offset, or the count of elements or of their bytes that cannot be
    /// represented.
    Unsayable,
    /// The element type is wrong or not the storage's.
    Type,
    /// Some element is outside; the first and last bit, if they fit in 128 bits.
    Outside(Option<(i128, i128)>),
    /// The storage is larger than the elements, and nothing states that they use a part: the
    /// elements, and their bytes.
    Spare(i128, i128),
    /// Some element is not aligned.
    Misaligned,
}

/// Element types that the standard defines, by family: the widths in bits.
fn widths() -> HashMap<u8, &'static [u8]> {
    let mut widths: HashMap<u8, &'static [u8]> = HashMap::from([
        (ffi::kDLInt.0, &[1, 2, 4, 8, 16, 32, 64, 128][..]),
        (ffi::kDLUInt.0, &[1, 2, 4, 8, 16, 32, 64, 128]),
        (ffi::kDLFloat.0, &[16, 32, 64, 128]),
        (ffi::kDLOpaqueHandle.0, &[8, 16, 32, 64, 128]),
        (ffi::kDLBfloat.0, &[16]),
        (ffi::kDLComplex.0, &[32, 64, 128]),
        (ffi::kDLBool.0, &[1, 8]),
        (ffi::kDLFloat6_e2m3fn.0, &[6]),
        (ffi::kDLFloat6_e3m2fn.0, &[6]),
        (ffi::kDLFloat4_e2m1fn.0, &[4]),
        (ffi::kDLBcomplex.0, &[32]),
    ]);
    for code in ffi::kDLFloat8_e3m4.0..=ffi::kDLFloat8_e8m0fnu.0 {
        widths.insert(code, &[8]);
    }
    widths
}

/// Returns the required alignment of an element: the size of a scalar. Packed elements
/// have no address.
pub(crate) fn alignment(dtype: DataType) -> Option<u8> {
    let is_complex = [ffi::kDLComplex, ffi::kDLBcomplex].contains(&dtype.code());
    let scalar = if is_complex { dtype.bits() / 2 } else { dtype.bits() };
    (scalar % 8 == 0).then_some(scalar / 8)
}

/// Lowest and highest position of a layout with elements, counted from the
/// first; `None` when that passes 128 bits, which is farther than any memory.
pub(crate) fn reach(shape: &[i128], strides: &[i128]) -> Option<(i128, i128)> {
    let (mut low, mut high) = (0_i128, 0_i128);
    for (&dim, &stride) in shape.iter().zip(strides) {
        let last = (dim - 1).checked_mul(stride)?;
        if last < 0 {
            low = low.checked_add(last)?;
        } else {
            high = high.checked_add(last)?;
        }
    }
    Some((low, high))
}

/// Returns the strides of a case, given or row-major.
fn strides_of(case: &Case) -> Vec<i128> {
    if let Some(strides) = &case.strides {
        return strides.values().to_vec();
    }
    let shape = case.shape.values();
    (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect()
}

/// Checks what does not depend on the positions of elements.
fn preliminary(case: &Case) -> Result<i128, Refusal> {
    let (shape, strides) = (case.shape.values(), case.strides.as_ref());
    let fits = |values: &[i128]| values.iter().all(|&value| i64::try_from(value).is_ok());
    if !fits(shape) || !strides.is_none_or(|strides| fits(strides.values())) {
        return Err(Refusal::Unsayable);
    }
    if i64::try_from(case.byte_offset).is_err() {
        return Err(Refusal::Unsayable);
    }
    if shape.len() > 64 || strides.is_some_and(|strides| strides.values().len() != shape.len()) {
        return Err(Refusal::Unsayable);
    }
    if shape.iter().any(|&dim| dim < 0) {
        return Err(Refusal::Unsayable);
    }
    if let Some(dtype) = case.dtype {
        let known = widths().get(&dtype.code().0).is_some_and(|w| w.contains(&dtype.bits()));
        // Bytes can be read as anything but handles.
        let of_bytes = case.storage == DataType::U8 && dtype.code() != ffi::kDLOpaqueHandle;
        let fits = dtype == case.storage || of_bytes;
        if !known || dtype.lanes() == 0 || !fits {
            return Err(Refusal::Type);
        }
    }
    let count = if shape.contains(&0) {
        Some(0)
    } else {
        shape.iter().try_fold(1_i128, |count, &dim| {
            count.checked_mul(dim).filter(|&count| i64::try_from(count).is_ok())
        })
    };
    count.ok_or(Refusal::Unsayable)
}

/// Decides, once the bits of the elements are known.
fn decide(case: &Case, address: usize, count: i128, bits: Option<(i128, i128)>) -> Verdict {
    let inside = |(low, high): &(i128, i128)| *low >= 0 && *high <= case.len as i128 * 8;
    // No elements are inside of every storage, at any offset.
    let Some((low, high)) = bits.filter(|bits| count == 0 || inside(bits)) else {
        return Verdict::Refused(Refusal::Outside(bits));
    };
    if case.fills_storage() && (high + 7) / 8 != case.len as i128 {
        return Verdict::Refused(Refusal::Spare(count, (high + 7) / 8));
    }
    // A copy of all elements has at most as many bytes as an allocation.
    let bytes = (count * i128::from(case.element_type().element_bits()) + 7) / 8;
    if isize::try_from(bytes).is_err() {
        return Verdict::Refused(Refusal::Unsayable);
    }
    if count > 0 {
        let first = address as i128 + i128::from(case.byte_offset);
        let aligned = alignment(case.element_type()).is_none_or(|a| first % i128::from(a) == 0);
        // Also where there is no address, an element of the storage must not be split.
        let whole = case.storage.element_bits() / 8;
        let whole =
            case.storage.element_bits() % 8 != 0 || case.byte_offset % u64::from(whole) == 0;
        if !whole || (case.place != Place::Handle && !aligned) {
            return Verdict::Refused(Refusal::Misaligned);
        }
    }
    Verdict::Accepted { count, low, high }
}

/// Lists the bits of every element. For layouts with few.
pub(crate) fn by_listing(case: &Case, address: usize) -> Verdict {
    let count = match preliminary(case) {
        Ok(count) => count,
        Err(refusal) => return Verdict::Refused(refusal),
    };
    let offset = i128::from(case.byte_offset) * 8;
    let bits = i128::from(case.element_type().element_bits());
    let mut starts = vec![offset];
    for (&dim, &stride) in case.shape.values().iter().zip(&strides_of(case)) {
        starts = starts
            .iter()
            .flat_map(|start| (0..dim).map(move |index| start + index * stride * bits))
            .collect();
    }
    assert_eq!(starts.len() as i128, count, "{case:#?}");
    let ends = starts.iter().min().zip(starts.iter().max());
    let ends = ends.map_or((offset, offset), |(&low, &high)| (low, high + bits));
    decide(case, address, count, Some(ends))
}

/// Adds and multiplies in 128 bits. A result that overflows them is outside.
pub(crate) fn by_arithmetic(case: &Case, address: usize) -> Verdict {
    let count = match preliminary(case) {
        Ok(count) => count,
        Err(refusal) => return Verdict::Refused(refusal),
    };
    let offset = i128::from(case.byte_offset) * 8;
    let bits = i128::from(case.element_type().element_bits());
    let ends = || {
        if count == 0 {
            return Some((offset, offset));
        }
        let (low, high) = reach(case.shape.values(), &strides_of(case))?;
        // Positions are numbers of 64 bits. Farther away is only a tensor of
        // bits in an object of exabytes.
        let sayable = |position| i64::try_from(position).ok().map(i128::from);
        let (low, high) = (sayable(low)?, sayable(high)?);
        let low = low.checked_mul(bits)?.checked_add(offset)?;
        Some((low, high.checked_add(1)?.checked_mul(bits)?.checked_add(offset)?))
    };
    decide(case, address, count, ends())
}
