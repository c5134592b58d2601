//! Tensors on GPUs, for `tests/python/gpus` on the simulator, and for
//! `tests/devices/gpu/evidence.py` on a GPU.

use core::any::Any;
use core::ffi::c_void;

use dlpack_traits::backend::{
    self, Backends, Cpu, Cuda, DeviceBuffer, Rocm, StreamHandle, WorkStream,
};
use dlpack_traits::ffi::DLDeviceType;
use dlpack_traits::{
    AsLayout, DLPackExport, DLPackImport, DataType, Describe, Description, Device, Error,
    ImportError, ImportedStorage, ImportedTensor, SharedOwner, Storage, python,
};
use pyo3::prelude::*;

/// The classes of one vendor: Python has no generic ones.
macro_rules! on_gpus {
    (
        $backend:ty, $kind:expr, $add:ident: $made:ident, $taken:ident, $entered:ident,
        $attributes:ident, $work_stream:ident, $devices:ident
    ) => {
        /// Zeros, `float32`, for work on a stream of the caller's.
        #[pyclass(frozen, module = "dlpack_testing")]
        #[derive(DLPackExport)]
        pub(crate) struct $made {
            data: DeviceBuffer<$backend>,
            shape: Vec<usize>,
        }

        #[pymethods]
        impl $made {
            /// `kind` is the number of a device type: GPU, pinned or managed memory.
            #[new]
            #[pyo3(signature = (len, stream=0, kind=$kind, index=0))]
            fn new(len: usize, stream: usize, kind: i32, index: i32) -> PyResult<Self> {
                let device = Device::new(DLDeviceType(kind), index);
                let handle = StreamHandle::from_number(stream);
                // SAFETY: 1. The caller keeps its streams.
                let stream = unsafe { WorkStream::borrow(device, handle) }?;
                let data = DeviceBuffer::zeroed_on(stream, DataType::F32, len)?;
                Ok(Self { data, shape: vec![len] })
            }

            #[getter]
            fn data_ptr(&self) -> usize {
                self.data.as_ptr().addr()
            }

            /// The elements, after the work on the stream.
            fn values(&self) -> PyResult<Vec<f32>> {
                Ok(self.data.to_vec()?)
            }
        }

        /// An imported tensor on a GPU, which can be exported for any stream.
        #[pyclass(frozen, module = "dlpack_testing")]
        pub(crate) struct $taken(DeviceBuffer<$backend>, ImportedStorage);

        impl DLPackExport for $taken {
            fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
                out.layout(self.1.layout()).data(self.0.data())
            }

            fn share(&self) -> Option<SharedOwner> {
                Storage::share(&self.0)
            }
        }

        impl DLPackImport for $taken {
            fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
                backend::check_device::<$backend>(&tensor)?;
                let stream = WorkStream::<$backend>::current(tensor.device())?;
                let foreign = ImportedStorage::new(tensor)?;
                // SAFETY: 1. It was imported for the default stream, which is the current
                // one.
                let buffer = unsafe { DeviceBuffer::from_foreign(foreign.clone(), stream) }?;
                Ok(Self(buffer, foreign))
            }
        }

        #[pymethods]
        impl $taken {
            #[getter]
            fn data_ptr(&self) -> usize {
                self.1.imported().data_ptr().addr()
            }
        }

        /// This thread works on a stream of the caller's, until it leaves.
        #[pyclass(unsendable, module = "dlpack_testing")]
        pub(crate) struct $entered(Option<Box<dyn Any>>);

        #[pymethods]
        impl $entered {
            #[new]
            #[pyo3(signature = (stream, index=0))]
            fn new(stream: usize, index: i32) -> PyResult<Self> {
                let device = Device::new(DLDeviceType($kind), index);
                let handle = StreamHandle::from_number(stream);
                // SAFETY: 1. The caller keeps its streams.
                let guard = unsafe { <$backend>::enter_stream(device, handle) }?;
                Ok(Self(Some(Box::new(guard))))
            }

            fn leave(&mut self) {
                self.0 = None;
            }
        }

        /// Whose memory an address is: device type, index, and whether the host reads it.
        #[pyfunction]
        fn $attributes(address: usize) -> PyResult<(i32, i32, bool)> {
            let data = core::ptr::without_provenance::<c_void>(address);
            let hint = Device::new(DLDeviceType($kind), 0);
            let known = <(Cpu, $backend)>::pointer_attributes(data, hint)?;
            let device = known.device;
            Ok((device.device_type().0, device.device_id(), known.host_accessible))
        }

        /// The stream that the exchange table of our classes names.
        #[pyfunction]
        fn $work_stream() -> PyResult<usize> {
            let device = Device::new(DLDeviceType($kind), 0);
            Ok(<(Cpu, $backend)>::current_work_stream(device)?.addr())
        }

        /// How many GPUs there are.
        #[pyfunction]
        fn $devices() -> PyResult<usize> {
            Ok(<$backend>::device_count()?)
        }

        pub(crate) fn $add(m: &Bound<'_, PyModule>) -> PyResult<()> {
            python::class::<$made>().backends::<(Cpu, $backend)>().add(m)?;
            python::class::<$taken>().importable().backends::<(Cpu, $backend)>().add(m)?;
            m.add_class::<$entered>()?;
            m.add_function(wrap_pyfunction!($attributes, m)?)?;
            m.add_function(wrap_pyfunction!($work_stream, m)?)?;
            m.add_function(wrap_pyfunction!($devices, m)?)
        }
    };
}

on_gpus!(
    Cuda, 2, add_cuda: OnCuda, FromCuda, EnteredCuda,
    cuda_attributes, cuda_work_stream, cuda_devices
);

on_gpus!(
    Rocm, 10, add_rocm: OnRocm, FromRocm, EnteredRocm,
    rocm_attributes, rocm_work_stream, rocm_devices
);
