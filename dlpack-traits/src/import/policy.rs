//! What an import accepts that the standard leaves open or forbids: [`ImportPolicy`].

use crate::version::Version;

/// What an import accepts where producers break the standard, or where the struct does
/// not say enough.
///
/// ```
/// use dlpack_traits::ImportPolicy;
///
/// let policy = ImportPolicy::new().strict_strides(true);
/// assert_ne!(policy, ImportPolicy::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "a policy does nothing by itself"]
pub struct ImportPolicy {
    strict_strides: bool,
    legacy_writable: bool,
}

impl ImportPolicy {
    /// Accepts NULL strides, and takes legacy structs for read-only.
    pub const fn new() -> Self {
        Self { strict_strides: false, legacy_writable: false }
    }

    /// Whether NULL strides are refused where the standard forbids them, which is since
    /// version 1.2: [`Error::NullStrides`](crate::Error::NullStrides). Otherwise they mean
    /// what they meant before: compact elements in row-major order. NumPy, for one, wrote
    /// them until late 2025.
    pub const fn strict_strides(self, strict: bool) -> Self {
        Self { strict_strides: strict, ..self }
    }

    /// Whether the memory of a legacy struct, which has no READ_ONLY flag, may be written.
    /// Without this it is read-only, as in NumPy: a producer of read-only memory could not
    /// say so.
    pub const fn legacy_writable(self, writable: bool) -> Self {
        Self { legacy_writable: writable, ..self }
    }

    /// Whether a struct of that version may have NULL strides.
    pub(super) fn allows_null_strides(self, version: Option<Version>) -> bool {
        !self.strict_strides || version.is_none_or(|version| version < Version::new(1, 2))
    }

    /// Whether the memory of a legacy struct may be written.
    #[inline(always)]
    pub(super) const fn allows_legacy_writes(self) -> bool {
        self.legacy_writable
    }
}
