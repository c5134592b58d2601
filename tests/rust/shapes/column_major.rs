//! A column-major matrix of constant size.

#![forbid(unsafe_code)]

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, DataMut, DataRef, Element, Error, Flags, Storage};

use super::consumer::Expected;

/// `C` columns of `R` elements, in an own storage: an array of arrays would have an axis for the
/// columns.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(R, C), order = column_major)]
struct Matrix<T: Element, const R: usize, const C: usize> {
    #[dlpack(data)]
    columns: Columns<T, R, C>,
    _drop: Ticket,
}

struct Columns<T, const R: usize, const C: usize>([[T; R]; C]);

impl<T: Element, const R: usize, const C: usize> Storage for Columns<T, R, C> {
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(self.0.as_flattened())
    }

    fn data_mut(&mut self) -> DataMut<'_> {
        DataMut::from_mut_slice(self.0.as_flattened_mut())
    }
}

/// Inline elements move with the struct, so that this also shows that the
/// address is that of their last place.
#[test]
fn a_column_major_matrix_is_exported() {
    let drops = Drops::new();
    let matrix = Matrix { columns: Columns([[1_i16, 2], [3, 4], [5, 6]]), _drop: drops.ticket() };
    assert_eq!(matrix.to_dlpack().unwrap_err(), Error::NotShareable);
    let expected = Expected {
        shape: &[2, 3],
        strides: &[1, 2],
        flags: Flags::NONE,
        elements: &[1_i16, 3, 5, 2, 4, 6],
    };
    expected.assert_moved(matrix, &drops);
}

#[test]
fn matrices_with_one_column_and_with_none_are_exported() {
    let drops = Drops::new();
    let vector = Matrix { columns: Columns([[0.5_f64, 1.5]]), _drop: drops.ticket() };
    let expected = Expected {
        shape: &[2, 1],
        strides: &[1, 2],
        flags: Flags::NONE,
        elements: &[0.5_f64, 1.5],
    };
    expected.assert_moved(vector, &drops);
    let none = Matrix::<u8, 2, 0> { columns: Columns([]), _drop: drops.ticket() };
    let foreign = dlpack_tests::foreign::ImportedStorage::from(none.into_dlpack().unwrap());
    assert_eq!((foreign.shape(), foreign.elements::<u8>()), (vec![2, 0], Vec::new()));
    foreign.delete(dlpack_tests::foreign::Farewell::Plain);
    assert_eq!(drops.count(), 2);
}
