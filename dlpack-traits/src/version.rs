//! Versions of the standard: [`Version`].

use core::fmt;

use crate::ffi::{self, DLPackVersion};

/// A version of DLPack: `major` for the layout, `minor` for the set of codes.
///
/// ```
/// use dlpack_traits::Version;
///
/// assert_eq!(Version::CURRENT.to_string(), "1.3");
/// assert!(Version::new(1, 99).is_readable());
/// assert!(!Version::new(2, 0).is_readable());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// Changes when the layout of the C structs changes.
    pub major: u32,
    /// Changes when codes are added.
    pub minor: u32,
}

impl Version {
    /// The version that this crate writes.
    pub const CURRENT: Version = Version::new(ffi::DLPACK_MAJOR_VERSION, ffi::DLPACK_MINOR_VERSION);

    /// A version from its two parts.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Whether a struct of this version has the layout that this crate supports.
    pub const fn is_readable(self) -> bool {
        self.major == ffi::DLPACK_MAJOR_VERSION
    }

    /// Converts the version to the C struct.
    pub const fn to_ffi(self) -> DLPackVersion {
        DLPackVersion { major: self.major, minor: self.minor }
    }
}

impl From<DLPackVersion> for Version {
    fn from(raw: DLPackVersion) -> Self {
        Self::new(raw.major, raw.minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
