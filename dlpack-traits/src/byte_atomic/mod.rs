//! Copies memory by byte-wise atomic accesses: the only way in which this crate reads and
//! writes memory that other owners may write at the same time.
//!
//! The memory of a [`SharedBuffer`](crate::SharedBuffer) and of an imported tensor may be
//! accessed as `u8` by one thread, as `f32` by a second one, and as blocks of any length
//! by a third one. In Rust's memory model, overlapping atomic accesses of different sizes
//! are a data race. Every access here therefore consists of relaxed atomic accesses of
//! one byte each. Two accesses through this module never race with each other, whatever
//! their sizes and alignments are, nor with an `AtomicU8` of other Rust code. The cost is
//! that a value can be torn: some of its bytes may be older than the others.
//!
//! On x86-64 and AArch64 the copies are inline assembly. An `asm!` block may do what Rust
//! code could do there, and the compiler may assume nothing else. The
//! corresponding Rust code here is a loop of relaxed loads and stores of one byte each,
//! in any order. The processor's wider instructions refine that loop: both architectures
//! read and write each byte as a whole, and both order accesses at least as strongly as
//! relaxed accesses require. Non-temporal stores would not, and are not used. Each byte
//! of the shared side is stored once, so a store by another thread is not overwritten by
//! a second one. The compiler cannot use `memcpy` or vector instructions for a loop of
//! `AtomicU8`, which is 10 to 60 times slower than these copies.
//!
//! Other architectures use that loop, and so do the tools that interpret or instrument
//! the program: Miri, Kani, loom, and the sanitizers, which do not see what assembly
//! accesses. A build with a sanitizer sets `--cfg dlpack_no_asm`, as `cargo xtask
//! sanitize` does.
//!
//! Existing crates do not fit: `atomic-memcpy` copies values of static size at aligned
//! addresses, by words where possible, which is the race that this module avoids;
//! `atomic-maybe-uninit` copies single values, not blocks. Either would be a second
//! dependency of a core that has one.
//!
//! Memory that only this program accesses is copied by `copy_nonoverlapping`.

#[cfg_attr(
    all(
        target_arch = "x86_64",
        target_pointer_width = "64",
        target_feature = "sse2",
        not(any(miri, kani, loom, dlpack_no_asm))
    ),
    path = "x86_64.rs"
)]
#[cfg_attr(
    all(
        target_arch = "aarch64",
        target_pointer_width = "64",
        not(any(miri, kani, loom, dlpack_no_asm))
    ),
    path = "aarch64.rs"
)]
mod portable;
#[cfg(test)]
mod tests;

use core::mem::MaybeUninit;

use portable as routine;

/// The largest value, in bytes, that is copied in registers and not by a call.
const IN_REGISTERS: usize = 32;

/// Copies `len` bytes of shared memory to private memory.
///
/// # Safety
///
/// 1. During the call, `from` is the first of `len` initialized bytes that may be read; under
///    Miri, its pointer may also be used to write.
/// 2. During the call, all accesses to them by other Rust code are reads, or byte-wise
///    atomic.
/// 3. `to` is the first of `len` bytes that may be written, and that no one else accesses
///    during the call. So the two ranges do not overlap.
pub(crate) use routine::copy_from_shared;

/// Copies `len` bytes of private memory to shared memory.
///
/// # Safety
///
/// 1. During the call, `from` is the first of `len` initialized bytes that may be read, and
///    that no one writes.
/// 2. During the call, `to` is the first of `len` initialized bytes that may be read and
///    written, and that do not overlap those of `from`.
/// 3. During the call, all accesses to them by other Rust code are byte-wise atomic.
pub(crate) use routine::copy_to_shared;

/// Reads a value from shared memory: [`copy_from_shared`] of `size_of::<T>()` bytes, by
/// inline instructions if the value fits in registers.
///
/// # Safety
///
/// 1. and 2. are those of [`copy_from_shared`], with the size of `T` as `len`.
#[inline(always)]
pub(crate) unsafe fn load<T: Copy>(from: *const u8) -> MaybeUninit<T> {
    let mut value = MaybeUninit::<T>::uninit();
    let to = value.as_mut_ptr().cast::<u8>();
    if size_of::<T>() > IN_REGISTERS {
        // SAFETY: 1 and 2: guaranteed by our caller's 1 and 2. 3: `value` is a local
        // variable.
        unsafe { copy_from_shared(from, to, size_of::<T>()) };
    } else {
        in_parts(size_of::<T>(), |at, len| {
            // Both addresses are inside of the value, and inside of the memory that 1
            // promises.
            let (from, to) = (from.wrapping_add(at), to.wrapping_add(at));
            // SAFETY: 1 and 2: guaranteed by our caller's 1 and 2, for this part. 3:
            // `value` is a local variable, and contains the part.
            unsafe { routine::load(from, to, len) };
        });
    }
    value
}

/// Reads four runs of `RUN` bytes at equal distances from shared memory, and writes them one
/// after the other.
///
/// # Safety
///
/// 1. and 2. are those of [`copy_from_shared`], for `RUN` bytes at each of the addresses
///    `from`, `from + step`, `from + 2 * step` and `from + 3 * step`.
/// 3. `to` is the first of `4 * RUN` bytes that may be written, and that no one else accesses
///    during the call.
pub(crate) use routine::load_four;

/// [`load_four`] with a store for each run.
///
/// This is not a loop: the compiler does not unroll a loop around assembly, and a loop of one
/// run takes 1 or 2 cycles per run, depending on the address of its code.
///
/// # Safety
///
/// 1. to 3. of [`load_four`].
#[inline(always)]
pub(crate) unsafe fn load_one_by_one<const RUN: usize>(from: *const u8, step: isize, to: *mut u8) {
    let read = |index: u8| {
        let from = from.wrapping_offset(step.wrapping_mul(isize::from(index)));
        let to = to.wrapping_add(RUN.wrapping_mul(usize::from(index)));
        // SAFETY: 1 and 2: guaranteed by our caller's 1 and 2, for one of the four runs.
        let run = unsafe { load::<[u8; RUN]>(from) };
        // SAFETY: by 3 `RUN` bytes may be written there. Bytes need no alignment.
        unsafe { to.cast::<MaybeUninit<[u8; RUN]>>().write(run) };
    };
    read(0);
    read(1);
    read(2);
    read(3);
}

/// Writes a value to shared memory: [`copy_to_shared`] of `size_of::<T>()` bytes, by
/// inline instructions if the value fits in registers.
///
/// # Safety
///
/// 1. All bytes of `value` are initialized.
/// 2. and 3. are those of [`copy_to_shared`], with the size of `T` as `len`.
#[inline(always)]
pub(crate) unsafe fn store<T: Copy>(to: *mut u8, value: T) {
    let from = (&raw const value).cast::<u8>();
    if size_of::<T>() > IN_REGISTERS {
        // SAFETY: 1: by our caller's 1, and `value` is a local variable. 2 and 3:
        // guaranteed by our caller's 2 and 3.
        unsafe { copy_to_shared(from, to, size_of::<T>()) };
    } else {
        in_parts(size_of::<T>(), |at, len| {
            // Both addresses are inside of the value, and inside of the memory that 2
            // promises.
            let (from, to) = (from.wrapping_add(at), to.wrapping_add(at));
            // SAFETY: 1: by our caller's 1, and `value` is a local variable that contains
            // the part. 2 and 3: guaranteed by our caller's 2 and 3, for this part.
            unsafe { routine::store(from, to, len) };
        });
    }
}

/// Calls a function with the start and the length of each part of a value that one
/// instruction copies: first parts of 16 bytes, if there are registers for them, then of 8,
/// 4, 2 and 1.
///
/// This is not a loop: the compiler does not unroll a loop around assembly, so the value
/// would stay in memory. `len` is a constant after inlining, and the compiler removes the
/// calls that do not apply.
#[inline(always)]
fn in_parts(len: usize, mut part: impl FnMut(usize, usize)) {
    if routine::WIDEST >= 16 {
        if len >= 16 {
            part(0, 16);
        }
        if len >= 32 {
            part(16, 16);
        }
        if len & 8 != 0 {
            part(len & !15, 8);
        }
    } else {
        if len >= 8 {
            part(0, 8);
        }
        if len >= 16 {
            part(8, 8);
        }
        if len >= 24 {
            part(16, 8);
        }
        if len >= 32 {
            part(24, 8);
        }
    }
    if len & 4 != 0 {
        part(len & !7, 4);
    }
    if len & 2 != 0 {
        part(len & !3, 2);
    }
    if len & 1 != 0 {
        part(len & !1, 1);
    }
}
