//! Errors that become a `TypeError` or a `RangeError` in JavaScript.

use napi::{Env, Error, JsRangeError, JsTypeError, Status};

/// An error and the JavaScript class that it is thrown as.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A `TypeError`: another type, dtype or access than expected.
    Type(String),
    /// A `RangeError`: a layout, a size or an alignment that is not supported.
    Range(String),
    /// An error that JavaScript or Node.js reported.
    Thrown(Error),
}

/// The result of a function with such an error.
pub(crate) type Checked<T> = Result<T, Fault>;

impl Fault {
    /// Returns the error that napi-rs throws.
    pub(crate) fn throw(self, env: Env) -> Error {
        let error = |text| Error::new(Status::InvalidArg, text);
        match self {
            Self::Type(text) => JsTypeError::from(error(text)).into_unknown(env).into(),
            Self::Range(text) => JsRangeError::from(error(text)).into_unknown(env).into(),
            Self::Thrown(error) => error,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Thrown(error)
    }
}

impl From<dlpack_traits::Error> for Fault {
    fn from(error: dlpack_traits::Error) -> Self {
        Self::Range(error.to_string())
    }
}
