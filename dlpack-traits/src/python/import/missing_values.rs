//! Elements without a value. Masked ones are rejected: [`check_mask`], [`check_items`]. For a column
//! with missing ones, of whose integers NumPy makes floats, there is advice: [`filled`].

use alloc::format;
use alloc::string::String;
use alloc::vec;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyDict, PyFloat, PyInt, PyList, PyRange, PySlice, PyString, PyTuple};
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
    let mut cures = vec![];
    if is_of_numpy {
        // Tried with an element: records cannot be compressed, and not every field has a zero.
        let element = || {
            let holder = if part.is_empty() { object.clone() } else { object.getattr("data")? };
            holder.getattr(intern!(py, "flat"))?.get_item(PySlice::new(py, 0, 1, 1))
        };
        let filled = element().and_then(|element| element.call_method1("filled", (0,)));
        if ok_unless_exit(py, filled)?.is_some() {
            cures.push(format!("`{x}.filled(0)` with a value for them"));
        }
        let compressed = element().and_then(|element| element.call_method0("compressed"));
        if ok_unless_exit(py, compressed)?.is_some() {
            cures.push(format!("`{x}.compressed()` without them"));
        }
    } else {
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

/// Rejects a list, and every other sequence that NumPy makes an array of, with a masked array that has a
/// masked element: NumPy drops the masks of items. Accepts other objects.
///
/// # Errors
///
/// Those of [`check_mask`].
#[cold]
pub(in crate::python) fn check_items(sequence: &Bound<'_, PyAny>) -> PyResult<()> {
    let hides = |array: &Bound<'_, PyAny>| {
        Ok::<_, PyErr>(matches!(mask_of(array)?, Some((Mask { hides: true, .. }, _))))
    };
    let mut found = None;
    visit_items(sequence, 1, &mut |item, depth| {
        let (py, class, is_array) = (item.py(), item.get_type(), NumPy::is_array(item)?);
        let made_by_numpy =
            !is_array && (has(&class, "__array__")? || has(&class, "__dask_graph__")?);
        if !is_array && !made_by_numpy && !passes_on(&class)? {
            return Ok(Visited::OfOrdinaryClass);
        }
        let mut is_masked = hides(item)?;
        if made_by_numpy && !is_masked {
            let (computed, _) = computed(item)?;
            let numpy = py.import(intern!(py, "numpy"))?;
            let made = numpy.call_method1(intern!(py, "asanyarray"), (&computed,));
            is_masked = hides(&computed)?
                || ok_unless_exit(py, made)?.map_or(Ok(false), |made| hides(&made))?;
        }
        if !is_masked {
            return Ok(Visited::Item);
        }
        found = Some(is_array && depth == 1);
        Ok(Visited::Last)
    })?;
    let Some(is_array) = found else { return Ok(()) };
    let is_list =
        sequence.is_exact_instance_of::<PyList>() || sequence.is_exact_instance_of::<PyTuple>();
    // `numpy.ma.array` keeps the masks of arrays in a list, and not of their items.
    let advice = if is_array && is_list {
        "`numpy.ma.array(x).filled(0)` with a value for them"
    } else {
        "arrays without a mask in it"
    };
    Err(PyTypeError::new_err(format!(
        "expected numbers without masked elements, got {} with some; pass {advice}",
        class_name(&sequence.get_type())?
    )))
}

/// What [`visit_items`] does after an item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::python) enum Visited {
    Item,
    /// It skips the next items of the same class.
    OfOrdinaryClass,
    /// It ends.
    Last,
}

/// Visits each item of a sequence, and of the sequences in it, that is neither a number nor a sequence
/// nor exactly an array of NumPy, with its depth. An object that is not a sequence has no items. Returns
/// whether an item was the last.
///
/// # Errors
///
/// Those of `visit`, and exceptions that are not about the object.
#[cold]
pub(in crate::python) fn visit_items(
    sequence: &Bound<'_, PyAny>,
    depth: usize,
    visit: &mut dyn FnMut(&Bound<'_, PyAny>, usize) -> PyResult<Visited>,
) -> PyResult<bool> {
    let py = sequence.py();
    if depth > MAX_NDIM || !is_sequence(sequence)? {
        return Ok(false);
    }
    py.check_signals()?;
    // NumPy iterates again, and would find no item of what iterates once.
    if !iterates_again(sequence)? {
        return Ok(false);
    }
    let (mut ordinary, mut has_numbers) = (core::ptr::null_mut(), false);
    let Some(items) = ok_unless_exit(py, sequence.try_iter())? else { return Ok(false) };
    for item in items {
        // NumPy raises.
        let Some(item) = ok_unless_exit(py, item)? else { return Ok(false) };
        let class = item.get_type_ptr();
        if class == ordinary {
            continue;
        }
        if is_number(&item)? {
            (ordinary, has_numbers) = (class, true);
        } else if is_sequence(&item)? {
            // NumPy raises for numbers beside sequences, of which one could contain the other.
            if has_numbers {
                return Ok(false);
            }
            if visit_items(&item, depth.saturating_add(1), visit)? {
                return Ok(true);
            }
        } else if NumPy::is_array_class(&item.get_type())? {
            ordinary = class;
        } else {
            match visit(&item, depth)? {
                Visited::Item => {}
                Visited::OfOrdinaryClass => ordinary = class,
                Visited::Last => return Ok(true),
            }
        }
    }
    Ok(false)
}

/// Returns the items of a sequence that may iterate only once as a list, and other objects themselves.
///
/// # Errors
///
/// Exceptions that are not about the object.
#[cold]
pub(in crate::python) fn read_once<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if !is_sequence(object)? || iterates_again(object)? {
        return Ok(object.clone());
    }
    let items = ok_unless_exit(py, py.get_type::<PyList>().call1((object,)))?;
    Ok(items.unwrap_or_else(|| object.clone()))
}

/// Whether a sequence iterates as often as it is read: by the method of a class that is known to. Another
/// `__iter__` may pass its items once.
fn iterates_again(sequence: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = sequence.py();
    if sequence.is_exact_instance_of::<PyList>() || sequence.is_exact_instance_of::<PyTuple>() {
        return Ok(true);
    }
    let name = intern!(py, "__iter__");
    let Some(own) = sequence.get_type().getattr_opt(name)? else { return Ok(true) };
    let deque = py.import(intern!(py, "collections"))?.getattr(intern!(py, "deque"))?;
    let abstract_class =
        py.import(intern!(py, "collections.abc"))?.getattr(intern!(py, "Sequence"))?;
    let known = [
        py.get_type::<PyList>().into_any(),
        py.get_type::<PyTuple>().into_any(),
        py.get_type::<PyRange>().into_any(),
        deque,
        abstract_class,
    ];
    for class in known {
        if class.getattr(name)?.is(&own) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an object is a number of Python or of NumPy.
fn is_number(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyComplex>()
        || NumPy::is_scalar(object)?)
}

/// Whether NumPy iterates an object, because it is a sequence and neither an array nor a text.
fn is_sequence(object: &Bound<'_, PyAny>) -> PyResult<bool> {
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
