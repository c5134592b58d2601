//! Imported memory as memory of a backend: [`DeviceBuffer::from_foreign`].
//!
//! The conversion is `unsafe` because no struct says after which stream its memory is
//! ready. An `ImportedStorage` has no backend, so it cannot order a consumer after pending
//! work.

use core::ptr::NonNull;

use super::{Backend, DeviceBuffer, FreeOrder, WorkStream};
use crate::describe::check_imported;
use crate::error::Error;
use crate::import::ImportedStorage;
use crate::storage::Storage;

impl<B: Backend> DeviceBuffer<B> {
    /// Converts imported memory of a device into a buffer, with the stream
    /// after whose work it is ready. Unlike an `ImportedStorage`, the buffer orders
    /// consumers after that work, and can be copied.
    ///
    /// The layout remains that of
    /// [`ImportedStorage`](crate::AsLayout::describe_layout). When the work of all
    /// consumers is done, after a wait on the host, the deleter of the producer
    /// is called.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMismatch`] for a stream of another device;
    /// [`Error::ReadOnly`], because consumers may write to a buffer;
    /// [`Error::UnsupportedDType`] for a type that this crate does not support,
    /// or of elements narrower than a byte; [`Error::Misaligned`].
    ///
    /// # Safety
    ///
    /// 1. All work that fills the memory is done, or enqueued on `stream` or
    ///    ordered before it; so is later work of the producer that exported it.
    pub unsafe fn from_foreign(
        foreign: ImportedStorage,
        stream: WorkStream<B>,
    ) -> Result<Self, Error> {
        let tensor = foreign.imported();
        let (device, dtype) = (tensor.device(), tensor.dtype());
        if device != stream.device() {
            return Err(Error::DeviceMismatch { device: stream.device(), storage: device });
        }
        if tensor.is_read_only() {
            return Err(Error::ReadOnly);
        }
        if dtype.byte_size().is_none() || !dtype.is_well_formed() {
            return Err(Error::UnsupportedDType { dtype });
        }
        let memory = foreign.data();
        let (data, byte_len) = (memory.memory().ptr, memory.memory().byte_len);
        check_imported(data, dtype, device)?;
        let data = match NonNull::new(data.cast()) {
            Some(data) => data,
            // The standard requires that an empty tensor has no address.
            None if byte_len == 0 => NonNull::dangling(),
            None => return Err(Error::NullData),
        };
        // SAFETY: 1. and 3. It is the memory that `ImportedStorage` lends, for shared
        // use, and keeps. 2. Its producer guarantees the contents, and the
        // alignment was checked. 4. By our caller's 1. 5. `AtOnce` makes no
        // promise about the stream: the producer may free the memory at once.
        Ok(unsafe {
            Self::from_raw_parts(data, byte_len, dtype, stream, foreign, FreeOrder::Immediate)
        })
    }
}
