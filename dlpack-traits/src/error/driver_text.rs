//! The text of a driver in an error: [`DriverText`].

use core::fmt;

/// The text of a driver for an error, which lasts as long as the process: errors are `Copy`, and one
/// word is all that a text adds to them. `backend::device_error` keeps texts of any lifetime.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DriverText(Option<&'static &'static str>);

impl DriverText {
    /// No text.
    pub const NONE: Self = Self(None);

    /// A text of the program.
    pub const fn new(text: &'static &'static str) -> Self {
        Self(Some(text))
    }

    /// The text; empty if there is none.
    pub fn as_str(self) -> &'static str {
        self.0.map_or("", |text| *text)
    }
}

impl fmt::Debug for DriverText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}
