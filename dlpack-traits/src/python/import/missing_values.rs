//! Elements without a value. Masked ones are rejected: [`check_mask`], [`own_items`]. For a column
//! with missing ones, of whose integers NumPy makes floats, there is advice: [`filled`].

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyDict, PyFloat, PyInt, PyList, PySlice, PyString, PyTuple, PyType};
use pyo3::{IntoPyObjectExt, intern};

use crate::python::convert::{class_name, ok_unless_exit};
use crate::python::import::object_kind::{ObjectKind, has, kind_of_dtype};
use crate::python::numpy::{Mask, NumPy};
use crate::python::table::owner_class::passes_on;

/// The most dimensions of an array of NumPy, and so of nested lists that it converts.
const MAX_NDIM: usize = 64;

/// Rejects an array of NumPy with a masked element, and a wrapper of one.
///
/// # Errors
///
/// `TypeError`, and what NumPy raises.
#[cold]
pub(in crate::python) fn check_mask(object: &Bound<'_, PyAny>) -> PyResult<()> {
    check_mask_of(object, "x")
}

/// As [`check_mask`], for an object that the expression `x` makes.
///
/// # Errors
///
/// Those of [`check_mask`].
#[cold]
pub(in crate::python) fn check_mask_of(object: &Bound<'_, PyAny>, x: &str) -> PyResult<()> {
    let Some((Mask { hides: true, is_of_numpy }, part)) = mask_of(object)? else { return Ok(()) };
    let py = object.py();
    let x = format!("{x}{part}");
    let holder = if part.is_empty() { object.clone() } else { object.getattr("data")? };
    let mut cures = vec![];
    if is_of_numpy {
        // Tried with an element: records cannot be compressed, and not every field has a zero.
        let element = || holder.getattr(intern!(py, "flat"))?.get_item(PySlice::new(py, 0, 1, 1));
        let filled = element().and_then(|element| element.call_method1("filled", (0,)));
        if ok_unless_exit(py, filled)?.is_some() {
            cures.push(format!("`{x}.filled(0)` with a value for them"));
        }
        let compressed = element().and_then(|element| element.call_method0("compressed"));
        if ok_unless_exit(py, compressed)?.is_some() {
            cures.push(format!("`{x}.compressed()` without them"));
        }
    } else if has(&holder.get_type(), "filled")? && has(&holder.get_type(), "unmasked")? {
        cures.push(format!("`{x}.filled(0)` with a value for them"));
        cures.push(format!("`{x}.unmasked[~{x}.mask]` without them"));
    }
    let advice = if cures.is_empty() { "" } else { "; pass " };
    Err(PyTypeError::new_err(format!(
        "expected an array without masked elements, got {} with some{advice}{}",
        class_name(&object.get_type())?,
        cures.join(", or ")
    )))
}

/// Returns what NumPy makes an array of with its mask, and an expression for this array: an object
/// itself, or the result of a lazy collection of Dask, whose `__array__` drops masks.
///
/// # Errors
///
/// What the computation raises.
#[cold]
pub(in crate::python) fn computed<'py>(
    object: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, &'static str)> {
    let py = object.py();
    let graph = intern!(py, "__dask_graph__");
    // A wrapper has the method whether it wraps a collection or not, and then returns `None`.
    let wraps =
        || Ok(has(&object.get_type(), "__dask_graph__")? && !object.call_method0(graph)?.is_none());
    if ok_unless_exit(py, wraps())? == Some(true) {
        return Ok((object.call_method0(intern!(py, "compute"))?, "x.compute()"));
    }
    Ok((object.clone(), "numpy.asanyarray(x)"))
}

/// The mask of an array of NumPy, or of the one in a wrapper, and the attribute of the wrapper that
/// returns this array. A wrapper passes on attributes of an array, as `pint.Quantity` does, or has
/// one as `data`, as `xarray.DataArray` does.
///
/// # Errors
///
/// Those of [`NumPy::masked`].
#[cold]
pub(in crate::python) fn mask_of(
    object: &Bound<'_, PyAny>,
) -> PyResult<Option<(Mask, &'static str)>> {
    let (py, class) = (object.py(), object.get_type());
    let data = if passes_on(&class)? && has(&class, "data")? {
        ok_unless_exit(py, object.getattr(intern!(py, "data")))?
    } else {
        None
    };
    for (holder, part) in [(Some(object), ""), (data.as_ref(), ".data")] {
        let Some(holder) = holder else { continue };
        let Some(array) = exporter_of(holder)? else { continue };
        if NumPy::is_array(&array)? {
            return Ok(NumPy::masked(&array)?.map(|mask| (mask, part)));
        }
    }
    Ok(None)
}

/// The object whose `__dlpack__` an object has: itself, or the one whose method it passes on.
///
/// # Errors
///
/// Those of [`ok_unless_exit`], and of an import of NumPy.
#[cold]
pub(in crate::python) fn exporter_of<'py>(
    object: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, class) = (object.py(), object.get_type());
    if has(&class, "__dlpack__")? {
        return Ok(Some(object.clone()));
    }
    if !passes_on(&class)? {
        return Ok(None);
    }
    let owner = || object.getattr(intern!(py, "__dlpack__"))?.getattr(intern!(py, "__self__"));
    let Some(owner) = ok_unless_exit(py, owner())? else { return Ok(None) };
    // Not the module of a function.
    if !has(&owner.get_type(), "__dlpack__")? {
        return Ok(None);
    }
    NumPy::of_class(&owner.get_type())?;
    Ok(Some(owner))
}

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

/// The methods of columns that replace missing values: of pandas; of polars and Arrow.
const METHODS: [&str; 2] = ["fillna", "fill_null"];

/// An expression for an object `x` without its missing values, if `accepts` returns `true` for it.
///
/// # Errors
///
/// Those of [`check_mask`].
#[cold]
pub(in crate::python) fn filled<'py>(
    object: &Bound<'py, PyAny>,
    accepts: impl Fn(&Bound<'py, PyAny>) -> PyResult<bool>,
) -> PyResult<Option<String>> {
    let (py, class) = (object.py(), object.get_type());
    for method in METHODS {
        if !has(&class, method)? {
            continue;
        }
        // A wrapper of a masked array has the method, too.
        check_mask(object)?;
        let (zero, no) = (0_u8.into_bound_py_any(py)?, false.into_bound_py_any(py)?);
        let values = match kind_of_dtype(object)? {
            Some('i' | 'u') => vec![zero],
            Some('b') => vec![no],
            Some(_) => vec![],
            None => vec![zero, no],
        };
        for value in values {
            let filled = object.call_method1(method, (&value,));
            let accepted = filled.and_then(|filled| accepts(&filled));
            if ok_unless_exit(py, accepted)? == Some(true) {
                return Ok(Some(format!("x.{method}({value})")));
            }
        }
    }
    Ok(None)
}

/// As [`filled`], if NumPy makes an array with one of these kinds of that only, and not of the
/// object.
///
/// # Errors
///
/// Those of [`filled`].
#[cold]
pub(in crate::python) fn filled_numbers(
    object: &Bound<'_, PyAny>,
    kinds: &str,
) -> PyResult<Option<String>> {
    let py = object.py();
    let is_made = |object: &Bound<'_, PyAny>| -> PyResult<bool> {
        let array =
            py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "asarray"), (object,));
        Ok(kind_of_dtype(&array?)?.is_some_and(|kind| kinds.contains(kind)))
    };
    filled(object, |filled| Ok(is_made(filled)? && !is_made(object)?))
}
