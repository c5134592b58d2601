//! The synchronization of lent memory with a consumer, as a part of the loan.
//!
//! The synchronizer is a part of the loan and not a method of `Storage`: each wrapper would
//! have to forward a method, and a wrapper in safe code that did not could free memory
//! under running kernels. Device memory without a synchronizer is not exported, not even to
//! a consumer that names no stream, because on CUDA that is the default stream. For host
//! memory both facts are constants, so it costs nothing.

use core::ptr::NonNull;

use crate::device::Device;
use crate::error::Error;
use crate::stream_arg::{StreamArg, StreamKind, Synchronize};

/// A borrowed [`Synchronize`], with its lifetime and its type erased.
///
/// The lifetime of a `dyn Synchronize` cannot be erased in safe code; it would need a cast
/// that the compiler will reject in the future.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyncBy {
    by: NonNull<()>,
    /// [`Synchronize::sync_for`] of the type that `by` points to, for device memory.
    sync_for: unsafe fn(NonNull<()>, Device, StreamArg<'_>) -> Result<(), Error>,
}

impl SyncBy {
    /// The rule for imported device memory. It is ready for the consumer that it was
    /// imported for, so it can be exported to a consumer that names no stream, but to no
    /// other: only a backend of the device can order another stream after the producer's
    /// work, and only a backend can delay the release of the memory until work on a stream
    /// that the producer does not use has finished.
    ///
    /// Pinned and managed memory is not exported to a consumer that names no stream: the
    /// consumer may be a library on the host, which reads at once, while a device still
    /// writes the memory.
    pub(super) const IMPORT: Self = {
        #[cold]
        fn sync_for(_: NonNull<()>, device: Device, consumer: StreamArg<'_>) -> Result<(), Error> {
            match consumer.kind() {
                StreamKind::Unspecified if !device.is_read_by_host() => Ok(()),
                StreamKind::Unspecified => Err(Error::NotOrdered { device }),
                _ if device.is_host() => consumer.host(),
                _ => Err(Error::NotOrdered { device }),
            }
        }
        Self { by: NonNull::dangling(), sync_for }
    };

    /// The rule for imported device memory that this program exported for the processor or
    /// for a stream: it is not exported again. The producer did not record a use of the
    /// default stream, and so could free the memory while that stream uses it.
    pub(super) const IMPORT_FOR_ANOTHER: Self = {
        #[cold]
        fn sync_for(_: NonNull<()>, device: Device, _: StreamArg<'_>) -> Result<(), Error> {
            Err(Error::NotOrdered { device })
        }
        Self { by: NonNull::dangling(), sync_for }
    };

    /// A value that gets no stream of a device of another vendor.
    pub(super) const fn new<S: Synchronize>(by: &S) -> Self {
        Self::checked::<S, true>(by)
    }

    /// A value that checks itself whether the device of a stream can work on the memory.
    pub(super) const fn of_backend<S: Synchronize>(by: &S) -> Self {
        Self::checked::<S, false>(by)
    }

    const fn checked<S: Synchronize, const CHECKED: bool>(by: &S) -> Self {
        /// # Safety
        ///
        /// 1. `by` points to an `S` that is borrowed for reading.
        unsafe fn sync_for<S: Synchronize, const CHECKED: bool>(
            by: NonNull<()>,
            memory: Device,
            consumer: StreamArg<'_>,
        ) -> Result<(), Error> {
            if CHECKED {
                consumer.check_device(memory)?;
            }
            // SAFETY: guaranteed by our caller's 1.
            let by: &S = unsafe { by.cast::<S>().as_ref() };
            by.sync_for(consumer)
        }
        // SAFETY: a reference is not null.
        let by = unsafe { NonNull::new_unchecked((&raw const *by).cast_mut().cast()) };
        Self { by, sync_for: sync_for::<S, CHECKED> }
    }

    /// Calls [`Synchronize::sync_for`].
    ///
    /// # Safety
    ///
    /// 1. The borrow that [`new`](Self::new) took has not ended.
    unsafe fn sync_for(self, device: Device, consumer: StreamArg<'_>) -> Result<(), Error> {
        // SAFETY: 1. `new` made the function for the type of `by`, which by 1 is borrowed.
        unsafe { (self.sync_for)(self.by, device, consumer) }
    }
}

/// Synchronizes pending work on lent memory with a consumer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Synchronizer {
    sync: Option<SyncBy>,
    device: Device,
}

impl Synchronizer {
    #[inline(always)]
    pub(super) const fn new(sync: Option<SyncBy>, device: Device) -> Self {
        Self { sync, device }
    }

    /// The device of the memory.
    #[inline(always)]
    pub(crate) const fn device(&self) -> Device {
        self.device
    }

    /// Synchronizes pending work on the memory with the consumer. Every export calls this
    /// for the memory that its struct names, before it returns the struct.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMismatch`] for a stream of another device, and those of the
    /// [`Synchronize`] of the loan. Without one: [`Error::StreamOnHost`] for
    /// host memory, and an [`Error::Custom`] for device memory.
    ///
    /// # Safety
    ///
    /// 1. The loan of the memory has not ended.
    #[inline]
    pub(crate) unsafe fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        match self.sync {
            Some(sync) => {
                // SAFETY: 1. The reference is a part of the loan, which by 1 has not ended.
                unsafe { sync.sync_for(self.device, consumer) }
            }
            None => consumer.host_on(self.device),
        }
    }
}
