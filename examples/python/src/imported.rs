//! The elements of another library's tensor, as Python sees them.

use dlpack_traits::{DataType, Imported, Readable};
use half::{bf16, f16};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// All elements as nested lists, or a number if there are no axes.
pub(crate) fn to_list<'py>(py: Python<'py>, tensor: &Imported) -> PyResult<Bound<'py, PyAny>> {
    match tensor.dtype() {
        DataType::BOOL => list::<bool, _>(py, tensor, |value| value),
        DataType::I8 => list::<i8, _>(py, tensor, |value| value),
        DataType::I16 => list::<i16, _>(py, tensor, |value| value),
        DataType::I32 => list::<i32, _>(py, tensor, |value| value),
        DataType::I64 => list::<i64, _>(py, tensor, |value| value),
        DataType::U8 => list::<u8, _>(py, tensor, |value| value),
        DataType::U16 => list::<u16, _>(py, tensor, |value| value),
        DataType::U32 => list::<u32, _>(py, tensor, |value| value),
        DataType::U64 => list::<u64, _>(py, tensor, |value| value),
        DataType::F16 => list::<f16, _>(py, tensor, f16::to_f64),
        DataType::BF16 => list::<bf16, _>(py, tensor, bf16::to_f64),
        DataType::F32 => list::<f32, _>(py, tensor, f64::from),
        DataType::F64 => list::<f64, _>(py, tensor, |value| value),
        other => Err(PyTypeError::new_err(format!(
            "elements of {other} that another library made are not shown here; \
             give the tensor to a library that knows them"
        ))),
    }
}

fn list<'py, T: Readable, P: IntoPyObject<'py>>(
    py: Python<'py>,
    tensor: &Imported,
    number: impl Fn(T) -> P,
) -> PyResult<Bound<'py, PyAny>> {
    let values = tensor.elements::<T>()?.to_vec()?;
    let numbers = values.into_iter().map(number);
    let mut flat = PyList::new(py, numbers.collect::<Vec<_>>())?.into_any();
    // Row-major elements, cut into rows from the last axis to the first.
    let (mut count, shape) = (tensor.numel(), tensor.shape());
    for &extent in shape.iter().skip(1).rev() {
        count = count.checked_div(extent).unwrap_or(0);
        let rows = (0..count).map(|row| {
            flat.get_item(pyo3::types::PySlice::new(
                py,
                isize::try_from(row * extent)?,
                isize::try_from((row + 1) * extent)?,
                1,
            ))
        });
        flat = PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)?.into_any();
    }
    if shape.is_empty() { flat.get_item(0) } else { Ok(flat) }
}
