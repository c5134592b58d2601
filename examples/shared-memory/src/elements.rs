//! `iceoryx2`: the payload of a sample, which another process can write, as a storage.

use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

use dlpack_traits::{DataRef, DataType, Device, Storage};
use iceoryx2::sample::Sample;

use crate::service::{Header, Ipc, SharedByte};

/// The elements of a frame, in a sample of the publisher.
pub(crate) struct Elements {
    first: AtomicPtr<u8>,
    byte_len: usize,
    /// Its `drop` releases the slot. A `Sample` is `Send` and not `Sync`, which the mutex
    /// adds; it is never locked.
    _sample: Mutex<Sample<Ipc, [SharedByte], Header>>,
}

impl From<Sample<Ipc, [SharedByte], Header>> for Elements {
    fn from(sample: Sample<Ipc, [SharedByte], Header>) -> Self {
        let payload = sample.payload();
        let (first, byte_len) = (payload.as_ptr().cast_mut().cast(), payload.len());
        Self { first: AtomicPtr::new(first), byte_len, _sample: Mutex::new(sample) }
    }
}

impl Storage for Elements {
    fn data(&self) -> DataRef<'_> {
        let first = self.first.load(Ordering::Relaxed);
        // SAFETY:
        // 1. They are the bytes of the sample's payload, which iceoryx2 keeps mapped as long as
        //    the sample exists, also if the publisher ends. The sample is a field of `self`,
        //    which is borrowed.
        // 2. The publisher loans slices that are initialized. Any bits are an `f32`. The
        //    service aligns payloads to 64 bytes.
        // 3. They are mapped for reading, and each is a `SharedByte`, an `AtomicU8`. No code
        //    of this process writes them or makes another reference to them. The publisher
        //    writes a slot byte-wise atomically, and only before it sends the slot.
        unsafe {
            DataRef::from_raw_parts_shared_read_only(
                first,
                self.byte_len,
                DataType::F32,
                Device::CPU,
            )
        }
    }
}
