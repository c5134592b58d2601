//! The objects of NumPy that imports and results use: [`NumPy`].

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple, PyType};

use super::c_api::CApi;
use crate::python::convert::{ok_unless_exit, unless_missing};

/// NumPy's class of arrays, its `from_dlpack`, and its C API.
pub(in crate::python) struct NumPy {
    array: Py<PyAny>,
    /// The attributes of the module, among which `ma` is once it is imported.
    attributes: Py<PyDict>,
    from_dlpack: Py<PyAny>,
    c_api: Option<CApi>,
}

/// The mask of an array.
pub(in crate::python) struct Mask {
    /// Whether an element is masked.
    pub(in crate::python) hides: bool,
    /// Whether the array is a `numpy.ma.MaskedArray`.
    pub(in crate::python) is_of_numpy: bool,
}

/// NumPy, from its first import by this module on. The import statement alone takes as
/// long as an export.
static NUMPY: PyOnceLock<NumPy> = PyOnceLock::new();

impl NumPy {
    /// Imports NumPy.
    ///
    /// # Errors
    ///
    /// `ModuleNotFoundError` without NumPy, and what its import raises.
    pub(in crate::python) fn get(py: Python<'_>) -> PyResult<&Self> {
        if let Some(known) = Self::loaded(py) {
            return Ok(known);
        }
        // Imported outside of the lock of `NUMPY`, because an import runs Python code.
        let numpy = py.import(intern!(py, "numpy"))?;
        let array = numpy.getattr(intern!(py, "ndarray"))?;
        let from_dlpack = numpy.getattr(intern!(py, "from_dlpack"))?.unbind();
        let c_api = CApi::load(&numpy, &array)?;
        let attributes = numpy.dict().unbind();
        let array = array.unbind();
        Ok(NUMPY.get_or_init(py, || Self { array, attributes, from_dlpack, c_api }))
    }

    /// NumPy, if [`get`](Self::get) imported it before.
    #[inline]
    pub(in crate::python) fn loaded(py: Python<'_>) -> Option<&Self> {
        NUMPY.get(py)
    }

    /// Whether a class is that of NumPy's arrays, and not a subclass of it.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    pub(in crate::python) fn is_array_class(class: &Bound<'_, PyType>) -> PyResult<bool> {
        Ok(Self::of_class(class)?.is_some_and(|numpy| class.is(&numpy.array)))
    }

    /// Whether an object is an array of NumPy, or of a subclass.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    pub(in crate::python) fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
        match Self::of_class(&object.get_type())? {
            Some(numpy) => numpy.has(object),
            None => Ok(false),
        }
    }

    /// Whether an object is of a subclass of NumPy's arrays, if this module has imported NumPy.
    /// [`of_class`](Self::of_class) does so for the first object of such a class.
    ///
    /// # Errors
    ///
    /// Those of `issubclass`.
    #[inline]
    pub(in crate::python) fn is_of_subclass(object: &Bound<'_, PyAny>) -> PyResult<bool> {
        match Self::loaded(object.py()) {
            Some(numpy) if !numpy.is_class_of(object) => numpy.has(object),
            _ => Ok(false),
        }
    }

    /// The mask of an array; `None` for an array that cannot have masked elements. Code that makes one of `numpy.ma` has imported the module; other
    /// subclasses, as `astropy.utils.masked.Masked`, have an attribute `mask`.
    ///
    /// # Errors
    ///
    /// What the modules and the attribute raise.
    #[cold]
    pub(in crate::python) fn masked(object: &Bound<'_, PyAny>) -> PyResult<Option<Mask>> {
        let py = object.py();
        let Some(numpy) = Self::of_class(&object.get_type())? else { return Ok(None) };
        let attributes = numpy.attributes.bind(py);
        if let Some(ma) = attributes.get_item(intern!(py, "ma"))? {
            if object.is_instance(&ma.getattr(intern!(py, "MaskedArray"))?)? {
                let is_masked = match flags_of_records(object)? {
                    Some(flags) => flags.call_method0(intern!(py, "any"))?,
                    None => ma.call_method1(intern!(py, "is_masked"), (object,))?,
                };
                return Ok(Some(Mask { hides: is_masked.is_truthy()?, is_of_numpy: true }));
            }
        }
        let of_class = object.get_type().getattr_opt(intern!(py, "mask"));
        if ok_unless_exit(py, of_class)?.flatten().is_none() {
            return Ok(None);
        }
        let Some(any) = attributes.get_item(intern!(py, "any"))? else { return Ok(None) };
        let Some(mask) = unless_missing(py, object.getattr(intern!(py, "mask")))? else {
            return Ok(None);
        };
        // An attribute of that name may be a method, or a number.
        let is_flags = mask.is_instance_of::<PyBool>()
            || mask.is_instance_of::<PyList>()
            || mask.is_instance_of::<PyTuple>();
        if !is_flags && !Self::is_array(&mask)? && !Self::is_scalar(&mask)? {
            return Ok(None);
        }
        let is_masked = any.call1((mask,))?;
        Ok(Some(Mask { hides: is_masked.is_truthy()?, is_of_numpy: false }))
    }

    /// Whether an object is a scalar of NumPy, such as `numpy.float32(1)`.
    ///
    /// # Errors
    ///
    /// What the module raises.
    #[cold]
    pub(in crate::python) fn is_scalar(object: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = object.py();
        let Some(numpy) = Self::of_class(&object.get_type())? else { return Ok(false) };
        let generic = numpy.attributes.bind(py).get_item(intern!(py, "generic"))?;
        generic.map_or(Ok(false), |generic| object.get_type().is_subclass(&generic))
    }

    /// Whether an object is an array of this class.
    #[inline]
    fn is_class_of(&self, object: &Bound<'_, PyAny>) -> bool {
        core::ptr::eq(object.get_type_ptr(), self.array.as_ptr().cast())
    }

    /// Whether an object is an array of this class or of a subclass. Both are compared as types,
    /// without a read of `__class__`.
    #[inline]
    fn has(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        object.get_type().is_subclass(self.array.bind(object.py()))
    }

    /// NumPy; `None` if no import has needed it, and the class and its bases are of other modules.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    pub(in crate::python) fn of_class<'py>(
        class: &Bound<'py, PyType>,
    ) -> PyResult<Option<&'py Self>> {
        let py = class.py();
        if let Some(numpy) = Self::loaded(py) {
            return Ok(Some(numpy));
        }
        for base in class.mro() {
            // A class of NumPy exists, so NumPy can be imported.
            if is_in_numpy(base.cast()?)? {
                return Self::get(py).map(Some);
            }
        }
        Ok(None)
    }

    /// Whether a function is `numpy.from_dlpack`.
    pub(in crate::python) fn has_importer(function: &Bound<'_, PyAny>) -> bool {
        Self::loaded(function.py()).is_some_and(|numpy| function.is(&numpy.from_dlpack))
    }

    /// `numpy.from_dlpack`.
    pub(in crate::python) fn importer<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.from_dlpack.bind(py)
    }

    /// The C API, if this crate supports its version.
    #[inline]
    pub(super) fn c_api(&self) -> Option<&CApi> {
        self.c_api.as_ref()
    }
}

/// The mask of a masked array of records as bytes, one for each field; `None` for other arrays.
fn flags_of_records<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let mask = object.getattr(intern!(py, "mask"))?;
    if mask.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "names"))?.is_none() {
        return Ok(None);
    }
    // A copy with an axis, because bytes are taken of a contiguous array only, and of no scalar.
    let mask = mask.call_method1(intern!(py, "reshape"), (-1,))?;
    let mask = mask.call_method0(intern!(py, "copy"))?;
    mask.call_method1(intern!(py, "view"), ("u1",)).map(Some)
}

/// Whether the module of a class is NumPy. A `__module__` that is not a string, or that raises an
/// exception, is another module.
fn is_in_numpy(class: &Bound<'_, PyType>) -> PyResult<bool> {
    Ok(ok_unless_exit(class.py(), class.module())?.is_some_and(|module| module == "numpy"))
}
