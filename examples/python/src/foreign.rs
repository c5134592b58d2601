//! The elements of imported tensors, as Python numbers.

use dlpack_traits::{Complex, DataType, ImportedTensor};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyList};

use crate::value;

/// The elements as nested lists, or as a number if there are no axes.
pub(crate) fn to_list<'py>(
    py: Python<'py>,
    tensor: &ImportedTensor,
) -> PyResult<Bound<'py, PyAny>> {
    list(py, tensor, &mut Vec::with_capacity(tensor.ndim()))
}

/// The elements whose indices begin with these.
fn list<'py>(
    py: Python<'py>,
    tensor: &ImportedTensor,
    index: &mut Vec<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(&dim) = tensor.shape().get(index.len()) else {
        return element(py, tensor, index);
    };
    let items = PyList::empty(py);
    for position in 0..usize::try_from(dim)? {
        index.push(position);
        items.append(list(py, tensor, index)?)?;
        index.pop();
    }
    Ok(items.into_any())
}

/// One element: a number, or a list of one number for each lane.
fn element<'py>(
    py: Python<'py>,
    tensor: &ImportedTensor,
    index: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    if tensor.dtype() == DataType::COMPLEX128 {
        let Complex { re, im } = tensor.elements::<Complex<f64>>()?.load(index)?;
        return Ok(PyComplex::from_doubles(py, re, im).into_any());
    }
    // In an element with lanes the first lane has the lowest bits.
    let bits = u128::from(tensor.raw_bits()?.load(index)?);
    let (scalar, width) = (tensor.dtype().with_lanes(1), usize::from(tensor.dtype().bits()));
    let mask = (1_u128 << width) - 1;
    let lane = |lane: usize| value::decode(py, scalar, bits >> (lane * width) & mask);
    if tensor.dtype().lanes() == 1 {
        return lane(0);
    }
    let lanes = (0..usize::from(tensor.dtype().lanes())).map(lane).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, lanes)?.into_any())
}
