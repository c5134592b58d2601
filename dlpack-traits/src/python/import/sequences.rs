//! Sequences that NumPy converts: each item is read once, and what was checked is what is converted
//! ([`own_items`]).

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use crate::python::convert::{class_name, ok_unless_exit};
use crate::python::import::missing_values::{computed, exporter_of, mask_of};
use crate::python::import::object_kind::{ObjectKind, has};
use crate::python::numpy::{Mask, NumPy};

/// The most dimensions of an array of NumPy, and so of nested lists that it converts.
const MAX_NDIM: usize = 64;

/// Returns an object for NumPy to convert in place of this one, so that the items that were checked are
/// those that are converted. A sequence becomes a list, as do the sequences in it; each item is read once,
/// and one with an `__array__` becomes its array. A list of numbers is returned itself, and an object
/// that is not a sequence.
///
/// # Errors
///
/// `TypeError` for an item that is, or becomes, a masked array with a masked element: NumPy drops the
/// masks of items. `ValueError` for a sequence that contains itself; and exceptions of the sequence.
#[cold]
pub(in crate::python) fn own_items<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let hides = |array: &Bound<'_, PyAny>| {
        Ok::<_, PyErr>(matches!(mask_of(array)?, Some((Mask { hides: true, .. }, _))))
    };
    if !is_sequence(object)? {
        return Ok(object.clone());
    }
    read_items(object, &mut vec![], &mut |item, depth| {
        if exporter_of(item)?.is_none() && is_sequence(item)? {
            return Ok(None);
        }
        let (py, class, is_array) = (item.py(), item.get_type(), NumPy::is_array(item)?);
        let (mut own, mut is_masked) = (item.clone(), hides(item)?);
        if !is_array && !is_masked && (has(&class, "__array__")? || has(&class, "__dask_graph__")?)
        {
            let (computed, _) = computed(item)?;
            let numpy = py.import(intern!(py, "numpy"))?;
            let made = numpy.call_method1(intern!(py, "asanyarray"), (&computed,));
            // NumPy raises again for an item that stays.
            own = ok_unless_exit(py, made)?.unwrap_or(own);
            is_masked = hides(&computed)? || hides(&own)?;
        }
        if is_masked { Err(masked_item(object, is_array && depth == 1)?) } else { Ok(Some(own)) }
    })
}

/// Makes the error for a sequence with a masked array in it, perhaps as one of its own items.
fn masked_item(sequence: &Bound<'_, PyAny>, is_own_array: bool) -> PyResult<PyErr> {
    // `numpy.ma.array` keeps the masks of arrays in a list, and not of their items.
    let advice = if is_own_array && is_list(sequence) {
        "`numpy.ma.array(x).filled(0)` with a value for them"
    } else {
        "arrays without a mask in it"
    };
    let class = class_name(&sequence.get_type())?;
    Ok(PyTypeError::new_err(format!(
        "expected numbers without masked elements, got {class} with some; pass {advice}"
    )))
}

/// What [`read_items`] calls for an item, with its depth: it returns what takes the item's place, or
/// `None` for a sequence whose items are read, too.
type Visit<'v, 'py> =
    &'v mut dyn FnMut(&Bound<'py, PyAny>, usize) -> PyResult<Option<Bound<'py, PyAny>>>;

/// Reads the items of a sequence once, and those of the sequences in it, into lists; an exact list or
/// tuple whose items all stay is returned itself. `visit` is not called for numbers and for exact arrays
/// of NumPy, which stay. `within` has the sequences that contain this one.
///
/// # Errors
///
/// Those of `visit` and of the sequence; `ValueError` for a sequence that contains itself, which NumPy
/// would read without an end.
#[cold]
pub(in crate::python) fn read_items<'py>(
    sequence: &Bound<'py, PyAny>,
    within: &mut Vec<*mut pyo3::ffi::PyObject>,
    visit: Visit<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = sequence.py();
    py.check_signals()?;
    if within.contains(&sequence.as_ptr()) {
        return Err(PyValueError::new_err("expected numbers, got a sequence that contains itself"));
    }
    // NumPy takes what has no length, or does not iterate, for one object, and raises for more
    // dimensions.
    let len = ok_unless_exit(py, sequence.len())?;
    let items = ok_unless_exit(py, sequence.try_iter())?;
    let (Some(len), Some(items), true) = (len, items, within.len() < MAX_NDIM) else {
        return Ok(sequence.clone());
    };
    // Without an `__iter__` nothing ends the iteration but an `IndexError`, which some data sets do not
    // raise.
    let most = if has(&sequence.get_type(), "__iter__")? { usize::MAX } else { len };
    within.push(sequence.as_ptr());
    // The class of the last number; a reference, so that no other class gets its address.
    let (mut ordinary, mut has_numbers) = (None::<Bound<'_, PyType>>, false);
    let (mut all_stay, mut own) = (is_list(sequence), vec![]);
    for item in items.take(most) {
        let item = item?;
        if ordinary.as_ref().is_some_and(|class| class.as_type_ptr() == item.get_type_ptr()) {
            own.push(item);
            continue;
        }
        let class = item.get_type();
        let is_number = is_number(&item)?;
        if is_number || NumPy::is_array_class(&class)? {
            has_numbers |= is_number;
            ordinary = if is_number { Some(class) } else { ordinary };
            own.push(item);
            continue;
        }
        let read = match visit(&item, within.len())? {
            Some(read) => read,
            // NumPy raises for numbers beside sequences, of which one could contain the other.
            None if has_numbers => item.clone(),
            None => read_items(&item, within, visit)?,
        };
        all_stay &= read.is(&item);
        own.push(read);
    }
    within.pop();
    if all_stay { Ok(sequence.clone()) } else { Ok(PyList::new(py, own)?.into_any()) }
}

/// Whether an object is exactly a list or a tuple.
fn is_list(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyList>() || object.is_exact_instance_of::<PyTuple>()
}

/// Whether an object is a number of Python or of NumPy.
fn is_number(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyComplex>()
        || NumPy::is_scalar(object)?)
}

/// Whether NumPy iterates an object, because it is a sequence and neither an array nor a text.
pub(in crate::python) fn is_sequence(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return Ok(true);
    }
    let class = object.get_type();
    Ok(!object.is_instance_of::<PyString>()
        && !object.is_instance_of::<PyDict>()
        && has(&class, "__getitem__")?
        && has(&class, "__len__")?
        && ObjectKind::of(object)? == ObjectKind::Other)
}
