//! `sprs`: the three lists of a sparse matrix are three tensors, from one `Arc`.
#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_traits::{DLPackExport, Error, ImportedTensor, OwnedSlice};
use sprs::{CsMatBase, CsMatI};

/// Indices of `i32`, as SciPy has them; those of `CsMat`, `usize`, are exported as `uint64`.
pub type Matrix = CsMatI<f64, i32>;

/// The values that the matrix stores, row by row.
#[derive(DLPackExport)]
#[dlpack(shape(self.0.nnz()))]
pub struct Values(#[dlpack(slice = f64, with = Matrix::data, shared)] Arc<Matrix>);

/// The column of each value.
#[derive(DLPackExport)]
#[dlpack(shape(self.0.nnz()))]
pub struct Columns(#[dlpack(slice = i32, with = Matrix::indices, shared)] Arc<Matrix>);

/// The position of the first value of each row, and the number of values.
#[derive(DLPackExport)]
#[dlpack(shape(row_starts(&self.0).len()))]
pub struct RowStarts(#[dlpack(slice = i32, with = row_starts, shared)] Arc<Matrix>);

fn row_starts(matrix: &Matrix) -> &[i32] {
    matrix.indptr().into_raw_storage()
}

/// The arguments of `scipy.sparse.csr_matrix((values, columns, row_starts), shape)`.
///
/// # Errors
///
/// [`Error::Custom`] for a matrix that is stored by columns, or is a part of another one.
pub fn lists_of(matrix: &Arc<Matrix>) -> Result<(Values, Columns, RowStarts), Error> {
    if !matrix.is_csr() {
        return Err(Error::Custom("the matrix is stored by columns; call `to_csr` first"));
    }
    if matrix.indptr().as_slice().is_none() {
        return Err(Error::Custom(
            "the first row starts behind 0; use the list of `proper_indptr`",
        ));
    }
    Ok((Values(matrix.clone()), Columns(matrix.clone()), RowStarts(matrix.clone())))
}

/// A matrix over imported lists.
pub type Imported = CsMatBase<f64, i32, OwnedSlice<i32>, OwnedSlice<i32>, OwnedSlice<f64>>;

/// Converts three lists into a matrix, zero-copy. sprs checks them.
///
/// # Errors
///
/// Those of [`ImportedTensor::into_owned_slice`], and those of sprs.
pub fn to_sprs(
    [rows, columns]: [usize; 2],
    values: ImportedTensor,
    indices: ImportedTensor,
    row_starts: ImportedTensor,
) -> Result<Imported, Box<dyn core::error::Error>> {
    let (values, indices) = (values.into_owned_slice()?, indices.into_owned_slice()?);
    let row_starts = row_starts.into_owned_slice()?;
    let matrix = Imported::try_new((rows, columns), row_starts, indices, values);
    Ok(matrix.map_err(|(.., error)| error)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlpack_traits::OwnedTensor;

    /// [[0, 1, 2], [3, 0, 0]]
    fn matrix() -> Matrix {
        Matrix::new((2, 3), vec![0, 2, 3], vec![1, 2, 0], vec![1.0, 2.0, 3.0])
    }

    fn imported(list: &dyn DLPackExport) -> ImportedTensor {
        list.to_dlpack().unwrap().import().unwrap()
    }

    #[test]
    fn addresses_are_equal_in_both_directions() {
        let source = Arc::new(matrix());
        let addresses = (source.data().as_ptr(), source.indices().as_ptr());
        let (values, columns, rows) = lists_of(&source).unwrap();
        let [values, columns, rows] = [&values as &dyn DLPackExport, &columns, &rows].map(imported);
        assert_eq!(
            (values.data_ptr(), columns.data_ptr()),
            (addresses.0.cast(), addresses.1.cast())
        );
        assert_eq!((values.shape(), rows.shape()), (&[3][..], &[3][..]));
        drop(source);
        let matrix = to_sprs([2, 3], values, columns, rows).unwrap();
        assert_eq!((matrix.data().as_ptr(), matrix.indices().as_ptr()), addresses);
        assert_eq!(
            (matrix.get(0, 2), matrix.get(1, 0), matrix.get(1, 1)),
            (Some(&2.0), Some(&3.0), None)
        );
    }

    #[test]
    fn columns_and_parts_are_rejected() {
        let by_columns = Arc::new(matrix().into_csc());
        assert!(lists_of(&by_columns).err().unwrap().to_string().contains("to_csr"));
        let part = Arc::new(matrix().slice_outer(1..2).to_owned());
        assert!(lists_of(&part).err().unwrap().to_string().contains("proper_indptr"));
    }

    #[test]
    fn lists_that_are_not_a_matrix_are_rejected() {
        for columns in [[1, 3, 0], [1, -1, 0], [2, 1, 0]] {
            let (values, _, rows) = lists_of(&Arc::new(matrix())).unwrap();
            let columns = OwnedTensor::from_vec(columns.to_vec()).into_dlpack().unwrap();
            let [values, rows] = [&values as &dyn DLPackExport, &rows].map(imported);
            let result = to_sprs([2, 3], values, columns.import().unwrap(), rows);
            let message = result.err().unwrap().to_string();
            assert!(message.starts_with("Structure Error"), "{message}");
        }
    }
}
