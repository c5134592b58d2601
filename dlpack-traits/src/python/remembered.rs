//! What is remembered of the types that were looked up: [`Remembered`]. Plain
//! addresses, so that it is tested without an interpreter.

use alloc::vec::Vec;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use crate::ffi::DLPackExchangeAPIHeader;

/// The address of a table.
type Table = *mut DLPackExchangeAPIHeader;

/// A type and its exchange table, NULL where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) class: *mut c_void,
    pub(crate) table: Table,
}

impl Known {
    /// No type.
    const NONE: Self = Self { class: ptr::null_mut(), table: ptr::null_mut() };
}

/// A small table of types, read without a lock, with or without a GIL, and the owners of
/// the exchange tables.
///
/// Each type has two places. A third one that comes there takes the place of the
/// first: what is remembered is bounded, and never stuck with types of the past. Owners are
/// kept for good: if one was forgotten, Python code could move its table to another class.
#[derive(Debug)]
pub(crate) struct Remembered {
    places: [Place; PLACES],
    writing: Mutex<()>,
    /// The addresses of tables, and of the classes to which they belong. A program has as
    /// many as libraries publish.
    owners: Mutex<Vec<(usize, usize)>>,
}

/// What [`Remembered::add_owner`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It added the class, which must stay alive from now on, and so must the table.
    New,
    /// The class was an owner of the table before.
    Known,
    /// Another class owns the table, or there was no memory.
    Refused,
}

const PLACES: usize = 128;

/// One type. The sequence is odd while it is written, and changes each time, so
/// that a reader knows whether what it has read belongs together.
#[derive(Debug)]
struct Place {
    sequence: AtomicUsize,
    class: AtomicPtr<c_void>,
    table: AtomicPtr<DLPackExchangeAPIHeader>,
}

impl Remembered {
    pub(crate) const fn new() -> Self {
        Self {
            places: [const { Place::new() }; PLACES],
            writing: Mutex::new(()),
            owners: Mutex::new(Vec::new()),
        }
    }

    /// The table of a type, NULL for none. `None` if the type is not remembered.
    #[inline]
    pub(crate) fn table_of(&self, class: *mut c_void) -> Option<Table> {
        places(class).into_iter().find_map(|place| {
            let known = self.places.get(place)?.read()?;
            ptr::eq(known.class, class).then_some(known.table)
        })
    }

    /// The addresses of the classes to which a table belongs: one, or several where this
    /// crate published the table on each, or C code copied it.
    pub(crate) fn owners_of(&self, table: Table) -> Vec<usize> {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.iter().filter(|owner| owner.0 == table.addr()).map(|owner| owner.1).collect()
    }

    /// Says that a table belongs to a class. With `alone` it is refused if the table belongs
    /// to another class already: of two threads that move a table from class to class and
    /// look both up, one has it.
    pub(crate) fn add_owner(&self, table: Table, class: *mut c_void, alone: bool) -> Added {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let mut others = owners.iter().filter(|owner| owner.0 == table.addr()).peekable();
        let has_others = others.peek().is_some();
        if others.any(|owner| owner.1 == class.addr()) {
            return Added::Known;
        }
        if (alone && has_others) || owners.try_reserve(1).is_err() {
            return Added::Refused;
        }
        owners.push((table.addr(), class.addr()));
        Added::New
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
        }
    }

    /// What is there, unless it is being replaced: the two loads that every import needs.
    #[inline]
    fn read(&self) -> Option<Known> {
        let before = self.sequence.load(Ordering::Acquire);
        let known = self.load();
        // What was loaded was loaded before the sequence is looked at again.
        fence(Ordering::Acquire);
        let after = self.sequence.load(Ordering::Relaxed);
        (before == after && before & 1 == 0).then_some(known)
    }

    #[inline]
    fn load(&self) -> Known {
        let (class, table) =
            (self.class.load(Ordering::Relaxed), self.table.load(Ordering::Relaxed));
        Known { class, table }
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
        self.sequence.store(sequence.wrapping_add(2), Ordering::Release);
        old
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    /// A type at some address, whose table is told from it.
    fn known(address: usize) -> Known {
        Known {
            class: ptr::without_provenance_mut(address * 16),
            table: ptr::without_provenance_mut(address * 16 + 1),
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
            assert_eq!(remembered.put(known), Some(known), "it is there already");
        }
    }

    #[test]
    fn owners_are_kept_and_alone() {
        let remembered = Remembered::new();
        let [one, other, third] = [1, 2, 3].map(known);
        assert_eq!(remembered.add_owner(one.table, one.class, true), Added::New);
        for alone in [true, false] {
            assert_eq!(remembered.add_owner(one.table, one.class, alone), Added::Known);
        }
        assert_eq!(remembered.add_owner(one.table, other.class, true), Added::Refused);
        assert_eq!(remembered.add_owner(other.table, other.class, true), Added::New);
        assert_eq!(remembered.add_owner(one.table, third.class, false), Added::New);
        for address in 1..if cfg!(miri) { 300 } else { 2_000 } {
            remembered.put(known(address));
        }
        assert_eq!(remembered.owners_of(one.table), [one.class.addr(), third.class.addr()]);
        assert_eq!(remembered.owners_of(other.table), [other.class.addr()]);
        assert!(remembered.owners_of(third.table).is_empty());
    }

    /// Of threads that each found another class to be the only one, one was right.
    #[test]
    fn one_of_many_threads_is_the_owner() {
        let remembered = Remembered::new();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let remembered = &remembered;
                scope.spawn(move || {
                    remembered.add_owner(known(1).table, known(thread + 1).class, true)
                });
            }
        });
        assert_eq!(remembered.owners_of(known(1).table).len(), 1);
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
