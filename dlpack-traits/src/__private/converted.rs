//! Fields of other crates' types that a function converts: `with = path`.

use super::{AsDims, DataType, Device, Error, Layout, Order, Result};
use crate::describe::List;

/// The result of a function that converts a field into a `V`: a `V`, or a `Result`.
#[diagnostic::on_unimplemented(
    message = "the function after `with` returns `{Self}`, expected `{V}`",
    label = "returns `{Self}`",
    note = "it takes a reference to the field, and returns a `{V}`, or a `Result` with it whose error converts into `dlpack_traits::Error`"
)]
pub trait Converted<V> {
    /// Returns the value.
    fn converted(self) -> Result<V, Error>;
}

/// Implements the trait for a type, and applies a value to the layout.
macro_rules! converted {
    ($($(#[$doc:meta])* $apply:ident: $type:ty, $method:ident;)+) => {$(
        impl Converted<$type> for $type {
            #[inline]
            fn converted(self) -> Result<$type, Error> {
                Ok(self)
            }
        }

        impl<E: Into<Error>> Converted<$type> for Result<$type, E> {
            #[inline]
            fn converted(self) -> Result<$type, Error> {
                self.map_err(Into::into)
            }
        }

        $(#[$doc])*
        #[inline]
        pub fn $apply<C: Converted<$type>>(layout: Layout<'_>, value: C) -> Layout<'_> {
            match value.converted() {
                Ok(value) => layout.$method(value),
                Err(error) => layout.refused(error),
            }
        }
    )+};
}

converted! {
    /// Applies the field `dtype`, converted.
    dtype_with: DataType, dtype;
    /// Applies the field `device`, converted.
    device_with: Device, device;
    /// Applies the field `order`, converted.
    order_with: Order, order;
}

/// Begins with the field `shape`, converted.
#[inline]
pub fn shape_with<D: AsDims>(dims: D) -> Layout<'static> {
    Layout::new(List::copied(&dims))
}

/// Applies the field `strides`, converted.
#[inline]
pub fn strides_with<D: AsDims>(layout: Layout<'_>, strides: D) -> Layout<'_> {
    layout.strides(List::copied(&strides))
}

/// Applies the field `strides(bytes)`, converted.
#[inline]
pub fn byte_strides_with<D: AsDims>(layout: Layout<'_>, strides: D) -> Layout<'_> {
    layout.byte_strides(List::copied(&strides))
}
