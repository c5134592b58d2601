//! Flags of a versioned managed tensor: [`Flags`].

use core::fmt;
use core::ops::BitOr;

use crate::ffi;

/// The flags of a versioned managed tensor.
///
/// Bits that this version of the standard does not define are kept.
///
/// ```
/// use dlpack_traits::Flags;
///
/// let flags = Flags::READ_ONLY | Flags::IS_COPIED;
/// assert!(flags.contains(Flags::READ_ONLY));
/// assert_eq!(flags.to_string(), "READ_ONLY | IS_COPIED");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Flags(u64);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// The consumer must not write.
    pub const READ_ONLY: Flags = Flags(ffi::DLPACK_FLAG_BITMASK_READ_ONLY);
    /// The producer made a copy, which only the consumer owns.
    pub const IS_COPIED: Flags = Flags(ffi::DLPACK_FLAG_BITMASK_IS_COPIED);
    /// Elements narrower than a byte are padded to one byte each.
    pub const IS_SUBBYTE_TYPE_PADDED: Flags =
        Flags(ffi::DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);

    /// Creates flags from the C field.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Converts the flags to the C field.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether every flag of `other` is set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Flags;

    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMED: [(Flags, &str); 3] = [
            (Flags::READ_ONLY, "READ_ONLY"),
            (Flags::IS_COPIED, "IS_COPIED"),
            (Flags::IS_SUBBYTE_TYPE_PADDED, "IS_SUBBYTE_TYPE_PADDED"),
        ];
        let mut separator = "";
        let mut rest = self.0;
        for (flag, name) in NAMED {
            if self.contains(flag) {
                write!(f, "{separator}{name}")?;
                separator = " | ";
                rest &= !flag.0;
            }
        }
        match (rest, separator) {
            (0, "") => f.write_str("none"),
            (0, _) => Ok(()),
            (unknown, _) => write!(f, "{separator}{unknown:#x}"),
        }
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn unknown_bits_are_kept_and_shown() {
        assert_eq!(Flags::NONE.to_string(), "none");
        assert_eq!(Flags::from_bits(1 << 9).to_string(), "0x200");
        assert_eq!((Flags::IS_COPIED | Flags::from_bits(8)).to_string(), "IS_COPIED | 0x8");
    }
}
