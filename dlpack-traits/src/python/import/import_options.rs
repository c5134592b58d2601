//! The options of an import: [`ImportOptions`].

use pyo3::prelude::*;

use crate::device::Device;
use crate::exchange::foreign_table::ExportFunction;
use crate::import::{ImportPolicy, ImportedTensor};
use crate::python::table::lookup::{OfObject, table_by_address, table_of};
use crate::stream_arg::{StreamArg, StreamKind};

/// Options of an import: device, copy, stream. By default nothing is requested.
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
    pub(in crate::python) device: Option<Device>,
    pub(in crate::python) copy: Option<bool>,
    pub(in crate::python) stream: StreamArg<'a>,
    pub(in crate::python) stream_object: Option<&'a Bound<'a, PyAny>>,
    pub(in crate::python) policy: ImportPolicy,
    addresses: bool,
}

impl Default for ImportOptions<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> ImportOptions<'a> {
    /// Requests nothing.
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

    /// Requests a device for the tensor (`dl_device=`). Producers need to support only
    /// the tensor's own device and the CPU.
    pub const fn device(self, device: Device) -> Self {
        Self { device: Some(device), ..self }
    }

    /// Requests a copy (`copy=`): `true` always copies; `false` never copies, and the
    /// import fails if a copy would be needed.
    ///
    /// This crate makes the copy of a tensor on the CPU ([`ImportedTensor::to_own_copy`]): the
    /// producer exports its memory zero-copy, even if it does not accept `copy=`. The
    /// copy has no other owner, so its elements can be borrowed as slices without
    /// `unsafe`. With [`device`](Self::device) set to the CPU, a tensor that a producer
    /// transfers from another device is copied once more, because the producer may keep
    /// the memory that it transferred to. On other devices the producer makes the copy
    /// (`copy=True` is passed on), and [`ImportedTensor::exclusive`] rejects it.
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

    /// Sets the stream on which the caller will use the tensor (`stream=`). It is not
    /// passed on for tensors on the CPU, which has no streams.
    pub const fn stream(self, stream: StreamArg<'a>) -> Self {
        Self { stream, ..self }
    }

    /// Sets the stream as a Python object, in place of [`stream`](Self::stream), for
    /// producers that do not accept a number: dpnp expects a `dpctl.SyclQueue`. It is
    /// passed on unchanged, and only the producer interprets it. It is not passed on for
    /// tensors on the CPU.
    ///
    /// ```no_run
    /// use dlpack_traits::ImportedTensor;
    /// use dlpack_traits::python::{self, ImportOptions};
    /// use pyo3::prelude::*;
    ///
    /// /// An array of dpnp, ready for the work of a queue.
    /// # #[allow(dead_code)]
    /// fn take(array: &Bound<'_, PyAny>, queue: &Bound<'_, PyAny>) -> PyResult<ImportedTensor> {
    ///     python::from_dlpack_with(array, &ImportOptions::new().stream_object(queue))
    /// }
    /// ```
    pub const fn stream_object(self, stream: &'a Bound<'a, PyAny>) -> Self {
        Self { stream_object: Some(stream), ..self }
    }

    /// Sets the most bytes that all elements together may have, also of a broadcast tensor
    /// ([`ImportedTensor::nbytes`]). A tensor with more is a `ValueError`, before a copy is made.
    ///
    /// ```no_run
    /// use dlpack_traits::ImportedTensor;
    /// use dlpack_traits::python::{self, ImportOptions};
    /// use pyo3::prelude::*;
    ///
    /// # #[allow(dead_code)]
    /// fn upload(array: &Bound<'_, PyAny>) -> PyResult<ImportedTensor> {
    ///     python::from_dlpack_with(array, &ImportOptions::new().copy(true).max_bytes(64 << 20))
    /// }
    /// ```
    pub const fn max_bytes(self, most: u64) -> Self {
        Self { policy: self.policy.max_bytes(most), ..self }
    }

    /// Treats memory that arrives in a legacy capsule (before DLPack 1.0) as writable. A
    /// legacy capsule has no READ_ONLY flag; without this option its memory is read-only,
    /// as in NumPy.
    ///
    /// # Safety
    ///
    /// 1. If the object exports a legacy capsule, its memory may be written, by any
    ///    thread, until the tensor is released.
    pub const unsafe fn legacy_writable(self) -> Self {
        Self { policy: self.policy.legacy_writable(true), ..self }
    }

    /// Also accepts exchange tables that types publish as integers, as they did before
    /// DLPack 1.3. The attribute of such a type is read in each import.
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

    /// Whether the options request a copy that this crate makes if the tensor is on the
    /// CPU.
    pub(in crate::python) fn wants_own_copy(&self) -> bool {
        self.copy == Some(true) && self.device.is_none_or(|device| device == Device::CPU)
    }

    /// Whether the memory of a device is ready for another consumer than one that names no stream.
    pub(in crate::python) fn names_stream(&self) -> bool {
        let named = matches!(self.stream.kind(), StreamKind::NoSync | StreamKind::Handle(_));
        named || self.stream_object.is_some()
    }

    /// Whether every tensor meets these options: an error is then not about them.
    pub(in crate::python) fn are_met_by_any(&self) -> bool {
        self.device.is_none()
            && self.copy != Some(false)
            && !self.names_stream()
            && self.policy == ImportPolicy::new()
    }

    /// Whether the exchange table can export with these options: its function has no
    /// parameters for a device, a copy or a stream, and does not synchronize.
    pub(in crate::python) fn fits_a_table(&self) -> bool {
        self.device.is_none()
            && self.copy.is_none()
            && self.stream_object.is_none()
            && !matches!(self.stream.kind(), StreamKind::Handle(_))
    }

    /// Whether a tensor that a table exported can be used as it is.
    ///
    /// On a device its data may not be ready; `__dlpack__` synchronizes.
    #[inline]
    pub(in crate::python) fn are_met_by(&self, tensor: &ImportedTensor) -> bool {
        let device = tensor.device();
        device == Device::CPU || (!device.is_host() && self.stream.kind() == StreamKind::NoSync)
    }

    /// Returns the function of the exchange table of the object's type that exports
    /// objects.
    #[inline(always)]
    pub(in crate::python) fn export_of<'o, 'py>(
        &self,
        object: &'o Bound<'py, PyAny>,
    ) -> PyResult<Option<OfObject<'o, 'py, ExportFunction>>> {
        match table_of(object)? {
            Some(table) => Ok(table.export()),
            None if self.addresses => export_by_address(object),
            None => Ok(None),
        }
    }
}

/// As [`ImportOptions::export_of`], of a table that the type publishes as an integer. A type that
/// publishes its table in a capsule is not checked for one.
#[cold]
fn export_by_address<'o, 'py>(
    object: &'o Bound<'py, PyAny>,
) -> PyResult<Option<OfObject<'o, 'py, ExportFunction>>> {
    // SAFETY: 1 (an integer is 0 or the address of a table) is 1 of
    // `trust_addresses`, which the caller's options require.
    Ok(unsafe { table_by_address(object) }?.and_then(OfObject::export))
}
