//! One element, between Python and its bytes.

use dlpack_traits::{DataType, ffi};
use half::{bf16, f16};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyComplex;

use crate::minifloat;

/// The bits of one lane, from a Python number.
pub(crate) fn encode(dtype: DataType, value: &Bound<'_, PyAny>) -> PyResult<u128> {
    let bits = dtype.bits();
    Ok(match dtype.code() {
        ffi::kDLInt => {
            let value: i64 = value.extract()?;
            let lost = 64 - u32::from(bits);
            if value << lost >> lost != value {
                return Err(PyOverflowError::new_err(format!("{value} does not fit in {dtype}")));
            }
            u128::from(u64::from_ne_bytes(value.to_ne_bytes()) << lost >> lost)
        }
        ffi::kDLUInt => {
            let value: u64 = value.extract()?;
            if bits < 64 && value >> bits != 0 {
                return Err(PyOverflowError::new_err(format!("{value} does not fit in {dtype}")));
            }
            u128::from(value)
        }
        ffi::kDLBool => u128::from(value.is_truthy()?),
        ffi::kDLComplex | ffi::kDLBcomplex => {
            let value = value.cast_complex()?;
            let part = |value: f64| float_bits(part(dtype), value);
            part(value.0)? | part(value.1)? << (bits / 2)
        }
        _ => float_bits(dtype, value.extract()?)?,
    })
}

/// The type of the parts of a complex type.
fn part(complex: DataType) -> DataType {
    let code = if complex.code() == ffi::kDLBcomplex { ffi::kDLBfloat } else { ffi::kDLFloat };
    DataType::new(code, complex.bits() / 2, 1)
}

/// A Python number from the bits of one lane.
pub(crate) fn decode(py: Python<'_>, dtype: DataType, bits: u128) -> PyResult<Bound<'_, PyAny>> {
    match dtype.code() {
        ffi::kDLInt => {
            let lost = 128 - u32::from(dtype.bits());
            (i128::from_ne_bytes(bits.to_ne_bytes()) << lost >> lost).into_bound_py_any(py)
        }
        ffi::kDLUInt => bits.into_bound_py_any(py),
        ffi::kDLBool => (bits != 0).into_bound_py_any(py),
        ffi::kDLComplex | ffi::kDLBcomplex => {
            let half = dtype.bits() / 2;
            let part = |bits: u128| bits_float(part(dtype), bits & ((1 << half) - 1));
            Ok(PyComplex::from_doubles(py, part(bits)?, part(bits >> half)?).into_any())
        }
        _ => bits_float(dtype, bits)?.into_bound_py_any(py),
    }
}

trait ToComplex {
    fn cast_complex(&self) -> PyResult<(f64, f64)>;
}

impl ToComplex for Bound<'_, PyAny> {
    /// Real and imaginary part of any Python number.
    fn cast_complex(&self) -> PyResult<(f64, f64)> {
        let py = self.py();
        let complex = py.get_type::<PyComplex>().call1((self,))?;
        Ok((complex.getattr("real")?.extract()?, complex.getattr("imag")?.extract()?))
    }
}

fn float_bits(dtype: DataType, value: f64) -> PyResult<u128> {
    Ok(match dtype {
        DataType::F64 => value.to_bits().into(),
        #[expect(clippy::cast_possible_truncation, reason = "rounding is what float32 means")]
        DataType::F32 => (value as f32).to_bits().into(),
        DataType::F16 => f16::from_f64(value).to_bits().into(),
        DataType::BF16 => bf16::from_f64(value).to_bits().into(),
        _ => minifloat::encode(dtype, value).ok_or_else(|| unsupported(dtype))?.into(),
    })
}

fn bits_float(dtype: DataType, bits: u128) -> PyResult<f64> {
    // The bits of a lane are no more than its width.
    #[expect(clippy::cast_possible_truncation, reason = "a lane has no more bits")]
    Ok(match dtype {
        DataType::F64 => f64::from_bits(bits as u64),
        DataType::F32 => f32::from_bits(bits as u32).into(),
        DataType::F16 => f16::from_bits(bits as u16).into(),
        DataType::BF16 => bf16::from_bits(bits as u16).into(),
        _ => minifloat::decode(dtype, bits as u8).ok_or_else(|| unsupported(dtype))?,
    })
}

fn unsupported(dtype: DataType) -> PyErr {
    PyTypeError::new_err(format!("this example has no Python numbers for {dtype}"))
}
