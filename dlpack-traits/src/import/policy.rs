//! Options of an import for structs that break the standard or omit a flag:
//! [`ImportPolicy`].

use crate::version::Version;

/// Which structs an import accepts although they break the standard, and how it treats
/// legacy structs, which have no flags.
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
    /// Accepts NULL strides, and treats legacy structs as read-only.
    pub const fn new() -> Self {
        Self { strict_strides: false, legacy_writable: false }
    }

    /// Whether to reject NULL strides where the standard forbids them, which is since
    /// version 1.2: [`Error::NullStrides`](crate::Error::NullStrides). Otherwise NULL
    /// strides mean contiguous elements in row-major order, as before 1.2. NumPy, for
    /// example, wrote NULL strides until late 2025.
    pub const fn strict_strides(self, strict: bool) -> Self {
        Self { strict_strides: strict, ..self }
    }

    /// Whether the memory of a legacy struct, which has no READ_ONLY flag, may be written.
    /// The default is no, as in NumPy: the producer of read-only memory had no way to mark
    /// it.
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
