//! A matrix whose rows are further apart than they are long, counted in elements: the
//! leading dimension of BLAS.

#![forbid(unsafe_code)]

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, Error, Flags, Order};

use super::consumer::Expected;

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(rows, columns), order = column_major)]
struct Lapack {
    #[dlpack(data)]
    a: Box<[f64]>,
    rows: i32,
    columns: i32,
    #[dlpack(pitch(elements))]
    lda: i32,
    _drop: Ticket,
}

#[test]
fn padded_column_major_matrices_are_exported() {
    let drops = Drops::new();
    let numbers = [1.0, 2.0, -1.0, 3.0, 4.0, -1.0, 5.0, 6.0];
    let lapack =
        |lda| Lapack { a: Box::new(numbers), rows: 2, columns: 3, lda, _drop: drops.ticket() };
    let expected = Expected {
        shape: &[2, 3],
        strides: &[1, 3],
        flags: Flags::NONE,
        elements: &[1.0_f64, 3.0, 5.0, 2.0, 4.0, 6.0],
    };
    expected.assert_moved(lapack(3), &drops);
    assert_eq!(lapack(1).into_dlpack().unwrap_err(), Error::PitchTooSmall { pitch: 1, row: 2 });
    let error = lapack(4).into_dlpack().unwrap_err();
    assert_eq!(error, Error::OutOfBounds { start: 0, end: 80, len: 64 });
    let error = lapack(-3).into_dlpack().unwrap_err();
    assert_eq!(error, Error::PitchTooSmall { pitch: -3, row: 2 });
}

/// An image without pixels has no row that is longer than the pitch.
#[test]
fn every_pitch_fits_a_matrix_without_elements() {
    let empty = |rows, columns, lda| {
        let drops = Drops::new();
        let tensor = Lapack { a: Box::new([0.0; 8]), rows, columns, lda, _drop: drops.ticket() }
            .into_dlpack()
            .unwrap();
        assert_eq!(tensor.shape(), [i64::from(rows), i64::from(columns)]);
    };
    empty(0, 0, 0);
    empty(0, 3, 0);
    empty(3, 0, 0);
    empty(3, 0, 1);
    empty(3, 0, 4);
}

/// The fastest axis, as a C interface defines it.
#[derive(Clone, Copy)]
enum Layout {
    Rows,
    Columns,
}

impl From<Layout> for Order {
    fn from(layout: Layout) -> Self {
        match layout {
            Layout::Rows => Self::RowMajor,
            Layout::Columns => Self::ColumnMajor,
        }
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Blas {
    data: Vec<f32>,
    #[dlpack(shape)]
    size: [u16; 2],
    #[dlpack(order)]
    layout: Layout,
    #[dlpack(pitch(elements))]
    leading: usize,
    _drop: Ticket,
}

#[test]
fn an_order_chosen_at_run_time_is_exported() {
    let drops = Drops::new();
    let blas = |layout| Blas {
        data: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        size: [2, 2],
        layout,
        leading: 3,
        _drop: drops.ticket(),
    };
    let rows = Expected {
        shape: &[2, 2],
        strides: &[3, 1],
        flags: Flags::NONE,
        elements: &[1.0_f32, 2.0, 4.0, 5.0],
    };
    rows.assert_moved(blas(Layout::Rows), &drops);
    let columns = Expected { strides: &[1, 3], elements: &[1.0_f32, 4.0, 2.0, 5.0], ..rows };
    columns.assert_moved(blas(Layout::Columns), &drops);
}
