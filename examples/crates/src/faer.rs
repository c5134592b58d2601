//! `faer`: the columns of a `Mat` are padded, and the padding is not initialized, so it lends
//! no slice of the whole. A column is one, and faer computes in memory that it does not own.
//! A whole `Mat` needs one `unsafe` block, and values in its padding.

use std::sync::Arc;

use dlpack_traits::{
    DLPackExport, DataRef, DataType, Device, Error, ImportedTensor, OwnedSlice, Storage,
};
use faer::{Mat, MatMut, MatRef};

/// One column of a matrix, zero-copy.
#[derive(DLPackExport)]
#[dlpack(shape(self.0.matrix.nrows()))]
pub struct Column(#[dlpack(data, slice = f64, with = ColumnOf::elements, shared)] pub ColumnOf);

/// A matrix, and the number of a column.
#[derive(Clone)]
pub struct ColumnOf {
    pub matrix: Arc<Mat<f64>>,
    pub column: usize,
}

impl ColumnOf {
    fn elements(&self) -> &[f64] {
        self.matrix.col_as_slice(self.column)
    }
}

/// A whole matrix, zero-copy.
#[derive(DLPackExport)]
#[dlpack(shape(rows, columns), order = column_major)]
pub struct Matrix {
    data: Initialized,
    rows: usize,
    columns: usize,
    #[dlpack(pitch(elements))]
    pitch: usize,
}

impl From<Mat<f64>> for Matrix {
    fn from(mut matrix: Mat<f64>) -> Self {
        let (rows, columns) = matrix.shape();
        // The padding becomes rows of zeros, in the same allocation.
        let pitch = matrix.col_stride().unsigned_abs();
        matrix.resize_with(pitch, columns, |_, _| 0.0);
        Self { data: Initialized(matrix), rows, columns, pitch }
    }
}

/// A matrix without padding.
struct Initialized(Mat<f64>);

impl Storage for Initialized {
    #[expect(unsafe_code, reason = "faer lends no slice of several columns")]
    fn data(&self) -> DataRef<'_> {
        if self.0.col_stride().unsigned_abs() != self.0.nrows() {
            return DataRef::refused(&Error::Custom("the columns are padded"));
        }
        let bytes = self.0.nrows() * self.0.ncols() * size_of::<f64>();
        let first = self.0.as_ptr().cast();
        // SAFETY: 1. A `Mat` stores its columns in one allocation, and is borrowed for the
        // result's lifetime. 2. A column begins where the one before it ends, as checked
        // above, so all of these bytes are elements. 3. No one writes a borrowed matrix.
        unsafe { DataRef::from_raw_parts(first, bytes, DataType::F64, Device::CPU) }
    }
}

/// A matrix whose padded columns are in initialized memory, which faer computes in: zero-copy.
#[derive(DLPackExport)]
#[dlpack(shape(rows, columns), order = column_major)]
pub struct Padded {
    data: Vec<f64>,
    rows: usize,
    columns: usize,
    #[dlpack(pitch(elements))]
    pitch: usize,
}

impl Padded {
    /// A matrix of zeros, whose columns begin at multiples of 8 elements.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        let pitch = rows.next_multiple_of(8);
        Self { data: vec![0.0; pitch * columns], rows, columns, pitch }
    }

    /// The matrix, to compute with.
    pub fn as_mut(&mut self) -> MatMut<'_, f64> {
        let (rows, columns, pitch) = (self.rows, self.columns, self.pitch);
        MatMut::from_column_major_slice_with_stride_mut(&mut self.data, rows, columns, pitch)
    }
}

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
    /// A view with which faer computes.
    pub fn as_ref(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.elements, self.shape[0], self.shape[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlpack_traits::OwnedTensor;

    #[test]
    fn addresses_are_equal_in_both_directions() {
        let mut padded = Padded::zeros(3, 2);
        padded.as_mut()[(2, 1)] = 5.0;
        let address = padded.data.as_ptr();
        let tensor = padded.into_dlpack().unwrap().import().unwrap();
        assert_eq!(tensor.data_ptr(), address.cast());
        assert_eq!((tensor.shape(), tensor.strides()), (&[3, 2][..], &[1, 8][..]));
        assert_eq!(tensor.elements::<f64>().unwrap().load(&[2, 1]), Ok(5.0));

        let array = OwnedTensor::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
        let tensor = array.into_dlpack().unwrap().import().unwrap();
        let address = tensor.data_ptr();
        let rows = Rows::try_from(tensor).unwrap();
        assert_eq!(rows.as_ref().as_ptr(), address.cast());
        assert_eq!(rows.as_ref()[(1, 0)], 4.0);
    }

    #[test]
    fn padded_matrix_is_exported_zero_copy() {
        let matrix = Mat::from_fn(3, 2, |row, column| (10 * row + column) as f64);
        let address = matrix.as_ptr();
        let matrix = Matrix::from(matrix);
        assert_eq!(matrix.data.0.as_ptr(), address);
        assert!(matrix.pitch > 3, "the test needs padding");
        let pitch = i64::try_from(matrix.pitch).unwrap();
        let tensor = matrix.into_dlpack().unwrap();
        assert_eq!(tensor.data_ptr(), address.cast());
        assert_eq!((tensor.shape(), tensor.strides()), (&[3, 2][..], &[1, pitch][..]));
        let tensor = tensor.import().unwrap();
        let elements = tensor.elements::<f64>().unwrap().to_vec().unwrap();
        assert_eq!(elements, [0.0, 1.0, 10.0, 11.0, 20.0, 21.0]);
    }

    #[test]
    fn column_of_a_matrix_is_exported_zero_copy() {
        let matrix = Arc::new(Mat::from_fn(3, 2, |row, column| (10 * row + column) as f64));
        let address = matrix.col_as_slice(1).as_ptr();
        let column = Column(ColumnOf { matrix, column: 1 });
        let tensor = column.to_dlpack().unwrap();
        drop(column);
        assert_eq!(tensor.data_ptr(), address.cast());
        let tensor = tensor.import().unwrap();
        assert_eq!(tensor.elements::<f64>().unwrap().to_vec().unwrap(), [1.0, 11.0, 21.0]);
    }
}
