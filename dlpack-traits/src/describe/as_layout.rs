//! Types that describe a layout: [`AsLayout`].

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::{Describe, Shaped};

/// A type whose values describe the layout of a tensor: shape, strides, offset. A field with the
/// role `layout` has such a type.
///
/// ```
/// use dlpack_traits::{AsLayout, DataRef, Describe, Shaped, Slot};
///
/// struct Dense {
///     dims: Vec<usize>,
///     start: usize,
/// }
///
/// impl AsLayout for Dense {
///     fn describe_layout<'a>(&'a self, out: Describe<'a>) -> Shaped<'a> {
///         out.shape(&self.dims).offset(self.start)
///     }
/// }
///
/// let dense = Dense { dims: vec![2], start: 1 };
/// let mut slot = Slot::new();
/// let numbers = DataRef::from_slice(&[1_u8, 2, 3]);
/// let view = dense.describe_layout(slot.describe()).data(numbers)?;
/// assert_eq!(view.shape(), [2]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `layout` of a tensor",
    label = "not an `AsLayout`",
    note = "add `#[derive(AsLayout)]` to `{Self}`, or implement `dlpack_traits::AsLayout`"
)]
pub trait AsLayout {
    /// Describes the parts of the layout that this value stores.
    fn describe_layout<'a>(&'a self, out: Describe<'a>) -> Shaped<'a>;
}

/// A pointer to a layout is a layout.
macro_rules! through_pointers {
    ($($pointer:ty),+) => {$(
        impl<L: AsLayout + ?Sized> AsLayout for $pointer {
            #[inline(always)]
            fn describe_layout<'a>(&'a self, out: Describe<'a>) -> Shaped<'a> {
                (**self).describe_layout(out)
            }
        }
    )+};
}

through_pointers!(&L, Box<L>, Arc<L>);
