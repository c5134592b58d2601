//! `candle`: the memory of its tensors is behind a lock, so an `unsafe` function requires the
//! promise that no one writes to it. Here the module that made the tensor promises that.

use std::sync::Arc;

use candle_core::{CpuStorage, DType, Device, Storage as Candle, Tensor};
use dlpack_traits::{DLPackExport, DataRef, DataType, Storage};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A candle tensor to which no one writes.
pub(crate) struct Frozen {
    tensor: Tensor,
    dtype: DataType,
}

impl Frozen {
    /// Takes a tensor of the processor.
    ///
    /// # Safety
    ///
    /// 1. No one writes to the tensor's storage from now on: the tensor is not a variable,
    ///    and no clone of it is modified in place.
    unsafe fn new(tensor: Tensor) -> Result<Self, String> {
        let dtype = match tensor.dtype() {
            DType::U8 => DataType::U8,
            DType::U32 => DataType::U32,
            DType::I64 => DataType::I64,
            DType::F32 => DataType::F32,
            DType::F64 => DataType::F64,
            other => return Err(format!("{other:?} is not exported here")),
        };
        if !matches!(tensor.device(), Device::Cpu) {
            return Err("only tensors of the processor are exported here".to_owned());
        }
        Ok(Self { tensor, dtype })
    }
}

impl Storage for Frozen {
    fn data(&self) -> DataRef<'_> {
        let (storage, _) = self.tensor.storage_and_layout();
        let (first, len) = match &*storage {
            Candle::Cpu(CpuStorage::U8(all)) => (all.as_ptr(), all.len()),
            Candle::Cpu(CpuStorage::U32(all)) => (all.as_ptr().cast(), all.len()),
            Candle::Cpu(CpuStorage::I64(all)) => (all.as_ptr().cast(), all.len()),
            Candle::Cpu(CpuStorage::F32(all)) => (all.as_ptr().cast(), all.len()),
            Candle::Cpu(CpuStorage::F64(all)) => (all.as_ptr().cast(), all.len()),
            _ => return DataRef::from_slice::<u8>(&[]),
        };
        let bytes = len * usize::from(self.dtype.bits()) / 8;
        // SAFETY: 1. and 2. The vector has so many bytes of that type, and lives as long as the tensor,
        // which is borrowed as long as the result. 3. No one writes, by 1 of `new`.
        unsafe { DataRef::from_raw_parts(first, bytes, self.dtype, dlpack_traits::Device::CPU) }
    }
}

/// The output of a network layer.
#[pyclass(frozen, module = "dlpack_wrapped")]
#[derive(DLPackExport)]
pub(crate) struct Activations {
    data: Arc<Frozen>,
    shape: Vec<usize>,
    strides: Vec<usize>,
    #[dlpack(offset(elements))]
    start: usize,
}

#[pymethods]
impl Activations {
    /// A layer with weights 0, 1, 2, ... on inputs of 1, and its transposed output.
    #[new]
    fn new(inputs: usize, outputs: usize) -> PyResult<Self> {
        let answer = || -> candle_core::Result<Tensor> {
            let weights = Tensor::arange(0.0_f32, (inputs * outputs) as f32, &Device::Cpu)?;
            let ones = Tensor::ones((1, inputs), DType::F32, &Device::Cpu)?;
            ones.matmul(&weights.reshape((inputs, outputs))?)?.t()
        };
        let tensor = answer().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let (shape, strides, start) = {
            let layout = tensor.layout();
            (layout.dims().to_vec(), layout.stride().to_vec(), layout.start_offset())
        };
        // SAFETY: 1. The tensor was computed here, and moves into the class.
        let data = unsafe { Frozen::new(tensor) }.map_err(PyRuntimeError::new_err)?;
        Ok(Self { data: Arc::new(data), shape, strides, start })
    }

    #[getter]
    fn data_ptr(&self) -> usize {
        self.data.data().as_ptr().addr()
    }
}
