//! All allocations: [`Memory`].

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use crate::pages::{Host, Pages};
use crate::status::Status;

/// The memory of a device, in bytes.
pub(crate) const CAPACITY: usize = 1 << 30;
/// Device memory starts this far into its pages: allocations are aligned to exactly this.
const ALIGNMENT: usize = 256;

/// The kind of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Device memory.
    Device,
    /// Device memory, allocated in stream order.
    Pooled,
    /// Page-locked host memory.
    Pinned,
    /// Managed memory, of both.
    Managed,
}

impl Kind {
    fn host(self) -> Host {
        match self {
            Kind::Device | Kind::Pooled => Host::Forbidden,
            Kind::Pinned | Kind::Managed => Host::Allowed,
        }
    }
}

/// One allocation.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) kind: Kind,
    /// The device whose context was current at the allocation.
    pub(crate) ordinal: usize,
    /// In bytes.
    pub(crate) len: usize,
    /// Whether its free has been enqueued on a stream.
    pub(crate) condemned: bool,
    pages: Arc<Pages>,
    lead: usize,
}

impl Allocation {
    /// Whether the host may touch it.
    pub(crate) fn host_sees(&self) -> bool {
        self.kind.host() == Host::Allowed
    }
}

/// Some bytes of an allocation, good also after it is freed.
#[derive(Debug)]
pub(crate) struct Span {
    pages: Arc<Pages>,
    range: Range<usize>,
}

impl Span {
    /// The bytes as the device sees them.
    pub(crate) fn bytes(&self) -> &[AtomicU8] {
        &self.pages.bytes()[self.range.clone()]
    }
}

/// The allocation that contains an address.
#[derive(Debug)]
pub(crate) enum Place<'a> {
    /// Inside this allocation, which starts at this address.
    Live(usize, &'a Allocation),
    /// Inside memory that was freed.
    Freed,
    /// Ordinary memory of the program.
    Pageable,
}

/// All allocations by their addresses.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    live: BTreeMap<usize, Allocation>,
    /// Ends of freed allocations, by their starts.
    freed: BTreeMap<usize, usize>,
}

impl Memory {
    /// Allocates, and returns the address.
    pub(crate) fn allocate(
        &mut self,
        kind: Kind,
        ordinal: usize,
        len: usize,
    ) -> Result<usize, Status> {
        if len == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let used: usize = self.live.values().map(|allocation| allocation.len).sum();
        if len > CAPACITY.saturating_sub(used) {
            return Err(Status::OUT_OF_MEMORY);
        }
        let lead = if kind.host() == Host::Forbidden { ALIGNMENT } else { 0 };
        let pages = Arc::new(Pages::map(len + lead, kind.host())?);
        let start = pages.address() + lead;
        self.live.insert(start, Allocation { kind, ordinal, len, condemned: false, pages, lead });
        Ok(start)
    }

    /// Forgets the allocation that starts at `start`.
    pub(crate) fn free(&mut self, start: usize) -> Result<(), Status> {
        let allocation = self.live.remove(&start).ok_or(Status::INVALID_VALUE)?;
        self.freed.insert(start, start + allocation.len);
        Ok(())
    }

    /// The allocation that starts at `start`, unless it is about to be freed.
    pub(crate) fn starting_at(&mut self, start: usize) -> Result<&mut Allocation, Status> {
        let found = self.live.get_mut(&start).filter(|allocation| !allocation.condemned);
        found.ok_or(Status::INVALID_VALUE)
    }

    /// Returns the allocation that contains an address.
    pub(crate) fn at(&self, address: usize) -> Place<'_> {
        if let Some((&start, allocation)) = self.live.range(..=address).next_back() {
            if address < start + allocation.len {
                return Place::Live(start, allocation);
            }
        }
        match self.freed.range(..=address).next_back() {
            Some((_, &end)) if address < end => Place::Freed,
            _ => Place::Pageable,
        }
    }

    /// `len` bytes from an address on, for a device.
    pub(crate) fn span(&self, address: usize, len: usize) -> Result<Span, Status> {
        let Place::Live(start, allocation) = self.at(address) else {
            return Err(Status::ILLEGAL_ADDRESS);
        };
        let offset = address - start;
        if len > allocation.len - offset {
            return Err(Status::ILLEGAL_ADDRESS);
        }
        let first = allocation.lead + offset;
        Ok(Span { pages: Arc::clone(&allocation.pages), range: first..first + len })
    }

    /// How many allocations of a kind there are.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.live.values().filter(|allocation| allocation.kind == kind).count()
    }

    /// Bytes that are not allocated.
    pub(crate) fn available(&self) -> usize {
        let used: usize = self.live.values().map(|allocation| allocation.len).sum();
        CAPACITY.saturating_sub(used)
    }
}
