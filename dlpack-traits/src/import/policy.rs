//! What is done with structs that break the standard in a known way.

use crate::version::Version;

/// What is done with structs that break the standard in a way that producers
/// do: since version 1.2 `strides` must not be NULL, but NumPy, for one, wrote
/// NULL for compact tensors until late 2025.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImportPolicy {
    /// They mean what was meant before: compact elements in row-major order.
    #[default]
    Lenient,
    /// They are refused: [`Error::NullStrides`](crate::Error::NullStrides).
    Strict,
}

impl ImportPolicy {
    /// Whether a struct of that version may have NULL strides.
    pub(super) fn allows_null_strides(self, version: Option<Version>) -> bool {
        self == Self::Lenient || version.is_none_or(|version| version < Version::new(1, 2))
    }
}
