//! Compares the copy routines with `copy_from_slice`.

extern crate std;

use alloc::vec;
use alloc::vec::Vec;

use bytemuck::Pod;

use super::*;
// `in_rust` exports it again.
pub(crate) use super::load_one_by_one;

/// The portable routine, which is tested on all architectures.
#[path = "portable.rs"]
#[allow(dead_code, reason = "only its copies of blocks are tested twice")]
mod in_rust;

/// A function that copies a number of bytes from the first address to the second one.
type Routine = unsafe fn(*const u8, *mut u8, usize);

/// The functions that copy blocks.
const ROUTINES: [Routine; 5] = [
    copy_from_shared,
    copy_without_avx,
    copy_to_shared,
    in_rust::copy_from_shared,
    in_rust::copy_to_shared,
];

/// The largest distance from an aligned address that is tested.
const SKEWS: usize = if cfg!(miri) { 2 } else { 17 };
/// All lengths up to this one are tested.
const LENGTHS: usize = if cfg!(miri) { 12 } else { 300 };
/// Some greater lengths: around the threshold of `rep movsb`, and pages.
const LONG: [usize; 8] = [1022, 1023, 1024, 1025, 1087, 4096, 12_289, 100_003];

std::thread_local! {
    /// Whether this thread copies as on a processor without AVX.
    pub(super) static NO_AVX: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
}

/// [`copy_from_shared`] as on a processor without AVX.
///
/// # Safety
///
/// Those of [`copy_from_shared`].
unsafe fn copy_without_avx(from: *const u8, to: *mut u8, len: usize) {
    NO_AVX.set(true);
    // SAFETY: guaranteed by the caller.
    unsafe { copy_from_shared(from, to, len) };
    NO_AVX.set(false);
}

/// # Safety
///
/// Those of [`load`].
unsafe fn loaded<T: Pod>(from: *const u8) -> T {
    // SAFETY: 1 and 2 (`from` is valid, accesses are atomic): guaranteed by our caller's
    // 1 and 2.
    let value = unsafe { load::<T>(from) };
    // SAFETY: all bytes were read, and any bytes are a valid `Pod`.
    unsafe { value.assume_init() }
}

/// Bytes that differ from their neighbours. They are computed at compile time: Miri would
/// spend most of these tests on them.
const fn period(seed: u8) -> [u8; 251] {
    let mut bytes = [0; 251];
    let mut number = 0_u8;
    while number < 251 {
        bytes[number as usize] = number.wrapping_mul(37) ^ seed;
        number += 1;
    }
    bytes
}

static PERIODS: [[u8; 251]; 2] = [period(0), period(0x80)];

/// Makes bytes that differ from their neighbours.
fn pattern(len: usize, seed: u8) -> Vec<u8> {
    let period = &PERIODS[usize::from(seed != 0)];
    assert_eq!(period[0], seed, "a seed of `PERIODS`");
    let mut bytes = vec![0; len];
    for part in bytes.chunks_mut(period.len()) {
        part.copy_from_slice(&period[..part.len()]);
    }
    bytes
}

/// Copies `len` bytes at distances from aligned addresses, and checks all bytes around
/// them.
fn check(routine: Routine, skew_from: usize, skew_to: usize, len: usize) {
    let room = len + 64;
    let mut from = pattern(room, 0);
    let mut to = pattern(room, 0x80);
    let mut expected = to.clone();
    expected[skew_to..skew_to + len].copy_from_slice(&from[skew_from..skew_from + len]);
    let (first, second) = (from[skew_from..].as_mut_ptr(), to[skew_to..].as_mut_ptr());
    // SAFETY: 1 to 3. Both vectors contain `len` bytes there, and nothing else accesses
    // them.
    unsafe { routine(first, second, len) };
    assert_eq!(to, expected, "{skew_from} {skew_to} {len}");
    assert_eq!(from, pattern(room, 0));
}

#[test]
fn blocks_are_copied_as_they_are() {
    for routine in ROUTINES {
        for len in 0..LENGTHS {
            for skew in 0..SKEWS {
                check(routine, skew, 0, len);
                check(routine, 0, skew, len);
                check(routine, skew, (skew * 7 + len) % 17, len);
            }
        }
        for len in LONG.into_iter().filter(|_| !cfg!(miri)) {
            for skew in 0..SKEWS {
                check(routine, skew, (skew * 5 + 3) % 17, len);
            }
        }
    }
}

/// Distances of source and destination at which `rep movsb` is slow, and others.
#[test]
fn blocks_are_copied_at_any_distance() {
    const LEN: usize = if cfg!(miri) { 200 } else { 3 * 4096 + 77 };
    let from = pattern(LEN, 0);
    let mut to = vec![0; LEN + 4096 + 80];
    for distance in [0, 1, 63, 64] {
        let here = to.as_ptr().addr().wrapping_sub(from.as_ptr().addr()) % 4096;
        let start = 4096 - here + distance;
        // SAFETY: 1 to 3. Both vectors contain `LEN` bytes there, and nothing else accesses them.
        unsafe { copy_from_shared(from.as_ptr(), to[start..].as_mut_ptr(), LEN) };
        assert!(to[start..][..LEN] == from, "{distance}");
        assert!(to[..start].iter().chain(&to[start + LEN..]).all(|&byte| byte == 0));
        to.fill(0);
    }
}

/// Values of every size that fits in registers, and of some larger sizes.
#[test]
fn values_are_copied_as_they_are() {
    fn check<const LEN: usize>() {
        for skew in 0..9 {
            let mut memory = pattern(LEN + 32, 0);
            let first = memory[skew..].as_mut_ptr();
            // SAFETY: 1 and 2. The vector contains the bytes of the value there, and
            // nothing else accesses it.
            let value = unsafe { loaded::<[u8; LEN]>(first) };
            assert_eq!(value, memory[skew..skew + LEN]);
            let mut expected = memory.clone();
            let new: [u8; LEN] = pattern(LEN, 0x80).try_into().expect("as many");
            expected[skew..skew + LEN].copy_from_slice(&new);
            // SAFETY: as above.
            unsafe { store(memory[skew..].as_mut_ptr(), new) };
            assert_eq!(memory, expected);
        }
    }
    check::<0>();
    check::<1>();
    check::<2>();
    check::<3>();
    check::<4>();
    check::<5>();
    check::<7>();
    check::<8>();
    check::<12>();
    check::<15>();
    check::<16>();
    check::<31>();
    check::<32>();
    check::<33>();
    check::<100>();
}

/// Bits that are a signaling NaN of a float, which arithmetic would change to a quiet one.
#[test]
fn signaling_nans_are_copied_as_they_are() {
    let mut memory = [0_u32; 4];
    let to = memory.as_mut_ptr().cast::<u8>();
    for bits in [0x7F80_0001_u32, 0xFF80_0001, 0x7FBF_FFFF] {
        // SAFETY: 1. A number is initialized. 2 and 3. `memory` contains it, and nothing else
        // accesses it.
        unsafe { store(to, bits) };
        // SAFETY: 1 and 2. As above.
        assert_eq!(unsafe { loaded::<u32>(to) }, bits);
        let bits = u64::from(bits & 0xFFF0_0000) << 32 | 1;
        // SAFETY: as above.
        unsafe { store(to, bits) };
        // SAFETY: as above.
        assert_eq!(unsafe { loaded::<u64>(to) }, bits);
    }
}

#[test]
fn parts_cover_a_value_once() {
    for len in 0..=IN_REGISTERS {
        let mut end = 0;
        in_parts(len, |at, len| {
            assert_eq!(at, end);
            assert!([1, 2, 4, 8, 16].contains(&len));
            end += len;
        });
        assert_eq!(end, len);
    }
    let mut all = vec![];
    in_parts(31, |at, len| all.push((at, len)));
    let (wide, narrow) = ([(0, 16), (16, 8)].as_slice(), [(0, 8), (8, 8), (16, 8)].as_slice());
    let first = if routine::WIDEST >= 16 { wide } else { narrow };
    assert_eq!(all, [first, [(24, 4), (28, 2), (30, 1)].as_slice()].concat());
}

/// Threads that copy blocks of different lengths and alignments to and from the same
/// memory.
#[test]
fn blocks_of_different_lengths_do_not_race() {
    let memory = vec![1_u8; 256];
    let mut memory = std::boxed::Box::<[u8]>::from(memory);
    let first = core::sync::atomic::AtomicPtr::new(memory.as_mut_ptr());
    let first = || first.load(core::sync::atomic::Ordering::Relaxed);
    let rounds = if cfg!(miri) { 3 } else { 2_000 };
    std::thread::scope(|scope| {
        for thread in 2..4_u8 {
            scope.spawn(move || {
                for round in 0..rounds {
                    let (start, len) = (round * 13 % 100, 1 + round * 7 % 150);
                    // SAFETY: the offset is inside of the memory.
                    let to = unsafe { first().add(start) };
                    // SAFETY: 1 to 3. The memory contains `len` bytes there, and all
                    // threads access it through this module.
                    unsafe { copy_to_shared([thread; 150].as_ptr(), to, len) };
                    // SAFETY: as above.
                    unsafe { store(to, [thread; 6]) };
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(move || {
                for round in 0..rounds {
                    let (start, len) = (round * 11 % 100, 1 + round * 5 % 150);
                    let mut seen = [0; 150];
                    // SAFETY: the offset is inside of the memory.
                    let from = unsafe { first().add(start) };
                    // SAFETY: as above.
                    unsafe { copy_from_shared(from, seen.as_mut_ptr(), len) };
                    assert!(seen[..len].iter().all(|byte| (1..4).contains(byte)));
                    // SAFETY: as above.
                    let value = unsafe { loaded::<[u8; 12]>(from) };
                    assert!(value.iter().all(|byte| (1..4).contains(byte)));
                }
            });
        }
    });
}

/// Copies that begin or end at an inaccessible page: an access beyond the range ends the
/// process.
#[cfg(all(target_os = "linux", not(miri)))]
mod guarded {
    use core::ffi::{c_int, c_long, c_void};

    use super::*;

    unsafe extern "C" {
        fn mmap(
            at: *mut c_void,
            len: usize,
            access: c_int,
            flags: c_int,
            file: c_int,
            offset: c_long,
        ) -> *mut c_void;
        fn mprotect(at: *mut c_void, len: usize, access: c_int) -> c_int;
        fn munmap(at: *mut c_void, len: usize) -> c_int;
    }

    /// The largest page size of Linux.
    const PAGE: usize = 1 << 16;
    const NONE: c_int = 0;
    const READ: c_int = 1;
    const READ_WRITE: c_int = 3;
    const PRIVATE_ANONYMOUS: c_int = 0x22;

    /// A page between two inaccessible ones.
    struct Guarded(*mut u8);

    impl Guarded {
        fn new() -> Self {
            // SAFETY: the call maps new pages at any address.
            let all =
                unsafe { mmap(core::ptr::null_mut(), 3 * PAGE, NONE, PRIVATE_ANONYMOUS, -1, 0) };
            assert_ne!(all.addr(), usize::MAX, "no memory");
            let page = Self(all.cast::<u8>().wrapping_add(PAGE));
            page.allow(READ_WRITE);
            page
        }

        fn allow(&self, access: c_int) {
            // SAFETY: the page belongs to this struct, and no reference to it exists.
            assert_eq!(unsafe { mprotect(self.0.cast(), PAGE, access) }, 0);
        }

        /// Returns the addresses of the first and of the last `len` bytes.
        fn ends(&self, len: usize) -> [*mut u8; 2] {
            [self.0, self.0.wrapping_add(PAGE - len)]
        }
    }

    impl Drop for Guarded {
        fn drop(&mut self) {
            // SAFETY: `new` mapped these pages, and nothing uses them any more.
            unsafe { munmap(self.0.wrapping_sub(PAGE).cast(), 3 * PAGE) };
        }
    }

    #[test]
    fn no_byte_outside_is_accessed() {
        let (from, to) = (Guarded::new(), Guarded::new());
        for routine in ROUTINES {
            for len in (0..LENGTHS).chain(LONG).filter(|&len| len <= PAGE) {
                for (first, second) in
                    from.ends(len).into_iter().flat_map(|a| to.ends(len).map(|b| (a, b)))
                {
                    // SAFETY: 1 to 3. Both pages contain `len` bytes there, and nothing
                    // else accesses them.
                    unsafe { routine(first, second, len) };
                }
            }
        }
    }

    #[test]
    fn read_only_pages_are_not_written() {
        let from = Guarded::new();
        let mut to = vec![0; PAGE];
        from.allow(READ);
        for routine in [copy_from_shared, copy_without_avx, in_rust::copy_from_shared] {
            for len in (0..LENGTHS).chain(LONG).filter(|&len| len <= PAGE) {
                // SAFETY: 1 to 3. The page and the vector contain `len` bytes.
                unsafe { routine(from.0, to.as_mut_ptr(), len) };
            }
        }
        // SAFETY: as above.
        assert_eq!(unsafe { loaded::<u64>(from.0) }, 0);
    }

    #[test]
    fn values_end_where_their_memory_ends() {
        fn check<const LEN: usize>(page: &Guarded) {
            for place in page.ends(LEN) {
                // SAFETY: 1 to 3. The page contains `LEN` bytes there, and nothing else
                // accesses it.
                unsafe { store(place, [7_u8; LEN]) };
                // SAFETY: as above.
                assert_eq!(unsafe { loaded::<[u8; LEN]>(place) }, [7; LEN]);
            }
        }
        let page = Guarded::new();
        check::<1>(&page);
        check::<2>(&page);
        check::<3>(&page);
        check::<4>(&page);
        check::<6>(&page);
        check::<8>(&page);
        check::<12>(&page);
        check::<31>(&page);
        check::<40>(&page);
    }
}

/// Runs of every length that a row is read by, at distances in both directions, overlapping
/// and apart.
#[test]
fn four_runs_are_collected() {
    fn check<const RUN: usize>() {
        for step in [-40_isize, -17, -1, 0, 1, 2, 3, 16, 23, 40] {
            for skew in 0..if cfg!(miri) { 2 } else { 9 } {
                let mut memory = pattern(320, 0);
                let start = 150 + skew;
                let mut to = pattern(4 * RUN + 8, 0x80);
                let mut expected = to.clone();
                let mut at = start;
                for part in expected[3..3 + 4 * RUN].chunks_mut(RUN) {
                    part.copy_from_slice(&memory[at..at + RUN]);
                    at = at.wrapping_add_signed(step);
                }
                // Of the whole vector: negative steps lead to bytes before `start`.
                let first = memory.as_mut_ptr().wrapping_add(start);
                // SAFETY: 1 and 2. The vector contains all four runs, and nothing else accesses
                // it. 3. `to` has room for them from its third byte on.
                unsafe { load_four::<RUN>(first, step, to[3..].as_mut_ptr()) };
                assert_eq!(to, expected, "{RUN} {step} {skew}");
            }
        }
    }
    check::<1>();
    check::<2>();
    check::<4>();
    check::<8>();
    check::<16>();
}
