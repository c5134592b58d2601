//! A layout that a struct holds as one value: [`AsLayout`].

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::Layout;
use crate::error::Error;

/// A value that says how the elements of a tensor lie in memory: shape,
/// strides, offset. A field with the role `layout` is one.
///
/// ```
/// use dlpack_traits::{AsLayout, DataRef, Error, Layout, TensorView};
///
/// struct Dense {
///     dims: Vec<usize>,
///     start: usize,
/// }
///
/// impl AsLayout for Dense {
///     fn as_layout(&self) -> Result<Layout<'_>, Error> {
///         Layout::row_major(&self.dims)?.offset(self.start)
///     }
/// }
///
/// let dense = Dense { dims: vec![2], start: 1 };
/// let view = TensorView::new(DataRef::from_slice(&[1_u8, 2, 3]), dense.as_layout()?)?;
/// assert_eq!(view.shape(), [2]);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `layout` of a tensor",
    label = "not an `AsLayout`",
    note = "add `#[derive(AsLayout)]` to `{Self}`, or implement `dlpack_traits::AsLayout`"
)]
pub trait AsLayout {
    /// The layout, as far as this value knows it.
    ///
    /// # Errors
    ///
    /// Those of the constructors of [`Layout`].
    fn as_layout(&self) -> Result<Layout<'_>, Error>;
}

/// A layout behind a pointer is a layout.
macro_rules! through_pointers {
    ($($pointer:ty),+) => {$(
        impl<L: AsLayout + ?Sized> AsLayout for $pointer {
            #[inline]
            fn as_layout(&self) -> Result<Layout<'_>, Error> {
                (**self).as_layout()
            }
        }
    )+};
}

through_pointers!(&L, Box<L>, Arc<L>);
