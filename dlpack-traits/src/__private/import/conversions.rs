//! Conversions of an order, an element type, or a device into the type of a field:
//! [`ConvertsFrom`]; and by a function of the user, [`made_with`].

use core::fmt::Display;

use super::{DataType, Device, Error, ImportError, Order};

/// A field that can hold the `order`, the `dtype` or the `device`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the `{V}` of an imported tensor",
    label = "does not convert from a `{V}`",
    note = "use `{V}`, or implement `From<{V}> for {Self}` (or `TryFrom`); for an enum of element types, `#[derive(DataType)]` does so",
    note = "if the type is another crate's, do so for a newtype that holds it"
)]
pub trait ConvertsFrom<V>: Sized {
    /// Converts the value.
    fn from_value(value: V) -> Result<Self, ImportError>;
}

#[diagnostic::do_not_recommend]
impl<T: TryFrom<Order, Error: Display>> ConvertsFrom<Order> for T {
    fn from_value(order: Order) -> Result<Self, ImportError> {
        T::try_from(order).map_err(ImportError::rejected)
    }
}

#[diagnostic::do_not_recommend]
impl<T: TryFrom<DataType, Error: Into<Error>>> ConvertsFrom<DataType> for T {
    fn from_value(dtype: DataType) -> Result<Self, ImportError> {
        Ok(T::try_from(dtype).map_err(Into::into)?)
    }
}

#[diagnostic::do_not_recommend]
impl<T: TryFrom<Device, Error: Display>> ConvertsFrom<Device> for T {
    fn from_value(device: Device) -> Result<Self, ImportError> {
        T::try_from(device).map_err(ImportError::rejected)
    }
}

/// The result of the second function in `with(export, import)`: a `T`, or a `Result`.
#[diagnostic::on_unimplemented(
    message = "the function makes a `{Self}`, expected `{T}`",
    label = "makes a `{Self}`",
    note = "the second function after `with` returns the field, or a `Result` with it whose error is `Display`"
)]
pub trait Made<T> {
    /// Returns the value.
    fn made(self) -> Result<T, ImportError>;
}

impl<T> Made<T> for T {
    fn made(self) -> Result<T, ImportError> {
        Ok(self)
    }
}

impl<T, E: Display> Made<T> for Result<T, E> {
    fn made(self) -> Result<T, ImportError> {
        self.map_err(ImportError::rejected)
    }
}

/// Makes a field by a function, whose argument is made from the tensor.
#[inline]
pub fn made_with<T, V, R: Made<T>>(
    value: Result<V, ImportError>,
    make: impl FnOnce(V) -> R,
) -> Result<T, ImportError> {
    make(value?).made()
}
