//! Buffers of the checks, and copies among them.

use alloc::vec;
use alloc::vec::Vec;

use crate::backend::staged::to_host;
use crate::backend::{Backend, DeviceBuffer, MemoryRef, WorkStream};
use crate::error::Error;

/// Elements of the buffers.
pub(super) const COUNT: usize = 16;

/// A buffer of the stream with one value in all elements. The host waits for it.
pub(super) fn filled<B: Backend>(
    stream: &WorkStream<B>,
    value: u32,
) -> Result<DeviceBuffer<B>, Error> {
    DeviceBuffer::from_slice_on(stream.clone(), &[value; COUNT])
}

/// Enqueues a copy of all elements on a stream.
pub(super) fn copy<B: Backend>(
    stream: &WorkStream<B>,
    from: &DeviceBuffer<B>,
    to: &DeviceBuffer<B>,
) -> Result<(), Error> {
    copy_part(stream, (from, 0), (to, 0), COUNT)
}

/// Enqueues a copy of `count` elements on a stream, from one index to another.
pub(super) fn copy_part<B: Backend>(
    stream: &WorkStream<B>,
    from: (&DeviceBuffer<B>, usize),
    to: (&DeviceBuffer<B>, usize),
    count: usize,
) -> Result<(), Error> {
    let ((from, _), (to, _)) = (part(from, count)?, part(to, count)?);
    // SAFETY: 1. Both buffers have the bytes, and are different. The checks drop a buffer only after
    // the copy, or after its stream was recorded for the free: a backend that frees too early is
    // what they look for.
    unsafe { B::copy(stream, from, to, count.saturating_mul(4)) }
}

/// The bytes of a buffer from an element on, after the work on its stream.
pub(super) fn end_of<B: Backend>(buffer: &DeviceBuffer<B>, first: usize) -> Result<Vec<u8>, Error> {
    let (place, rest) = part((buffer, first), 0)?;
    let mut bytes = vec![0; rest];
    // SAFETY: 1. The buffer has as many bytes from there on, and is freed after the work of its
    // stream.
    unsafe { to_host(buffer.stream(), place, &mut bytes) }?;
    Ok(bytes)
}

/// The location of `count` elements of a buffer, and the number of bytes from there to its end.
fn part<B: Backend>(
    (buffer, first): (&DeviceBuffer<B>, usize),
    count: usize,
) -> Result<(MemoryRef, usize), Error> {
    let (start, len) = (first.saturating_mul(4), count.saturating_mul(4));
    let rest = buffer.byte_len().checked_sub(start).filter(|&rest| len <= rest);
    let rest = rest.ok_or(Error::NoSuchElement)?;
    let place = buffer.place();
    let byte_offset = place.byte_offset.saturating_add(start as u64);
    Ok((MemoryRef { byte_offset, ..place }, rest))
}
