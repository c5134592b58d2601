//! Huge pages for large allocations: [`prefer_huge_pages`].

/// Size in bytes from which huge pages are requested: the size of two of them.
#[cfg(all(target_os = "linux", feature = "std", not(any(miri, loom))))]
const HUGE: usize = 4 << 20;

/// Requests huge pages for new memory: `byte_len` bytes from the address `start` on. Without them
/// a large copy spends most of its time in page faults, one for each page; NumPy requests huge
/// pages too. Does nothing for smaller memory, and on systems without this advice.
#[inline]
pub(crate) fn prefer_huge_pages(start: usize, byte_len: usize) {
    #[cfg(all(target_os = "linux", feature = "std", not(any(miri, loom))))]
    if byte_len >= HUGE {
        /// A multiple of the smallest page size of every current system.
        const PAGE: usize = 1 << 16;
        let skipped = start.wrapping_neg() & PAGE.wrapping_sub(1);
        let whole = byte_len.saturating_sub(skipped) & !PAGE.wrapping_sub(1);
        let pages = core::ptr::without_provenance_mut(start.wrapping_add(skipped));
        // SAFETY: the advice does not access the pages and does not change their contents, only
        // their size, and with it the time of accesses and the memory that is used. So any address
        // is allowed; for one that is not mapped the call returns an error.
        unsafe { libc::madvise(pages, whole, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(all(target_os = "linux", feature = "std", not(any(miri, loom)))))]
    let _ = (start, byte_len);
}
