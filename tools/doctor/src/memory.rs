//! Reads memory at addresses that an untrusted producer supplied.

/// Copies `length` bytes from an address; `None` if the memory is not mapped.
pub(crate) fn read(address: u64, length: usize) -> Option<Vec<u8>> {
    let mut found = Vec::new();
    found.try_reserve_exact(length).ok()?;
    let mut next = usize::try_from(address).ok()?;
    let end = next.checked_add(length)?;
    if address == 0 {
        return None;
    }
    while next < end {
        // Up to the end of a page: the next page may not be mapped.
        let page_end = (next | (PAGE - 1)).saturating_add(1);
        let chunk = page_end.min(end) - next;
        found.extend_from_slice(&system::read(next, chunk)?);
        next += chunk;
    }
    Some(found)
}

/// Whether all pages of that range are readable.
pub(crate) fn is_mapped(address: u64, length: u64) -> bool {
    /// The maximum number of pages that are checked; of a longer range, the first and the
    /// last ones.
    const MOST: u64 = 4096;
    if length == 0 {
        return true;
    }
    let page = PAGE as u64;
    let Some(last) = address.checked_add(length - 1) else { return false };
    let (first_page, last_page) = (address / page, last / page);
    let readable = |number: u64| read((number * page).max(address), 1).is_some();
    if last_page - first_page < MOST {
        (first_page..=last_page).all(readable)
    } else {
        (first_page..first_page + MOST / 2).chain(last_page - MOST / 2..=last_page).all(readable)
    }
}

/// A lower bound of the page size of the supported systems.
const PAGE: usize = 4096;

#[cfg(unix)]
mod system {
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    /// Reads through the kernel, which returns an error for an address at which a load
    /// would end the process.
    pub(super) fn read(address: usize, length: usize) -> Option<Vec<u8>> {
        let (mut here, there) = UnixStream::pair().ok()?;
        let from = core::ptr::with_exposed_provenance::<libc::c_void>(address);
        // SAFETY: the kernel reads the bytes, not this process, and returns EFAULT if they
        // are not mapped. `there` is open. No reference to the bytes is made.
        let written = unsafe { libc::write(there.as_raw_fd(), from, length) };
        drop(there);
        if usize::try_from(written) != Ok(length) {
            return None;
        }
        let mut bytes = vec![0; length];
        here.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }
}

#[cfg(not(unix))]
mod system {
    /// Reads the bytes directly: if they are not mapped, the process ends.
    pub(super) fn read(address: usize, length: usize) -> Option<Vec<u8>> {
        let from = core::ptr::with_exposed_provenance::<u8>(address);
        let mut bytes = vec![0; length];
        // SAFETY: the producer is trusted to have made its structs as the standard
        // says, as every consumer trusts it; `bytes` is memory of our own.
        unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), length) };
        Some(bytes)
    }
}
