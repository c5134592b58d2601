//! Sequences that NumPy converts: each item is read once, and what was checked is what is converted
//! ([`own_items`]).

use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyFloat, PyInt, PyList, PyRange, PyString, PyTuple, PyType};

use crate::dtype::DataType;
use crate::export::DLPackExport as _;
use crate::ffi;
use crate::import::{AnyElement, ImportedStorage, is_of_numpy};
use crate::python::convert::{
    class_name, discard, exchange_error, is_exit, is_refusal, is_without_memory, ok_unless,
    ok_unless_exit, text,
};
use crate::python::import::import_object::import_object;
use crate::python::import::import_options::ImportOptions;
use crate::python::import::missing_values::{by_columns, dense, exporter_of, is_lazy, mask_of};
use crate::python::import::object_kind::{ObjectKind, has, has_array, is_a, kind_of_dtype};
use crate::python::numpy::{Mask, NumPy, array_of};
use crate::python::table::lookup::requires_grad;

/// The most dimensions of an array of NumPy, and so of nested lists that it converts.
pub(in crate::python) const MAX_NDIM: usize = 64;

/// What NumPy converts in place of an object.
pub(in crate::python) struct OwnItems<'py> {
    pub(in crate::python) object: Bound<'py, PyAny>,
    /// Whether NumPy converts the object itself alike, with no tensor that it does not read.
    pub(in crate::python) is_alike: bool,
}

/// Returns an object for NumPy to convert in place of this one, so that the items that were checked are
/// those that are converted. A sequence becomes a list, as do the sequences in it; each item is read once,
/// and one with an `__array__` becomes its array. A list of numbers is returned itself, and an object
/// that is not a sequence.
///
/// # Errors
///
/// `TypeError` for an item that is, or becomes, a masked array with a masked element: NumPy drops the
/// masks of items; for a mapping, of which NumPy would take the keys; `BufferError` for a tensor without
/// memory. `ValueError` for a sequence that contains itself; and exceptions of the sequence.
#[cold]
pub(in crate::python) fn own_items<'py>(object: &Bound<'py, PyAny>) -> PyResult<OwnItems<'py>> {
    own_items_below(object, 0)
}

/// As [`own_items`], for the result of a lazy object in a number of others.
fn own_items_below<'py>(object: &Bound<'py, PyAny>, above: usize) -> PyResult<OwnItems<'py>> {
    let hides = |array: &Bound<'_, PyAny>| {
        Ok::<_, PyErr>(matches!(mask_of(array)?, Some((Mask { hides: true, .. }, _))))
    };
    if !is_sequence(object)? {
        return Ok(OwnItems { object: object.clone(), is_alike: true });
    }
    let mut is_alike = true;
    let object = read_items(object, &mut vec![], &mut |item, depth| {
        if is_list(item) {
            return Ok(None);
        }
        let is_lazy = is_lazy(item)?;
        if !is_lazy && exporter_of(item)?.is_none() && is_sequence(item)? {
            return Ok(None);
        }
        let (py, class, is_array) = (item.py(), item.get_type(), NumPy::is_array(item)?);
        if hides(item)? {
            return Err(masked_item(object, depth)?);
        }
        if is_array {
            return Ok(Some(item.clone()));
        }
        if let Some((array, is_read)) = array_of_tensor(item)? {
            is_alike &= is_read;
            return Ok(Some(array));
        }
        if (!has(&class, "__array__")? && !is_lazy) || above >= MAX_NDIM {
            return Ok(Some(item.clone()));
        }
        let mut computed = item.clone();
        if is_lazy {
            computed = item.call_method0(intern!(py, "compute"))?;
            is_alike &= has(&class, "__array__")?;
            if let Some((array, _)) = array_of_tensor(&computed)? {
                return Ok(Some(array));
            }
            computed = own_items_below(&computed, above.saturating_add(depth))?.object;
        }
        let numpy = py.import(intern!(py, "numpy"))?;
        let made = numpy.call_method1(intern!(py, "asanyarray"), (&computed,));
        // NumPy raises again for an item that stays. Other errors, such as those of a timeout or a file,
        // could not be raised twice.
        let own = ok_unless(py, made, |error| !is_refusal(py, error))?;
        let own = own.unwrap_or_else(|| item.clone());
        let columns = by_columns(&computed, &own)?;
        is_alike &= columns.is_none();
        let own = columns.unwrap_or(own);
        if hides(&computed)? || hides(&own)? {
            return Err(masked_item(object, depth)?);
        }
        if !computed.is(item) || !has(&class, "__float__")? || own.is(item) {
            return Ok(Some(own));
        }
        let number = number_of(item, &own)?;
        is_alike &= number.is_none();
        Ok(number.or(Some(own)))
    })?;
    Ok(OwnItems { object, is_alike })
}

/// The number that an item is, if its array has another one: `float` of a quantity converts its unit, which
/// the array drops.
///
/// # Errors
///
/// What `float` raises, such as for a quantity that has a unit.
fn number_of<'py>(
    item: &Bound<'py, PyAny>,
    array: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = item.py();
    let is_number = array.getattr(intern!(py, "ndim"))?.eq(0)?
        && kind_of_dtype(array)?.is_some_and(|kind| "iuf".contains(kind));
    if !is_number {
        return Ok(None);
    }
    let of_integers = kind_of_dtype(array)? != Some('f');
    let (number, of_array) = (item.extract::<f64>(), array.extract::<f64>()?);
    let number = match number {
        // A class of integers need not have a `__float__`.
        Err(error)
            if of_integers && is_refusal(py, &error) && has(&item.get_type(), "__index__")? =>
        {
            discard(py, error);
            item.call_method0(intern!(py, "__index__"))?.extract()?
        }
        number => number?,
    };
    if number.total_cmp(&of_array).is_eq() || (number.is_nan() && of_array.is_nan()) {
        return Ok(None);
    }
    let whole = if of_integers { py.get_type::<PyInt>().call1((number,)).ok() } else { None };
    let is_whole = number.fract().total_cmp(&0.0).is_eq();
    Ok(Some(whole.filter(|_| is_whole).unwrap_or_else(|| PyFloat::new(py, number).into_any())))
}

/// Whether an item is imported: a tensor, or an object that passes on the `__dlpack__` of one. NumPy makes
/// an array of others.
///
/// # Errors
///
/// Those of [`ObjectKind::of`].
pub(in crate::python) fn is_imported(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = item.py();
    Ok(match ObjectKind::of(item)? {
        ObjectKind::Table => true,
        // TensorFlow ends the process when it exports one of these.
        ObjectKind::DLPack => {
            let name = || text(&item.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "name"))?);
            let name = ok_unless_exit(py, name())?;
            !name.is_some_and(|name| matches!(&*name, "string" | "resource" | "variant"))
        }
        ObjectKind::Array | ObjectKind::Other => match exporter_of(item)? {
            Some(exporter) => !NumPy::is_array(&exporter)?,
            None => false,
        },
        _ => false,
    })
}

/// Makes an array of NumPy of an item that is a tensor on the processor, and says whether NumPy makes the same;
/// `None` for others, and if NumPy may make an array of an item that does not export its elements.
///
/// # Errors
///
/// An exit, the error of an item that NumPy does not know, a `BufferError` for a tensor without memory, of
/// which NumPy makes an array of arbitrary values, and a `ValueError` for one that the processor does not
/// read.
fn array_of_tensor<'py>(item: &Bound<'py, PyAny>) -> PyResult<Option<(Bound<'py, PyAny>, bool)>> {
    let py = item.py();
    if !is_imported(item)? {
        return Ok(None);
    }
    let has_array = has(&item.get_type(), "__array__")?;
    let tensor = match import_object(item, &ImportOptions::new()) {
        Ok(tensor) if tensor.device().is_host() => tensor,
        Ok(_) if has_array => return Ok(None),
        Ok(tensor) => {
            let device = tensor.device();
            return Err(PyValueError::new_err(format!(
                "expected host memory, got an item on {device}; pass a copy on the host"
            )));
        }
        Err(error) => {
            if is_exit(py, &error) || is_without_memory(py, &error)? || !has_array {
                return Err(error);
            }
            discard(py, error);
            return Ok(None);
        }
    };
    let is_read = has_array && is_of_numpy(tensor.dtype()) && !requires_grad(item)?;
    let tensor = match tensor.dtype() {
        // Work of a device is ordered for the copy.
        dtype if is_of_numpy(dtype) && tensor.device().device_type() != ffi::kDLCPU => {
            Some(tensor.to_own_copy().map_err(exchange_error)?)
        }
        dtype if is_of_numpy(dtype) => Some(tensor),
        // NumPy has neither `bfloat16` nor complex numbers of halves.
        dtype if dtype.is_complex() => tensor.cast(DataType::COMPLEX64).ok(),
        _ => tensor.cast(DataType::F32).ok(),
    };
    let Some(tensor) = tensor else { return Ok(None) };
    let storage = ImportedStorage::<AnyElement>::new(tensor).map_err(exchange_error)?;
    let array = array_of(py, storage.into_dlpack().map_err(exchange_error)?)?;
    Ok(Some((array, is_read)))
}

/// Makes the error for a sequence with a masked array in it, at a depth.
fn masked_item(sequence: &Bound<'_, PyAny>, depth: usize) -> PyResult<PyErr> {
    // `numpy.ma.filled` drops the mask of an array that another object makes.
    let mut are_filled = depth == 1 && is_list(sequence);
    for item in sequence.try_iter()? {
        let item = item?;
        are_filled = are_filled && (NumPy::is_array(&item)? || is_number(&item)?);
        if !are_filled {
            break;
        }
    }
    let advice = if are_filled {
        "`[numpy.ma.filled(item, 0) for item in x]` with a value for them"
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
/// would read without an end; `MemoryError`.
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
    let is_list = is_list(sequence);
    // Without an `__iter__` nothing ends the iteration but an `IndexError`, which some data sets do not
    // raise.
    let is_bounded = is_list || has(&sequence.get_type(), "__iter__")?;
    within.push(sequence.as_ptr());
    // The class of the last number, or of another item that stays; a reference, so that no other class
    // gets its address.
    let (mut ordinary, mut has_numbers) = (None::<Bound<'_, PyType>>, false);
    let (mut all_stay, mut own) = (is_list, Own { items: vec![], is_used: !is_list });
    for (index, item) in items.take(if is_bounded { usize::MAX } else { len }).enumerate() {
        let item = item?;
        if ordinary.as_ref().is_some_and(|class| class.as_type_ptr() == item.get_type_ptr()) {
            own.push(item)?;
            continue;
        }
        let class = item.get_type();
        let is_number = is_number(&item)?;
        let is_kept = is_number || is_kept(&item);
        if is_kept || NumPy::is_array_class(&class)? {
            has_numbers |= is_number;
            ordinary = if is_kept { Some(class) } else { ordinary };
            own.push(item)?;
            continue;
        }
        if index % 1024 == 1023 {
            py.check_signals()?;
        }
        // Before other code runs, which may change the list.
        own.begin(sequence, index)?;
        let read = match visit(&item, within.len())? {
            Some(read) => read,
            // NumPy raises for numbers beside sequences, of which one could contain the other.
            None if has_numbers => item.clone(),
            None => read_items(&item, within, visit)?,
        };
        all_stay &= read.is(&item);
        own.push(read)?;
    }
    within.pop();
    if all_stay { Ok(sequence.clone()) } else { own.into_list(py) }
}

/// The items that are read. A list of numbers is not copied.
struct Own<'py> {
    items: Vec<Bound<'py, PyAny>>,
    is_used: bool,
}

impl<'py> Own<'py> {
    /// From this item on, items may be replaced. Those before it are the first of the list.
    fn begin(&mut self, list: &Bound<'py, PyAny>, index: usize) -> PyResult<()> {
        if !self.is_used {
            self.is_used = true;
            for index in 0..index {
                self.push(list.get_item(index)?)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, item: Bound<'py, PyAny>) -> PyResult<()> {
        if self.is_used {
            self.items.try_reserve(1).map_err(|_| PyMemoryError::new_err(()))?;
            self.items.push(item);
        }
        Ok(())
    }

    fn into_list(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let list = PyList::empty(py);
        self.items.into_iter().try_for_each(|item| list.append(item))?;
        Ok(list.into_any())
    }
}

/// Whether an object is exactly a list or a tuple.
pub(in crate::python) fn is_list(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyList>() || object.is_exact_instance_of::<PyTuple>()
}

/// Whether an object is neither a number nor a sequence that is read: NumPy knows it.
fn is_kept(object: &Bound<'_, PyAny>) -> bool {
    object.is_none()
        || object.is_exact_instance_of::<PyString>()
        || object.is_exact_instance_of::<PyBytes>()
        || object.is_exact_instance_of::<PyRange>()
}

/// Whether an object is a number of Python or of NumPy.
fn is_number(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyComplex>()
        || NumPy::is_scalar(object)?)
}

/// Whether NumPy iterates an object, because it is a sequence and neither an array nor a text.
///
/// # Errors
///
/// `TypeError` for a mapping, of which NumPy would read the keys, or make an array of one object.
pub(in crate::python) fn is_sequence(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if is_list(object) {
        return Ok(true);
    }
    match ObjectKind::of(object)? {
        // Neither numbers nor a `range`, which NumPy reads fast.
        ObjectKind::Values => {
            return Ok(object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>());
        }
        ObjectKind::Other if !object.is_instance_of::<PyString>() => {}
        _ => return Ok(false),
    }
    let class = object.get_type();
    if !has(&class, "__getitem__")? || !has(&class, "__len__")? || has_array(object)? {
        return Ok(false);
    }
    if is_a(object, "Mapping")? {
        let class = class_name(&class)?;
        let values = dense(object, "d")?;
        let values = values.map_or_else(
            || "a list of its values, `list(d.values())`".to_string(),
            |dense| format!("an array of all of its elements, `{dense}`"),
        );
        return Err(PyTypeError::new_err(format!(
            "expected numbers, got the mapping {class}; pass {values} for the mapping `d`"
        )));
    }
    // SAFETY: it is an object, whose type is read.
    Ok(unsafe { pyo3::ffi::PySequence_Check(object.as_ptr()) } == 1)
}
