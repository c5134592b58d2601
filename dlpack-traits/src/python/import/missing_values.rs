//! Elements without a value. Masked ones are rejected: [`check_mask`]. For a column with missing
//! ones, of whose integers NumPy makes floats, there is advice: [`filled`]. Lazy and sparse arrays and data
//! frames are recognized here, because NumPy drops their masks, or makes objects of them.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PySlice;
use pyo3::{IntoPyObjectExt, intern};

use crate::python::convert::{class_name, ok_unless_exit};
use crate::python::import::object_kind::{NUMBERS, has, kind_of_dtype};
use crate::python::numpy::{Mask, NumPy};
use crate::python::table::owner_class::passes_on;

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
    if is_lazy(object)? {
        return Ok((object.call_method0(intern!(object.py(), "compute"))?, "x.compute()"));
    }
    Ok((object.clone(), "numpy.asanyarray(x)"))
}

/// Whether an object is a lazy array of Dask whose blocks are masked arrays. Its `__array__` drops the masks.
///
/// # Errors
///
/// Those of [`is_lazy`] and [`mask_of`].
pub(in crate::python) fn is_masked_if_computed(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !is_lazy(object)? {
        return Ok(false);
    }
    // An array without elements, of the class of the blocks.
    let block = ok_unless_exit(object.py(), object.getattr(intern!(object.py(), "_meta")))?;
    block.map_or(Ok(false), |block| Ok(mask_of(&block)?.is_some()))
}

/// Whether an object is a lazy collection of Dask, or wraps one.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
pub(in crate::python) fn is_lazy(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let graph = intern!(py, "__dask_graph__");
    let class = object.get_type();
    if !has(&class, "__dask_graph__")? {
        // One that passes on the method of a collection, and leaves it to be read.
        if !passes_on(&class)? || has(&class, "__array__")? {
            return Ok(false);
        }
        let owner = || object.getattr(graph)?.getattr(intern!(py, "__self__"));
        let Some(owner) = ok_unless_exit(py, owner())? else { return Ok(false) };
        if !has(&owner.get_type(), "__dask_graph__")? {
            return Ok(false);
        }
    }
    // A wrapper has the method whether it wraps a collection or not, and then returns `None`.
    let graph = ok_unless_exit(py, object.call_method0(graph))?;
    Ok(graph.is_some_and(|graph| !graph.is_none()))
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
    let data = if passes_on(&class)? {
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

/// The expression of an array of all elements of a sparse array, of which NumPy makes none.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
pub(in crate::python) fn dense(object: &Bound<'_, PyAny>, x: &str) -> PyResult<Option<String>> {
    let class = object.get_type();
    if !has(&class, "todense")? || !has(&class, "nnz")? {
        return Ok(None);
    }
    // `todense` of scipy returns a matrix.
    let method = if has(&class, "toarray")? { "toarray" } else { "todense" };
    Ok(Some(format!("{x}.{method}()")))
}

/// The methods of columns that replace missing values: of pandas; of polars and Arrow.
const METHODS: [&str; 2] = ["fillna", "fill_null"];

/// Whether an object is a column in memory, which may have missing values.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
pub(in crate::python) fn is_column(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = object.get_type();
    Ok((has(&class, METHODS[0])? || has(&class, METHODS[1])?) && !is_lazy(object)?)
}

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
    if !is_column(object)? || !has_columns_of_numbers(object)? {
        return Ok(None);
    }
    for method in METHODS {
        if !has(&class, method)? {
            continue;
        }
        // A wrapper of a masked array has the method, too.
        check_mask(object)?;
        let (zero, no) = (0_u8.into_bound_py_any(py)?, false.into_bound_py_any(py)?);
        let values = match kind_of_dtype(object)? {
            Some('i' | 'u' | 'f') => vec![zero],
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

/// The array that NumPy makes of an object.
///
/// # Errors
///
/// What NumPy raises.
#[cold]
pub(in crate::python) fn array_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    let array = numpy.call_method1(intern!(py, "asarray"), (object,))?;
    Ok(by_columns(object, &array)?.unwrap_or(array))
}

/// The array of a data frame by columns, if NumPy makes one of objects of the frame: its columns have types
/// of their own, such as `Int64` of pandas.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
#[cold]
pub(in crate::python) fn by_columns<'py>(
    frame: &Bound<'py, PyAny>,
    array: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = frame.py();
    if kind_of_dtype(array)? != Some('O') || !is_column(frame)? {
        return Ok(None);
    }
    let read = || -> PyResult<Option<_>> {
        if !frame.getattr(intern!(py, "ndim"))?.eq(2)? {
            return Ok(None);
        }
        let numpy = py.import(intern!(py, "numpy"))?;
        let of = |column: Bound<'py, PyAny>| numpy.call_method1(intern!(py, "asarray"), (column,));
        let columns = frame.call_method0(intern!(py, "items"))?.try_iter()?;
        let columns = columns.map(|column| of(column?.get_item(1)?));
        let columns = columns.collect::<PyResult<Vec<_>>>()?;
        let mut are_integers = true;
        for column in &columns {
            are_integers &= matches!(kind_of_dtype(column)?, Some('b' | 'i' | 'u'));
        }
        let stacked = numpy.call_method1(intern!(py, "column_stack"), (columns,))?;
        if !are_integers || kind_of_dtype(&stacked)? != Some('f') {
            return Ok(Some(stacked));
        }
        // NumPy makes floats of signed and unsigned integers, and raises for an object that does not fit.
        numpy.call_method1(intern!(py, "asarray"), (frame, "int64")).map(Some)
    };
    Ok(ok_unless_exit(py, read())?.flatten())
}

/// Whether no column of a data frame has another kind than numbers; pandas warns if one of times or texts
/// is filled with a number.
fn has_columns_of_numbers(frame: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = frame.py();
    let read = || -> PyResult<bool> {
        for dtype in frame.getattr(intern!(py, "dtypes"))?.try_iter()? {
            let kind = dtype?.getattr(intern!(py, "kind"))?.extract::<char>()?;
            if !NUMBERS.contains(kind) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    Ok(ok_unless_exit(py, read())?.unwrap_or(true))
}

/// As [`filled`], if NumPy makes an array of numbers of that only, and not of the object.
///
/// # Errors
///
/// Those of [`filled`].
#[cold]
pub(in crate::python) fn filled_numbers(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let is_made = |object: &Bound<'_, PyAny>| -> PyResult<bool> {
        Ok(kind_of_dtype(&array_of(object)?)?.is_some_and(|kind| NUMBERS.contains(kind)))
    };
    filled(object, |filled| Ok(is_made(filled)? && !is_made(object)?))
}
