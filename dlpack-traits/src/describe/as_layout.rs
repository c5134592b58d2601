//! Types that describe a layout: [`AsLayout`].

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::Layout;

/// A type whose values describe the layout of a tensor: shape, strides, offset. A field with the
/// role `layout` has such a type.
///
/// ```
/// use dlpack_traits::{AsLayout, DataRef, Layout, TensorView};
///
/// struct Dense {
///     dims: Vec<usize>,
///     start: usize,
/// }
///
/// impl AsLayout for Dense {
///     fn layout(&self) -> Layout<'_> {
///         Layout::new(&self.dims).offset(self.start)
///     }
/// }
///
/// let dense = Dense { dims: vec![2], start: 1 };
/// let view = TensorView::new(DataRef::from_slice(&[1_u8, 2, 3]), dense.layout())?;
/// assert_eq!(view.shape(), [2]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `layout` of a tensor",
    label = "not an `AsLayout`",
    note = "add `#[derive(AsLayout)]` to `{Self}`, or implement `dlpack_traits::AsLayout`"
)]
pub trait AsLayout {
    /// Returns the layout, without the parts that this value does not store.
    fn layout(&self) -> Layout<'_>;
}

/// A pointer to a layout is a layout.
macro_rules! through_pointers {
    ($($pointer:ty),+) => {$(
        #[diagnostic::do_not_recommend]
        impl<L: AsLayout + ?Sized> AsLayout for $pointer {
            #[inline(always)]
            fn layout(&self) -> Layout<'_> {
                (**self).layout()
            }
        }
    )+};
}

through_pointers!(&L, Box<L>, Arc<L>);
