//! Weights of a model, exported from the memory-mapped file.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use dlpack_traits::{DLPackExport, DataType};
use memmap2::Mmap;
use pyo3::exceptions::{PyKeyError, PyOSError, PyValueError};
use pyo3::prelude::*;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, Metadata};

/// One tensor in the file. It keeps the map alive, not the model.
#[pyclass(frozen, module = "mapped_weights")]
#[derive(DLPackExport)]
struct Weight {
    #[dlpack(data)]
    file: Arc<Mmap>,
    #[dlpack(offset(bytes))]
    start: usize,
    #[dlpack(len(bytes))]
    size: usize,
    dtype: DataType,
    shape: Vec<usize>,
}

/// A model file, mapped.
#[pyclass(frozen, module = "mapped_weights")]
struct Model {
    file: Arc<Mmap>,
    header: Metadata,
    /// Bytes in front of the first tensor.
    header_len: usize,
}

#[pymethods]
impl Model {
    /// Maps a file, and reads its header. The elements are read when a consumer accesses them.
    ///
    /// The file must not be written or truncated while the model or one of its
    /// weights is alive: that would change or unmap the elements while they are used.
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let opened = File::open(path).map_err(|error| PyOSError::new_err(error.to_string()))?;
        // SAFETY: 1. No one writes to the file while it is mapped, as the documentation requires.
        let file = unsafe { Mmap::map(&opened) };
        let file = file.map_err(|error| PyOSError::new_err(error.to_string()))?;
        let (len, header) = SafeTensors::read_metadata(&file)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        // The header's own length comes first, in 8 bytes.
        Ok(Self { file: Arc::new(file), header, header_len: len + 8 })
    }

    fn keys(&self) -> Vec<String> {
        self.header.offset_keys()
    }

    fn __len__(&self) -> usize {
        self.header.offset_keys().len()
    }

    fn __getitem__(&self, name: &str) -> PyResult<Weight> {
        let info = self.header.info(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        let (start, end) = info.data_offsets;
        Ok(Weight {
            file: Arc::clone(&self.file),
            start: self.header_len + start,
            size: end - start,
            dtype: dtype_of(info.dtype)?,
            shape: info.shape.clone(),
        })
    }
}

/// The element types that both formats have.
fn dtype_of(dtype: Dtype) -> PyResult<DataType> {
    Ok(match dtype {
        Dtype::BOOL => DataType::BOOL,
        Dtype::U8 => DataType::U8,
        Dtype::I8 => DataType::I8,
        Dtype::U16 => DataType::U16,
        Dtype::I16 => DataType::I16,
        Dtype::U32 => DataType::U32,
        Dtype::I32 => DataType::I32,
        Dtype::U64 => DataType::U64,
        Dtype::I64 => DataType::I64,
        Dtype::F16 => DataType::F16,
        Dtype::BF16 => DataType::BF16,
        Dtype::F32 => DataType::F32,
        Dtype::F64 => DataType::F64,
        Dtype::F8_E5M2 => DataType::FLOAT8_E5M2,
        // This format's type of that name has no infinities, which is `e4m3fn` in DLPack.
        Dtype::F8_E4M3 => DataType::FLOAT8_E4M3FN,
        Dtype::F8_E8M0 => DataType::FLOAT8_E8M0FNU,
        other => return Err(PyValueError::new_err(format!("{other:?} has no name in DLPack"))),
    })
}

#[pymodule]
fn mapped_weights(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Model>()?;
    dlpack_traits::python::add_class::<Weight>(m)
}
