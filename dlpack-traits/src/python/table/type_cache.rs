//! Caches the exchange tables of the types that were looked up: [`TypeCache`]. It stores
//! plain addresses, so it is tested without an interpreter.
//!
//! Without the cache, the lookup of a type that has no table takes 250 ns.

use alloc::vec::Vec;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use crate::ffi::DLPackExchangeAPIHeader;

/// The address of a table.
type Table = *mut DLPackExchangeAPIHeader;

/// A type; its exchange table, NULL if it has none; whether the type has a table and an
/// attribute `requires_grad`, as PyTorch's tensors do; and whether its objects may have bits
/// that an export drops ([`lazy_bits`](crate::python::table::lazy_bits)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CachedType {
    pub(crate) class: *mut c_void,
    /// The weak reference that removes the type when it dies; NULL before it is cached.
    pub(crate) reference: *mut c_void,
    pub(crate) table: Table,
    pub(crate) has_grad: bool,
    pub(crate) has_lazy_bits: bool,
}

impl CachedType {
    /// A type without a table.
    pub(crate) const fn without_table(class: *mut c_void) -> Self {
        Self {
            class,
            reference: ptr::null_mut(),
            table: ptr::null_mut(),
            has_grad: false,
            has_lazy_bits: false,
        }
    }
}

/// A small hash table of types, read without a lock, with or without a GIL, and the list
/// of the owners of the exchange tables.
///
/// Each type has two slots. A third type with the same slots evicts the first, so the
/// cache is bounded and old types do not block it. Owners are never removed: otherwise
/// Python code could move a table to another class.
#[derive(Debug)]
pub(crate) struct TypeCache {
    places: [Slot; PLACES],
    writing: Mutex<()>,
    /// A program has as many as libraries publish.
    owners: Mutex<Vec<Owner>>,
}

/// The addresses of a table and of a class to which it belongs.
#[derive(Clone, Copy, Debug)]
struct Owner {
    table: usize,
    class: usize,
    makes: Makes,
}

/// How the function of a table that creates objects treats a tensor when it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Makes {
    /// This crate published the table, for a class without objects made of tensors.
    Nothing,
    /// This crate published the table: the caller still owns the tensor.
    Ours,
    /// Another library's: the relay of the tensor is lost, as happened so often.
    Foreign(u8),
}

/// The result of [`TypeCache::add_owner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It added the class. The class and the table must stay alive from now on.
    New,
    /// The class was already an owner of the table.
    Known,
    /// Another class owns the table, or the allocation failed.
    Refused,
}

const PLACES: usize = 128;

/// One slot, a seqlock. The sequence is odd while the slot is written, and changes with
/// each write, so that a reader can tell whether the fields it read belong together.
#[derive(Debug)]
struct Slot {
    sequence: AtomicUsize,
    class: AtomicPtr<c_void>,
    reference: AtomicPtr<c_void>,
    table: AtomicPtr<DLPackExchangeAPIHeader>,
    has_grad: AtomicBool,
    has_lazy_bits: AtomicBool,
}

impl TypeCache {
    pub(crate) const fn new() -> Self {
        Self {
            places: [const { Slot::new() }; PLACES],
            writing: Mutex::new(()),
            owners: Mutex::new(Vec::new()),
        }
    }

    /// Returns the table of a type, NULL if it has none, and whether its objects may have
    /// lazy bits. Returns `None` if the type is not cached.
    #[inline]
    pub(crate) fn table_of(&self, class: *mut c_void) -> Option<(Table, bool)> {
        let fields = |slot: &Slot| {
            (slot.table.load(Ordering::Relaxed), slot.has_lazy_bits.load(Ordering::Relaxed))
        };
        places(class).into_iter().find_map(|place| self.places.get(place)?.read(class, fields))
    }

    /// Whether a type has a table and an attribute `requires_grad`. Returns `None` if the
    /// type is not cached.
    #[inline]
    pub(crate) fn has_grad(&self, class: *mut c_void) -> Option<bool> {
        places(class).into_iter().find_map(|place| {
            self.places.get(place)?.read(class, |slot| slot.has_grad.load(Ordering::Relaxed))
        })
    }

    /// Returns the addresses of the classes to which a table belongs: one, or several if
    /// this crate published the table on each, or C code copied it.
    pub(crate) fn owners_of(&self, table: Table) -> Vec<usize> {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let of_table = owners.iter().filter(|owner| owner.table == table.addr());
        of_table.map(|owner| owner.class).collect()
    }

    /// How a table that belongs to a class creates objects.
    pub(crate) fn makes(&self, table: Table) -> Makes {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = owners.iter().find(|owner| owner.table == table.addr());
        owner.map_or(Makes::Foreign(0), |owner| owner.makes)
    }

    /// Changes how a table that belongs to a class creates objects.
    pub(crate) fn set_makes(&self, table: Table, change: impl Fn(Makes) -> Makes) {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        for owner in owners.iter_mut().filter(|owner| owner.table == table.addr()) {
            owner.makes = change(owner.makes);
        }
    }

    /// Records that a table belongs to a class. With `alone` it returns `Refused` if the
    /// table already belongs to another class: if Python code moves a table between
    /// classes while two threads look them up, only one class gets it.
    pub(crate) fn add_owner(&self, table: Table, class: *mut c_void, alone: bool) -> Added {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let (table, class) = (table.addr(), class.addr());
        let mut others = owners.iter().filter(|owner| owner.table == table).peekable();
        let makes = others.peek().map(|owner| owner.makes);
        if others.any(|owner| owner.class == class) {
            return Added::Known;
        }
        if (alone && makes.is_some()) || owners.try_reserve(1).is_err() {
            return Added::Refused;
        }
        owners.push(Owner { table, class, makes: makes.unwrap_or(Makes::Foreign(0)) });
        Added::New
    }

    /// Removes the type of a weak reference, which must happen before the address of the type is
    /// that of another type. The caller owns the reference of a returned type.
    pub(crate) fn remove(&self, reference: *mut c_void) -> Option<CachedType> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = self.places.iter().find(|slot| ptr::eq(slot.load().reference, reference))?;
        Some(slot.replace(CachedType::without_table(ptr::null_mut())))
    }

    /// Caches a type. A returned type was evicted, or was not added; the caller owns its
    /// reference again.
    pub(crate) fn put(&self, new: CachedType) -> Option<CachedType> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let [first, second] = places(new.class);
        let (first, second) = (self.places.get(first)?, self.places.get(second)?);
        // Only this thread writes, so the fields that it reads belong together.
        let held = [first, second].map(|place| place.load().class);
        if held.iter().any(|&class| ptr::eq(class, new.class)) {
            // Another thread has cached it meanwhile.
            return Some(new);
        }
        let [in_first, in_second] = held;
        let place = if !in_first.is_null() && in_second.is_null() { second } else { first };
        Some(place.replace(new)).filter(|old| !old.class.is_null())
    }
}

/// Returns the two slots of a type.
fn places(class: *mut c_void) -> [usize; 2] {
    // Types are heap-allocated, and so aligned to 16 bytes.
    let address = class.addr() >> 4;
    let first = (address ^ address >> 7) % PLACES;
    [first, first ^ 1]
}

impl Slot {
    const fn new() -> Self {
        Self {
            sequence: AtomicUsize::new(0),
            class: AtomicPtr::new(ptr::null_mut()),
            reference: AtomicPtr::new(ptr::null_mut()),
            table: AtomicPtr::new(ptr::null_mut()),
            has_grad: AtomicBool::new(false),
            has_lazy_bits: AtomicBool::new(false),
        }
    }

    /// Reads fields of a slot, if the slot is that of a class and is not being written.
    /// The class, the table and one flag are the loads that every import needs.
    #[inline]
    fn read<T>(&self, class: *mut c_void, field: impl FnOnce(&Self) -> T) -> Option<T> {
        let before = self.sequence.load(Ordering::Acquire);
        let found = self.class.load(Ordering::Relaxed);
        let value = field(self);
        // The fields must be loaded before the sequence is loaded again.
        fence(Ordering::Acquire);
        let after = self.sequence.load(Ordering::Relaxed);
        (before == after && before & 1 == 0 && ptr::eq(found, class)).then_some(value)
    }

    /// Reads a slot. The caller holds the lock, so no other thread writes.
    fn load(&self) -> CachedType {
        CachedType {
            class: self.class.load(Ordering::Relaxed),
            reference: self.reference.load(Ordering::Relaxed),
            table: self.table.load(Ordering::Relaxed),
            has_grad: self.has_grad.load(Ordering::Relaxed),
            has_lazy_bits: self.has_lazy_bits.load(Ordering::Relaxed),
        }
    }

    /// Writes a slot. The caller holds the lock, so no other thread writes.
    fn replace(&self, new: CachedType) -> CachedType {
        let old = self.load();
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence.store(sequence.wrapping_add(1), Ordering::Relaxed);
        // A reader that sees one of these stores also sees the odd sequence.
        fence(Ordering::Release);
        self.class.store(new.class, Ordering::Relaxed);
        self.reference.store(new.reference, Ordering::Relaxed);
        self.table.store(new.table, Ordering::Relaxed);
        self.has_grad.store(new.has_grad, Ordering::Relaxed);
        self.has_lazy_bits.store(new.has_lazy_bits, Ordering::Relaxed);
        self.sequence.store(sequence.wrapping_add(2), Ordering::Release);
        old
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    /// A type at some address, with a table that is derived from the address.
    fn known(address: usize) -> CachedType {
        CachedType {
            class: ptr::without_provenance_mut(address * 16),
            reference: ptr::without_provenance_mut(address * 16 + 2),
            table: ptr::without_provenance_mut(address * 16 + 1),
            has_grad: address % 2 == 1,
            has_lazy_bits: address % 3 == 1,
        }
    }

    #[test]
    fn what_is_put_is_found_until_it_makes_room() {
        let remembered = TypeCache::new();
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
            assert_eq!(remembered.table_of(new.class), Some((new.table, new.has_lazy_bits)));
        }
        assert!(alive.len() <= PLACES && alive.len() > PLACES / 2, "{}", alive.len());
        for address in alive {
            let known = known(address);
            assert_eq!(remembered.table_of(known.class), Some((known.table, known.has_lazy_bits)));
            assert_eq!(remembered.has_grad(known.class), Some(known.has_grad));
            assert_eq!(remembered.put(known), Some(known), "it is there already");
            assert_eq!(remembered.remove(known.reference), Some(known));
            assert_eq!(remembered.remove(known.reference), None);
            assert_eq!(remembered.table_of(known.class), None);
        }
    }

    #[test]
    fn owners_are_kept_and_alone() {
        let remembered = TypeCache::new();
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

    /// Several threads each report another class as the only owner; one of them is
    /// recorded.
    #[test]
    fn one_of_many_threads_is_the_owner() {
        let remembered = TypeCache::new();
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
        let remembered = TypeCache::new();
        let rounds = if cfg!(miri) { 60 } else { 20_000 };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let remembered = &remembered;
                scope.spawn(move || {
                    for round in 0..rounds {
                        // Few enough types that all threads use the same few slots.
                        let mine = known((round * 7 + thread) % 5 * PLACES + 1);
                        match remembered.table_of(mine.class) {
                            Some(found) => assert_eq!(found, (mine.table, mine.has_lazy_bits)),
                            None => _ = remembered.put(mine),
                        }
                        if let Some(found) = remembered.has_grad(mine.class) {
                            assert_eq!(found, mine.has_grad);
                        }
                    }
                });
            }
        });
    }
}
