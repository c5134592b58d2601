//! Imports into newtypes and enums, and through constructors.

use alloc::vec::Vec;
use core::fmt::Display;

use super::requirements::{AxesOf, KeepsStrides};
use super::{Copies, ImportError, ImportedTensor};
use crate::import::{Mismatch, MismatchKind};
use crate::panic::Contained;

/// Converts the result of a constructor.
pub fn constructed<T, E: Display>(made: Result<T, E>) -> Result<T, ImportError> {
    made.map_err(ImportError::rejected)
}

/// Calls the validation function for a value that was made.
pub fn validated<T, E: Display>(
    made: Result<T, ImportError>,
    check: impl FnOnce(&T) -> Result<(), E>,
) -> Result<T, ImportError> {
    let made = Contained::new(made?);
    check(made.get()).map_err(ImportError::rejected)?;
    Ok(made.into_inner())
}

/// A variant of an enum: its name, and the check whether its content accepts a tensor.
pub type Variant = (&'static str, fn(&ImportedTensor) -> Result<(), ImportError>);

/// The index of the first variant that accepts the tensor.
pub fn variant(
    tensor: &ImportedTensor,
    name: &'static str,
    variants: &[Variant],
) -> Result<usize, ImportError> {
    let mut refusals = Vec::new();
    for (number, &(variant, accepts)) in variants.iter().enumerate() {
        match accepts(tensor) {
            Ok(()) => return Ok(number),
            Err(refusal) => refusals.push((variant, refusal)),
        }
    }
    Err(Mismatch::new(name, of_variants(refusals)).into())
}

/// Combines the errors of all variants. If all are about the element type, the result is
/// one list of types.
fn of_variants(refusals: Vec<(&'static str, ImportError)>) -> MismatchKind {
    let unmet = refusals.iter().map(|(_, refusal)| match refusal {
        ImportError::Mismatch(requirement) => Some(requirement.unmet()),
        _ => None,
    });
    dtypes(unmet).unwrap_or(MismatchKind::Variant(refusals))
}

/// The accepted element types, if every error is about them.
fn dtypes<'a, I: Iterator<Item = Option<&'a MismatchKind>>>(refusals: I) -> Option<MismatchKind> {
    let (mut all, mut met) = (Vec::new(), None);
    for refusal in refusals {
        let Some(MismatchKind::DType { needed, found }) = refusal else { return None };
        all.extend_from_slice(needed);
        met = Some(*found);
    }
    met.map(|found| MismatchKind::DType { needed: all, found })
}

/// Whether an enum with such variants copies the elements of tensors.
pub const fn copies_of_variants(variants: &[Copies]) -> Copies {
    let (mut all, mut rest) = (None, variants);
    while let [first, others @ ..] = rest {
        all = match (all, *first) {
            (None, copies) => Some(copies),
            (Some(Copies::Never), Copies::Never) => Some(Copies::Never),
            (Some(Copies::Always), Copies::Always) => Some(Copies::Always),
            _ => Some(Copies::Sometimes),
        };
        rest = others;
    }
    match all {
        Some(copies) => copies,
        None => Copies::Never,
    }
}

/// A variant of an enum: whether it accepts a tensor, and whether it copies the elements.
pub type Copying = (fn(&ImportedTensor) -> Result<(), ImportError>, fn(&ImportedTensor) -> bool);

/// Whether the first variant that accepts the tensor copies its elements.
pub fn copies_of_one(tensor: &ImportedTensor, variants: &[Copying]) -> bool {
    let first = variants.iter().find(|(accepts, _)| accepts(tensor).is_ok());
    first.is_some_and(|(_, copies)| copies(tensor))
}

// ---- enums of storages ----

/// Checks whether the content of a storage variant can hold the memory of a tensor.
pub type Holds = fn(&ImportedTensor) -> Result<(), MismatchKind>;

/// Checks whether some variant can hold the memory of a tensor.
pub fn any_holds(tensor: &ImportedTensor, variants: &[Holds]) -> Result<(), MismatchKind> {
    let mut refusals = Vec::new();
    for holds in variants {
        match holds(tensor) {
            Ok(()) => return Ok(()),
            Err(unmet) => refusals.push(unmet),
        }
    }
    match dtypes(refusals.iter().map(Some)) {
        Some(unmet) => Err(unmet),
        None => refusals.pop().map_or(Ok(()), Err),
    }
}

/// The axes of the elements of the first variant that can hold the tensor, or else of the
/// last.
pub fn axes_of_one(tensor: &ImportedTensor, variants: &[(Holds, AxesOf)]) -> &'static [i64] {
    let first = variants.iter().find(|(holds, _)| holds(tensor).is_ok());
    first.or(variants.last()).map_or(&[], |(_, axes)| axes(tensor))
}

/// Whether the first variant that can hold the tensor keeps its strides.
pub fn one_keeps_strides(tensor: &ImportedTensor, variants: &[(Holds, KeepsStrides)]) -> bool {
    let first = variants.iter().find(|(holds, _)| holds(tensor).is_ok());
    first.is_some_and(|(_, keeps)| keeps(tensor))
}

/// The index of the first variant that can hold the tensor; if there is none, of the last,
/// whose import then returns the error.
pub fn which_holds(tensor: &ImportedTensor, variants: &[Holds]) -> usize {
    let first = variants.iter().position(|holds| holds(tensor).is_ok());
    first.unwrap_or(variants.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::{Copies, copies_of_variants};

    #[test]
    fn variants_copy_always_never_or_sometimes() {
        let (never, always, some) = (Copies::Never, Copies::Always, Copies::Sometimes);
        let of = |variants: &[Copies], copies| assert_eq!(copies_of_variants(variants), copies);
        of(&[], never);
        of(&[never], never);
        of(&[never, never], never);
        of(&[always, always, always], always);
        of(&[never, always], some);
        of(&[always, never], some);
        of(&[some, some], some);
    }
}
