//! Copies between a device and borrowed host memory, through a staging buffer:
//! [`from_host`], [`to_host`].

use alloc::vec::Vec;
use core::mem;

use super::memory::MemoryRef;
use super::{Backend, Stream, WorkStream, frees};
use crate::device::Device;
use crate::error::Error;
use crate::storage::try_vec;

/// Size of the staging buffer: large enough that the wait after each piece is short
/// compared to its copy, and small enough that the copy on the host finds most of the bytes
/// in the cache.
const PIECE: usize = 8 << 20;

/// Copies to a device, and waits for the copy.
///
/// The device never accesses the caller's memory: an error of a wait says nothing about the
/// work (5 of [`Stream`]), which may then still be pending after the caller's borrow has
/// ended. Each piece is therefore copied through a buffer of this function, which is leaked
/// after an error.
///
/// # Safety
///
/// 1. From `to` on, the device has as many bytes as `from`, which may be written in the
///    order of the stream until the work that is enqueued here is done.
pub(super) unsafe fn from_host<B: Backend>(
    stream: &WorkStream<B>,
    from: &[u8],
    to: MemoryRef,
) -> Result<(), Error> {
    if !B::RULES.has_streams() {
        if from.is_empty() {
            return Ok(());
        }
        let host = host(from.as_ptr().cast_mut());
        // SAFETY: 1. By our caller's 1; the host's bytes are borrowed until the call
        // returns, and then the copy is done (5 of `Backend`).
        return unsafe { B::copy(stream, host, to, from.len()) };
    }
    let mut piece = try_vec(from.len().min(PIECE))?;
    for (to, from) in places(to).zip(from.chunks(PIECE)) {
        piece.clear();
        piece.extend_from_slice(from);
        // SAFETY: 1. By our caller's 1, the device has the bytes; `piece` has as many, and
        // `transfer` keeps them until the copy is done.
        let copy = |host| unsafe { B::copy(stream, host, to?, from.len()) };
        piece = transfer(piece, stream, copy)?;
    }
    Ok(())
}

/// Copies from a device, and waits for the copy, as [`from_host`] does.
///
/// # Safety
///
/// 1. From `from` on, the device has as many bytes as `to`, which may be read in the order of
///    the stream until the work that is enqueued here is done.
pub(super) unsafe fn to_host<B: Backend>(
    stream: &WorkStream<B>,
    from: MemoryRef,
    to: &mut [u8],
) -> Result<(), Error> {
    if !B::RULES.has_streams() {
        if to.is_empty() {
            return Ok(());
        }
        let host = host(to.as_mut_ptr());
        // SAFETY: 1. By our caller's 1; the host's bytes are borrowed until the call
        // returns, and then the copy is done (5 of `Backend`).
        return unsafe { B::copy(stream, from, host, to.len()) };
    }
    let mut piece = try_vec(to.len().min(PIECE))?;
    for (from, to) in places(from).zip(to.chunks_mut(PIECE)) {
        piece.resize(to.len(), 0);
        // SAFETY: 1. By our caller's 1, the device has the bytes; `piece` has as many, and
        // `transfer` keeps them until the copy is done.
        let copy = |host| unsafe { B::copy(stream, from?, host, to.len()) };
        piece = transfer(piece, stream, copy)?;
        to.copy_from_slice(&piece);
    }
    Ok(())
}

fn host(data: *mut u8) -> MemoryRef {
    MemoryRef { device: Device::CPU, data: data.cast(), byte_offset: 0 }
}

/// The location of each piece on the device.
fn places(first: MemoryRef) -> impl Iterator<Item = Result<MemoryRef, Error>> {
    (0_u64..).map(move |index| {
        let offset = index.checked_mul(PIECE as u64);
        let byte_offset = offset.and_then(|offset| first.byte_offset.checked_add(offset));
        Ok(MemoryRef { byte_offset: byte_offset.ok_or(Error::SizeOverflow)?, ..first })
    })
}

/// Enqueues one copy with the staging buffer, and waits for it. After an error the buffer
/// is leaked, unless nothing was enqueued.
fn transfer<B: Backend>(
    mut piece: Vec<u8>,
    stream: &WorkStream<B>,
    copy: impl FnOnce(MemoryRef) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let enqueued = copy(host(piece.as_mut_ptr()));
    // 2 of `Backend::copy`: nothing was enqueued.
    if let Err(error @ (Error::Unsupported { .. } | Error::SizeOverflow)) = enqueued {
        return Err(error);
    }
    match enqueued.and_then(|()| frees::run_blocking(|| stream.stream().synchronize())) {
        Ok(()) => Ok(piece),
        Err(error) => {
            frees::keep(mem::take(&mut piece));
            Err(error)
        }
    }
}
