//! A tensor of any element type and any rank, in its own or in imported memory.

use dlpack_traits::{
    DLPackExport, DLPackImport, ExportArc, ImportError, ImportedStorage, ImportedTensor,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::foreign;
use crate::own::Own;

/// A tensor of any element type and any rank: `Tensor([[1, 2], [3, 4]], "float32")`,
/// or of anything that exports one: `Tensor.from_dlpack(array)`.
#[pyclass(frozen, module = "dlpack_example")]
#[derive(DLPackExport)]
#[dlpack(transparent)]
pub(crate) struct Tensor(Elements);

/// The memory: our own, or imported.
#[derive(DLPackExport)]
enum Elements {
    Own(ExportArc<Own>),
    Foreign(ImportedStorage),
}

impl DLPackImport for Tensor {
    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        Ok(Self(Elements::Foreign(ImportedStorage::new(tensor)?)))
    }
}

impl Tensor {
    /// A tensor in its own memory.
    fn own(own: Own) -> PyResult<Self> {
        Ok(Self(Elements::Own(ExportArc::new(own)?)))
    }
}

/// A tensor in the memory of any object that exports one: `Tensor.from_dlpack`.
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None))]
pub(crate) fn from_dlpack<'py>(
    x: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    copy: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let keywords = PyDict::new(x.py());
    keywords.set_item("device", device)?;
    keywords.set_item("copy", copy)?;
    x.py().get_type::<Tensor>().call_method("from_dlpack", (x,), Some(&keywords))
}

#[pymethods]
impl Tensor {
    /// From a number or nested lists of numbers. Without a dtype the first
    /// number decides: bool, int64, float64 or complex128.
    #[new]
    #[pyo3(signature = (values, dtype=None, *, read_only=false))]
    fn new(values: &Bound<'_, PyAny>, dtype: Option<&str>, read_only: bool) -> PyResult<Self> {
        Own::new(values, dtype, read_only).and_then(Self::own)
    }

    /// A tensor of zeros.
    #[staticmethod]
    fn zeros(shape: Vec<i64>, dtype: &str) -> PyResult<Self> {
        Own::zeros(shape, dtype).and_then(Self::own)
    }

    /// Another tensor in the same memory. Strides count elements, the offset
    /// counts bytes.
    #[pyo3(signature = (shape, strides, byte_offset=0))]
    fn as_strided(&self, shape: Vec<i64>, strides: Vec<i64>, byte_offset: usize) -> PyResult<Self> {
        match &self.0 {
            Elements::Own(own) => own.as_strided(shape, strides, byte_offset).and_then(Self::own),
            Elements::Foreign(_) => {
                Err(PyValueError::new_err("only a tensor in its own memory has other layouts"))
            }
        }
    }

    /// Extents, in elements.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor()?.shape())
    }

    /// Strides, in elements.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor()?.strides())
    }

    /// Name of the element type.
    #[getter]
    fn dtype(&self) -> PyResult<String> {
        Ok(self.tensor()?.dtype().to_string())
    }

    /// Where the memory is.
    #[getter]
    fn device(&self) -> PyResult<String> {
        Ok(self.tensor()?.device().to_string())
    }

    /// Address of the first element; 0 if there are none.
    #[getter]
    fn data_ptr(&self) -> PyResult<usize> {
        Ok(self.tensor()?.data_ptr().addr())
    }

    /// Whether the tensor is read-only.
    #[getter]
    fn read_only(&self) -> PyResult<bool> {
        Ok(self.tensor()?.is_read_only())
    }

    /// The elements as nested lists, or as a number if there are no axes.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.0 {
            Elements::Own(own) => own.to_list(py),
            Elements::Foreign(foreign) => foreign::to_list(py, foreign.imported()),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Tensor({}, dtype={:?})", self.tolist(py)?.repr()?, self.dtype()?))
    }
}
