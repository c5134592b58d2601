//! Huge pages for large allocations: [`prefer_huge_pages`].

/// Size in bytes from which huge pages are requested: the size of two of them.
const HUGE: usize = 4 << 20;
/// A multiple of the smallest page size of every current system.
const PAGE: usize = 1 << 16;

/// Requests huge pages for new memory: `byte_len` bytes from the address `start` on. Without them
/// a large copy spends most of its time in page faults, one for each page; NumPy requests huge
/// pages too. Does nothing for smaller memory, and on systems without this advice.
#[inline]
pub(crate) fn prefer_huge_pages(start: usize, byte_len: usize) {
    let Some((start, byte_len)) = whole_pages(start, byte_len) else { return };
    #[cfg(all(target_os = "linux", feature = "std", not(any(miri, loom))))]
    {
        let pages = core::ptr::without_provenance_mut(start);
        // SAFETY: the advice does not access the pages and does not change their contents, only
        // their size, and with it the time of accesses and the memory that is used. So any address
        // is allowed; for one that is not mapped the call returns an error.
        unsafe { libc::madvise(pages, byte_len, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(all(target_os = "linux", feature = "std", not(any(miri, loom)))))]
    let _ = (start, byte_len);
}

/// The pages that are completely in memory that is large enough for huge pages: their address and
/// their length in bytes.
#[inline]
const fn whole_pages(start: usize, byte_len: usize) -> Option<(usize, usize)> {
    if byte_len < HUGE {
        return None;
    }
    let skipped = start.wrapping_neg() % PAGE;
    let rest = byte_len.saturating_sub(skipped);
    Some((start.wrapping_add(skipped), rest.saturating_sub(rest % PAGE)))
}

#[cfg(test)]
mod tests {
    use super::whole_pages;

    #[test]
    fn smaller_memory_is_left_as_it_is() {
        assert_eq!(whole_pages(0x10_0000, 0), None);
        assert_eq!(whole_pages(0x10_0000, 0x3f_ffff), None);
        assert_eq!(whole_pages(0x10_0000, 0x40_0000), Some((0x10_0000, 0x40_0000)));
    }

    #[test]
    fn parts_of_pages_are_left_as_they_are() {
        assert_eq!(whole_pages(0x10_0000, 0x40_fff0), Some((0x10_0000, 0x40_0000)));
        assert_eq!(whole_pages(0x10_0010, 0x41_0000), Some((0x11_0000, 0x40_0000)));
        assert_eq!(whole_pages(0x10_0010, 0x40_fff0), Some((0x11_0000, 0x40_0000)));
        assert_eq!(whole_pages(0x10_0010, 0x40_ffef), Some((0x11_0000, 0x3f_0000)));
        assert_eq!(whole_pages(0x1f_fff0, 0x40_0000), Some((0x20_0000, 0x3f_0000)));
    }
}
