//! The operations of [`reading`](crate::reading) on arrays of NumPy, through rust-numpy.
//!
//! Each operation includes the check of rust-numpy that no other Rust code borrows the array.

use std::hint::black_box;

use numpy::prelude::*;
use numpy::{Element, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::reading::entry;
use crate::report::Entry;

/// The interpreter, to which `main` is attached for as long as rows are measured.
fn python() -> Python<'static> {
    // SAFETY: `main` attaches this thread around all rows, and does not detach it.
    unsafe { Python::assume_attached() }
}

/// A copy of some elements as an array.
fn array<T: Element>(elements: &[T]) -> Bound<'static, PyArray1<T>> {
    PyArray1::from_slice(python(), elements)
}

/// A kernel over a contiguous array.
pub fn kernel<T: Element + 'static, A: 'static>(
    elements: &[T],
    whole: impl Fn(&[T]) -> A + 'static,
) -> Entry {
    let array = array(elements);
    entry("rust-numpy, as_slice", move || {
        let array = black_box(&array).readonly();
        black_box(whole(array.as_slice().expect("a contiguous array")));
    })
}

/// A copy of a contiguous array.
pub fn to_vec(elements: &[f32]) -> Entry {
    let array = array(elements);
    entry("rust-numpy, to_vec", move || {
        black_box(black_box(&array).readonly().to_vec().expect("a contiguous array"));
    })
}

/// A change of all elements in place.
pub fn scaled(elements: &[f32], by: f32) -> Entry {
    let array = array(elements);
    entry("rust-numpy, as_slice_mut", move || {
        let mut array = black_box(&array).readwrite();
        for value in array.as_slice_mut().expect("a contiguous array") {
            *value *= by;
        }
    })
}

/// The sum of a matrix with any layout. `strides` count elements.
pub fn sum(elements: &[f32], [rows, columns]: [i64; 2], strides: [i64; 2]) -> Entry {
    let array = matrix(elements, [rows, columns], strides).expect("a matrix");
    entry("rust-numpy, as_array", move || {
        black_box(black_box(&array).readonly().as_array().sum());
    })
}

/// A transposed matrix, or one of every n-th column.
fn matrix(
    elements: &[f32],
    [rows, columns]: [i64; 2],
    [outer, inner]: [i64; 2],
) -> PyResult<Bound<'static, PyArray2<f32>>> {
    let size = |dim: i64| usize::try_from(dim).expect("a size");
    let array = array(elements);
    if outer < inner {
        return array.reshape([size(columns), size(rows)])?.transpose();
    }
    let whole = array.reshape([size(rows), size(outer)])?;
    let py = whole.py();
    let all = PySlice::full(py);
    let every = PySlice::new(py, 0, isize::MAX, size(inner).cast_signed());
    Ok(whole.get_item((all, every))?.cast_into()?)
}
