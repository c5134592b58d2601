//! Several tensors in one value: a class with two arrays, a struct of arguments, a `dict` of results.

use dlpack_traits::python::{Convert, PyTensor};
use dlpack_traits::{OwnedTensor, SharedTensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A mesh of triangles. Its arrays share their memory with NumPy.
#[pyclass(frozen, module = "array_functions")]
pub(crate) struct Mesh {
    #[pyo3(get)]
    vertices: SharedTensor<f32, 2>,
    #[pyo3(get)]
    faces: SharedTensor<u32, 2>,
}

#[pymethods]
impl Mesh {
    /// `Mesh(vertices: float32[n, 3], faces: uint32[m, 3])`
    #[new]
    fn new(
        vertices: Convert<PyTensor<'_, [f32; 3], 1>>,
        faces: Convert<PyTensor<'_, [u32; 3], 1>>,
    ) -> PyResult<Self> {
        let [count] = vertices.dims();
        let (vertices, faces) = (vertices.elements().to_vec()?, faces.elements().to_vec()?);
        if faces.iter().flatten().any(|&index| index as usize >= count) {
            return Err(PyValueError::new_err(format!(
                "argument 'faces': expected indices of the {count} vertices, got others"
            )));
        }
        let shapes = [[vertices.len(), 3], [faces.len(), 3]];
        Ok(Self {
            vertices: SharedTensor::new(vertices.concat(), shapes[0])?,
            faces: SharedTensor::new(faces.concat(), shapes[1])?,
        })
    }
}

/// A matrix of SciPy, `scipy.sparse.csr_matrix`: the arguments are its attributes.
#[derive(FromPyObject)]
pub(crate) struct Csr<'py> {
    data: PyTensor<'py, f64, 1>,
    indices: PyTensor<'py, i32, 1>,
    indptr: PyTensor<'py, i32, 1>,
    shape: (usize, usize),
}

impl Csr<'_> {
    /// The entries of each row: the column and the value. The lists are copied before they are
    /// checked, because other threads may write the arrays.
    fn rows(&self) -> PyResult<Vec<Vec<(usize, f64)>>> {
        let (rows, columns) = self.shape;
        let entries = self.data.elements().to_vec()?;
        let numbers = |list: &PyTensor<'_, i32, 1>| -> PyResult<Vec<usize>> {
            let list = list.elements().to_vec()?;
            list.into_iter().map(|number| Ok(usize::try_from(number)?)).collect()
        };
        let (indices, ends) = (numbers(&self.indices)?, numbers(&self.indptr)?);
        let is_valid = ends.len() == rows + 1
            && ends[0] == 0
            && ends.is_sorted()
            && ends[rows] == entries.len()
            && indices.len() == entries.len()
            && indices.iter().all(|&column| column < columns);
        if !is_valid {
            return Err(PyValueError::new_err("expected a matrix with valid indices, got another"));
        }
        let row = |ends: &[usize]| {
            let range = ends[0]..ends[1];
            indices[range.clone()].iter().copied().zip(entries[range].iter().copied()).collect()
        };
        Ok(ends.windows(2).map(row).collect())
    }
}

/// `times(matrix: scipy.sparse.csr_matrix, x: float64[columns]) -> float64[rows]`
///
/// Returns the product of a sparse matrix and a vector.
#[pyfunction]
pub(crate) fn times(matrix: Csr<'_>, x: PyTensor<'_, f64, 1>) -> PyResult<OwnedTensor<f64>> {
    let x = x.elements().to_vec()?;
    if x.len() != matrix.shape.1 {
        return Err(PyValueError::new_err("argument 'x': expected one element for each column"));
    }
    let product =
        |row: &Vec<(usize, f64)>| row.iter().map(|&(column, value)| value * x[column]).sum();
    Ok(OwnedTensor::from_vec(matrix.rows()?.iter().map(product).collect()))
}

/// A `dict` of two arrays.
#[derive(IntoPyObject)]
pub(crate) struct Peaks {
    positions: OwnedTensor<i64>,
    heights: OwnedTensor<f32>,
}

/// `peaks(signal: float32[n]) -> {"positions": int64[m], "heights": float32[m]}`
///
/// Returns the elements that are larger than both neighbours.
#[pyfunction]
pub(crate) fn peaks(signal: PyTensor<'_, f32, 1>) -> PyResult<Peaks> {
    let signal = signal.elements().to_vec()?;
    let inner = signal.windows(3).zip(1..);
    let found = inner.filter(|(three, _)| three[0] < three[1] && three[1] > three[2]);
    let (positions, heights): (Vec<i64>, Vec<f32>) =
        found.map(|(three, position)| (position, three[1])).unzip();
    Ok(Peaks {
        positions: OwnedTensor::from_vec(positions),
        heights: OwnedTensor::from_vec(heights),
    })
}
