//! Tensors of Python objects: [`from_dlpack`].

use alloc::format;

use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::convert::quietly;
use super::ending::watch;
use super::lookup::{export_of, peer_by_address, peer_of};
use super::no_tensor::explained;
use super::peer::Export;
use super::produce::{device_of, produce};
use super::{slots, take};
use crate::device::Device;
use crate::ffi;
use crate::import::{ImportPolicy, Imported};
use crate::stream::{StreamArg, StreamKind};

/// Takes the tensor of a Python object, without a copy.
///
/// Any object will do that exports tensors: by the exchange table of its type,
/// or by `__dlpack__`. So will a capsule that was got from there.
///
/// ```no_run
/// use dlpack_traits::python;
/// use pyo3::prelude::*;
///
/// /// The sum of any tensor of `float32`s on the CPU.
/// # #[allow(dead_code)]
/// fn sum(object: &Bound<'_, PyAny>) -> PyResult<f32> {
///     let tensor = python::from_dlpack(object)?;
///     Ok(tensor.elements::<f32>()?.iter().sum())
/// }
/// ```
///
/// It can stand at an argument, too, and then the function gets the tensor:
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::{Imported, python};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn sum(#[pyo3(from_py_with = python::from_dlpack)] tensor: Imported) -> PyResult<f32> {
///     Ok(tensor.elements::<f32>()?.iter().sum())
/// }
/// ```
///
/// PyTorch's table gives tensors that require a gradient too, which its `__dlpack__`
/// refuses: autograd does not see what is done with them here.
///
/// # Errors
///
/// What the object raises: usually `BufferError` where it cannot export, and
/// `AttributeError` where it is no tensor, which says what to pass (for a list,
/// `numpy.asarray(x)`). `BufferError` for a tensor that is
/// not what the standard allows, `ValueError` for a capsule that holds none, or
/// whose tensor was taken before.
#[inline]
pub fn from_dlpack(object: &Bound<'_, PyAny>) -> PyResult<Imported> {
    from_dlpack_with(object, &ImportOptions::new())
}

/// Takes the tensor of a Python object: [`from_dlpack`], with more to say.
///
/// # Errors
///
/// Those of [`from_dlpack`]; and `BufferError` if the tensor is not where it was
/// asked to be, or not where the object said that it is.
#[inline(always)]
pub fn from_dlpack_with(
    object: &Bound<'_, PyAny>,
    options: &ImportOptions<'_>,
) -> PyResult<Imported> {
    if options.wants_own_copy() {
        return own_copy(object, options);
    }
    import(object, options)
}

/// Imports the tensor of an object. A copy that is asked for is the producer's.
fn import(object: &Bound<'_, PyAny>, options: &ImportOptions<'_>) -> PyResult<Imported> {
    if options.is_plain() {
        if let Some(export) = options.export_of(object)? {
            // SAFETY: 1. It is from the table of this object's type. 2. The
            // library that made the table is trusted to keep the standard.
            return match unsafe { slots::export(object, export) } {
                Ok(tensor) if options.are_met_by(&tensor) => Ok(tensor),
                by_table => without_table(object, options, by_table),
            };
        }
    }
    if object.is_exact_instance_of::<PyCapsule>() {
        return out_of_capsule(object, options);
    }
    // SAFETY: 1. Producers are trusted to keep the standard.
    let tensor = unsafe { produce(object, options) }.map_err(|error| explained(object, error))?;
    if options.device.is_none() && tensor.device() == Device::CPU {
        return Ok(tensor);
    }
    check_device(object, tensor, options)
}

/// Imports the tensor without a copy, and copies it if it is on the CPU: a producer may
/// have other references to a copy of its own. On other devices the copy is the producer's.
#[cold]
fn own_copy(object: &Bound<'_, PyAny>, options: &ImportOptions<'_>) -> PyResult<Imported> {
    let tensor = import(object, &ImportOptions { copy: None, ..*options })?;
    if tensor.device() == Device::CPU {
        return Ok(tensor.to_own_copy()?);
    }
    drop(tensor);
    if object.is_exact_instance_of::<PyCapsule>() {
        return Err(PyValueError::new_err(
            "a capsule of a tensor on a device cannot be asked for a copy; pass the object that \
             it came from",
        ));
    }
    // SAFETY: 1. Producers are trusted to keep the standard.
    let tensor = unsafe { produce(object, options) }?;
    check_device(object, tensor, options)
}

/// Calls `__dlpack__` of an object whose table did not return a usable tensor, unless the
/// table raised another exception than `BufferError`.
#[cold]
fn without_table(
    object: &Bound<'_, PyAny>,
    options: &ImportOptions<'_>,
    by_table: PyResult<Imported>,
) -> PyResult<Imported> {
    let py = object.py();
    // A tensor of the table is released only when `__dlpack__` has returned.
    let (unusable, refused) = match by_table {
        Err(error) if !error.is_instance_of::<PyBufferError>(py) => return Err(error),
        Err(error) => (None, Some(error)),
        Ok(tensor) => (Some(tensor), None),
    };
    // SAFETY: 1. Producers are trusted to keep the standard.
    match unsafe { produce(object, options) } {
        Ok(tensor) => {
            quietly(py, refused.map_or(Ok(()), Err));
            drop(unusable);
            check_device(object, tensor, options)
        }
        // A type with a table need not have `__dlpack__`.
        Err(error) => {
            if refused.is_some() {
                error.set_cause(py, refused);
            }
            Err(error)
        }
    }
}

/// Takes the tensor of a bare capsule.
#[cold]
fn out_of_capsule(capsule: &Bound<'_, PyAny>, options: &ImportOptions<'_>) -> PyResult<Imported> {
    watch(capsule.py());
    // SAFETY: 1. By its name the capsule owns a tensor of a producer, who is
    // trusted to keep the standard.
    let tensor = unsafe { take::take(capsule, options.policy) }?;
    check_device(capsule, tensor, options)
}

/// Compares the device of the tensor with the one that was asked for, or, if that is not
/// the CPU, with what `__dlpack_device__` of its object returns.
#[cold]
fn check_device(
    object: &Bound<'_, PyAny>,
    tensor: Imported,
    options: &ImportOptions<'_>,
) -> PyResult<Imported> {
    let found = tensor.device();
    let said = match options.device {
        Some(asked) => asked,
        None if found == Device::CPU || object.is_exact_instance_of::<PyCapsule>() => found,
        None => device_of(object)?,
    };
    if said == found {
        return Ok(tensor);
    }
    let who = if options.device.is_some() { "it was asked for on" } else { "its object says" };
    Err(PyBufferError::new_err(format!("the tensor is on {found}, but {who} {said}")))
}

/// What to ask of a producer: nothing in particular, unless more is said.
///
/// ```
/// use dlpack_traits::{Device, python::ImportOptions};
///
/// let copied_to_host = ImportOptions::new().device(Device::CPU).copy(true);
/// # let _ = copied_to_host;
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "options ask for nothing by themselves"]
pub struct ImportOptions<'a> {
    pub(super) device: Option<Device>,
    pub(super) copy: Option<bool>,
    pub(super) stream: StreamArg<'a>,
    pub(super) stream_object: Option<&'a Bound<'a, PyAny>>,
    pub(super) policy: ImportPolicy,
    addresses: bool,
}

impl Default for ImportOptions<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> ImportOptions<'a> {
    /// Nothing in particular.
    pub const fn new() -> Self {
        Self {
            device: None,
            copy: None,
            stream: StreamArg::unspecified(),
            stream_object: None,
            policy: ImportPolicy::new(),
            addresses: false,
        }
    }

    /// The device to have the tensor on (`dl_device=`). A producer need not know
    /// any but the tensor's own and the CPU.
    pub const fn device(self, device: Device) -> Self {
        Self { device: Some(device), ..self }
    }

    /// Whether to have a copy (`copy=`): always, or never, and rather an error.
    ///
    /// A copy of a tensor on the CPU is made by this crate
    /// ([`Imported::to_own_copy`]): the producer exports its memory as it is, also one
    /// that does not accept `copy=`. Nothing else has the copy, so its elements are
    /// slices without `unsafe`. With [`device`](Self::device) set to the CPU, what a
    /// producer transfers from another device is copied once more, because the producer
    /// may keep the memory that it transferred to. A copy on another device is the
    /// producer's (`copy=True` is passed on), and [`Imported::exclusive`] refuses it.
    ///
    /// ```no_run
    /// use dlpack_traits::python::{self, ImportOptions};
    /// use pyo3::prelude::*;
    ///
    /// # #[allow(dead_code)]
    /// fn sorted(array: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    ///     let mut copy = python::from_dlpack_with(array, &ImportOptions::new().copy(true))?;
    ///     let mut elements = copy.exclusive()?;
    ///     elements.as_mut_slice::<i64>()?.sort_unstable();
    ///     Ok(elements.as_slice::<i64>()?.to_vec())
    /// }
    /// ```
    pub const fn copy(self, copy: bool) -> Self {
        Self { copy: Some(copy), ..self }
    }

    /// The stream on which the tensor will be used (`stream=`). Of tensors on
    /// the CPU it is not passed on: there are no streams.
    pub const fn stream(self, stream: StreamArg<'a>) -> Self {
        Self { stream, ..self }
    }

    /// The stream as an object, for producers that take no number, in place of
    /// [`stream`](Self::stream): dpnp wants a `dpctl.SyclQueue`. It is passed on as it
    /// is, and what it means is between the producer and the caller. Of tensors on
    /// the CPU it is not passed on.
    ///
    /// ```no_run
    /// use dlpack_traits::Imported;
    /// use dlpack_traits::python::{self, ImportOptions};
    /// use pyo3::prelude::*;
    ///
    /// /// An array of dpnp, ready for the work of a queue.
    /// # #[allow(dead_code)]
    /// fn take(array: &Bound<'_, PyAny>, queue: &Bound<'_, PyAny>) -> PyResult<Imported> {
    ///     python::from_dlpack_with(array, &ImportOptions::new().stream_object(queue))
    /// }
    /// ```
    pub const fn stream_object(self, stream: &'a Bound<'a, PyAny>) -> Self {
        Self { stream_object: Some(stream), ..self }
    }

    /// Takes memory for writable that comes in a legacy capsule, of before DLPack 1.0,
    /// which has no READ_ONLY flag. Otherwise it is read-only, as in NumPy.
    ///
    /// # Safety
    ///
    /// 1. If the object exports a legacy capsule, its memory may be written, by any
    ///    thread, until the tensor is released.
    pub const unsafe fn legacy_writable(self) -> Self {
        Self { policy: self.policy.legacy_writable(true), ..self }
    }

    /// Also takes exchange tables that types publish as integers, as they did
    /// before 1.3. Such types are asked for each time.
    ///
    /// # Safety
    ///
    /// 1. If the type of the object has an integer as
    ///    `__dlpack_c_exchange_api__` or `__c_dlpack_exchange_api__`, it is 0 or
    ///    the address of a table as the standard describes it, which lives as
    ///    long as the process.
    pub const unsafe fn trust_addresses(self) -> Self {
        Self { addresses: true, ..self }
    }

    /// Whether a copy is asked for that this crate makes, if the tensor is on the CPU.
    fn wants_own_copy(&self) -> bool {
        self.copy == Some(true) && self.device.is_none_or(|device| device == Device::CPU)
    }

    /// Whether a table can do what is asked: it has no words for more, and does
    /// not wait for a device.
    fn is_plain(&self) -> bool {
        self.device.is_none()
            && self.copy.is_none()
            && self.stream_object.is_none()
            && !matches!(self.stream.kind(), StreamKind::Handle(_))
    }

    /// Whether a tensor that came through a table can be used as it is.
    ///
    /// On a device it may not be ready, which `__dlpack__` sees to. And PyTorch's
    /// table gives complex tensors without the conjugation that they may stand
    /// for, which its `__dlpack__` refuses.
    #[inline]
    fn are_met_by(&self, tensor: &Imported) -> bool {
        let device = tensor.device();
        let is_ready = device == Device::CPU
            || (!device.is_host() && self.stream.kind() == StreamKind::NoSync);
        is_ready && tensor.dtype().code() != ffi::kDLComplex
    }

    /// The function of the table of the object's type that exports objects.
    #[inline(always)]
    fn export_of(&self, object: &Bound<'_, PyAny>) -> PyResult<Option<Export>> {
        match export_of(object)? {
            None if self.addresses => self.export_by_address(object),
            export => Ok(export),
        }
    }

    #[cold]
    fn export_by_address(&self, object: &Bound<'_, PyAny>) -> PyResult<Option<Export>> {
        let class = object.get_type();
        // What has a table as it should be is not asked for its address.
        if !self.addresses || peer_of(&class)?.is_some() {
            return Ok(None);
        }
        // SAFETY: 1 of `trust_addresses`.
        Ok(unsafe { peer_by_address(&class) }?.and_then(|peer| peer.export))
    }
}
