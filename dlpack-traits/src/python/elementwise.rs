//! Functions of elements as functions of arrays: [`elementwise`], and their arguments, arrays or
//! numbers: [`Operand`].

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyTuple};
use pyo3::{Borrowed, PyTypeInfo};

use crate::dims::Dims;
use crate::dtype::DataType;
use crate::element::{Complex, Element, Readable};
use crate::export::{DLPackExport, OwnedTensor};
use crate::import::{
    Arguments, CastError, ElementFn, ImportedTensor, Kind, Map, is_allowed, is_widened, kind_of,
};
use crate::python::argument::{
    Convert, Passed, PyTensor, PyTensorMut, Shape, in_place, of_dtypes, or_with_missing, range_of,
};
use crate::python::convert::{Bounded, ok_unless_exit};
use crate::python::import::advice::Library;
use crate::python::interpreter::detached_if;
use crate::python::numpy::NumPy;
use crate::python::result::{IntoPython, PyLike};
use crate::strides::broadcast;

/// Applies a function of elements to arrays: of any library, in any layout, broadcast by NumPy's rules,
/// and mixed with numbers.
///
/// [`with`](Elementwise::with) adds a function for one combination of element types, and
/// [`finish`](Elementwise::finish) returns the result in the library of the first array:
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::python::{Operand, PyLike, PyTensorMut, elementwise};
/// use pyo3::prelude::*;
///
/// /// The length of the hypotenuse.
/// #[pyfunction]
/// #[pyo3(signature = (x, y, *, out=None, threads=1))]
/// fn hypot<'py>(
///     py: Python<'py>,
///     x: Operand<'py>,
///     y: Operand<'py>,
///     out: Option<PyTensorMut<'py>>,
///     threads: usize,
/// ) -> PyResult<PyLike<'py>> {
///     elementwise(py, [x, y]).out(out).threads(threads).with(f32::hypot).with(f64::hypot).finish()
/// }
/// ```
///
/// # Types
///
/// The first function is called whose argument types keep every value of the arrays; integers are
/// also computed as `float64`. So functions of smaller types come first, and `int32` is computed by
/// `f64::hypot` here, `float16` by `f32::hypot`. A number of Python adapts to the arrays: with a
/// `float32` array, `2.0` is a `float32`. So does an `int` for an `i32` of a
/// function that also takes an `f64`. A `float` beside integers only is a `float64`, as in NumPy. An
/// `int` that does not fit in 64 bits is computed by functions of floats.
///
/// Arguments and results are element types without axes: also `bool`, `Complex`, `f16` and `bf16`.
pub const fn elementwise<'py, const N: usize>(
    py: Python<'py>,
    operands: [Operand<'py>; N],
) -> Elementwise<'py, N> {
    Elementwise { py, operands, out: None, threads: 1, accepted: Vec::new(), result: None }
}

/// How many results are computed without the GIL: 10 µs of a function that takes 3 ns.
const LONG: usize = 1 << 12;

/// A call of an elementwise function, which [`elementwise`] begins.
#[must_use = "`finish` returns the result"]
pub struct Elementwise<'py, const N: usize> {
    py: Python<'py>,
    operands: [Operand<'py>; N],
    out: Option<PyTensorMut<'py>>,
    threads: usize,
    /// The arguments of the functions that were not called.
    accepted: Vec<&'static [DataType]>,
    result: Option<PyResult<PyLike<'py>>>,
}

impl<'py, const N: usize> Elementwise<'py, N> {
    /// Writes the results to an array, which is returned: of the type of the results, and of the shape of
    /// the operands or one to which they are broadcast. It may share memory with them.
    pub fn out(self, out: Option<PyTensorMut<'py>>) -> Self {
        Self { out, ..self }
    }

    /// Computes on at most that many threads. The default is the calling one. Arrays of less than
    /// 256 KiB are computed on one.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Adds a function for one combination of element types, and calls it if the operands are computed as
    /// these types and no function before was called. If the arrays are large, other Python threads run
    /// meanwhile.
    ///
    /// A function that panics raises `PanicException`; `out` is then partly written.
    #[expect(clippy::needless_pass_by_value, reason = "closures are written in the call")]
    pub fn with<A: Arguments, F>(mut self, f: F) -> Self
    where
        F: ElementFn<A>,
        F::Output: Send + 'static,
    {
        const {
            assert!(A::DTYPES.len() == N, "the function needs one argument for each operand");
            assert!(
                F::Output::AXES.is_empty(),
                "a result is a type such as `f32`, and not an array"
            );
        }
        if self.result.is_some() {
            return self;
        }
        let most = self.highest(A::DTYPES);
        if self.operands.iter().zip(A::DTYPES).all(|(operand, &to)| operand.fits(to, most)) {
            self.result = Some(self.compute::<A, F>(&f));
        } else {
            self.accepted.push(A::DTYPES);
        }
        self
    }

    /// The highest kinds for a function of these types.
    fn highest(&self, types: &[DataType]) -> Highest {
        let arrays = self.operands.iter().filter_map(Operand::array);
        Highest {
            of_arrays: arrays.filter_map(|array| kind_of(array.dtype())).max(),
            of_types: types.iter().filter_map(|&dtype| kind_of(dtype)).max(),
        }
    }

    /// Returns the result in the library of the first array, or `out`. Numbers only make a scalar of NumPy.
    ///
    /// # Errors
    ///
    /// `TypeError` if no function computes the types of the operands, and for an `out` of another type;
    /// `ValueError` for shapes that cannot be broadcast together; `OverflowError` for a number that the type
    /// of the arrays does not have; `MemoryError`; what the library raises.
    pub fn finish(self) -> PyResult<PyLike<'py>> {
        match self.result {
            Some(result) => result,
            None => Err(self.not_computed()),
        }
    }

    /// Calls a function whose types the operands have, or are converted to.
    fn compute<A: Arguments, F>(&mut self, f: &F) -> PyResult<PyLike<'py>>
    where
        F: ElementFn<A>,
        F::Output: Send + 'static,
    {
        let (py, operands, threads) = (self.py, &self.operands, self.threads);
        let shape = operands.iter().try_fold(Cow::Borrowed(&[][..]), |shape, operand| {
            broadcast(&shape, operand.tensor().shape()).ok_or_else(|| not_together(operands))
        })?;
        let Some(mut out) = self.out.take() else {
            let mut result = OwnedTensor::<F::Output>::zeroed(&shape[..])?;
            let to = result.as_mut_slice();
            detached_if(py, to.len() >= LONG, || -> PyResult<()> {
                let made = made_for(operands, A::DTYPES, &shape)?;
                Map::<A, F>::new(&chosen(operands, &made), &shape, f)?.to_slice(to, threads)?;
                Ok(())
            })?;
            return returned(py, result, operands);
        };
        if out.dtype() != F::Output::DTYPE {
            return Err(out.dtype_error(py, "out", &[F::Output::DTYPE]));
        }
        let to_shape = Dims::of(out.shape())?.into_owned()?;
        let to_shape = to_shape.as_slice();
        if broadcast(&shape, to_shape).as_deref() != Some(to_shape) {
            return Err(PyValueError::new_err(format!(
                "expected `out` of shape {}, got {}",
                Shape(&shape),
                Shape(to_shape)
            )));
        }
        let overlaps = |operand: &Operand<'_>| {
            let from = operand.tensor();
            let is_same = from.data_ptr() == out.data_ptr()
                && from.dtype() == out.dtype()
                && from.shape() == out.shape()
                && from.strides() == out.strides();
            !is_same && from.overlaps(&out)
        };
        let overlaps = operands.iter().any(overlaps);
        let len = usize::try_from(out.numel()).unwrap_or(0);
        detached_if(py, len >= LONG, || -> PyResult<()> {
            let made = made_for(operands, A::DTYPES, to_shape)?;
            let from = chosen(operands, &made);
            let map = Map::<A, F>::new(&from, to_shape, f)?;
            let mut to = out.elements_mut::<F::Output>()?;
            if overlaps {
                let mut results = OwnedTensor::<F::Output>::zeroed(to_shape)?;
                map.to_slice(results.as_mut_slice(), threads)?;
                to.copy_from_slice(results.as_slice())?;
            } else {
                map.to_elements(&to, threads)?;
            }
            Ok(())
        })?;
        Ok(out.as_object().bind(py).clone().into())
    }

    /// The error for operands that no function computes.
    #[cold]
    fn not_computed(&self) -> PyErr {
        let accepted = |at: usize| {
            let mut types: Vec<DataType> = Vec::new();
            for dtype in self.accepted.iter().filter_map(|types| types.get(at)) {
                if !types.contains(dtype) {
                    types.push(*dtype);
                }
            }
            types
        };
        for (at, operand) in self.operands.iter().enumerate() {
            let fits = |types: &&[DataType]| {
                types.get(at).is_some_and(|&to| operand.fits(to, self.highest(types)))
            };
            if !self.accepted.iter().any(fits) {
                return of_argument::<N>(at, operand.dtype_error(self.py, &accepted(at)));
            }
        }
        let list = |types: &mut dyn Iterator<Item = DataType>| {
            let names: Vec<String> = types.map(|dtype| dtype.to_string()).collect();
            format!("({})", names.join(", "))
        };
        let accepted: Vec<String> =
            self.accepted.iter().map(|types| list(&mut types.iter().copied())).collect();
        let found = list(&mut self.operands.iter().map(|operand| operand.tensor().dtype()));
        PyTypeError::new_err(format!("expected {}, got {found}", accepted.join(" or ")))
    }
}

impl<const N: usize> fmt::Debug for Elementwise<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Elementwise").field(&self.operands).finish()
    }
}

/// The error with the number of the argument, if there are several.
#[cold]
fn of_argument<const N: usize>(at: usize, error: PyErr) -> PyErr {
    let place = format!("argument {}", at.saturating_add(1));
    if N > 1 { Python::attach(|py| in_place(py, &place, error)) } else { error }
}

/// The operands that are not used as they are: converted to the types of a function, or repeated to a shape.
fn made_for<const N: usize>(
    operands: &[Operand<'_>; N],
    types: &[DataType],
    shape: &[i64],
) -> PyResult<[Option<ImportedTensor>; N]> {
    let mut all = [const { None }; N];
    for (at, ((to, operand), &dtype)) in all.iter_mut().zip(operands).zip(types).enumerate() {
        let made = operand.converted(dtype).map_err(|error| match error {
            CastError::Tensor(error) => error.into(),
            _ => of_argument::<N>(at, operand.does_not_fit(dtype)),
        })?;
        let tensor = made.as_ref().unwrap_or_else(|| operand.tensor());
        *to = if tensor.shape() == shape { made } else { Some(tensor.repeated(shape)?) };
    }
    Ok(all)
}

/// The tensors that are made, and otherwise those of the operands.
fn chosen<'a, const N: usize>(
    operands: &'a [Operand<'_>; N],
    made: &'a [Option<ImportedTensor>; N],
) -> [&'a ImportedTensor; N] {
    let mut made = made.iter();
    operands.each_ref().map(|operand| {
        let made = made.next().and_then(Option::as_ref);
        made.unwrap_or_else(|| operand.tensor())
    })
}

#[cold]
fn not_together(operands: &[Operand<'_>]) -> PyErr {
    let shapes: Vec<String> =
        operands.iter().map(|operand| Shape(operand.tensor().shape()).to_string()).collect();
    PyValueError::new_err(format!(
        "expected shapes that can be broadcast together, got {}",
        shapes.join(" and ")
    ))
}

/// Converts the result to an array of the library of the first array; of numbers, to a scalar. An object
/// that NumPy converted, such as a list, counts if there is no array.
fn returned<'py, R: Readable + Send + 'static>(
    py: Python<'py>,
    result: OwnedTensor<R>,
    operands: &[Operand<'py>],
) -> PyResult<PyLike<'py>> {
    let mut first = None;
    for operand in operands {
        if let Value::Array { array, given } = &operand.0 {
            if array.as_object().is(given) || NumPy::is_array(given.bind(py))? {
                return result.into_object_like(py, array);
            }
            first = first.or(Some(array));
        }
    }
    match first {
        Some(array) => result.into_object_like(py, array),
        None => result.into_numpy(py)?.get_item(PyTuple::empty(py)).map(PyLike::from),
    }
}

/// The highest kinds of the arrays among the operands, and of the types of a function.
#[derive(Clone, Copy)]
struct Highest {
    of_arrays: Option<Kind>,
    of_types: Option<Kind>,
}

/// An argument of [`elementwise`](crate::python::elementwise): an array of any library, dtype and
/// layout, an object that NumPy converts, or a number of Python.
#[derive(Debug)]
pub struct Operand<'py>(Value<'py>);

#[derive(Debug)]
enum Value<'py> {
    Array {
        array: PyTensor<'py>,
        /// What was passed; the object of the array is one of NumPy if NumPy converted this.
        given: Py<PyAny>,
    },
    /// A number of Python. Its type adapts to that of the arrays.
    Number {
        tensor: ImportedTensor,
        /// The type of the number, which is not that of the tensor if an `int` is stored as a float.
        dtype: DataType,
        object: Py<PyAny>,
    },
}

impl<'a, 'py> FromPyObject<'a, 'py> for Operand<'py> {
    type Error = PyErr;
    #[cfg(feature = "stubs")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::stubs::ARRAY_LIKE;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        // Subclasses, such as `numpy.float64`, have a type that does not adapt.
        let mut dtype = None;
        let tensor = if PyFloat::is_exact_type_of(&object) {
            scalar(object.extract::<f64>()?)?
        } else if PyBool::is_exact_type_of(&object) {
            scalar(object.extract::<bool>()?)?
        } else if PyInt::is_exact_type_of(&object) {
            if let Ok(value) = object.extract::<i64>() {
                scalar(value)?
            } else if let Ok(value) = object.extract::<u64>() {
                scalar(value)?
            } else {
                // A function of floats computes it, as in NumPy.
                dtype = Some(DataType::I64);
                scalar(object.extract::<f64>().map_err(|_| beyond_floats(&object))?)?
            }
        } else if PyComplex::is_exact_type_of(&object) {
            let value = object.cast::<PyComplex>()?;
            scalar(Complex { re: value.real(), im: value.imag() })?
        } else {
            let Convert(array) = object.extract()?;
            return Ok(Self(Value::Array { array, given: object.to_owned().unbind() }));
        };
        let dtype = dtype.unwrap_or(tensor.dtype());
        Ok(Self(Value::Number { tensor, dtype, object: object.to_owned().unbind() }))
    }
}

impl<'py> Operand<'py> {
    /// The array or the number as a tensor.
    const fn tensor(&self) -> &ImportedTensor {
        match &self.0 {
            Value::Array { array, .. } => &array.tensor,
            Value::Number { tensor, .. } => tensor,
        }
    }

    /// The array; `None` for a number.
    const fn array(&self) -> Option<&PyTensor<'py>> {
        match &self.0 {
            Value::Array { array, .. } => Some(array),
            Value::Number { .. } => None,
        }
    }

    /// The type of the elements or the number.
    fn dtype(&self) -> DataType {
        match &self.0 {
            Value::Array { array, .. } => array.dtype(),
            Value::Number { dtype, .. } => *dtype,
        }
    }

    /// Whether this is computed as elements of a type. A number adapts if an array has its kind or a higher
    /// one, or another argument of the function is of a higher kind, as for `f64::powi`.
    fn fits(&self, to: DataType, most: Highest) -> bool {
        let from = self.dtype();
        let kind = kind_of(from);
        let has_kind = self.array().is_none() && kind <= kind_of(to);
        if has_kind && kind <= most.of_arrays {
            return true;
        }
        is_widened(from, to)
            || (has_kind && kind_of(to) < most.of_types && self.converted(to).is_ok())
    }

    /// The elements as another type; `None` if they are of this type.
    fn converted(&self, to: DataType) -> Result<Option<ImportedTensor>, CastError> {
        let tensor = self.tensor();
        if tensor.dtype() == to { Ok(None) } else { tensor.cast(to).map(Some) }
    }

    /// The error for an array of a type that is not computed.
    fn dtype_error(&self, py: Python<'_>, expected: &[DataType]) -> PyErr {
        match &self.0 {
            Value::Array { array, given } => {
                let error = array.error_of_dtypes(py, expected, None);
                or_with_missing(given.bind(py), expected, error)
            }
            Value::Number { tensor, dtype, object } => {
                let has_kind = |to: &&DataType| kind_of(*dtype) <= kind_of(**to);
                let mut known = expected.iter().filter(has_kind).peekable();
                if let Some(&&to) = known.peek() {
                    if known.all(|&to| self.converted(to).is_err()) {
                        return self.does_not_fit(to);
                    }
                }
                // A conversion drops a part of the number. NumPy makes an array of objects of a large `int`.
                let is_lost = !expected.iter().any(|&to| is_allowed(*dtype, to));
                let library = (is_lost || *dtype != tensor.dtype()).then_some(Library::Unknown);
                let passed = Passed { object: object.bind(py), library };
                of_dtypes(passed, tensor, expected, None, "")
            }
        }
    }

    /// The error for a number that a type does not have.
    #[cold]
    fn does_not_fit(&self, to: DataType) -> PyErr {
        let text = Python::attach(|py| match &self.0 {
            Value::Number { object, .. } => {
                // Python prints no number of more than 4300 digits.
                let text = ok_unless_exit(py, object.bind(py).repr())?;
                Ok(text.map(|text| format!(", {}", Bounded(&text.to_string_lossy()))))
            }
            Value::Array { .. } => Ok(None),
        });
        let value = match text {
            Ok(value) => value.unwrap_or_default(),
            Err(exit) => return exit,
        };
        let advice = range_of(to).map(|numbers| format!("; pass {numbers}")).unwrap_or_default();
        PyOverflowError::new_err(format!(
            "expected {to}, got a number that does not fit{value}{advice}"
        ))
    }
}

/// The error for an `int` that no function computes.
#[cold]
fn beyond_floats(number: &Bound<'_, PyAny>) -> PyErr {
    let bits = number.call_method0("bit_length").and_then(|bits| bits.extract::<u64>());
    bits.map_or_else(|error| error, |bits| {
        PyOverflowError::new_err(format!(
            "expected a number, got an `int` of {bits} bits, which fits in no integer and no float; \
             pass numbers between -2**1023 and 2**1023"
        ))
    })
}

/// A tensor without dimensions.
fn scalar<T: Element>(value: T) -> PyResult<ImportedTensor> {
    Ok(OwnedTensor::scalar(value).into_dlpack()?.import()?)
}
