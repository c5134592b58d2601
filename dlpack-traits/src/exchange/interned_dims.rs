//! Interns shapes and strides for the life of the process: [`lasting`].
//!
//! A borrowed `DLTensor` points to its shape and strides. If a class stores them as
//! `i64`s (or integers of that size), the `DLTensor` points there. The strides of a
//! contiguous tensor are not stored anywhere: they are computed in a call, and local
//! memory is gone when the call returns. So every such list is interned in an append-only
//! table. Programs have few different lists: the strides of a contiguous tensor do not
//! depend on its first dimension.
//!
//! An interned list is never changed or moved, so this module needs no `unsafe`, and a
//! lookup takes no lock and allocates nothing.
//!
//! Rejected: a ring of recent lists (wrong for a consumer that uses more tensors than it
//! has entries), and a cell in each object (a field that the user would have to add). If
//! the table is full, the export fails with `BufferError`; managed tensors and classes that
//! store their strides are not affected.

#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicI64 as AtomicDim;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

#[cfg(not(target_has_atomic = "64"))]
use Halves as AtomicDim;

/// The capacity, in numbers: 128 KiB, of which the operating system maps only the used
/// pages. That is over 5000 lists of three numbers. Miri, which tracks every number, gets
/// a smaller capacity.
const ROOM: usize = 1 << if cfg!(miri) { 10 } else { 14 };

/// The number of slots of the index.
const PLACES: usize = 1 << if cfg!(miri) { 9 } else { 13 };

/// The maximum number of slots of the index that are probed for one list.
const TRIES: usize = 64;

/// The numbers of all lists, one list after the other.
static NUMBERS: [AtomicDim; ROOM] = [const { AtomicDim::new(0) }; ROOM];

/// How many of the numbers are used.
static USED: AtomicUsize = AtomicUsize::new(0);

/// The positions of the lists, by their hash: a packed [`Entry`], or 0.
static INDEX: [AtomicU32; PLACES] = [const { AtomicU32::new(0) }; PLACES];

/// Returns the address of a list with these numbers that is valid for the rest of the
/// process. Returns `None` if the table is full.
#[inline(always)]
pub(super) fn lasting(dims: &[i64]) -> Option<*mut i64> {
    let place = INDEX.get(hash(dims) & PLACES.wrapping_sub(1))?;
    let found = Entry::unpack(place.load(Ordering::Acquire));
    // The fast path: nearly always the list is interned, in the first slot of its hash.
    // An empty slot unpacks to an empty list, which is excluded here.
    if !dims.is_empty() && found.holds(dims) { Some(found.address()) } else { looked_for(dims) }
}

/// Returns the address of an empty list.
#[cold]
pub(super) fn empty() -> *mut i64 {
    Entry { start: 0, len: 0 }.address()
}

/// The slow path of [`lasting`]: the list is not in the first slot of its hash.
#[cold]
fn looked_for(dims: &[i64]) -> Option<*mut i64> {
    if dims.is_empty() {
        return Some(empty());
    }
    let mut written: Option<Entry> = None;
    let first = hash(dims);
    for place in 0..TRIES {
        let place = INDEX.get(first.wrapping_add(place) & PLACES.wrapping_sub(1))?;
        let mut found = place.load(Ordering::Acquire);
        if found == 0 {
            let new = match written {
                Some(new) => new,
                None => Entry::write(dims)?,
            };
            written = Some(new);
            match place.compare_exchange(0, new.pack(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(new.address()),
                // Another thread has written this slot, maybe with the same list.
                Err(theirs) => found = theirs,
            }
        }
        let found = Entry::unpack(found);
        if found.holds(dims) {
            return Some(found.address());
        }
    }
    None
}

/// Hashes numbers so that lists with small differences have distant hashes.
#[allow(clippy::cast_possible_truncation, reason = "any bits will do, on 32-bit targets too")]
#[expect(clippy::cast_sign_loss, reason = "any bits will do")]
#[inline]
fn hash(dims: &[i64]) -> usize {
    let mix = |hash: u64, dim: i64| {
        (hash.rotate_left(5) ^ dim as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    let len = dims.len() as u64;
    // No loop for few numbers (measured: with loops here and in `holds` a borrowed tensor takes
    // 28 instructions and 0.9 ns more).
    let mixed = match *dims {
        [a] => mix(len, a),
        [a, b] => mix(mix(len, a), b),
        [a, b, c] => mix(mix(mix(len, a), b), c),
        _ => dims.iter().fold(len, |hash, &dim| mix(hash, dim)),
    };
    (mixed >> 40) as usize
}

/// One list: a range of [`NUMBERS`].
#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    len: usize,
}

impl Entry {
    /// Appends a list. Other threads find it only through the index, whose release store
    /// orders these stores before their loads.
    fn write(dims: &[i64]) -> Option<Self> {
        let len = dims.len();
        let take = |used: usize| used.checked_add(len).filter(|&end| end <= ROOM);
        let start = USED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        let entry = Self { start, len };
        for (to, &from) in entry.numbers().iter().zip(dims) {
            to.store(from, Ordering::Relaxed);
        }
        Some(entry)
    }

    /// Packs the entry into a number other than 0: an entry has at least one number.
    #[expect(clippy::cast_possible_truncation, reason = "both are below 2^16")]
    const fn pack(self) -> u32 {
        (self.len as u32) << 16 | self.start as u32
    }

    const fn unpack(packed: u32) -> Self {
        // Masked, so that `numbers` needs no check of the start.
        Self { start: packed as usize & ROOM.wrapping_sub(1), len: (packed >> 16) as usize }
    }

    #[inline]
    fn numbers(self) -> &'static [AtomicDim] {
        NUMBERS.get(self.start..).and_then(|rest| rest.get(..self.len)).unwrap_or_default()
    }

    #[inline]
    fn holds(self, dims: &[i64]) -> bool {
        let is = |here: &AtomicDim, dim: i64| here.load(Ordering::Relaxed) == dim;
        match (self.numbers(), dims) {
            ([a], &[c]) => is(a, c),
            ([a, b], &[c, d]) => is(a, c) & is(b, d),
            (numbers, dims) => {
                numbers.len() == dims.len()
                    && numbers.iter().zip(dims).all(|(here, &dim)| is(here, dim))
            }
        }
    }

    /// Returns the address of the numbers, for C.
    #[inline]
    fn address(self) -> *mut i64 {
        self.numbers().as_ptr().cast::<i64>().cast_mut()
    }
}

const _: () = assert!(ROOM <= 1 << 16 && ROOM.is_power_of_two() && PLACES.is_power_of_two());

/// An `i64` for targets without 64-bit atomics: its halves, in the order of the target's
/// bytes. A consumer reads the number whole, after the store of its index entry, as it reads
/// an `AtomicI64`.
#[cfg(any(test, not(target_has_atomic = "64")))]
#[repr(C, align(8))]
struct Halves([AtomicU32; 2]);

#[cfg(any(test, not(target_has_atomic = "64")))]
impl Halves {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "halves of bits")]
    const fn new(number: i64) -> Self {
        let (low, high) = (AtomicU32::new(number as u32), AtomicU32::new((number >> 32) as u32));
        Self(if cfg!(target_endian = "little") { [low, high] } else { [high, low] })
    }

    fn store(&self, number: i64, order: Ordering) {
        for (to, from) in self.0.iter().zip(Self::new(number).0) {
            to.store(from.into_inner(), order);
        }
    }

    /// Loads a number that no thread stores meanwhile. Another load can combine the halves of
    /// two numbers.
    fn load(&self, order: Ordering) -> i64 {
        let [first, second] = self.0.each_ref().map(|half| i64::from(half.load(order)));
        if cfg!(target_endian = "little") { second << 32 | first } else { first << 32 | second }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use std::thread;

    use super::*;

    /// Reads the list behind a pointer.
    fn read(start: *mut i64, len: usize) -> Vec<i64> {
        // SAFETY: `lasting` returned it for a list of this length.
        unsafe { core::slice::from_raw_parts(start, len) }.to_vec()
    }

    #[test]
    fn the_same_list_is_in_the_same_place_for_all_threads() {
        let lists: Vec<Vec<i64>> =
            (0..40).map(|n| (0..=n % 5).map(|axis| n * 7 - axis).collect()).collect();
        let find = || -> Vec<usize> {
            lists.iter().map(|list| lasting(list).expect("room").addr()).collect()
        };
        let all: Vec<Vec<usize>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(find)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(all.iter().all(|places| *places == all[0]));
        for list in &lists {
            assert_eq!(read(lasting(list).expect("room"), list.len()), *list);
        }
    }

    #[test]
    fn prefixes_and_orders_are_told_apart() {
        let lists = [&[901_i64, 902, 903][..], &[901, 902], &[903, 902, 901], &[-901], &[]];
        for list in lists {
            let place = lasting(list).expect("room");
            assert!(!place.is_null());
            assert_eq!(read(place, list.len()), list);
        }
    }

    /// Targets without 64-bit atomics store these.
    #[test]
    fn a_number_in_halves_is_an_i64_in_memory() {
        assert_eq!((size_of::<Halves>(), align_of::<Halves>()), (8, 8));
        let stored = Halves::new(0);
        for number in [0, 1, -1, i64::MIN, i64::MAX, 0x0123_4567_89AB_CDEF] {
            stored.store(number, Ordering::Relaxed);
            assert_eq!(stored.load(Ordering::Relaxed), number);
            assert_eq!(read((&raw const stored).cast_mut().cast(), 1), [number]);
            assert_eq!(Halves::new(number).load(Ordering::Relaxed), number);
        }
    }

    /// A list differs from its prefix, even if their hashes are equal.
    #[test]
    fn a_list_is_not_its_beginning() {
        let entry = Entry::write(&[911, 912, 913]).expect("room");
        assert!(entry.holds(&[911, 912, 913]));
        for other in [&[911, 912][..], &[911, 912, 913, 914], &[911, 912, 0], &[]] {
            assert!(!entry.holds(other), "{other:?}");
        }
        assert_eq!(Entry::unpack(entry.pack()).numbers().len(), 3);
    }
}
