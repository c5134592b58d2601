//! Reads a C struct: its numbers are copied ([`raw`]) and validated ([`validate`]) into the one
//! allocation of an import ([`node`]), with options for structs that break the standard or omit a flag
//! ([`ImportPolicy`]).

pub(in crate::import) mod node;
pub(in crate::import) mod raw;
mod validate;

#[cfg(feature = "pyo3")]
pub(crate) use raw::Unmanaged;
pub(crate) use raw::read_array;

use crate::error::Error;
use crate::version::Version;

/// Which structs an import accepts although they break the standard, how it treats legacy structs,
/// which have no flags, and how many bytes of elements it accepts.
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
    /// The largest number less the most bytes of all elements, so that the default is no limit.
    less: u64,
}

impl ImportPolicy {
    /// Accepts NULL strides and any number of bytes, and treats legacy structs as read-only.
    pub const fn new() -> Self {
        Self { strict_strides: false, legacy_writable: false, less: 0 }
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

    /// The most bytes that all elements together may have
    /// ([`ImportedTensor::nbytes`](crate::ImportedTensor::nbytes)):
    /// [`Error::TooManyBytes`](crate::Error::TooManyBytes). The default is no limit.
    ///
    /// A broadcast tensor may have any number of elements in memory of one byte, and functions that
    /// copy it allocate memory for all of them. This limits what one tensor can make them allocate.
    ///
    /// ```
    /// use dlpack_traits::ImportPolicy;
    ///
    /// const UPLOAD: ImportPolicy = ImportPolicy::new().max_bytes(64 << 20);
    /// # let _ = UPLOAD;
    /// ```
    pub const fn max_bytes(self, most: u64) -> Self {
        Self { less: u64::MAX.wrapping_sub(most), ..self }
    }

    /// Checks the number of bytes of all elements.
    #[inline(always)]
    pub(crate) fn check_nbytes(self, bytes: u64) -> Result<(), Error> {
        let most = u64::MAX.wrapping_sub(self.less);
        if bytes <= most { Ok(()) } else { Err(Error::TooManyBytes { bytes, most }) }
    }

    /// Whether a struct of that version may have NULL strides.
    pub(in crate::import) fn allows_null_strides(self, version: Option<Version>) -> bool {
        !self.strict_strides || version.is_none_or(|version| version < Version::new(1, 2))
    }

    /// Whether the memory of a legacy struct may be written.
    #[inline(always)]
    pub(in crate::import) const fn allows_legacy_writes(self) -> bool {
        self.legacy_writable
    }
}
