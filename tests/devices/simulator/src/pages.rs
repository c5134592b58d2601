//! Memory with two addresses: [`Pages`].

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::status::Status;

/// Whether the host may access memory at the program's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// It is the device's: touching it is a segmentation fault.
    Forbidden,
    /// It is pinned or managed.
    Allowed,
}

/// The same pages, mapped for the program and for the simulated device.
///
/// The program's address is never reused, also after the drop: a dangling pointer
/// never points to other memory.
#[derive(Debug)]
pub(crate) struct Pages {
    program: NonNull<u8>,
    device: NonNull<u8>,
    len: usize,
}

// SAFETY: the pointers are to mappings, which belong to no particular thread.
unsafe impl Send for Pages {}
// SAFETY: the memory behind `device` is only accessed with atomics.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps at least `bytes` bytes, all of them `0xCD`.
    pub(crate) fn map(bytes: usize, host: Host) -> Result<Self, Status> {
        let len = bytes.checked_next_multiple_of(4096).ok_or(Status::OUT_OF_MEMORY)?;
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"simulated memory".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(Status::OUT_OF_MEMORY);
        }
        // SAFETY: it was just opened and has no other owner.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        let file_len = i64::try_from(len).map_err(|_| Status::OUT_OF_MEMORY)?;
        // SAFETY: the descriptor is open.
        if unsafe { libc::ftruncate(file.as_raw_fd(), file_len) } != 0 {
            return Err(Status::OUT_OF_MEMORY);
        }
        let both = libc::PROT_READ | libc::PROT_WRITE;
        let protection = if host == Host::Allowed { both } else { libc::PROT_NONE };
        let program = map_file(&file, len, protection)?;
        let Ok(device) = map_file(&file, len, both) else {
            // SAFETY: it was just mapped and has no other owner.
            unsafe { libc::munmap(program.as_ptr().cast(), len) };
            return Err(Status::OUT_OF_MEMORY);
        };
        // SAFETY: `len` bytes were mapped there for writing, and have no other user.
        unsafe { device.write_bytes(0xCD, len) };
        Ok(Self { program, device, len })
    }

    /// Returns the address that programs use.
    pub(crate) fn address(&self) -> usize {
        self.program.addr().get()
    }

    /// The bytes as the device sees them. Several streams may access them at
    /// the same time, as on a device.
    pub(crate) fn bytes(&self) -> &[AtomicU8] {
        // SAFETY: `len` bytes are mapped there until the drop, and are not accessed
        // through this address in another way.
        unsafe { std::slice::from_raw_parts(self.device.as_ptr().cast::<AtomicU8>(), self.len) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, and `bytes` borrows `self`.
        unsafe { libc::munmap(self.device.as_ptr().cast(), self.len) };
        let reserved = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: this replaces our own mapping, which must not be used after a free, by
        // an inaccessible one.
        unsafe {
            libc::mmap(
                self.program.as_ptr().cast(),
                self.len,
                libc::PROT_NONE,
                reserved | libc::MAP_FIXED,
                -1,
                0,
            )
        };
    }
}

fn map_file(file: &OwnedFd, len: usize, protection: i32) -> Result<NonNull<u8>, Status> {
    // SAFETY: the address is NULL, so no mapping is replaced.
    let mapped = unsafe {
        libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    if mapped == libc::MAP_FAILED {
        return Err(Status::OUT_OF_MEMORY);
    }
    NonNull::new(mapped.cast()).ok_or(Status::OUT_OF_MEMORY)
}

/// Copies between bytes that others may access meanwhile.
pub(crate) fn copy(to: &[AtomicU8], from: &[AtomicU8]) {
    for (to, from) in to.iter().zip(from) {
        to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}
