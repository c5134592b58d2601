//! Memory with a declared device other than the CPU.

use core::cell::UnsafeCell;
use std::sync::Mutex;

use dlpack_traits::ffi::DLDeviceType;
use dlpack_traits::{
    DLPackExport, DataRef, DataType, Describe, Description, Device, Error, SharedOwner, Storage,
    StreamArg, Synchronize,
};
use pyo3::prelude::*;

use crate::counted::Several;

/// Six `float32`s, 0 to 5, that claim to be on a device.
#[pyclass(frozen, module = "dlpack_testing")]
pub(crate) struct OnDevice {
    data: Several<Claim>,
    byte_offset: usize,
    streams: Mutex<Vec<String>>,
}

struct Claim {
    elements: UnsafeCell<[f32; 6]>,
    device: Device,
    writable: bool,
}

// SAFETY: no code here accesses the elements.
unsafe impl Sync for Claim {}

impl Storage for Claim {
    fn data(&self) -> DataRef<'_> {
        let (first, len) = (self.elements.get().cast::<u8>(), size_of::<[f32; 6]>());
        if self.writable {
            // SAFETY: 1. As below. 2. They are initialized and aligned floats. 3. No
            // reference to them exists.
            let data =
                unsafe { DataRef::from_raw_parts_shared(first, len, DataType::F32, self.device) };
            // SAFETY: 1. and 2. No device works on it.
            return unsafe { data.synchronized_by(&Idle) };
        }
        // SAFETY:
        // 1. This is that many bytes of one allocation. The declared device is wrong,
        //    except for the pinned kinds, which are host memory: no test passes
        //    the address to a runtime of the others.
        // 2. They are initialized and aligned floats.
        // 3. They are lent for reading: no one writes to them.
        let data = unsafe { DataRef::from_raw_parts(first, len, DataType::F32, self.device) };
        // SAFETY: 1. and 2. No device works on it.
        unsafe { data.synchronized_by(&Idle) }
    }
}

/// Nothing is pending, and nothing will be.
struct Idle;

impl Synchronize for Idle {
    fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
        Ok(())
    }
}

impl DLPackExport for OnDevice {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        let dims: &[i64] = match self.byte_offset {
            0 => &[6],
            4 => &[5],
            8 => &[4],
            _ => return Err(Error::Custom("this test class has three offsets")),
        };
        out.shape(dims).byte_offset(self.byte_offset).data(self.data.data())
    }

    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        if let Ok(mut streams) = self.streams.lock() {
            streams.push(format!("{:?}", consumer.kind()));
        }
        Ok(())
    }

    fn share(&self) -> Option<SharedOwner> {
        self.data.share()
    }
}

#[pymethods]
impl OnDevice {
    #[new]
    #[pyo3(signature = (device_type, device_id=0, byte_offset=0, writable=false))]
    fn new(device_type: i32, device_id: i32, byte_offset: usize, writable: bool) -> Self {
        let device = Device::new(DLDeviceType(device_type), device_id);
        let elements = UnsafeCell::new([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let data = Several::new(Claim { elements, device, writable });
        Self { data, byte_offset, streams: Mutex::default() }
    }

    /// Address of the first element of the storage.
    #[getter]
    fn data_ptr(&self) -> usize {
        self.data.get().elements.get().addr()
    }

    /// Returns and clears the stream arguments that consumers passed.
    fn streams(&self) -> Vec<String> {
        self.streams.lock().map(|mut streams| core::mem::take(&mut *streams)).unwrap_or_default()
    }
}
