//! Caches the exchange tables of the types that were looked up: [`TypeCache`]. It stores
//! plain addresses, so it is tested without an interpreter.
//!
//! Without the cache, the lookup of a type that has no table takes 250 ns.

use alloc::vec::Vec;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use crate::ffi::DLPackExchangeAPIHeader;

/// The address of a table.
pub(crate) type Table = *mut DLPackExchangeAPIHeader;

/// What an import needs about a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeFacts {
    /// The exchange table; NULL if there is none.
    pub(crate) table: Table,
    /// Whether it has a table and an attribute `requires_grad`, as PyTorch's tensors do.
    pub(crate) has_grad: bool,
    /// Whether its objects may have bits that an export drops
    /// ([`check_lazy_bits`](crate::python::table::calls::check_lazy_bits)).
    pub(crate) has_lazy_bits: bool,
}

impl TypeFacts {
    /// Those of a type without a table.
    pub(crate) const NONE: Self =
        Self { table: ptr::null_mut(), has_grad: false, has_lazy_bits: false };
}

/// A type, and the weak reference that removes it when it dies; NULL before it is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CachedType {
    pub(crate) class: *mut c_void,
    pub(crate) reference: *mut c_void,
    pub(crate) facts: TypeFacts,
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
    /// [`HAS_GRAD`] and [`HAS_LAZY_BITS`].
    flags: AtomicU8,
}

const HAS_GRAD: u8 = 1;
const HAS_LAZY_BITS: u8 = 2;

impl TypeCache {
    pub(crate) const fn new() -> Self {
        Self {
            places: [const { Slot::new() }; PLACES],
            writing: Mutex::new(()),
            owners: Mutex::new(Vec::new()),
        }
    }

    /// Returns `None` for a type that is not cached.
    #[inline]
    pub(crate) fn facts_of(&self, class: *mut c_void) -> Option<TypeFacts> {
        places(class).into_iter().find_map(|place| self.places.get(place)?.read(class))
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
        let nothing = ptr::null_mut();
        Some(slot.replace(CachedType {
            class: nothing,
            reference: nothing,
            facts: TypeFacts::NONE,
        }))
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
            flags: AtomicU8::new(0),
        }
    }

    /// Reads a slot, if it is that of a class and is not being written. Its loads are those that
    /// every import needs.
    #[inline]
    fn read(&self, class: *mut c_void) -> Option<TypeFacts> {
        let before = self.sequence.load(Ordering::Acquire);
        let found = self.class.load(Ordering::Relaxed);
        let value = self.facts();
        // The fields must be loaded before the sequence is loaded again.
        fence(Ordering::Acquire);
        let after = self.sequence.load(Ordering::Relaxed);
        (before == after && before & 1 == 0 && ptr::eq(found, class)).then_some(value)
    }

    #[inline]
    fn facts(&self) -> TypeFacts {
        let flags = self.flags.load(Ordering::Relaxed);
        TypeFacts {
            table: self.table.load(Ordering::Relaxed),
            has_grad: flags & HAS_GRAD != 0,
            has_lazy_bits: flags & HAS_LAZY_BITS != 0,
        }
    }

    /// Reads a slot. The caller holds the lock, so no other thread writes.
    fn load(&self) -> CachedType {
        CachedType {
            class: self.class.load(Ordering::Relaxed),
            reference: self.reference.load(Ordering::Relaxed),
            facts: self.facts(),
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
        let TypeFacts { table, has_grad, has_lazy_bits } = new.facts;
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(has_grad, HAS_GRAD) | flag(has_lazy_bits, HAS_LAZY_BITS);
        self.table.store(table, Ordering::Relaxed);
        self.flags.store(flags, Ordering::Relaxed);
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
            facts: TypeFacts {
                table: ptr::without_provenance_mut(address * 16 + 1),
                has_grad: address % 2 == 1,
                has_lazy_bits: address % 3 == 1,
            },
        }
    }

    #[test]
    fn what_is_put_is_found_until_it_makes_room() {
        let remembered = TypeCache::new();
        let mut alive = BTreeSet::new();
        for address in 1..if cfg!(miri) { 300 } else { 2_000 } {
            let new = known(address);
            assert_eq!(remembered.facts_of(new.class), None);
            let old = remembered.put(new);
            alive.insert(address);
            if let Some(old) = old {
                assert!(alive.remove(&(old.class.addr() / 16)));
                assert_eq!(remembered.facts_of(old.class), None);
            }
            assert_eq!(remembered.facts_of(new.class), Some(new.facts));
        }
        assert!(alive.len() <= PLACES && alive.len() > PLACES / 2, "{}", alive.len());
        for address in alive {
            let known = known(address);
            assert_eq!(remembered.facts_of(known.class), Some(known.facts));
            assert_eq!(remembered.put(known), Some(known), "it is there already");
            assert_eq!(remembered.remove(known.reference), Some(known));
            assert_eq!(remembered.remove(known.reference), None);
            assert_eq!(remembered.facts_of(known.class), None);
        }
    }

    #[test]
    fn owners_are_kept_and_alone() {
        let remembered = TypeCache::new();
        let [one, other, third] = [1, 2, 3].map(known);
        assert_eq!(remembered.add_owner(one.facts.table, one.class, true), Added::New);
        for alone in [true, false] {
            assert_eq!(remembered.add_owner(one.facts.table, one.class, alone), Added::Known);
        }
        assert_eq!(remembered.add_owner(one.facts.table, other.class, true), Added::Refused);
        assert_eq!(remembered.add_owner(other.facts.table, other.class, true), Added::New);
        assert_eq!(remembered.add_owner(one.facts.table, third.class, false), Added::New);
        for address in 1..if cfg!(miri) { 300 } else { 2_000 } {
            remembered.put(known(address));
        }
        assert_eq!(remembered.owners_of(one.facts.table), [one.class.addr(), third.class.addr()]);
        assert_eq!(remembered.owners_of(other.facts.table), [other.class.addr()]);
        assert!(remembered.owners_of(third.facts.table).is_empty());
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
                    remembered.add_owner(known(1).facts.table, known(thread + 1).class, true)
                });
            }
        });
        assert_eq!(remembered.owners_of(known(1).facts.table).len(), 1);
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
                        match remembered.facts_of(mine.class) {
                            Some(found) => assert_eq!(found, mine.facts),
                            None => _ = remembered.put(mine),
                        }
                    }
                });
            }
        });
    }
}
