//! Kernels over imported tensors: borrowed for a call, allocated by their library,
//! returned to it.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes arguments by value")]

use dlpack_traits::backend::Prototype;
use dlpack_traits::python::{self, Allocated};
use dlpack_traits::{
    DLPackExport, DataType, Describe, Description, Device, Dims, Error, ImportedTensor, Storage,
    ffi,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::counted::Counted;

/// `a * b + c` of three tensors of any library, in a tensor that the library of
/// the first allocates.
#[pyfunction]
pub(crate) fn fused<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    c: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let class = a.get_type();
    let made: Allocated<'py> = python::with_tensor(a, |a, _| {
        python::with_tensor(b, |b, _| {
            python::with_tensor(c, |c, _| {
                if a.shape() != b.shape() || a.shape() != c.shape() {
                    return Err(PyValueError::new_err("the shapes differ"));
                }
                let shape = Dims::borrowed(a.shape());
                let prototype = Prototype::new(a.dtype(), shape, a.device())?;
                let mut out = python::allocate(&class, &prototype)?;
                let (a, b) = (a.elements::<f32>()?, b.elements::<f32>()?);
                let inputs = a.iter().zip(b.iter()).zip(c.elements::<f32>()?.iter());
                let mut target = out.exclusive()?;
                for (out, ((a, b), c)) in target.as_mut_slice::<f32>()?.iter_mut().zip(inputs) {
                    *out = a.mul_add(b, c);
                }
                Ok(out)
            })
        })
    })?;
    made.into_object()
}

/// Returns one of the `float32`s of a tensor argument.
#[pyfunction]
pub(crate) fn element(
    #[pyo3(from_py_with = python::from_dlpack)] tensor: ImportedTensor,
    index: Vec<usize>,
) -> PyResult<f32> {
    Ok(tensor.elements::<f32>()?.load(&index)?)
}

/// Returns the sum of borrowed `float32`s, and the stream of the borrow.
#[pyfunction]
pub(crate) fn borrowed_sum(object: &Bound<'_, PyAny>) -> PyResult<(f32, usize)> {
    python::with_tensor(object, |tensor, stream| {
        let sum = tensor.elements::<f32>()?.iter().sum();
        Ok((sum, stream.as_ptr().addr()))
    })
}

/// Device, shape, strides, address, and a stream.
type Facts = (String, Vec<i64>, Vec<i64>, usize, usize);

fn facts(tensor: &ImportedTensor, stream: python::CurrentStream<'_>) -> Facts {
    (
        tensor.device().to_string(),
        tensor.shape().to_vec(),
        tensor.strides().to_vec(),
        tensor.data_ptr().addr(),
        stream.as_ptr().addr(),
    )
}

/// Returns the metadata of a borrowed tensor that need not be on the CPU: device, shape,
/// strides, address, and the stream of the borrow.
#[pyfunction]
pub(crate) fn borrowed_facts(object: &Bound<'_, PyAny>) -> PyResult<Facts> {
    python::with_tensor(object, |tensor, stream| Ok(facts(&tensor, stream)))
}

/// The sum of borrowed `float32`s before and after Python runs `between`.
#[pyfunction]
pub(crate) fn borrowed_sums_around(
    object: &Bound<'_, PyAny>,
    between: &Bound<'_, PyAny>,
) -> PyResult<(f32, f32)> {
    python::with_tensor(object, |tensor, _| {
        let elements = tensor.elements::<f32>()?;
        let before = elements.iter().sum();
        between.call0()?;
        Ok((before, elements.iter().sum()))
    })
}

/// [`borrowed_sum`] of a view.
#[pyfunction]
pub(crate) fn viewed_sum(object: &Bound<'_, PyAny>) -> PyResult<(f32, usize)> {
    let read = |tensor: python::BorrowedTensor<'_>, stream: python::CurrentStream<'_>| {
        Ok((tensor.elements::<f32>()?.iter().sum(), stream.as_ptr().addr()))
    };
    // SAFETY: 1. `read` calls nothing of Python, and no test changes the object meanwhile.
    unsafe { python::with_view(object, read) }
}

/// [`borrowed_facts`] of a view.
#[pyfunction]
pub(crate) fn viewed_facts(object: &Bound<'_, PyAny>) -> PyResult<Facts> {
    // SAFETY: 1. `facts` calls nothing of Python, and no test changes the object meanwhile.
    unsafe { python::with_view(object, |tensor, stream| Ok(facts(&tensor, stream))) }
}

/// A tensor of a Python type, made by its allocator and, if it has elements on
/// the host, filled with zeros.
#[pyfunction]
#[pyo3(signature = (class, shape, dtype="float32", device=(1, 0), fill=true))]
pub(crate) fn allocate<'py>(
    class: &Bound<'py, PyType>,
    shape: Vec<i64>,
    dtype: &str,
    device: (i32, i32),
    fill: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = DataType::from_name(dtype).ok_or_else(|| PyValueError::new_err("what dtype?"))?;
    let device = Device::new(ffi::DLDeviceType(device.0), device.1);
    let prototype = Prototype::new(dtype, Dims::borrowed(&shape), device)?;
    let mut made = python::allocate(class, &prototype)?;
    if fill {
        made.exclusive()?;
    }
    made.into_object()
}

/// A tensor from its allocator that is dropped, and never an object.
#[pyfunction]
pub(crate) fn allocate_and_drop(class: &Bound<'_, PyType>, shape: Vec<i64>) -> PyResult<usize> {
    let prototype = Prototype::new(DataType::F32, Dims::borrowed(&shape), Device::CPU)?;
    let mut made = python::allocate(class, &prototype)?;
    Ok(made.as_mut_ptr().address().addr())
}

/// Counted bytes, read as another type.
struct Numbers {
    data: Counted<Vec<u8>>,
    dtype: DataType,
    len: i64,
}

impl DLPackExport for Numbers {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        let shape = core::slice::from_ref(&self.len);
        out.shape(shape).dtype(self.dtype).data(self.data.data())
    }
}

/// An object of a Python type from a Rust tensor of 8 counted bytes, which are
/// read as that type.
#[pyfunction]
pub(crate) fn hand_to<'py>(class: &Bound<'py, PyType>, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    let dtype = DataType::from_name(dtype).ok_or_else(|| PyValueError::new_err("what dtype?"))?;
    let len = 64 / i64::from(dtype.bits());
    let numbers = Numbers { data: Counted::new((0..8).collect()), dtype, len };
    python::to_object(class, numbers.into_dlpack()?)
}
