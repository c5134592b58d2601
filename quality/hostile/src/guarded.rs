//! Memory that ends at an inaccessible page: [`Guarded`], Linux only.
//!
//! Bytes lie at the very end, or the very start, of pages whose neighbours are
//! inaccessible, and the pages themselves can be closed. A forbidden read ends the
//! process; standard error gets the case and the region that was read
//! ([`announce`]).

use core::ffi::c_int;
use core::ptr;

pub use crate::faults::announce;
use crate::faults::{Watch, What};

/// Which end of the pages the bytes touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// One byte before the first cannot be read.
    Start,
    /// One byte behind the last cannot be read. The address is as aligned as
    /// the length is.
    End,
}

/// Some bytes between pages that cannot be read. They are unmapped when it is dropped.
#[derive(Debug)]
pub struct Guarded {
    /// A page that is never opened, then those with the bytes, then another.
    map: *mut u8,
    open_len: usize,
    skip: usize,
    len: usize,
    watch: Watch,
}

// SAFETY: it is an address and three numbers; readers of the memory ensure the order.
unsafe impl Send for Guarded {}
// SAFETY: as above.
unsafe impl Sync for Guarded {}

/// The size of a page.
pub fn page() -> usize {
    // SAFETY: it only queries a setting.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("a page has a size")
}

impl Guarded {
    /// Copies those bytes; without bytes, the address is inaccessible.
    ///
    /// # Panics
    ///
    /// Where the system has no memory.
    pub fn new(bytes: &[u8], flush: Flush) -> Self {
        Self::of(What::Memory, bytes, flush)
    }

    /// The same with a name for the report of a forbidden read.
    ///
    /// # Panics
    ///
    /// Where the system has no memory.
    pub fn of(what: What, bytes: &[u8], flush: Flush) -> Self {
        let open_len = bytes.len().next_multiple_of(page());
        let whole = open_len + 2 * page();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new map touches no memory that there is.
        let map = unsafe { libc::mmap(ptr::null_mut(), whole, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(map, libc::MAP_FAILED, "no memory for {whole} bytes");
        let skip = if flush == Flush::End { open_len - bytes.len() } else { 0 };
        let watch = Watch::new(what, map.addr()..map.addr() + whole);
        let guarded = Self { map: map.cast(), open_len, skip, len: bytes.len(), watch };
        guarded.open();
        if !bytes.is_empty() {
            // SAFETY: the pages were just opened, and are as long.
            unsafe { guarded.start().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        guarded
    }

    /// The first byte.
    pub fn start(&self) -> *mut u8 {
        self.map.wrapping_add(page() + self.skip)
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether an address is on the pages that open and close.
    pub fn contains(&self, address: usize) -> bool {
        let first = self.map.addr() + page();
        (first..first + self.open_len).contains(&address)
    }

    /// Makes the bytes readable and writable.
    pub fn open(&self) {
        self.protect(libc::PROT_READ | libc::PROT_WRITE);
    }

    /// Makes the bytes inaccessible.
    pub fn close(&self) {
        self.protect(libc::PROT_NONE);
    }

    /// Makes the bytes inaccessible for good: their deleter ran.
    pub fn delete(&self) {
        self.watch.deleted();
        self.close();
    }

    fn protect(&self, how: c_int) {
        if self.open_len == 0 {
            return;
        }
        let first = self.map.wrapping_add(page());
        // SAFETY: the pages are our own map's, and no reference to them exists.
        let failed = unsafe { libc::mprotect(first.cast(), self.open_len, how) };
        assert_eq!(failed, 0, "pages can be protected");
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: it is the whole of our own map, and nothing uses it any more.
        unsafe { libc::munmap(self.map.cast(), self.open_len + 2 * page()) };
    }
}
