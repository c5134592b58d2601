//! The error of an import into a type: [`ImportError`].

use alloc::boxed::Box;
use alloc::string::ToString;
use core::fmt;

use super::Mismatch;
use crate::error::Error;

/// The reason why a tensor could not be imported into a type
/// ([`DLPackImport`](crate::DLPackImport)).
///
/// ```
/// use dlpack_traits::{Error, ImportError};
///
/// let error = ImportError::rejected("the mask is empty");
/// assert_eq!(error.to_string(), "the mask is empty");
/// assert!(matches!(ImportError::from(Error::NotCompact), ImportError::Tensor(_)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportError {
    /// The tensor is invalid, or its elements cannot be accessed as requested.
    Tensor(Error),
    /// The tensor does not meet a requirement of the type.
    Mismatch(Mismatch),
    /// The type's own validation rejected the value that was built.
    Rejected(Box<str>),
}

impl ImportError {
    /// Creates an error with the type's own reason.
    pub fn rejected(reason: impl fmt::Display) -> Self {
        Self::Rejected(reason.to_string().into_boxed_str())
    }
}

impl From<Error> for ImportError {
    fn from(error: Error) -> Self {
        Self::Tensor(error)
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(error) => error.fmt(f),
            Self::Mismatch(requirement) => requirement.fmt(f),
            Self::Rejected(reason) => reason.fmt(f),
        }
    }
}

impl core::error::Error for ImportError {}
