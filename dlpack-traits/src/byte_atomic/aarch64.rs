//! Byte-wise atomic copies for AArch64.

use core::arch::asm;

pub(crate) use copy as copy_from_shared;
pub(crate) use copy as copy_to_shared;

pub(crate) use super::load_one_by_one as load_four;

/// The most bytes that [`load`] and [`store`] copy.
pub(super) const WIDEST: usize = 8;

/// Copies `len` bytes, reading and writing each of them once. It uses pairs of general
/// registers, which targets without floating point have too.
///
/// # Safety
///
/// Those of [`super::copy_from_shared`] or [`super::copy_to_shared`].
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the block reads `len` bytes at `from`, writes them to `to`, and accesses no
    // other memory; both ranges are valid by the caller's obligations. Its effect on
    // memory is that of `portable`: see the module.
    unsafe {
        asm!(
            // 64 bytes at a time.
            "subs {len}, {len}, #64",
            "b.lo 3f",
            "2:",
            "ldp {a}, {b}, [{from}]",
            "ldp {c}, {d}, [{from}, #16]",
            "ldp {e}, {f}, [{from}, #32]",
            "ldp {g}, {h}, [{from}, #48]",
            "add {from}, {from}, #64",
            "stp {a}, {b}, [{to}]",
            "stp {c}, {d}, [{to}, #16]",
            "stp {e}, {f}, [{to}, #32]",
            "stp {g}, {h}, [{to}, #48]",
            "add {to}, {to}, #64",
            "subs {len}, {len}, #64",
            "b.hs 2b",
            // The lowest six bits are the number of bytes that are left.
            "3:",
            "tbz {len}, #5, 4f",
            "ldp {a}, {b}, [{from}], #16",
            "ldp {c}, {d}, [{from}], #16",
            "stp {a}, {b}, [{to}], #16",
            "stp {c}, {d}, [{to}], #16",
            "4:",
            "tbz {len}, #4, 5f",
            "ldp {a}, {b}, [{from}], #16",
            "stp {a}, {b}, [{to}], #16",
            "5:",
            "tbz {len}, #3, 6f",
            "ldr {a}, [{from}], #8",
            "str {a}, [{to}], #8",
            "6:",
            "tbz {len}, #2, 7f",
            "ldr {a:w}, [{from}], #4",
            "str {a:w}, [{to}], #4",
            "7:",
            "tbz {len}, #1, 8f",
            "ldrh {a:w}, [{from}], #2",
            "strh {a:w}, [{to}], #2",
            "8:",
            "tbz {len}, #0, 9f",
            "ldrb {a:w}, [{from}]",
            "strb {a:w}, [{to}]",
            "9:",
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            len = inout(reg) len => _,
            a = out(reg) _,
            b = out(reg) _,
            c = out(reg) _,
            d = out(reg) _,
            e = out(reg) _,
            f = out(reg) _,
            g = out(reg) _,
            h = out(reg) _,
            options(nostack),
        );
    }
}

/// Reads 1, 2, 4 or 8 bytes by one instruction.
///
/// # Safety
///
/// 1. to 3. of [`super::copy_from_shared`]; `len` is one of these numbers.
#[inline(always)]
pub(super) unsafe fn load(from: *const u8, to: *mut u8, len: usize) {
    macro_rules! load {
        ($int:ty, $instruction:literal) => {{
            let value: $int;
            // SAFETY: the block reads `len` bytes at `from`, which are valid by 1, and
            // accesses no other memory. Its effect on memory is that of `portable`.
            unsafe {
                asm!(
                    $instruction,
                    from = in(reg) from,
                    value = lateout(reg) value,
                    options(nostack, preserves_flags, readonly),
                );
            }
            // SAFETY: by 3 `len` bytes may be written.
            unsafe { to.cast::<$int>().write_unaligned(value) };
        }};
    }
    match len {
        1 => load!(u8, "ldrb {value:w}, [{from}]"),
        2 => load!(u16, "ldrh {value:w}, [{from}]"),
        4 => load!(u32, "ldr {value:w}, [{from}]"),
        _ => load!(u64, "ldr {value}, [{from}]"),
    }
}

/// Writes 1, 2, 4 or 8 bytes by one instruction.
///
/// # Safety
///
/// 1. to 3. of [`super::copy_to_shared`]; `len` is one of these numbers.
#[inline(always)]
pub(super) unsafe fn store(from: *const u8, to: *mut u8, len: usize) {
    macro_rules! store {
        ($int:ty, $instruction:literal) => {{
            // SAFETY: by 1 `len` bytes may be read.
            let value = unsafe { from.cast::<$int>().read_unaligned() };
            // SAFETY: the block writes `len` bytes at `to`, which are valid by 2, and
            // accesses no other memory. Its effect on memory is that of `portable`.
            unsafe {
                asm!(
                    $instruction,
                    to = in(reg) to,
                    value = in(reg) value,
                    options(nostack, preserves_flags),
                );
            }
        }};
    }
    match len {
        1 => store!(u8, "strb {value:w}, [{to}]"),
        2 => store!(u16, "strh {value:w}, [{to}]"),
        4 => store!(u32, "str {value:w}, [{to}]"),
        _ => store!(u64, "str {value}, [{to}]"),
    }
}
