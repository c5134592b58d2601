//! Lists of arrays as function arguments: [`PyTensors`].

use alloc::format;
use alloc::vec::{self, Vec};
use core::fmt;
use core::ops::Deref;
use core::slice;

use pyo3::Borrowed;
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use super::PyTensor;
use super::checks::ANY_RANK;
use crate::import::{AnyElement, ImportedElement};
use crate::python::convert::{class_name, ok_unless_exit};
use crate::python::import::object_kind::{ObjectKind, is_a};

/// A list of arrays as an argument of a `#[pyfunction]` or a method, and `*args`: each item is
/// converted as a [`PyTensor`] is.
///
/// It accepts a list, a tuple, and every other `collections.abc.Sequence` of arrays, such as a
/// `deque`. It is a slice of [`PyTensor`]s by `Deref`.
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::python::PyTensors;
/// use pyo3::prelude::*;
///
/// /// The number of elements of all arrays.
/// #[pyfunction]
/// #[pyo3(signature = (*arrays))]
/// fn total(arrays: PyTensors<'_, f32>) -> i64 {
///     arrays.iter().map(|array| array.numel()).sum()
/// }
/// ```
///
/// The items of lists, tuples and their subclasses are those that the object stores; a `__len__`
/// or `__iter__` of a subclass is not called, and memory is reserved for stored items only. PyO3's
/// `Vec<PyTensor>` allocates as much as `len()` returns.
///
/// # Errors
///
/// Python raises
/// - `TypeError` if the argument is not a sequence, and for a single array,
/// - for an item that is not accepted the exception of [`PyTensor`], whose message begins with
///   the index: "item 2: expected float32, got float64".
pub struct PyTensors<'py, T = AnyElement, const N: usize = ANY_RANK>(Vec<PyTensor<'py, T, N>>);

impl<'py, T: ImportedElement, const N: usize> FromPyObject<'_, 'py> for PyTensors<'py, T, N> {
    type Error = PyErr;
    #[cfg(feature = "stubs")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = pyo3::type_hint_subscript!(
        pyo3::type_hint_identifier!("collections.abc", "Sequence"),
        super::super::stubs::Argument::<T, N, ANY_RANK>::HINT
    );

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let mut arrays = Vec::new();
        if let Ok(list) = object.cast::<PyList>() {
            reserve(&mut arrays, list.len())?;
            list.iter().try_for_each(|item| push(&mut arrays, &item))?;
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            reserve(&mut arrays, tuple.len())?;
            tuple.iter().try_for_each(|item| push(&mut arrays, &item))?;
        } else {
            let items = items_of(&object)?.try_iter()?;
            items.into_iter().try_for_each(|item| push(&mut arrays, &item?))?;
        }
        Ok(Self(arrays))
    }
}

/// Returns the object if its items can be arrays.
///
/// # Errors
///
/// `TypeError` for one array, a text, and every object that is not a sequence.
#[cold]
fn items_of<'a, 'py>(object: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyAny>> {
    let class = class_name(&object.get_type())?;
    let kind = ObjectKind::of(object)?;
    if kind.is_tensor() || matches!(kind, ObjectKind::Array | ObjectKind::Buffer) {
        return Err(PyTypeError::new_err(format!(
            "expected a list or tuple of arrays, got one array, of type {class}; pass `[x]`"
        )));
    }
    if object.is_instance_of::<PyString>() || !is_a(object, "Sequence")? {
        let advice = if is_a(object, "ValuesView")? { "; pass `[*x]`" } else { "" };
        return Err(PyTypeError::new_err(format!(
            "expected a list or tuple of arrays, got an object of type {class}{advice}"
        )));
    }
    Ok(object)
}

/// Reserves memory for items that a list or tuple stores.
fn reserve<T>(arrays: &mut Vec<T>, additional: usize) -> PyResult<()> {
    arrays
        .try_reserve(additional)
        .map_err(|_| PyMemoryError::new_err(format!("no memory for a list of {additional} arrays")))
}

/// Converts the next item.
fn push<'py, T: ImportedElement, const N: usize>(
    arrays: &mut Vec<PyTensor<'py, T, N>>,
    item: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let index = arrays.len();
    let array =
        item.extract().map_err(|error| in_place(item.py(), &format!("item {index}"), error))?;
    if arrays.len() == arrays.capacity() {
        reserve(arrays, index.max(4))?;
    }
    arrays.push(array);
    Ok(())
}

/// Puts the place of an argument or an item before the message of an error. An exception of another type
/// than those of this crate stays as it is, and gets a note.
#[cold]
pub(in crate::python) fn in_place(py: Python<'_>, place: &str, error: PyErr) -> PyErr {
    let class = error.get_type(py);
    let is_text = class.is(py.get_type::<PyTypeError>())
        || class.is(py.get_type::<PyOverflowError>())
        || class.is(py.get_type::<PyValueError>())
        || class.is(py.get_type::<PyBufferError>());
    let value = error.value(py);
    if !is_text {
        // `add_note` is new in Python 3.11.
        let note = value.call_method1(intern!(py, "add_note"), (format!("of {place}"),));
        return ok_unless_exit(py, note).map_or_else(|exit| exit, |_| error);
    }
    let text = match ok_unless_exit(py, value.str()) {
        Ok(text) => text,
        Err(exit) => return exit,
    };
    let text = text.as_ref().map(|text| text.to_string_lossy()).unwrap_or_default();
    let in_place = PyErr::from_type(class, format!("{place}: {text}"));
    in_place.set_cause(py, error.cause(py));
    in_place
}

impl<'py, T, const N: usize> PyTensors<'py, T, N> {
    /// The arrays in a vector.
    #[inline]
    pub fn into_vec(self) -> Vec<PyTensor<'py, T, N>> {
        self.0
    }
}

impl<'py, T, const N: usize> Deref for PyTensors<'py, T, N> {
    type Target = [PyTensor<'py, T, N>];

    #[inline]
    fn deref(&self) -> &[PyTensor<'py, T, N>] {
        &self.0
    }
}

impl<'py, T, const N: usize> IntoIterator for PyTensors<'py, T, N> {
    type Item = PyTensor<'py, T, N>;
    type IntoIter = vec::IntoIter<PyTensor<'py, T, N>>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, 'py, T, const N: usize> IntoIterator for &'a PyTensors<'py, T, N> {
    type Item = &'a PyTensor<'py, T, N>;
    type IntoIter = slice::Iter<'a, PyTensor<'py, T, N>>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T, const N: usize> fmt::Debug for PyTensors<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PyTensors").field(&self.0).finish()
    }
}
