//! The consumer, driven from Python: which objects it imports, where and when it releases
//! them, and which metadata it reports.

use std::sync::{Mutex, PoisonError};

use dlpack_traits::python::{self, ImportOptions, IntoPython};
use dlpack_traits::{
    DLPackExport, DLPackImport, Device, ImportError, ImportedStorage, ImportedTensor, StreamArg,
    ffi,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::capsule::detached;
use crate::thread_exit::at_thread_exit;

/// A tensor that was imported, until it is released.
#[pyclass(frozen, module = "dlpack_testing")]
pub(crate) struct Held(Mutex<Option<ImportedTensor>>);

impl Held {
    pub(crate) fn new(tensor: ImportedTensor) -> Self {
        Self(Mutex::new(Some(tensor)))
    }

    fn take(&self) -> PyResult<ImportedTensor> {
        let tensor = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        tensor.ok_or_else(|| PyRuntimeError::new_err("the tensor was released before"))
    }

    fn read<R>(&self, read: impl FnOnce(&ImportedTensor) -> PyResult<R>) -> PyResult<R> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        read(held.as_ref().ok_or_else(|| PyRuntimeError::new_err("the tensor was released"))?)
    }
}

#[pymethods]
impl Held {
    /// Shape, strides, name of the element type, device, flags, address.
    #[expect(clippy::type_complexity, reason = "Python sees a tuple")]
    fn facts(&self) -> PyResult<(Vec<i64>, Vec<i64>, String, String, u64, usize)> {
        self.read(|tensor| {
            Ok((
                tensor.shape().to_vec(),
                tensor.strides().to_vec(),
                tensor.dtype().to_string(),
                tensor.device().to_string(),
                tensor.flags().bits(),
                tensor.data_ptr().addr(),
            ))
        })
    }

    /// Whether the memory must not be written.
    fn is_read_only(&self) -> PyResult<bool> {
        self.read(|tensor| Ok(tensor.is_read_only()))
    }

    /// Version of the struct; `None` of the legacy one.
    fn version(&self) -> PyResult<Option<(u32, u32)>> {
        self.read(|tensor| Ok(tensor.version().map(|version| (version.major, version.minor))))
    }

    /// The elements, which must be `float32`s.
    fn floats(&self) -> PyResult<Vec<f32>> {
        self.read(|tensor| Ok(tensor.elements::<f32>()?.to_vec()?))
    }

    /// Passes the tensor through the versioned struct.
    fn through_struct(&self) -> PyResult<Self> {
        let managed = self.take()?.into_raw::<ffi::DLManagedTensorVersioned>();
        let managed = managed.map_err(|_| PyRuntimeError::new_err("there is no such struct"))?;
        // SAFETY: 1. to 5. `into_raw` returned a valid struct of a tensor that was imported.
        Ok(Self::new(unsafe { ImportedTensor::from_raw(managed) }?))
    }

    /// Whether the tensor can be passed on in the legacy struct.
    fn has_legacy_struct(&self) -> PyResult<bool> {
        match self.take()?.into_raw::<ffi::DLManagedTensor>() {
            Ok(managed) => {
                // SAFETY: 1. to 5. As above.
                drop(unsafe { ImportedTensor::from_raw(managed) }?);
                Ok(true)
            }
            Err(_) => Ok(false),
        }
    }

    /// Returns the tensor as a NumPy array.
    fn as_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor: ImportedStorage = ImportedStorage::new(self.take()?)?;
        tensor.into_numpy(py)
    }

    /// Releases the tensor on this thread.
    fn release(&self) -> PyResult<()> {
        self.take().map(drop)
    }

    /// Releases the tensor on this thread, which is detached meanwhile.
    fn release_detached(&self) -> PyResult<()> {
        let tensor = self.take()?;
        detached(|| drop(tensor));
        Ok(())
    }

    /// Releases the tensor when this thread ends.
    fn release_at_thread_exit(&self) -> PyResult<()> {
        let tensor = self.take()?;
        at_thread_exit(|| drop(tensor));
        Ok(())
    }

    /// Releases the tensor on a thread that Python has never seen.
    fn release_in_background(&self) -> PyResult<()> {
        let tensor = self.take()?;
        let thread = std::thread::spawn(move || drop(tensor));
        detached(|| thread.join()).map_err(|_| PyRuntimeError::new_err("the thread panicked"))
    }

    /// Releases the tensor, and raises an exception meanwhile.
    fn release_while_raising(&self, py: Python<'_>, error: Bound<'_, PyAny>) -> PyResult<()> {
        let tensor = self.take()?;
        PyErr::from_value(error).restore(py);
        drop(tensor);
        Err(PyErr::fetch(py))
    }
}

/// Imports a tensor. A `stream` is -1 or a handle; `addresses` trusts tables in
/// integers.
#[pyfunction]
#[pyo3(signature = (
    object, *, device=None, copy=None, stream=None, addresses=false, legacy_writable=false
))]
pub(crate) fn import_tensor(
    object: &Bound<'_, PyAny>,
    device: Option<(i32, i32)>,
    copy: Option<bool>,
    stream: Option<isize>,
    addresses: bool,
    legacy_writable: bool,
) -> PyResult<Held> {
    let mut options = ImportOptions::new();
    if let Some((device_type, device_id)) = device {
        options = options.device(Device::new(ffi::DLDeviceType(device_type), device_id));
    }
    if let Some(copy) = copy {
        options = options.copy(copy);
    }
    options = match stream.map(usize::try_from) {
        None => options,
        // SAFETY: the tests' producers only compare the number.
        Some(Ok(stream)) => options.stream(unsafe { StreamArg::from_handle(stream) }),
        Some(Err(_)) => options.stream(StreamArg::no_sync()),
    };
    if addresses {
        // SAFETY: tests with this flag publish tables that stay alive.
        options = unsafe { options.trust_addresses() };
    }
    if legacy_writable {
        // SAFETY: 1. Tests with this flag export memory that may be written.
        options = unsafe { options.legacy_writable() };
    }
    Ok(Held::new(python::from_dlpack_with(object, &options)?))
}

/// Copies a tensor of `float64`s, and keeps the slice while Python runs `between`:
/// returns the first element before and after.
#[pyfunction]
pub(crate) fn copy_held_while(
    object: &Bound<'_, PyAny>,
    between: &Bound<'_, PyAny>,
) -> PyResult<(f64, f64)> {
    let mut copy = python::from_dlpack_with(object, &ImportOptions::new().copy(true))?;
    let mut exclusive = copy.exclusive()?;
    let [first, ..] = exclusive.as_mut_slice::<f64>()? else {
        return Err(PyRuntimeError::new_err("the tensor has no elements"));
    };
    let before = *first;
    between.call0()?;
    Ok((before, *first))
}

/// Imports and releases a tensor that often.
#[pyfunction]
pub(crate) fn import_often(object: &Bound<'_, PyAny>, rounds: usize) -> PyResult<()> {
    for _ in 0..rounds {
        drop(python::from_dlpack(object)?);
    }
    Ok(())
}

/// A class of `float32`s that is made from tensors, with the shortest
/// implementation that there is.
#[pyclass(frozen, subclass, module = "dlpack_testing")]
#[derive(DLPackExport)]
#[dlpack(transparent)]
pub(crate) struct Floats(ImportedStorage<f32>);

impl DLPackImport for Floats {
    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        if tensor.ndim() == 0 {
            return Err(ImportError::rejected("a single number is not `Floats`"));
        }
        Ok(Self(ImportedStorage::new(tensor)?))
    }
}

#[pymethods]
impl Floats {
    /// All elements in a flat list.
    fn values(&self) -> PyResult<Vec<f32>> {
        Ok(self.0.imported().elements::<f32>()?.to_vec()?)
    }
}

/// A tensor of any element type on any device, unchanged.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport)]
#[dlpack(transparent)]
pub(crate) struct Anything(ImportedStorage);

impl DLPackImport for Anything {
    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        Ok(Self(ImportedStorage::new(tensor)?))
    }
}

#[pymethods]
impl Anything {
    /// All elements in a flat list, where they are `float32`s on the host.
    fn values(&self) -> PyResult<Vec<f32>> {
        Ok(self.0.imported().elements::<f32>()?.to_vec()?)
    }
}

/// A class that defines `from_dlpack` itself.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport)]
#[dlpack(transparent)]
pub(crate) struct OwnFromDlpack(ImportedStorage<f32>);

impl DLPackImport for OwnFromDlpack {
    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        Ok(Self(ImportedStorage::new(tensor)?))
    }
}

#[pymethods]
impl OwnFromDlpack {
    #[staticmethod]
    fn from_dlpack(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(ImportedStorage::new(python::from_dlpack(object)?)?))
    }
}

/// Adds the class that defines `from_dlpack` itself, which is refused.
#[pyfunction]
pub(crate) fn add_own_from_dlpack(module: &Bound<'_, PyModule>) -> PyResult<()> {
    python::class::<OwnFromDlpack>().importable().add(module)
}

/// Adds `Floats` once more, which changes nothing.
#[pyfunction]
pub(crate) fn add_floats(module: &Bound<'_, PyModule>) -> PyResult<()> {
    python::class::<Floats>().importable().add(module)
}

/// A class in four lines: only what both derives generate for a struct.
#[pyclass(frozen, subclass, weakref, module = "dlpack_testing")]
#[derive(DLPackExport, DLPackImport)]
pub(crate) struct Derived {
    data: ImportedStorage<f32>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    byte_offset: usize,
}
