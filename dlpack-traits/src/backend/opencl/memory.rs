//! Buffers of OpenCL: allocation, adoption, copies, frees.

use core::ffi::c_void;
use core::ptr::{self, NonNull};

use super::OpenCl;
use super::devices::runtime;
use super::queue::OpenClQueue;
use super::sys::{Calls, OpenClObject, Ref};
use crate::backend::{Allocator, DeviceBuffer, FreeOrder, Memcpy, MemoryRef, WorkStream};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::kDLOpenCL;
use crate::import::ImportedTensor;

/// `CL_MEM_READ_WRITE`.
const READ_WRITE: u64 = 1;
/// `CL_MEM_TYPE`, `CL_MEM_SIZE`, `CL_MEM_CONTEXT`; `CL_MEM_OBJECT_BUFFER`.
const TYPE: u32 = 0x1100;
const SIZE: u32 = 0x1102;
const CONTEXT: u32 = 0x1106;
const BUFFER: u32 = 0x10F0;
/// The error codes of OpenCL for a failed allocation, or for a size that is too large.
const OUT_OF_MEMORY: [i32; 4] = [-4, -5, -6, -61];

/// A `cl_mem` that is a buffer, with a reference to it.
#[derive(Debug)]
pub struct OpenClMemory {
    memory: OpenClObject,
    byte_len: usize,
    context: Ref,
}

// SAFETY: the handles are OpenCL's, whose functions any thread may call.
unsafe impl Send for OpenClMemory {}
// SAFETY: the handles are OpenCL's, whose functions any thread may call.
unsafe impl Sync for OpenClMemory {}

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
        let raw = NonNull::new(handle).ok_or(Error::NullData)?;
        // SAFETY: 1. By our caller's 1; every memory object has a type of 32 bits.
        let kind: u32 = unsafe { calls.ask(device, Calls::memory_info, handle, TYPE) }?;
        if kind != BUFFER {
            return Err(Error::Unsupported { device, what: "tensors in images and pipes" });
        }
        // SAFETY: 1. By our caller's 1; a buffer has a size.
        let byte_len = unsafe { calls.ask(device, Calls::memory_info, handle, SIZE) }?;
        // SAFETY: 1. By our caller's 1; a buffer has a context.
        let context = unsafe { calls.ask(device, Calls::memory_info, handle, CONTEXT) }?;
        // SAFETY: 1. By our caller's 1.
        unsafe { calls.retain_memory(device, handle) }?;
        // SAFETY: 1. It was just retained.
        let memory = unsafe { OpenClObject::new(calls, device, raw, Calls::release_memory) };
        Ok(OpenClMemory { memory, byte_len, context })
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
        if memory.context != stream.stream().context() {
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
                data,
                byte_len,
                dtype,
                stream,
                memory,
                FreeOrder::StreamOrdered,
            )
        })
    }
}

fn allocate(queue: &OpenClQueue, device: Device, byte_len: usize) -> Result<OpenClObject, Error> {
    let (calls, context) = (queue.calls, queue.context());
    // SAFETY: 1. A context, documented flags, and no host memory.
    let memory = unsafe { calls.create_memory(device, context, READ_WRITE, byte_len, ptr::null()) };
    // Some runtimes allocate when the buffer is created, others at its first use.
    let filled = memory.and_then(|memory| {
        queue.enqueue(|raw, event| {
            let (zero, none) = (0_u8, ptr::null());
            let pattern = (&raw const zero).cast();
            // SAFETY: 1. A queue, a new buffer of that length in its context, and a pattern
            // of one byte, which OpenCL copies.
            unsafe {
                calls.fill(device, raw, memory.raw(), pattern, 1, 0, byte_len, 0, none, event)
            }
        })?;
        Ok(memory)
    });
    filled.map_err(|error| match error {
        Error::Device { code, .. } if OUT_OF_MEMORY.contains(&code) => {
            Error::OutOfMemory { bytes: byte_len }
        }
        error => error,
    })
}

// SAFETY: 1. It is the handle of a new buffer. 2. Zeros are written in the order of the
// queue. 3. OpenCL keeps a buffer until the commands that use it, on any queue, are done.
unsafe impl Allocator for OpenCl {
    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<NonNull<c_void>, Error> {
        Ok(allocate(stream.stream(), stream.device(), byte_len)?.into_raw())
    }

    unsafe fn deallocate(
        stream: &WorkStream<Self>,
        data: NonNull<c_void>,
        _: usize,
    ) -> Result<(), Error> {
        let calls = stream.stream().calls;
        // SAFETY: 1. By our caller's 1, the reference is that of `allocate`.
        unsafe { calls.release_memory(stream.device(), data.as_ptr()) }
    }
}

// SAFETY: 1. OpenCL copies exactly `byte_len` bytes; `enqueue` guarantees the order. 2. The
// calls that return those errors enqueue nothing.
unsafe impl Memcpy for OpenCl {
    unsafe fn copy(
        stream: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        let (queue, device) = (stream.stream(), stream.device());
        let calls = queue.calls;
        let is_ours = |place: &MemoryRef| place.device.device_type() == kDLOpenCL;
        let nothing = ptr::null();
        match (is_ours(&from), is_ours(&to)) {
            (true, true) => {
                let ((from, start), (to, end)) = (from.in_object()?, to.in_object()?);
                queue.enqueue(|raw, event| {
                    // SAFETY: 1. A queue; buffers by our caller's 1, of its context or
                    // rejected by OpenCL.
                    unsafe {
                        calls.copy(device, raw, from, to, start, end, byte_len, 0, nothing, event)
                    }
                })
            }
            (true, false) if to.device == Device::CPU => {
                let ((from, start), target) = (from.in_object()?, to.address().cast());
                queue.enqueue(|raw, event| {
                    // SAFETY: 1. A queue; a buffer and host memory by our caller's 1.
                    unsafe {
                        calls.read(device, raw, from, 0, start, byte_len, target, 0, nothing, event)
                    }
                })
            }
            (false, true) if from.device == Device::CPU => {
                let ((to, start), source) = (to.in_object()?, from.address().cast_const().cast());
                queue.enqueue(|raw, event| {
                    // SAFETY: 1. A queue; a buffer and host memory by our caller's 1.
                    unsafe {
                        calls.write(device, raw, to, 0, start, byte_len, source, 0, nothing, event)
                    }
                })
            }
            _ => {
                let device = if is_ours(&from) { to.device } else { from.device };
                Err(Error::Unsupported { device, what: "copy by a queue of OpenCL" })
            }
        }
    }
}
