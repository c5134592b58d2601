//! `nalgebra`: a `DMatrix` lends its columns as one slice, and a view has any strides.
#![forbid(unsafe_code)]

use dlpack_traits::{DLPackExport, Error, ImportedTensor, OwnedSlice};
use nalgebra::{DMatrix, DMatrixView};

/// A matrix as a column-major tensor.
#[derive(DLPackExport)]
#[dlpack(shape(self.0.nrows(), self.0.ncols()), order = column_major)]
pub struct Matrix(#[dlpack(data, slice = f64, with = DMatrix::<f64>::as_slice)] pub DMatrix<f64>);

/// An imported matrix, which is row-major, as arrays of NumPy are.
pub struct Rows {
    elements: OwnedSlice<f64>,
    shape: [usize; 2],
}

impl TryFrom<ImportedTensor> for Rows {
    type Error = Error;

    fn try_from(tensor: ImportedTensor) -> Result<Self, Error> {
        let &[rows, columns] = tensor.shape() else {
            return Err(Error::Custom("expected an array with two axes"));
        };
        let size =
            |size: i64| usize::try_from(size).map_err(|_| Error::Custom("a size is negative"));
        let shape = [size(rows)?, size(columns)?];
        Ok(Self { elements: tensor.into_owned_slice()?, shape })
    }
}

impl Rows {
    /// The transposed matrix, zero-copy: the rows are its columns. `tr_mul` multiplies by the
    /// matrix itself, and `rows.transposed().transpose()` is an owned copy of it.
    ///
    /// A view of the matrix itself has strides, and the iterators of nalgebra 0.35 over such
    /// a view compute a pointer beyond the memory.
    pub fn transposed(&self) -> DMatrixView<'_, f64> {
        let [rows, columns] = self.shape;
        DMatrixView::from_slice(&self.elements, columns, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlpack_traits::OwnedTensor;

    #[test]
    fn addresses_are_equal_in_both_directions() {
        let matrix = DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let address = matrix.as_ptr();
        let tensor = Matrix(matrix).into_dlpack().unwrap();
        assert_eq!(tensor.data_ptr(), address.cast());
        assert_eq!((tensor.shape(), tensor.strides()), (&[2, 3][..], &[1, 2][..]));

        let array = OwnedTensor::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
        let tensor = array.into_dlpack().unwrap().import().unwrap();
        let address = tensor.data_ptr();
        let rows = Rows::try_from(tensor).unwrap();
        assert_eq!(rows.transposed().as_ptr(), address.cast());
        assert_eq!(rows.transposed()[(0, 1)], 4.0);
        let sums = rows.transposed().tr_mul(&DMatrix::from_element(3, 1, 1.0));
        assert_eq!(sums, DMatrix::from_column_slice(2, 1, &[6.0, 15.0]));
    }

    /// A column-major tensor is not a slice in row-major order: nalgebra copies it.
    #[test]
    fn column_major_tensor_is_rejected_or_copied() {
        let tensor = || Matrix(DMatrix::identity(2, 3)).into_dlpack().unwrap().import().unwrap();
        assert_eq!(Rows::try_from(tensor()).err(), Some(Error::NotContiguous));
        let elements = tensor().elements::<f64>().unwrap().to_vec().unwrap();
        assert_eq!(DMatrix::from_row_slice(2, 3, &elements), DMatrix::identity(2, 3));
    }
}
