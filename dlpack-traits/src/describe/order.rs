//! The order of the elements of a contiguous tensor: [`Order`].

/// The order of the elements of a contiguous tensor.
///
/// ```
/// use dlpack_traits::{DataRef, Layout, Order, TensorView};
///
/// let matrix = [1_u8, 2, 3, 4, 5, 6];
/// let by_columns = Layout::ordered(&[2, 3], Order::ColumnMajor)?;
/// assert_eq!(TensorView::new(DataRef::from_slice(&matrix), by_columns)?.strides(), [1, 2]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last axis is the fastest (C order).
    #[default]
    RowMajor,
    /// The first axis is the fastest (Fortran order).
    ColumnMajor,
}
