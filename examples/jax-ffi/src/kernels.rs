//! The functions of the library, over tensors that were checked.

#![forbid(unsafe_code)]

use dlpack_traits::{AnyBits, DataType, Error, ImportedTensor};

use crate::handler::{Attributes, Fault, Output};

/// A type that the functions accept.
trait Real: AnyBits + Into<f64> {
    fn rounded(value: f64) -> Self;
}

impl Real for f32 {
    #[expect(clippy::cast_possible_truncation, reason = "the array has this precision")]
    fn rounded(value: f64) -> Self {
        value as f32
    }
}

impl Real for f64 {
    fn rounded(value: f64) -> Self {
        value
    }
}

/// Divides each row of `x` by the root of its mean square. Rows are along the last axis.
pub(crate) fn rms_norm(
    [x]: &[ImportedTensor; 1],
    [y]: &mut [Output; 1],
    attributes: &Attributes<'_>,
) -> Result<(), Fault> {
    let eps = attributes.float("eps")?;
    if x.ndim() == 0 {
        return Err(Fault::invalid("argument 0: expected at least 1 dimension, got 0"));
    }
    let outcome = match x.dtype() {
        DataType::F32 => normalize::<f32>(x, y, eps),
        DataType::F64 => normalize::<f64>(x, y, eps),
        other => {
            let message = format!("argument 0: expected float32 or float64, got {other}");
            return Err(Fault::invalid(message));
        }
    };
    outcome.map_err(|error| Fault::invalid(format!("result 0: {error}")))
}

fn normalize<T: Real>(x: &ImportedTensor, y: &mut Output, eps: f64) -> Result<(), Error> {
    let mut y = y.elements_mut::<T>()?;
    y.update_with(&x.elements::<T>()?, |y, x| y.copy_from_slice(x))?;
    y.update_rows(|row| {
        let squares: f64 = row.iter().map(|&value| value.into() * value.into()).sum();
        #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53")]
        let root = (squares / row.len() as f64 + eps).sqrt();
        for value in row {
            *value = T::rounded((*value).into() / root);
        }
    })
}

/// Panics, which a handler must survive.
pub(crate) fn panics(
    _: &[ImportedTensor; 0],
    _: &mut [Output; 1],
    _: &Attributes<'_>,
) -> Result<(), Fault> {
    panic!("as intended")
}
