//! Buffers of other libraries: [`OpenClMemory`].

use core::ffi::c_void;
use core::ptr::NonNull;

use super::OpenCl;
use super::devices::runtime;
use super::sys::{self, OpenClObject};
use crate::backend::{DeviceBuffer, FreeOrder, MemoryRange, WorkStream};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::kDLOpenCL;
use crate::import::ImportedTensor;

/// `CL_MEM_OBJECT_BUFFER`.
const BUFFER: u32 = 0x10F0;

/// A `cl_mem` that is a buffer, with a reference to it.
#[derive(Debug)]
pub struct OpenClMemory {
    memory: OpenClObject<sys::Memory>,
    byte_len: usize,
    /// The address of its `cl_context`, to be compared.
    context: usize,
}

impl OpenClMemory {
    /// The handle.
    pub fn as_ptr(&self) -> *mut c_void {
        self.memory.raw()
    }

    /// Length in bytes, as OpenCL reports it.
    pub fn byte_len(&self) -> usize {
        self.byte_len
    }

    /// Rejects a tensor that extends beyond the buffer.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::SizeOverflow`].
    pub fn holds(&self, tensor: &ImportedTensor) -> Result<(), Error> {
        let offset = i64::try_from(tensor.byte_offset()).map_err(|_| Error::SizeOverflow)?;
        let bytes = tensor.byte_range();
        let at = |bytes: isize| {
            let bytes = i64::try_from(bytes).map_err(|_| Error::SizeOverflow)?;
            offset.checked_add(bytes).ok_or(Error::SizeOverflow)
        };
        let (start, end) = (at(bytes.start)?, at(bytes.end)?);
        let fits = start >= 0 && usize::try_from(end).is_ok_and(|end| end <= self.byte_len);
        if fits { Ok(()) } else { Err(Error::OutOfBounds { start, end, len: self.byte_len }) }
    }
}

impl OpenCl {
    /// Looks up the buffer behind a handle. Only pass a handle: OpenCL cannot look up an
    /// address.
    ///
    /// # Errors
    ///
    /// [`Error::NullData`], [`Error::Unsupported`] for an image, and those of the
    /// runtime.
    ///
    /// # Safety
    ///
    /// 1. `handle` is NULL or a `cl_mem` that is alive.
    pub unsafe fn memory(handle: *mut c_void) -> Result<OpenClMemory, Error> {
        let calls = runtime()?.calls;
        let device = Device::new(kDLOpenCL, 0);
        // SAFETY: by our caller's 1 it is NULL, or an object that is alive.
        let object = unsafe { handle.cast::<sys::Memory>().as_ref() }.ok_or(Error::NullData)?;
        if calls.ask(device, object, sys::MEMORY_TYPE)? != BUFFER {
            return Err(Error::Unsupported { device, what: "tensors in images and pipes" });
        }
        let byte_len = calls.ask(device, object, sys::MEMORY_SIZE)?;
        let context = calls.ask(device, object, sys::MEMORY_CONTEXT)?;
        let memory = calls.retained(device, object)?;
        Ok(OpenClMemory { memory, byte_len, context: context.addr() })
    }

    /// Converts a buffer of another library into memory that can be exported.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for a queue of another context, and
    /// [`Error::UnsupportedDType`].
    ///
    /// # Safety
    ///
    /// 1. All work on the buffer is done, or enqueued on `stream` or ordered
    ///    before it; later work outside of hand-offs is too.
    /// 2. Its bytes may be read and written. If it was made over memory of the host
    ///    (`CL_MEM_USE_HOST_PTR`), no Rust reference to any of that exists.
    pub unsafe fn adopt(
        memory: OpenClMemory,
        dtype: DataType,
        stream: WorkStream<Self>,
    ) -> Result<DeviceBuffer<Self>, Error> {
        if memory.context != stream.stream().context().addr() {
            let what = "work on a buffer of another context";
            return Err(Error::Unsupported { device: stream.device(), what });
        }
        if !dtype.is_well_formed() {
            return Err(Error::UnsupportedDType { dtype });
        }
        let data = NonNull::new(memory.as_ptr()).ok_or(Error::NullData)?;
        let byte_len = memory.byte_len;
        // SAFETY: 1. The reference keeps the buffer, of that length. 2. OpenCL aligns it,
        // and its bytes always have some value. 3. By our caller's 2. 4. By our caller's 1.
        // 5. When the reference is released, OpenCL keeps the buffer for all work that is
        // enqueued.
        Ok(unsafe {
            DeviceBuffer::from_raw_parts(
                MemoryRange::new(data, byte_len),
                dtype,
                stream,
                memory,
                FreeOrder::StreamOrdered,
            )
        })
    }
}
