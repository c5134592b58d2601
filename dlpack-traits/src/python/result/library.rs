//! Finds the Python library of an argument, and passes tensors to it: [`LibraryOf`].

use alloc::format;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyModule, PyString, PyType};

use crate::device::Device;
use crate::export::DLPackExport;
use crate::import::ImportedStorage;
use crate::managed::ManagedTensor;
use crate::python::argument::{Access, AtMost, Convert, Convertible, Exact, PyTensor};
use crate::python::convert::{caused_by, discard, exchange_error, unless_missing};
use crate::python::export::offer::{offer_once, storage_of};
use crate::python::numpy::{NumPy, array_by_protocol, array_of};
use crate::python::table::to_object::{
    Maker, Sent, from_dlpack_of, from_dlpack_of_module, from_dlpack_of_name, makes_nothing,
    offer_to, without_negative_strides,
};
use crate::stream_arg::StreamArg;

/// An argument, or a type, whose library makes the result of a function: a [`PyTensor`],
/// [`PyTensorMut`](crate::python::PyTensorMut) or
/// [`PyDeviceTensor`](crate::python::PyDeviceTensor), also in [`Convert`], [`Exact`] or [`AtMost`], and every
/// Python object. A list that is converted names NumPy. This trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an argument or an object of a library",
    label = "names no library",
    note = "pass the argument whose library makes the result, as in `into_object_like(py, &x)`, where `x` is a `PyTensor`, or any Python object of that library",
    note = "for an argument that may be missing, use `match x {{ Some(x) => result.into_object_like(py, x), None => result.into_numpy(py) }}`"
)]
pub trait LibraryOf: sealed::HasObject {}

#[diagnostic::do_not_recommend]
impl<L: sealed::HasObject + ?Sized> LibraryOf for L {}

mod sealed {
    use pyo3::prelude::*;

    use crate::device::Device;
    use crate::stream_arg::StreamArg;

    pub trait HasObject {
        /// The object of the library, or its type.
        fn object<'a, 'py>(&'a self, py: Python<'py>) -> &'a Bound<'py, PyAny>;

        /// A device, and the stream on which the library uses tensors on it, if they are known.
        fn device_stream(&self) -> Option<(Device, StreamArg<'_>)> {
            None
        }
    }
}

impl<T, const N: usize, A: Access> sealed::HasObject for PyTensor<'_, T, N, A> {
    fn object<'a, 'py>(&'a self, py: Python<'py>) -> &'a Bound<'py, PyAny> {
        self.as_object().bind(py)
    }

    fn device_stream(&self) -> Option<(Device, StreamArg<'_>)> {
        A::device_stream(&self.tensor)
    }
}

/// A wrapper of an argument names the library that the argument names.
macro_rules! wrappers {
    ($([$($parameters:tt)*] $wrapper:ty;)*) => {$(
        impl<$($parameters)*> sealed::HasObject for $wrapper {
            fn object<'a, 'py>(&'a self, py: Python<'py>) -> &'a Bound<'py, PyAny> {
                self.0.object(py)
            }

            fn device_stream(&self) -> Option<(Device, StreamArg<'_>)> {
                self.0.device_stream()
            }
        }
    )*};
}

wrappers! {
    [A: Convertible + sealed::HasObject] Convert<A>;
    [A: sealed::HasObject] Exact<A>;
    [A: sealed::HasObject, const BYTES: u64] AtMost<A, BYTES>;
}

impl<T> sealed::HasObject for Py<T> {
    fn object<'a, 'py>(&'a self, py: Python<'py>) -> &'a Bound<'py, PyAny> {
        self.bind(py).as_any()
    }
}

impl<T> sealed::HasObject for Bound<'_, T> {
    fn object<'a, 'py>(&'a self, py: Python<'py>) -> &'a Bound<'py, PyAny> {
        self.as_unbound().bind(py).as_any()
    }
}

/// Converts a tensor to an object of the library of `like`.
pub(super) fn object_like<'py>(
    like: &Bound<'py, PyAny>,
    tensor: ManagedTensor,
) -> PyResult<Bound<'py, PyAny>> {
    let py = like.py();
    let class = match Like::of(like)? {
        Like::Class(class) => class,
        Like::Library(from_dlpack) => {
            return offer_to(&from_dlpack, tensor);
        }
    };
    let from_dlpack = match Maker::of(&class)? {
        None if NumPy::is_array_class(&class)? => None,
        Some(maker) => {
            let tensor =
                if maker.is_ours() { tensor } else { without_negative_strides(py, tensor)? };
            let tensor = storage_of(tensor)?;
            // The object has another owner of the tensor.
            let another = tensor.to_dlpack().map_err(exchange_error)?;
            return match maker.make(py, another.into()) {
                Err(error) if is_refusal(py, &error) && !is_of_library(&class)? => {
                    by_numpy_after(py, error, tensor)
                }
                object => object,
            };
        }
        None => from_dlpack_like(like, &class)?.filter(|found| !NumPy::has_importer(found)),
    };
    match from_dlpack {
        Some(from_dlpack) => offer_to(&from_dlpack, tensor),
        None => array_of(py, tensor),
    }
}

/// What makes the result of a function.
enum Like<'py> {
    /// The library of this class.
    Class(Bound<'py, PyType>),
    /// The `from_dlpack` of a module.
    Library(Bound<'py, PyAny>),
}

impl<'py> Like<'py> {
    /// The library of an object, a class or a module.
    ///
    /// # Errors
    ///
    /// `TypeError` for `None`, text, and a module without a `from_dlpack`.
    fn of(like: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(class) = like.cast::<PyType>() {
            return Ok(Self::Class(class.clone()));
        }
        if let Ok(module) = like.cast::<PyModule>() {
            // The table of its class, or NumPy's C API, is faster.
            for name in ["Tensor", "ndarray"] {
                if let Some(Ok(class)) = module.getattr_opt(name)?.map(Bound::cast_into) {
                    return Ok(Self::Class(class));
                }
            }
            if let Some(found) = from_dlpack_of_name(like.py(), &module.name()?.to_string_lossy())?
            {
                return Ok(Self::Library(found));
            }
        } else if !like.is_none() && !like.is_instance_of::<PyString>() {
            return Ok(Self::Class(like.get_type()));
        }
        Err(PyTypeError::new_err(format!(
            "expected an array, a class of arrays, or a module with a `from_dlpack`, whose library \
             makes the result, got {}",
            like.repr()?.to_string_lossy()
        )))
    }
}

/// Converts a tensor on a device to an object of the library of `like`, ready for work on
/// the stream `consumer` of that library.
pub(super) fn object_on_device<'py, E: DLPackExport + Send + 'static>(
    like: &Bound<'py, PyAny>,
    tensor: E,
    consumer: StreamArg<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = like.py();
    let class = like.get_type();
    if let Some(maker) = Maker::of(&class)? {
        return maker.make(py, tensor.into_dlpack_on(consumer).map_err(exchange_error)?.into());
    }
    let from_dlpack = from_dlpack_like(like, &class)?.ok_or_else(|| makes_nothing(&class))?;
    let sent = Sent::of(&tensor)?;
    // The library passes its stream to `__dlpack__`.
    let made = from_dlpack.call1((offer_once(py, tensor)?,))?;
    sent.check(&made)?;
    Ok(made)
}

/// Whether an exception means that a type does not accept a tensor.
fn is_refusal(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyBufferError>(py)
        || error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py)
}

/// Whether the module of a class, or that of a base, has a `from_dlpack`, as the modules of
/// array types have. Other classes, such as those that a user of this crate exports, need
/// not accept the tensor, or any.
fn is_of_library(class: &Bound<'_, PyType>) -> PyResult<bool> {
    for base in class.mro() {
        if from_dlpack_of_module(base.cast()?)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes a NumPy array of a tensor that a class did not accept. An error has that of the
/// class as its cause.
fn by_numpy_after(
    py: Python<'_>,
    refusal: PyErr,
    tensor: ImportedStorage,
) -> PyResult<Bound<'_, PyAny>> {
    match array_by_protocol(py, tensor) {
        Ok(array) => {
            discard(py, refusal);
            Ok(array)
        }
        Err(error) => Err(caused_by(py, error, refusal)),
    }
}

/// Finds the `from_dlpack` of a library.
fn from_dlpack_like<'py>(
    like: &Bound<'py, PyAny>,
    class: &Bound<'py, PyType>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = like.py();
    if !like.is_instance_of::<PyType>() {
        let method = like.getattr(intern!(py, "__array_namespace__"));
        // A `__getattr__` may return something for every name.
        if let Some(method) = unless_missing(py, method)?.filter(PyAnyMethods::is_callable) {
            if let Some(namespace) = unless_missing(py, method.call0())? {
                let found = namespace.getattr_opt(intern!(py, "from_dlpack"))?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
    }
    for base in class.mro() {
        let found = from_dlpack_of(base.cast()?)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
