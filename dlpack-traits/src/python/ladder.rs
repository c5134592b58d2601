//! Which keywords `__dlpack__` is called with, and when it is called again with
//! fewer: pure decisions, tested without an interpreter.

/// The keywords that the array API standard added to `__dlpack__` with the
/// versioned struct. A producer that is older knows `stream`, or nothing.
pub(crate) const ADDED: [&str; 3] = ["max_version", "dl_device", "copy"];

/// What the caller asked for. These are never left out: without them the result
/// would be another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) device: bool,
    pub(crate) copy: bool,
}

impl Asked {
    /// Whether a call without the added keywords would still do what was asked.
    pub(crate) const fn may_be_left_out(self) -> bool {
        !self.device && !self.copy
    }
}

/// Whether a `TypeError` says that the producer does not know a keyword, rather
/// than that something went wrong inside of it.
///
/// `inside` says that a Python frame raised it, which a mismatch of arguments
/// does not. It may still be a mismatch: of a method that passes its arguments
/// on to another one, and then the message names the keyword.
pub(crate) fn is_mismatch(inside: bool, message: impl FnOnce() -> alloc::string::String) -> bool {
    !inside || {
        let message = message();
        message.contains("unexpected keyword argument")
            && ADDED.iter().any(|name| message.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;

    use super::*;

    #[test]
    fn only_a_mismatch_is_tried_again() {
        let unasked = || unreachable!("no frame raised it, so nobody reads it");
        assert!(is_mismatch(false, unasked));
        for (message, mismatch) in [
            ("__dlpack__() got an unexpected keyword argument 'max_version'", true),
            ("A.__dlpack__() got an unexpected keyword argument 'copy'", true),
            ("resize() got an unexpected keyword argument 'rows'", false),
            ("unsupported operand type(s) for +: 'int' and 'str'", false),
            ("max_version must be a tuple", false),
            ("", false),
        ] {
            assert_eq!(is_mismatch(true, || message.to_owned()), mismatch, "{message}");
        }
    }

    #[test]
    fn what_was_asked_for_stays() {
        assert!(Asked::default().may_be_left_out());
        assert!(!Asked { device: true, copy: false }.may_be_left_out());
        assert!(!Asked { device: false, copy: true }.may_be_left_out());
    }
}
