//! The order of the elements of a contiguous tensor: [`Order`].

use crate::strides;

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

impl Order {
    /// Writes the strides of a contiguous tensor.
    #[inline(never)]
    pub(crate) fn write_strides(self, shape: &[i64], strides: &mut [i64]) {
        match self {
            Self::RowMajor => strides::row_major_strides(shape, strides),
            Self::ColumnMajor => strides::column_major_strides(shape, strides),
        }
    }
}
