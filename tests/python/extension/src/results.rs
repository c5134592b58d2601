//! Functions that return arrays.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes converted arguments by value")]

use dlpack_traits::python::{self, IntoPython, Numpy, PyLike, PyOutput, PyTensor};
use dlpack_traits::{
    DLPackExport, Describe, Description, DescriptionMut, Error, ImportedStorage, Lanes,
    OwnedTensor, SharedTensor, Storage,
};
use pyo3::prelude::*;

use crate::counted::Counted;

/// Counted `float32`s in two dimensions.
struct Matrix {
    data: Counted<Vec<f32>>,
    shape: [usize; 2],
}

impl Matrix {
    fn new([rows, columns]: [usize; 2]) -> Self {
        let count = u16::try_from(rows.saturating_mul(columns)).unwrap_or(u16::MAX);
        Self { data: Counted::new((0..count).map(f32::from).collect()), shape: [rows, columns] }
    }
}

impl DLPackExport for Matrix {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&self.shape).data(self.data.data())
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        out.shape(&self.shape).data_mut(self.data.data_mut())
    }
}

/// Counted elements with lanes.
struct WithLanes(Counted<Vec<Lanes<f32, 2>>>);

impl DLPackExport for WithLanes {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[3]).data(self.0.data())
    }
}

/// Consecutive numbers as a NumPy array, and their address.
#[pyfunction]
fn numpy_matrix(py: Python<'_>, shape: [usize; 2]) -> PyResult<(Bound<'_, PyAny>, usize)> {
    let matrix = Matrix::new(shape);
    let address = matrix.data.data().as_ptr().addr();
    Ok((matrix.into_numpy(py)?, address))
}

/// The same by a wrapper.
#[pyfunction]
fn wrapped_matrix(shape: [usize; 2]) -> Numpy<Matrix> {
    Numpy(Matrix::new(shape))
}

/// The same in the library of an object or a type.
#[pyfunction]
fn matrix_like<'py>(
    like: &Bound<'py, PyAny>,
    shape: [usize; 2],
) -> PyResult<(Bound<'py, PyAny>, usize)> {
    let matrix = Matrix::new(shape);
    let address = matrix.data.data().as_ptr().addr();
    Ok((matrix.into_object_like(like.py(), like)?.into(), address))
}

/// The memory of an array, in the library of an object or a type.
#[pyfunction]
fn same_like<'py>(like: &Bound<'py, PyAny>, x: PyTensor<'py>) -> PyResult<PyLike<'py>> {
    let tensor: ImportedStorage = ImportedStorage::new(x)?;
    tensor.into_object_like(like.py(), like)
}

/// A vector with a shape.
#[pyfunction]
fn shaped(values: Vec<f64>, shape: Vec<i64>) -> PyResult<OwnedTensor<f64>> {
    Ok(OwnedTensor::new(values, &shape)?)
}

/// Elements with lanes, which NumPy and PyTorch do not have.
#[pyfunction]
fn with_lanes<'py>(like: &Bound<'py, PyAny>) -> PyResult<PyLike<'py>> {
    WithLanes(Counted::new(vec![Lanes([1.0, 2.0]); 3])).into_object_like(like.py(), like)
}

/// The Euclidean norm of each row.
#[pyfunction]
fn row_norms<'py>(py: Python<'py>, x: PyTensor<'py, f32, 2>) -> PyResult<PyLike<'py>> {
    let [rows, columns] = x.dims();
    let values = x.elements().to_vec()?;
    let row = |row: usize| values.iter().skip(row.saturating_mul(columns)).take(columns);
    let norms = (0..rows).map(|index| row(index).map(|value| value * value).sum::<f32>().sqrt());
    OwnedTensor::from_vec(norms.collect()).into_object_like(py, &x)
}

/// Half of each element, and the address of the result.
#[pyfunction]
fn halved<'py>(py: Python<'py>, x: PyTensor<'py, f32>) -> PyResult<(PyOutput<'py, f32>, usize)> {
    let mut result = python::allocate_output::<f32>(py, &x, x.shape())?;
    for (to, value) in result.as_mut_slice().iter_mut().zip(x.elements().iter()) {
        *to = value / 2.0;
    }
    let address = result.as_mut_slice().as_ptr().addr();
    Ok((result, address))
}

/// Whether each element is positive, as a vector and as an output.
#[pyfunction]
fn positive<'py>(
    py: Python<'py>,
    x: PyTensor<'py, f32, 1>,
) -> PyResult<(OwnedTensor<bool>, PyOutput<'py, bool>)> {
    let vector: Vec<bool> = x.elements().iter().map(|value| value > 0.0).collect();
    let mut output = python::allocate_output::<bool>(py, &x, x.shape())?;
    output.as_mut_slice().copy_from_slice(&vector);
    Ok((OwnedTensor::from_vec(vector), output))
}

/// A tensor without dimensions.
#[pyfunction]
fn scalar(value: f64) -> OwnedTensor<f64> {
    OwnedTensor::scalar(value)
}

/// Two tensors of one object.
#[pyclass(frozen, module = "dlpack_testing.results")]
struct Mesh {
    #[pyo3(get)]
    vertices: SharedTensor<f32, 2>,
    #[pyo3(get)]
    faces: SharedTensor<u32, 2>,
}

#[pymethods]
impl Mesh {
    #[new]
    fn new(vertices: usize) -> PyResult<Self> {
        let faces = SharedTensor::new(vec![0, 1, 2], [1, 3])?;
        Ok(Self { vertices: SharedTensor::zeroed([vertices, 3])?, faces })
    }

    /// The sum of the coordinates.
    fn sum(&self) -> f32 {
        self.vertices.buffer().to_vec().iter().sum()
    }
}

/// An output that is not returned.
#[pyfunction]
fn allocated_and_dropped(like: &Bound<'_, PyAny>, shape: Vec<i64>) -> PyResult<Vec<i64>> {
    Ok(python::allocate_output::<u8>(like.py(), like, &shape)?.shape().to_vec())
}

pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let results = PyModule::new(m.py(), "results")?;
    results.add_function(wrap_pyfunction!(numpy_matrix, m)?)?;
    results.add_function(wrap_pyfunction!(wrapped_matrix, m)?)?;
    results.add_function(wrap_pyfunction!(matrix_like, m)?)?;
    results.add_function(wrap_pyfunction!(same_like, m)?)?;
    results.add_function(wrap_pyfunction!(shaped, m)?)?;
    results.add_function(wrap_pyfunction!(with_lanes, m)?)?;
    results.add_function(wrap_pyfunction!(row_norms, m)?)?;
    results.add_function(wrap_pyfunction!(halved, m)?)?;
    results.add_function(wrap_pyfunction!(positive, m)?)?;
    results.add_function(wrap_pyfunction!(scalar, m)?)?;
    results.add_class::<Mesh>()?;
    results.add_function(wrap_pyfunction!(allocated_and_dropped, m)?)?;
    m.add_submodule(&results)
}
