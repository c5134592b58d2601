//! Decides when a producer's `__dlpack__` is called a second time with fewer keywords,
//! and which of two errors is raised. Pure functions, tested without an interpreter.

/// The keywords that the array API standard added to `__dlpack__` with the versioned
/// struct. An older producer accepts `stream` only, or no keyword.
pub(crate) const ADDED: [&str; 3] = ["max_version", "dl_device", "copy"];

/// The requested keywords that change the result: a copy, and another device than that of the
/// tensor. Every call passes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requested {
    pub(crate) device: bool,
    pub(crate) copy: bool,
}

impl Requested {
    /// Whether a call without the added keywords has the result that the caller
    /// requested.
    pub(crate) const fn may_be_left_out(self) -> bool {
        !self.device && !self.copy
    }
}

/// Whether `__dlpack__` is called again without the added keywords.
///
/// Any `TypeError` of the first call is enough, as in NumPy: producers reject an unknown
/// keyword with messages of their own. `max_version` is left out, and `stream` is passed
/// again. A caller that requested a device or `copy` gets the first error, because the
/// second call would ignore the request.
pub(crate) const fn should_retry(requested: Requested, is_type_error: bool) -> bool {
    is_type_error && requested.may_be_left_out()
}

/// Which error is raised if the second call failed too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RaisedError {
    /// The error of the first call, unchanged.
    First,
    /// The error of the second call, with the first as its cause.
    Second,
}

impl RaisedError {
    /// Returns the first error, unless it means only that the producer does not accept a
    /// keyword ([`is_mismatch`]): then only the second call ran the producer's code, and
    /// its error is the reason. An exit (an interrupt or a `MemoryError`) of the second call
    /// is always raised.
    pub(crate) fn of(first_is_mismatch: bool, second_is_exit: bool) -> Self {
        if first_is_mismatch || second_is_exit { Self::Second } else { Self::First }
    }
}

/// Whether a `TypeError` means that the producer does not accept a keyword, and not that
/// the producer failed.
///
/// `inside` is true if a Python frame raised it. An argument mismatch has no frame,
/// except in a method that passes its arguments on to another one: then CPython's message
/// names the keyword.
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
    fn cpython_messages_that_name_a_keyword_are_mismatches() {
        let unread = || unreachable!("the message of an error without a frame is not read");
        assert!(is_mismatch(false, unread));
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
    fn every_type_error_is_followed_by_a_second_call() {
        let nothing = Requested::default();
        assert!(should_retry(nothing, true));
        assert!(!should_retry(nothing, false));
    }

    #[test]
    fn device_and_copy_are_never_left_out() {
        assert!(!should_retry(Requested { device: true, copy: false }, true));
        assert!(!should_retry(Requested { device: false, copy: true }, true));
    }

    #[test]
    fn the_first_error_is_raised_unless_it_is_a_mismatch() {
        assert_eq!(RaisedError::of(false, false), RaisedError::First);
        assert_eq!(RaisedError::of(true, false), RaisedError::Second);
        assert_eq!(RaisedError::of(false, true), RaisedError::Second);
        assert_eq!(RaisedError::of(true, true), RaisedError::Second);
    }
}
