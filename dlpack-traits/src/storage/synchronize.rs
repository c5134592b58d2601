//! What synchronizes lent memory with a consumer: a part of the loan.

use core::ptr::NonNull;

use crate::device::Device;
use crate::error::Error;
use crate::storage::{Data, DataRef, Memory};
use crate::stream::{StreamArg, StreamKind, Synchronize};

/// A borrowed [`Synchronize`], without its lifetime and its type.
///
/// A `dyn Synchronize` cannot lose its lifetime in safe code, and needs a cast that the
/// compiler is going to refuse.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyncBy {
    by: NonNull<()>,
    /// [`Synchronize::sync_for`] of what `by` points to, for memory of a device.
    sync_for: unsafe fn(NonNull<()>, Device, StreamArg<'_>) -> Result<(), Error>,
}

impl SyncBy {
    /// The rule for imported memory of a device: it is ready for the consumer that it was
    /// imported for, which is as much as can be told to a consumer that names no stream.
    /// To order any other stream behind the producer takes a backend of the device; and
    /// only a backend can free the memory after work of a stream that the producer does
    /// not know.
    ///
    /// Pinned and managed memory is refused to a consumer that names no stream: it may be a
    /// library of the host, which reads at once, while a device still fills the memory.
    pub(super) const IMPORT: Self = {
        #[cold]
        fn sync_for(_: NonNull<()>, device: Device, consumer: StreamArg<'_>) -> Result<(), Error> {
            match consumer.kind() {
                StreamKind::Unspecified if !device.is_read_by_host() => Ok(()),
                StreamKind::Unspecified => Err(Error::NoBackend { device }),
                _ if device.is_host() => consumer.host(),
                _ => Err(Error::NoBackend { device }),
            }
        }
        Self { by: NonNull::dangling(), sync_for }
    };

    /// The rule for imported memory of a device that this program exported for the processor
    /// or for a stream: no export. The producer did not record a use of the default stream,
    /// and so could free the memory while that stream uses it.
    pub(super) const IMPORT_FOR_ANOTHER: Self = {
        #[cold]
        fn sync_for(_: NonNull<()>, device: Device, _: StreamArg<'_>) -> Result<(), Error> {
            Err(Error::NoBackend { device })
        }
        Self { by: NonNull::dangling(), sync_for }
    };

    pub(super) const fn new<S: Synchronize>(by: &S) -> Self {
        /// # Safety
        ///
        /// 1. `by` points to an `S` that is borrowed for reading.
        unsafe fn sync_for<S: Synchronize>(
            by: NonNull<()>,
            _: Device,
            consumer: StreamArg<'_>,
        ) -> Result<(), Error> {
            // SAFETY: by 1.
            let by: &S = unsafe { by.cast::<S>().as_ref() };
            by.sync_for(consumer)
        }
        // SAFETY: a reference is not null.
        let by = unsafe { NonNull::new_unchecked((&raw const *by).cast_mut().cast()) };
        Self { by, sync_for: sync_for::<S> }
    }

    /// Calls [`Synchronize::sync_for`].
    ///
    /// # Safety
    ///
    /// 1. The borrow that [`new`](Self::new) took is not over.
    unsafe fn sync_for(self, device: Device, consumer: StreamArg<'_>) -> Result<(), Error> {
        // SAFETY: 1. `new` made the function for the type of `by`, which by 1 is borrowed.
        unsafe { (self.sync_for)(self.by, device, consumer) }
    }
}

/// What synchronizes pending work on lent memory with a consumer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Synchronizer {
    sync: Option<SyncBy>,
    device: Device,
}

impl Synchronizer {
    /// Where the memory is.
    #[inline(always)]
    pub(crate) const fn device(&self) -> Device {
        self.device
    }

    /// Synchronizes pending work on the memory with the consumer. Every export calls
    /// this for the memory that its struct names, before it gives the struct away.
    ///
    /// # Errors
    ///
    /// Those of the [`Synchronize`] of the loan. Without one: [`Error::StreamOnHost`] for
    /// memory of the host, and an [`Error::Custom`] for any other.
    ///
    /// # Safety
    ///
    /// 1. The loan of the memory is not over.
    #[inline]
    pub(crate) unsafe fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        match self.sync {
            // SAFETY: 1. The reference is a part of the loan, which by 1 is not over.
            Some(sync) => unsafe { sync.sync_for(self.device, consumer) },
            None => consumer.host_on(self.device),
        }
    }
}

impl Memory {
    /// What synchronizes pending work on it with a consumer.
    #[inline(always)]
    pub(crate) const fn synchronizer(&self) -> Synchronizer {
        Synchronizer { sync: self.sync, device: self.device }
    }
}

impl<'a> DataRef<'a> {
    /// Says what synchronizes work on this memory with a consumer, and keeps it until the
    /// work is done. Every export calls it, whatever the types around this loan do.
    ///
    /// Memory of a device is not exported without. [`DeviceBuffer`] adds itself, so code
    /// without `unsafe` gets this from the buffers that it is made of. Memory of the
    /// host without work of a device needs none.
    ///
    /// [`DeviceBuffer`]: crate::backend::DeviceBuffer
    ///
    /// # Safety
    ///
    /// When `by.sync_for(consumer)` has returned `Ok`:
    /// 1. what the consumer does on its stream comes after all work that is pending on
    ///    the memory;
    /// 2. the memory is not freed before that is done, also if the loan is over by then:
    ///    a consumer may call the deleter while its work still runs.
    #[inline]
    #[must_use]
    pub const unsafe fn synchronized_by<S: Synchronize>(mut self, by: &'a S) -> Self {
        self.memory.sync = Some(SyncBy::new(by));
        self
    }
}

impl<'a> Data<'a> {
    /// [`DataRef::synchronized_by`] for this loan.
    ///
    /// # Safety
    ///
    /// 1. and 2. As for [`DataRef::synchronized_by`].
    #[inline]
    #[must_use]
    pub const unsafe fn synchronized_by<S: Synchronize>(mut self, by: &'a S) -> Self {
        self.memory.sync = Some(SyncBy::new(by));
        self
    }
}
