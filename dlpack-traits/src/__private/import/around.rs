//! Around the fields of a tensor: newtypes, enums, constructors.

use alloc::vec::Vec;
use core::fmt::Display;

use super::{DLPackImport, ImportError, Imported};
use crate::import::{Requirement, Unmet};

/// What a constructor made, or why it made nothing.
pub fn constructed<T, E: Display>(made: Result<T, E>) -> Result<T, ImportError> {
    made.map_err(ImportError::rejected)
}

/// The importable in a newtype, or in a variant.
pub fn inner<T: DLPackImport>(tensor: Imported) -> Result<T, ImportError> {
    T::from_dlpack(tensor)
}

/// Whether it accepts the tensor.
pub fn inner_accepts<T: DLPackImport>(tensor: &Imported) -> Result<(), ImportError> {
    T::accepts(tensor)
}

/// A variant of an enum: its name, and whether what it holds accepts a tensor.
pub type Variant = (&'static str, fn(&Imported) -> Result<(), ImportError>);

/// The number of the first variant that accepts the tensor.
pub fn variant(
    tensor: &Imported,
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
    Err(Requirement::new(name, of_variants(refusals)).into())
}

/// What none of the variants found. Where all they lack is an element type,
/// that is said once.
fn of_variants(refusals: Vec<(&'static str, ImportError)>) -> Unmet {
    let mut dtypes = Vec::new();
    let mut met = None;
    for (_, refusal) in &refusals {
        match refusal {
            ImportError::Requirement(requirement) => match requirement.unmet() {
                Unmet::DType { needed, found } => {
                    dtypes.extend_from_slice(needed);
                    met = Some(*found);
                }
                _ => return Unmet::Variant(refusals),
            },
            _ => return Unmet::Variant(refusals),
        }
    }
    match met {
        Some(found) => Unmet::DType { needed: dtypes, found },
        None => Unmet::Variant(refusals),
    }
}
