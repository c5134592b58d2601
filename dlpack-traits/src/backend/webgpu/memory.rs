//! Memory of a WebGPU device, and copies.

use core::ffi::c_void;
use core::ptr;
use core::time::Duration;
use std::thread;
use std::time::Instant;
use std::vec::Vec;

use super::queue::{CallbackStatus, SPONTANEOUS, WebGpuStream};
use super::sys::{self, BufferDescriptor, MapInfo, StringView, WebGpuObject};
use crate::backend::library::Ref;
use crate::backend::{MemoryRef, Stream, device_error};
use crate::error::Error;

/// `WGPUBufferUsage`.
const MAP_READ: u64 = 1;
pub(super) const COPY_SRC: u64 = 4;
pub(super) const COPY_DST: u64 = 8;
pub(super) const STORAGE: u64 = 0x80;
/// `WGPUMapMode_Read`, and the status for success.
const READ: u64 = 1;
const SUCCESS: u32 = 1;
/// WebGPU copies multiples of that many bytes.
const UNIT: u64 = 4;
/// How long to wait for a callback that another thread has taken and is about to call.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// Creates a buffer, filled with zeros.
pub(super) fn create(
    stream: &WebGpuStream,
    byte_len: u64,
    usage: u64,
) -> Result<WebGpuObject<sys::Buffer>, Error> {
    let (known, device) = (stream.known(), stream.device());
    let size = byte_len.checked_next_multiple_of(UNIT).ok_or(Error::SizeOverflow)?;
    let info = BufferDescriptor { next: None, label: StringView::NONE, usage, size, mapped: 0 };
    let bytes = usize::try_from(byte_len).unwrap_or(usize::MAX);
    // A buffer that could not be created has a handle too, which is released with the error.
    let made = known.guarded(device, "wgpuDeviceCreateBuffer", bytes, |calls| {
        calls.create_buffer(device, known.device(), &info)
    });
    made?.map_err(|_| Error::OutOfMemory { bytes })
}

/// A range of a buffer in whole units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    buffer: Ref,
    pub(super) byte_offset: u64,
    byte_len: u64,
}

impl Units {
    /// The smallest range of units that contains the bytes, if it fits into a buffer of
    /// `size` bytes.
    pub(super) fn around(place: &MemoryRef, byte_len: usize, size: u64) -> Option<Self> {
        let byte_offset = place.byte_offset & !UNIT.wrapping_sub(1);
        let end = place.byte_offset.checked_add(byte_len as u64)?;
        let end = end.checked_next_multiple_of(UNIT).filter(|&end| end <= size)?;
        Some(Self { buffer: place.data, byte_offset, byte_len: end.saturating_sub(byte_offset) })
    }

    /// Like [`around`](Self::around), if only the bytes themselves may be written: the
    /// range starts at the first byte, and ends with the last byte or with the buffer.
    pub(super) fn exactly(place: &MemoryRef, byte_len: usize, size: u64) -> Option<Self> {
        let units = Self::around(place, byte_len, size)?;
        let ends = units.byte_offset.saturating_add(units.byte_len) == size;
        let whole = units.byte_len == byte_len as u64;
        (units.byte_offset == place.byte_offset && (whole || ends)).then_some(units)
    }
}

/// The range for a place, by [`Units::around`] or [`Units::exactly`].
///
/// # Safety
///
/// 1. The place is in a buffer that is alive.
pub(super) unsafe fn units(
    stream: &WebGpuStream,
    place: &MemoryRef,
    byte_len: usize,
    of: fn(&MemoryRef, usize, u64) -> Option<Units>,
) -> Result<Units, Error> {
    // SAFETY: 1. By our caller's 1.
    let size = unsafe { stream.known().calls().buffer_size(place.data) };
    let what = "copy to parts of four bytes";
    of(place, byte_len, size).ok_or(Error::Unsupported { device: stream.device(), what })
}

/// Enqueues a copy.
///
/// # Safety
///
/// 1. Both buffers are of the device and alive; they keep their usages.
pub(super) unsafe fn enqueue(stream: &WebGpuStream, from: Units, to: Units) -> Result<(), Error> {
    let (known, device) = (stream.known(), stream.device());
    let submitted = known.guarded(device, "wgpuQueueSubmit", 0, |calls| {
        // NULL is the default descriptor.
        let encoder = calls.create_encoder(device, known.device(), None)?;
        let (source, target) = ((from.buffer, from.byte_offset), (to.buffer, to.byte_offset));
        let (raw, byte_len) = (encoder.get(), from.byte_len);
        // SAFETY: 1. By our caller's 1; `guarded` receives the errors.
        unsafe { calls.encoder_copy(raw, source.0, source.1, target.0, target.1, byte_len) };
        let commands = calls.encoder_finish(device, raw, None)?;
        // SAFETY: 1. One list of commands, for the device's queue.
        unsafe { calls.queue_submit(known.queue(), 1, &commands.get()) };
        Ok(())
    });
    submitted?
}

/// Enqueues a copy from the host, whose bytes are read before this returns.
///
/// # Safety
///
/// 1. `from` has the bytes, and the units are of a buffer that is alive.
pub(super) unsafe fn write(
    stream: &WebGpuStream,
    from: *const u8,
    byte_len: usize,
    to: Units,
) -> Result<(), Error> {
    let known = stream.known();
    let whole = usize::try_from(to.byte_len).map_err(|_| Error::SizeOverflow)?;
    let mut padded = Vec::new();
    let mut first = from;
    if whole != byte_len {
        padded.resize(whole, 0_u8);
        // SAFETY: by our caller's 1, and `padded` is longer.
        unsafe { from.copy_to_nonoverlapping(padded.as_mut_ptr(), byte_len) };
        first = padded.as_ptr();
    }
    known.guarded(stream.device(), "wgpuQueueWriteBuffer", byte_len, |calls| {
        let (queue, first) = (known.queue(), first.cast());
        // SAFETY: 1. `first` points to that many bytes; the call reads them before it returns.
        unsafe { calls.queue_write(queue, to.buffer, to.byte_offset, first, whole) };
    })
}

/// Copies to the host, and waits for the copy.
///
/// # Safety
///
/// 1. The units are of a buffer that is alive, and hold `skip` and `byte_len` bytes.
/// 2. `to` has room for `byte_len` bytes.
pub(super) unsafe fn read(
    stream: &WebGpuStream,
    from: Units,
    skip: usize,
    to: *mut u8,
    byte_len: usize,
) -> Result<(), Error> {
    let (known, device) = (stream.known(), stream.device());
    let whole = usize::try_from(from.byte_len).map_err(|_| Error::SizeOverflow)?;
    let staging = create(stream, from.byte_len, MAP_READ | COPY_DST)?;
    let target = Units { buffer: staging.raw(), byte_offset: 0, byte_len: from.byte_len };
    // SAFETY: 1. By our caller's 1; the staging buffer is new.
    unsafe { enqueue(stream, from, target) }?;
    let answer = CallbackStatus::default();
    let first = answer.for_callback();
    let (next, second) = (ptr::null(), ptr::null_mut());
    let info = MapInfo { next, mode: SPONTANEOUS, callback: mapped, first, second };
    let call = "wgpuBufferMapAsync";
    let asked = known.guarded(device, call, byte_len, |calls| {
        // SAFETY: 1. The whole buffer, which has the usage for mapping. The callback is called
        // once: by the wait below, or by the release of the buffer, which unmaps it.
        unsafe { calls.buffer_map(staging.get(), READ, 0, whole, info) };
    });
    stream.synchronize()?;
    asked?;
    // Another thread's wait may have taken the callback without having called it yet.
    let waiting = Instant::now();
    while answer.get() == 0 && waiting.elapsed() < ANSWERED_WITHIN {
        thread::yield_now();
        stream.synchronize()?;
    }
    let code = answer.get();
    if code != SUCCESS {
        return Err(device_error(device, call, code.into(), ""));
    }
    let range = known.calls().buffer_range(staging.get(), 0, whole);
    if range.is_null() {
        return Err(Error::Unsupported { device, what: "mapped memory" });
    }
    let first = range.cast::<u8>().wrapping_add(skip);
    // SAFETY: by our caller's 1 and 2.
    unsafe { first.copy_to_nonoverlapping(to, byte_len) };
    Ok(())
}

unsafe extern "C" fn mapped(status: u32, _: StringView, answer: *mut c_void, _: *mut c_void) {
    // SAFETY: 1. `read` passed it for this call.
    unsafe { CallbackStatus::give(answer, status) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;

    fn place(byte_offset: u64) -> MemoryRef {
        let device = Device::new(crate::ffi::kDLWebGPU, 0);
        MemoryRef { device, data: ptr::without_provenance_mut(64), byte_offset }
    }

    fn shown(units: Option<Units>) -> Option<(usize, u64, u64)> {
        units.map(|units| (units.buffer.addr(), units.byte_offset, units.byte_len))
    }

    /// The offset is not added to the handle.
    #[test]
    fn offsets_stay_beside_the_handle() {
        assert_eq!(shown(Units::around(&place(24), 8, 64)), Some((64, 24, 8)));
        assert_eq!(shown(Units::exactly(&place(24), 8, 64)), Some((64, 24, 8)));
    }

    #[test]
    fn copies_are_of_whole_units() {
        // Reads: the surrounding units, if the buffer contains them.
        assert_eq!(shown(Units::around(&place(6), 3, 64)), Some((64, 4, 8)));
        assert_eq!(shown(Units::around(&place(6), 3, 8)), None);
        assert_eq!(shown(Units::around(&place(u64::MAX), 3, 64)), None);
        // Writes: no byte outside of the range.
        assert_eq!(shown(Units::exactly(&place(6), 2, 64)), None);
        assert_eq!(shown(Units::exactly(&place(4), 3, 64)), None);
        assert_eq!(shown(Units::exactly(&place(4), 3, 8)), Some((64, 4, 4)));
    }
}
