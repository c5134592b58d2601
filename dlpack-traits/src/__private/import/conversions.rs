//! Conversions of an order, an element type, or a device into the type of a
//! field.

use core::fmt::Display;

use super::{DataType, Device, Error, ImportError, Order};

/// A field that can hold the `order`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the `order` of an imported tensor",
    label = "does not convert from an `Order`",
    note = "use `dlpack_traits::Order`, or implement `From<dlpack_traits::Order> for {Self}`",
    note = "if the type is another crate's, do so for a newtype that holds it"
)]
pub trait OrderTarget: Sized {
    /// Converts the order.
    fn from_order(order: Order) -> Result<Self, ImportError>;
}

#[diagnostic::do_not_recommend]
impl<T: TryFrom<Order, Error: Display>> OrderTarget for T {
    fn from_order(order: Order) -> Result<Self, ImportError> {
        T::try_from(order).map_err(ImportError::rejected)
    }
}

/// A field that can hold the `dtype`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the `dtype` of an imported tensor",
    label = "does not convert from a `DataType`",
    note = "use `dlpack_traits::DataType`, an enum with `#[derive(DataType)]`, or implement `From<dlpack_traits::DataType> for {Self}`",
    note = "if the type is another crate's, do so for a newtype that holds it"
)]
pub trait DTypeTarget: Sized {
    /// Converts the element type.
    fn from_dtype(dtype: DataType) -> Result<Self, Error>;
}

#[diagnostic::do_not_recommend]
impl<T: TryFrom<DataType, Error: Into<Error>>> DTypeTarget for T {
    fn from_dtype(dtype: DataType) -> Result<Self, Error> {
        T::try_from(dtype).map_err(Into::into)
    }
}

/// A field that can hold the `device`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the `device` of an imported tensor",
    label = "does not convert from a `Device`",
    note = "use `dlpack_traits::Device`, or implement `TryFrom<dlpack_traits::Device> for {Self}`",
    note = "if the type is another crate's, do so for a newtype that holds it"
)]
pub trait DeviceTarget: Sized {
    /// Converts the device.
    fn from_device(device: Device) -> Result<Self, ImportError>;
}

#[diagnostic::do_not_recommend]
impl<T: TryFrom<Device, Error: Display>> DeviceTarget for T {
    fn from_device(device: Device) -> Result<Self, ImportError> {
        T::try_from(device).map_err(ImportError::rejected)
    }
}
