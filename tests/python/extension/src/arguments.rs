//! Functions over arrays: their arguments are checked by PyO3's conversion.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes converted arguments by value")]

use dlpack_traits::python::IntoPython;
use dlpack_traits::python::{
    AnyElement, AtMost, Convert, Exact, FromTensor, PyTensor, PyTensorMut, PyTensors, dispatch,
};
use dlpack_traits::{
    As, Complex, DLPackImport, DataType, Element, ImportedStorage, OwnedTensor, Readable,
};
use half::{bf16, f16};
use pyo3::prelude::*;

use crate::imports::Held;

/// The address and the shape of an argument, without the axes of its elements.
#[pyfunction]
fn matrix(x: PyTensor<'_, f32, 2>) -> (usize, [usize; 2]) {
    (x.data_ptr().addr(), x.dims())
}

/// The elements of any `float32` array.
#[pyfunction]
fn floats(x: PyTensor<'_, f32>) -> PyResult<Vec<f32>> {
    Ok(x.elements().to_vec()?)
}

/// Returns the sum of a matrix of any dtype; two dtypes are supported.
#[pyfunction]
fn any_sum(x: PyTensor<'_, AnyElement, 2>) -> PyResult<f64> {
    Ok(match x.dtype() {
        DataType::F32 => x.elements::<f32>()?.iter().map(f64::from).sum(),
        _ => x.elements::<f64>()?.iter().sum(),
    })
}

/// The sum of an array of two dtypes.
#[pyfunction]
fn named_sum(py: Python<'_>, x: PyTensor<'_>) -> PyResult<f64> {
    Ok(match x.dtype() {
        DataType::F32 => x.elements::<f32>()?.iter().map(f64::from).sum(),
        DataType::F64 => x.elements::<f64>()?.iter().sum(),
        _ => return Err(x.dtype_error(py, "x", &[DataType::F32, DataType::F64])),
    })
}

/// The number of bits of each element, of a float or an integer.
#[pyfunction]
fn element_bits(x: PyTensor<'_>) -> PyResult<usize> {
    dispatch!(x: f32 | f64 | i64 => |x| Ok(size_of_val(&x.elements().to_vec()?[..1]) * 8))
}

/// The mean of all numbers.
#[pyfunction]
fn mean_as(x: PyTensor<'_, As<f64>>) -> PyResult<f64> {
    let values = x.elements().to_vec()?;
    #[expect(clippy::cast_precision_loss, reason = "there are few elements")]
    Ok(values.iter().sum::<f64>() / values.len() as f64)
}

/// The sum of `float64`s.
#[pyfunction]
fn double_sum(x: PyTensor<'_, f64>) -> f64 {
    x.elements().iter().sum()
}

/// The number of elements of `bfloat16`.
#[pyfunction]
fn bfloats(x: PyTensor<'_, bf16>) -> usize {
    x.elements().len()
}

/// Negates an array of `float32`.
#[pyfunction]
fn negate(py: Python<'_>, mut x: PyTensorMut<'_>) -> PyResult<()> {
    match x.dtype() {
        DataType::F32 => x.elements_mut::<f32>()?.map_in_place(|value| -value),
        _ => return Err(x.dtype_error(py, "x", &[DataType::F32])),
    }
    Ok(())
}

/// Dtype, device, shape and strides of any array.
#[pyfunction]
fn facts(x: PyTensor<'_>) -> (String, String, Vec<i64>, Vec<i64>) {
    let (dtype, device) = (x.dtype().to_string(), x.device().to_string());
    (dtype, device, x.shape().to_vec(), x.strides().to_vec())
}

/// The elements of a `float32` array that is not of a subclass.
#[pyfunction]
fn exact(x: Exact<PyTensor<'_, f32>>) -> PyResult<Vec<f32>> {
    Ok(x.elements().to_vec()?)
}

/// The same of what can be converted.
#[pyfunction]
fn exact_converted(x: Exact<Convert<PyTensor<'_, f32>>>) -> PyResult<Vec<f32>> {
    Ok(x.elements().to_vec()?)
}

/// The elements of a `float32` array of at most 1 KiB.
#[pyfunction]
fn at_most(x: AtMost<Convert<PyTensor<'_, f32>>, 1024>) -> PyResult<Vec<f32>> {
    Ok(x.elements().to_vec()?)
}

/// The elements of what can be converted to a `float32` array, and the object.
#[pyfunction]
fn convert_floats(x: Convert<PyTensor<'_, f32>>) -> PyResult<(Vec<f32>, PyTensor<'_, f32>)> {
    Ok((x.elements().to_vec()?, x.0))
}

/// An array of what can be converted to elements of a type.
#[pyfunction]
fn converted<'py>(x: &Bound<'py, PyAny>, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    fn made<'py, T: Readable>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = x.py();
        let x = x.extract::<Convert<PyTensor<'_, T>>>()?;
        OwnedTensor::new(x.elements().to_vec()?, x.shape())?.into_numpy(py)
    }
    match dtype {
        "bool" => made::<bool>(x),
        "int8" => made::<i8>(x),
        "int16" => made::<i16>(x),
        "int32" => made::<i32>(x),
        "int64" => made::<i64>(x),
        "uint8" => made::<u8>(x),
        "uint16" => made::<u16>(x),
        "uint32" => made::<u32>(x),
        "uint64" => made::<u64>(x),
        "float16" => made::<f16>(x),
        "float32" => made::<f32>(x),
        "float64" => made::<f64>(x),
        "complex64" => made::<Complex<f32>>(x),
        _ => made::<Complex<f64>>(x),
    }
}

/// What can be converted to `bfloat16`, as `float32`.
#[pyfunction]
fn converted_bf16<'py>(
    py: Python<'py>,
    x: Convert<PyTensor<'_, bf16>>,
) -> PyResult<Bound<'py, PyAny>> {
    let values: Vec<f32> = x.elements().iter().map(f32::from).collect();
    OwnedTensor::new(values, x.shape())?.into_numpy(py)
}

/// The same for integers, and for a number of dimensions.
#[pyfunction]
fn convert_bytes(x: Convert<PyTensor<'_, u8, 1>>) -> PyResult<Vec<u16>> {
    Ok(x.elements().to_vec()?.into_iter().map(u16::from).collect())
}

/// The dtype and the shape of what can be converted to an array.
#[pyfunction]
fn convert_any(x: Convert<PyTensor<'_>>) -> (String, Vec<i64>) {
    (x.dtype().to_string(), x.shape().to_vec())
}

/// The bytes of an array.
#[pyfunction]
fn bytes(x: PyTensor<'_, u8, 1>) -> Vec<u16> {
    x.elements().iter().map(u16::from).collect()
}

/// A pixel.
#[derive(Clone, Copy, Element)]
#[dlpack(any_bits)]
#[repr(transparent)]
struct Rgb([u8; 3]);

/// Rows, columns and the first pixel of an image.
#[pyfunction]
fn pixels(x: PyTensor<'_, Rgb, 2>) -> PyResult<([usize; 2], [u8; 3])> {
    Ok((x.dims(), x.elements().load(&[0, 0])?.0))
}

/// The number of points, the sum of them, and the points again, each shifted by 1.
#[pyfunction]
fn points(
    py: Python<'_>,
    x: PyTensor<'_, [f32; 3], 1>,
    mut y: PyTensorMut<'_, [f32; 3], 1>,
) -> PyResult<(usize, [f32; 3], Py<PyAny>)> {
    let points = x.elements().to_vec()?;
    let sum = points.iter().fold([0.0; 3], |[x, y, z], [a, b, c]| [x + a, y + b, z + c]);
    let moved: Vec<[f32; 3]> = points.iter().map(|point| point.map(|at| at + 1.0)).collect();
    y.elements_mut().copy_from_slice(&moved)?;
    let result = OwnedTensor::new(moved, &[points.len()])?;
    Ok((points.len(), sum, result.into_numpy(py)?.unbind()))
}

/// Triangles, of any dtype and layout.
#[pyfunction]
fn convert_triangles(x: Convert<PyTensor<'_, [u32; 3], 1>>) -> PyResult<(Vec<[u32; 3]>, usize)> {
    Ok((x.elements().to_vec()?, x.data_ptr().addr()))
}

/// Writes 1 to the coordinates of points.
#[pyfunction]
fn write_points(mut x: PyTensorMut<'_, [f32; 3], 1>) {
    x.elements_mut().fill([1.0; 3]);
}

/// How many of some `bool`s are true.
#[pyfunction]
fn count_true(x: PyTensor<'_, bool, 1>) -> PyResult<usize> {
    Ok(x.elements().to_vec()?.into_iter().filter(|&is_true| is_true).count())
}

/// The sum of an array, without the GIL.
#[pyfunction]
fn detached_sum(py: Python<'_>, x: PyTensor<'_, f32>) -> f32 {
    py.detach(|| x.elements().iter().sum())
}

/// An argument that may be absent.
#[pyfunction]
#[pyo3(signature = (x=None))]
fn optional(x: Option<PyTensor<'_, f32>>) -> Option<i64> {
    x.map(|x| x.numel())
}

/// The numbers of elements of a list of arrays.
#[pyfunction]
fn listed(arrays: PyTensors<'_, f32>) -> Vec<i64> {
    arrays.iter().map(|x| x.numel()).collect()
}

/// The same of the positional arguments.
#[pyfunction]
#[pyo3(signature = (*arrays))]
fn variadic(arrays: PyTensors<'_, f32>) -> Vec<i64> {
    arrays.into_vec().into_iter().map(|x| x.numel()).collect()
}

/// The sum of each array, each on a thread of its own that also keeps it for a moment, while this thread
/// has the GIL. Threads of a pool do the same if the caller does not detach.
#[pyfunction]
fn sums_on_threads(arrays: Vec<PyTensor<'_, f32>>) -> Vec<f32> {
    std::thread::scope(|scope| {
        let sum = |x: PyTensor<'_, f32>| {
            let sum = x.elements().iter().sum::<f32>();
            drop(x.into_owned());
            sum
        };
        let threads: Vec<_> = arrays.into_iter().map(|x| scope.spawn(move || sum(x))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(f32::NAN)).collect()
    })
}

/// The addresses of two arrays.
#[pyfunction]
fn pair(x: PyTensor<'_, f32>, y: PyTensor<'_, f32>) -> (usize, usize) {
    (x.data_ptr().addr(), y.data_ptr().addr())
}

/// Keeps an argument.
#[pyfunction]
fn keep(x: PyTensor<'_>) -> Held {
    Held::new(x.into_owned())
}

/// Returns the object that it was called with.
#[pyfunction]
fn same(x: PyTensor<'_>) -> PyTensor<'_> {
    x
}

/// Returns an object that may be written.
#[pyfunction]
fn writable(out: PyTensorMut<'_, f32>) -> PyTensorMut<'_, f32> {
    out
}

/// Multiplies each element.
#[pyfunction]
fn scale(mut x: PyTensorMut<'_, f32>, factor: f32) {
    x.elements_mut().map_in_place(|value| value * factor);
}

/// Multiplies each element, without the GIL.
#[pyfunction]
fn scale_matrix(py: Python<'_>, mut x: PyTensorMut<'_, f32, 2>, factor: f32) -> [usize; 2] {
    py.detach(|| x.elements_mut().map_in_place(|value| value * factor));
    x.dims()
}

/// Multiplies each element of an array whose dtype is known at run time only.
#[pyfunction]
fn scale_any(mut x: PyTensorMut<'_>, factor: f64) -> PyResult<()> {
    x.elements_mut::<f64>()?.map_in_place(|value| value * factor);
    Ok(())
}

/// Writes the sums of two arrays to a third, and returns it.
#[pyfunction]
fn add_into<'py>(
    x: PyTensor<'_, f32>,
    y: PyTensor<'_, f32>,
    mut out: PyTensorMut<'py, f32>,
) -> PyResult<PyTensorMut<'py, f32>> {
    let sums: Vec<f32> = x.elements().iter().zip(y.elements().iter()).map(|(x, y)| x + y).collect();
    out.elements_mut().copy_from_slice(&sums)?;
    Ok(out)
}

/// Points with three coordinates.
#[derive(DLPackImport)]
#[dlpack(shape(count, 3))]
struct Points {
    count: usize,
    data: ImportedStorage<f64>,
}

impl Points {
    fn centroid(&self) -> PyResult<Vec<f64>> {
        let values = self.data.elements()?.to_vec()?;
        let sum = |axis: usize| values.iter().skip(axis).step_by(3).sum::<f64>();
        #[expect(clippy::cast_precision_loss, reason = "there are few points")]
        Ok((0..3).map(|axis| sum(axis) / self.count as f64).collect())
    }
}

/// The mean of some points.
#[pyfunction]
fn centroid(points: FromTensor<Points>) -> PyResult<Vec<f64>> {
    points.centroid()
}

/// Bytes or `float32`s.
#[derive(DLPackImport)]
enum Listed {
    Bytes(Flat<u8>),
    Floats(Flat<f32>),
}

/// Elements without gaps.
#[derive(DLPackImport)]
#[dlpack(require(contiguous))]
struct Flat<T> {
    data: ImportedStorage<T>,
    shape: Vec<usize>,
}

/// The number of elements without gaps.
#[pyfunction]
fn flat(x: FromTensor<Flat<f32>>) -> usize {
    count_of(&x)
}

/// Elements in column-major order.
#[derive(DLPackImport)]
#[dlpack(order = column_major)]
struct ByColumns {
    data: ImportedStorage<f32>,
    shape: [usize; 2],
}

/// The number of elements in column-major order.
#[pyfunction]
fn by_columns(x: FromTensor<ByColumns>) -> usize {
    let _ = &x.data;
    x.shape.iter().product()
}

/// The same for two dtypes.
#[pyfunction]
fn flat_of_two(x: FromTensor<Listed>) -> usize {
    match &x.0 {
        Listed::Bytes(bytes) => count_of(bytes),
        Listed::Floats(floats) => count_of(floats),
    }
}

fn count_of<T>(flat: &Flat<T>) -> usize {
    let _ = &flat.data;
    flat.shape.iter().product()
}

pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let arguments = PyModule::new(m.py(), "arguments")?;
    arguments.add_function(wrap_pyfunction!(matrix, m)?)?;
    arguments.add_function(wrap_pyfunction!(floats, m)?)?;
    arguments.add_function(wrap_pyfunction!(any_sum, m)?)?;
    arguments.add_function(wrap_pyfunction!(named_sum, m)?)?;
    arguments.add_function(wrap_pyfunction!(mean_as, m)?)?;
    arguments.add_function(wrap_pyfunction!(double_sum, m)?)?;
    arguments.add_function(wrap_pyfunction!(bfloats, m)?)?;
    arguments.add_function(wrap_pyfunction!(element_bits, m)?)?;
    arguments.add_function(wrap_pyfunction!(negate, m)?)?;
    arguments.add_function(wrap_pyfunction!(facts, m)?)?;
    arguments.add_function(wrap_pyfunction!(exact, m)?)?;
    arguments.add_function(wrap_pyfunction!(exact_converted, m)?)?;
    arguments.add_function(wrap_pyfunction!(at_most, m)?)?;
    arguments.add_function(wrap_pyfunction!(converted, m)?)?;
    arguments.add_function(wrap_pyfunction!(converted_bf16, m)?)?;
    arguments.add_function(wrap_pyfunction!(convert_floats, m)?)?;
    arguments.add_function(wrap_pyfunction!(convert_bytes, m)?)?;
    arguments.add_function(wrap_pyfunction!(convert_any, m)?)?;
    arguments.add_function(wrap_pyfunction!(pixels, m)?)?;
    arguments.add_function(wrap_pyfunction!(bytes, m)?)?;
    arguments.add_function(wrap_pyfunction!(points, m)?)?;
    arguments.add_function(wrap_pyfunction!(count_true, m)?)?;
    arguments.add_function(wrap_pyfunction!(convert_triangles, m)?)?;
    arguments.add_function(wrap_pyfunction!(write_points, m)?)?;
    arguments.add_function(wrap_pyfunction!(detached_sum, m)?)?;
    arguments.add_function(wrap_pyfunction!(optional, m)?)?;
    arguments.add_function(wrap_pyfunction!(listed, m)?)?;
    arguments.add_function(wrap_pyfunction!(variadic, m)?)?;
    arguments.add_function(wrap_pyfunction!(sums_on_threads, m)?)?;
    arguments.add_function(wrap_pyfunction!(pair, m)?)?;
    arguments.add_function(wrap_pyfunction!(keep, m)?)?;
    arguments.add_function(wrap_pyfunction!(same, m)?)?;
    arguments.add_function(wrap_pyfunction!(writable, m)?)?;
    arguments.add_function(wrap_pyfunction!(scale, m)?)?;
    arguments.add_function(wrap_pyfunction!(scale_matrix, m)?)?;
    arguments.add_function(wrap_pyfunction!(scale_any, m)?)?;
    arguments.add_function(wrap_pyfunction!(add_into, m)?)?;
    arguments.add_function(wrap_pyfunction!(centroid, m)?)?;
    arguments.add_function(wrap_pyfunction!(flat, m)?)?;
    arguments.add_function(wrap_pyfunction!(by_columns, m)?)?;
    arguments.add_function(wrap_pyfunction!(flat_of_two, m)?)?;
    m.add_submodule(&arguments)
}
