//! Functions of tvm-ffi over points in space: symbols that Python's `tvm_ffi` and every other
//! binding of tvm-ffi call.

pub mod convert;
mod points;

use convert::{argument, argument_mut, result};
use dlpack_traits::{ImportedStorage, OwnedTensor};
pub use points::Points;
use tvm_ffi::{Error, Result, Tensor, VALUE_ERROR, tvm_ffi_dll_export_typed_func};

fn failed(error: dlpack_traits::Error) -> Error {
    Error::new(VALUE_ERROR, &error.to_string(), "")
}

/// `centroid(points: float32[n, 3]) -> float32[3]`: the mean of all points, in any layout.
pub fn centroid(points: Tensor) -> Result<Tensor> {
    let points: Points = argument(&points)?;
    result(OwnedTensor::from_vec(points.centroid().map_err(failed)?.to_vec()))
}

/// `scale(points: float32[n, 3], factor: float)`: multiplies all coordinates, in place.
pub fn scale(points: Tensor, factor: f64) -> Result<()> {
    // SAFETY: 1. The contract of the function for its caller.
    let mut points: Points = unsafe { argument_mut(&points)? };
    points.scale(factor).map_err(failed)
}

/// `rows(points: float32[n, 3], begin: int, end: int) -> float32[end - begin, 3]`: some points, in
/// the same memory.
pub fn rows(points: Tensor, begin: i64, end: i64) -> Result<Tensor> {
    // SAFETY: 1. The result may be written, because the argument may: the contract of the function.
    let points: Points = unsafe { argument_mut(&points)? };
    let bound = |number: i64| {
        usize::try_from(number).map_err(|_| Error::new(VALUE_ERROR, "expected an index", ""))
    };
    let part: ImportedStorage<f32> =
        points.into_storage().narrow(0, bound(begin)?..bound(end)?).map_err(failed)?;
    result(part)
}

/// Panics, which tvm-ffi contains.
pub fn panics() -> Result<()> {
    panic!("as intended")
}

tvm_ffi_dll_export_typed_func!(centroid, centroid);
tvm_ffi_dll_export_typed_func!(scale, scale);
tvm_ffi_dll_export_typed_func!(rows, rows);
tvm_ffi_dll_export_typed_func!(panics, panics);
