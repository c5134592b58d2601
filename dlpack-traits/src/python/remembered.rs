//! What is remembered of the types that were looked up: [`Remembered`]. Plain
//! addresses, so that it is tested without an interpreter.

use alloc::vec::Vec;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use crate::ffi::DLPackExchangeAPIHeader;

/// A type and its exchange table, NULL where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) class: *mut c_void,
    pub(crate) table: *mut DLPackExchangeAPIHeader,
    /// The class to which the table belongs: this one or a base of it. NULL without a table.
    pub(crate) owner: *mut c_void,
    /// A reference that keeps the table and its owner alive, or NULL.
    pub(crate) keeper: *mut c_void,
}

impl Known {
    /// No type.
    pub(crate) const NONE: Self = Self {
        class: ptr::null_mut(),
        table: ptr::null_mut(),
        owner: ptr::null_mut(),
        keeper: ptr::null_mut(),
    };
}

/// A small table of types, read without a lock, with or without a GIL.
///
/// Each type has two places. A third one that comes there takes the place of the
/// first: what is remembered is bounded, and never stuck with types of the past.
#[derive(Debug)]
pub(crate) struct Remembered {
    places: [Place; PLACES],
    writing: Mutex<()>,
}

const PLACES: usize = 128;

/// One type. The sequence is odd while it is written, and changes each time, so
/// that a reader knows whether what it has read belongs together.
#[derive(Debug)]
struct Place {
    sequence: AtomicUsize,
    class: AtomicPtr<c_void>,
    table: AtomicPtr<DLPackExchangeAPIHeader>,
    owner: AtomicPtr<c_void>,
    keeper: AtomicPtr<c_void>,
}

impl Remembered {
    pub(crate) const fn new() -> Self {
        Self { places: [const { Place::new() }; PLACES], writing: Mutex::new(()) }
    }

    /// The table of a type, NULL for none. `None` if the type is not remembered.
    #[inline]
    pub(crate) fn table_of(&self, class: *mut c_void) -> Option<*mut DLPackExchangeAPIHeader> {
        places(class).into_iter().find_map(|place| {
            let (known, table) = self.places.get(place)?.read_table()?;
            ptr::eq(known, class).then_some(table)
        })
    }

    /// The classes to which a table belongs, as far as types with it are remembered: one,
    /// or several where this crate published the table on each.
    pub(crate) fn owners_of(&self, table: *mut DLPackExchangeAPIHeader) -> Vec<*mut c_void> {
        let known = self.places.iter().filter_map(Place::read);
        known.filter(|known| ptr::eq(known.table, table)).map(|known| known.owner).collect()
    }

    /// Remembers a type, which must stay alive until it is returned here by a
    /// later call: what had to make room is the caller's again.
    pub(crate) fn put(&self, new: Known) -> Option<Known> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let [first, second] = places(new.class);
        let (first, second) = (self.places.get(first)?, self.places.get(second)?);
        // Nobody else writes, so both are whole.
        let held = [first, second].map(|place| place.read().unwrap_or(Known::NONE).class);
        if held.iter().any(|&class| ptr::eq(class, new.class)) {
            // Another thread was faster.
            return Some(new);
        }
        let [in_first, in_second] = held;
        let place = if !in_first.is_null() && in_second.is_null() { second } else { first };
        Some(place.replace(new)).filter(|old| !old.class.is_null())
    }
}

/// Where a type may be.
fn places(class: *mut c_void) -> [usize; 2] {
    // Types are allocated, and so aligned to 16 bytes.
    let address = class.addr() >> 4;
    let first = (address ^ address >> 7) % PLACES;
    [first, first ^ 1]
}

impl Place {
    const fn new() -> Self {
        Self {
            sequence: AtomicUsize::new(0),
            class: AtomicPtr::new(ptr::null_mut()),
            table: AtomicPtr::new(ptr::null_mut()),
            owner: AtomicPtr::new(ptr::null_mut()),
            keeper: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// What is there, unless it is being replaced.
    fn read(&self) -> Option<Known> {
        let before = self.sequence.load(Ordering::Acquire);
        let known = self.load();
        // What was loaded was loaded before the sequence is looked at again.
        fence(Ordering::Acquire);
        let after = self.sequence.load(Ordering::Relaxed);
        (before == after && before & 1 == 0).then_some(known)
    }

    /// The class and the table of what is there: the two loads that every import needs.
    #[inline]
    fn read_table(&self) -> Option<(*mut c_void, *mut DLPackExchangeAPIHeader)> {
        let before = self.sequence.load(Ordering::Acquire);
        let known = (self.class.load(Ordering::Relaxed), self.table.load(Ordering::Relaxed));
        // The two loads come before the second load of the sequence.
        fence(Ordering::Acquire);
        let after = self.sequence.load(Ordering::Relaxed);
        (before == after && before & 1 == 0).then_some(known)
    }

    fn load(&self) -> Known {
        Known {
            class: self.class.load(Ordering::Relaxed),
            table: self.table.load(Ordering::Relaxed),
            owner: self.owner.load(Ordering::Relaxed),
            keeper: self.keeper.load(Ordering::Relaxed),
        }
    }

    /// Puts something else there, by the only thread that writes now.
    fn replace(&self, new: Known) -> Known {
        let old = self.load();
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence.store(sequence.wrapping_add(1), Ordering::Relaxed);
        // Whoever sees one of these stores sees the odd sequence too.
        fence(Ordering::Release);
        self.class.store(new.class, Ordering::Relaxed);
        self.table.store(new.table, Ordering::Relaxed);
        self.owner.store(new.owner, Ordering::Relaxed);
        self.keeper.store(new.keeper, Ordering::Relaxed);
        self.sequence.store(sequence.wrapping_add(2), Ordering::Release);
        old
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    /// A type at some address, whose table and keeper are told from it.
    fn known(address: usize) -> Known {
        Known {
            class: ptr::without_provenance_mut(address * 16),
            table: ptr::without_provenance_mut(address * 16 + 1),
            owner: ptr::without_provenance_mut(address * 16 + 3),
            keeper: ptr::without_provenance_mut(address * 16 + 2),
        }
    }

    #[test]
    fn what_is_put_is_found_until_it_makes_room() {
        let remembered = Remembered::new();
        let mut alive = BTreeSet::new();
        for address in 1..if cfg!(miri) { 300 } else { 2_000 } {
            let new = known(address);
            assert_eq!(remembered.table_of(new.class), None);
            let old = remembered.put(new);
            alive.insert(address);
            if let Some(old) = old {
                assert!(alive.remove(&(old.class.addr() / 16)));
                assert_eq!(remembered.table_of(old.class), None);
            }
            assert_eq!(remembered.table_of(new.class), Some(new.table));
        }
        assert!(alive.len() <= PLACES && alive.len() > PLACES / 2, "{}", alive.len());
        for address in alive {
            let known = known(address);
            assert_eq!(remembered.table_of(known.class), Some(known.table));
            assert_eq!(remembered.owners_of(known.table), [known.owner]);
            assert_eq!(remembered.put(known), Some(known), "it is there already");
        }
    }

    #[test]
    fn what_is_read_belongs_together() {
        let remembered = Remembered::new();
        let rounds = if cfg!(miri) { 60 } else { 20_000 };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let remembered = &remembered;
                scope.spawn(move || {
                    for round in 0..rounds {
                        // Few enough for all threads to meet at a few places.
                        let mine = known((round * 7 + thread) % 5 * PLACES + 1);
                        match remembered.table_of(mine.class) {
                            Some(table) => assert_eq!(table, mine.table),
                            None => _ = remembered.put(mine),
                        }
                    }
                });
            }
        });
    }
}
