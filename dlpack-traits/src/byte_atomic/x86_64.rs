//! Byte-wise atomic copies for x86-64.

use core::arch::asm;
use core::arch::x86_64::__m128i;

pub(crate) use copy as copy_from_shared;
pub(crate) use copy as copy_to_shared;

/// The most bytes that [`load`] and [`store`] copy.
pub(super) const WIDEST: usize = 16;

/// Copies `len` bytes, reading and writing each of them once.
///
/// From 1,024 bytes on it uses `rep movsb`, which processors since 2012 (Intel) and 2020 (AMD)
/// execute as fast as the loops of `memcpy`, and which takes some 15 ns to start. Measured on
/// Sapphire Rapids, 4 KiB: 24 ns, `memcpy` 25, the loop of SSE2 45, a loop of `AtomicU8` 1,700.
///
/// If the destination is up to 63 bytes after the source, modulo 4,096, Zen processors take 2 to
/// 3 times as long for it. Then, and below 1,024 bytes, it copies 32 bytes at a time where there
/// is AVX. Measured on a Zen 4: 4 KiB with this distance 50 ns, `rep movsb` 98; 256 bytes 2.4 ns,
/// `memcpy` 2.9, SSE2 4.3.
///
/// # Safety
///
/// Those of [`super::copy_from_shared`] or [`super::copy_to_shared`].
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    let after = to.addr().wrapping_sub(from.addr()) % 4096;
    let is_slow = (1..64).contains(&after);
    let wide = if len >= 128 && (len < REP || is_slow) && has_avx() { len & !127 } else { 0 };
    if wide != 0 {
        // SAFETY: the block reads `wide` bytes at `from`, which are at most `len`, writes them to
        // `to`, and accesses no other memory; both ranges are valid by the caller's obligations.
        // The processor has AVX, because `has_avx` returned true. `vzeroupper` changes bits 128 and
        // above of the vector registers 0 to 15; all are declared as changed, because the name of
        // an `xmm` register as an operand stands for the whole register. The effect of the block
        // on memory is that of `portable`: see the module.
        unsafe {
            asm!(
                "2:",
                "vmovups ymm0, ymmword ptr [{from}]",
                "vmovups ymm1, ymmword ptr [{from} + 32]",
                "vmovups ymm2, ymmword ptr [{from} + 64]",
                "vmovups ymm3, ymmword ptr [{from} + 96]",
                "sub {from}, -128",
                "vmovups ymmword ptr [{to}], ymm0",
                "vmovups ymmword ptr [{to} + 32], ymm1",
                "vmovups ymmword ptr [{to} + 64], ymm2",
                "vmovups ymmword ptr [{to} + 96], ymm3",
                "sub {to}, -128",
                "sub {wide}, 128",
                "jnz 2b",
                "vzeroupper",
                wide = inout(reg) wide => _,
                from = inout(reg) from => _,
                to = inout(reg) to => _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(nostack),
            );
        }
    }
    // Both addresses are inside of the ranges, or at their ends.
    let (from, to) = (from.wrapping_add(wide), to.wrapping_add(wide));
    // SAFETY: the caller's obligations, for the rest of the bytes.
    unsafe { copy_narrow(from, to, len.wrapping_sub(wide)) };
}

/// The number of bytes from which on `rep movsb` is the fastest.
const REP: usize = 1024;

/// Whether the processor has AVX, and the operating system saves its registers.
#[inline(always)]
fn has_avx() -> bool {
    #[cfg(test)]
    if super::tests::NO_AVX.get() {
        return false;
    }
    #[cfg(feature = "std")]
    return std::arch::is_x86_feature_detected!("avx");
    #[cfg(not(feature = "std"))]
    return cfg!(target_feature = "avx");
}

/// Copies `len` bytes by SSE2, and from [`REP`] bytes on by `rep movsb`.
///
/// # Safety
///
/// Those of [`super::copy_from_shared`] or [`super::copy_to_shared`].
unsafe fn copy_narrow(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the block reads `len` bytes at `from`, writes them to `to`, and accesses no
    // other memory; both ranges are valid by the caller's obligations. The direction flag
    // is clear at the start of a block. Its effect on memory is that of `portable`: see
    // the module.
    unsafe {
        asm!(
            "cmp {len}, {rep}",
            "jb 2f",
            "mov rcx, {len}",
            "rep movsb",
            "jmp 9f",
            // 64 bytes at a time.
            "2:",
            "sub {len}, 64",
            "jb 4f",
            "3:",
            "movups {a}, xmmword ptr [rsi]",
            "movups {b}, xmmword ptr [rsi + 16]",
            "movups {c}, xmmword ptr [rsi + 32]",
            "movups {d}, xmmword ptr [rsi + 48]",
            "add rsi, 64",
            "movups xmmword ptr [rdi], {a}",
            "movups xmmword ptr [rdi + 16], {b}",
            "movups xmmword ptr [rdi + 32], {c}",
            "movups xmmword ptr [rdi + 48], {d}",
            "add rdi, 64",
            "sub {len}, 64",
            "jae 3b",
            // The lowest six bits are the number of bytes that are left.
            "4:",
            "test {len:l}, 32",
            "jz 5f",
            "movups {a}, xmmword ptr [rsi]",
            "movups {b}, xmmword ptr [rsi + 16]",
            "add rsi, 32",
            "movups xmmword ptr [rdi], {a}",
            "movups xmmword ptr [rdi + 16], {b}",
            "add rdi, 32",
            "5:",
            "test {len:l}, 16",
            "jz 6f",
            "movups {a}, xmmword ptr [rsi]",
            "add rsi, 16",
            "movups xmmword ptr [rdi], {a}",
            "add rdi, 16",
            "6:",
            "test {len:l}, 8",
            "jz 7f",
            "mov rcx, qword ptr [rsi]",
            "add rsi, 8",
            "mov qword ptr [rdi], rcx",
            "add rdi, 8",
            "7:",
            "test {len:l}, 4",
            "jz 8f",
            "mov ecx, dword ptr [rsi]",
            "add rsi, 4",
            "mov dword ptr [rdi], ecx",
            "add rdi, 4",
            "8:",
            "test {len:l}, 2",
            "jz 22f",
            "movzx ecx, word ptr [rsi]",
            "add rsi, 2",
            "mov word ptr [rdi], cx",
            "add rdi, 2",
            "22:",
            "test {len:l}, 1",
            "jz 9f",
            "movzx ecx, byte ptr [rsi]",
            "mov byte ptr [rdi], cl",
            "9:",
            rep = const REP,
            len = inout(reg) len => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            out("rcx") _,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            options(nostack),
        );
    }
}

/// Reads 1, 2, 4, 8 or 16 bytes by one instruction.
///
/// 4 and 8 bytes pass through a vector register, where a function of an `f32` or `f64` expects
/// them: a clamp of 500,000 strided `f64` takes 272 µs, and 310 through an integer register. The
/// same move makes an addition to strided `i64`s slower, 267 µs in place of 216.
///
/// # Safety
///
/// 1. to 3. of [`super::copy_from_shared`]; `len` is one of these numbers.
#[inline(always)]
pub(super) unsafe fn load(from: *const u8, to: *mut u8, len: usize) {
    macro_rules! load {
        ($register:ty, $class:ident, $instruction:literal) => {{
            let value: $register;
            // SAFETY: the block reads `len` bytes at `from`, which are valid by 1, and
            // accesses no other memory. Its effect on memory is that of `portable`.
            unsafe {
                asm!(
                    $instruction,
                    from = in(reg) from,
                    value = lateout($class) value,
                    options(nostack, preserves_flags, readonly),
                );
            }
            value
        }};
    }
    let value = match len {
        1 => u64::from(load!(u32, reg, "movzx {value:e}, byte ptr [{from}]")),
        2 => u64::from(load!(u32, reg, "movzx {value:e}, word ptr [{from}]")),
        4 => u64::from(load!(f32, xmm_reg, "movss {value}, dword ptr [{from}]").to_bits()),
        16 => {
            let value = load!(__m128i, xmm_reg, "movups {value}, xmmword ptr [{from}]");
            // SAFETY: by 3 `len` bytes may be written; the write does not require an alignment.
            return unsafe { to.cast::<__m128i>().write_unaligned(value) };
        }
        _ => load!(f64, xmm_reg, "movsd {value}, qword ptr [{from}]").to_bits(),
    };
    // The first bytes of a number are its lowest.
    let bytes = value.to_le_bytes();
    // SAFETY: by 3 `len` bytes may be written, and they do not overlap a local variable. `len` is
    // at most 8: by the list above it is one of the lengths, and 16 has returned.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), len) };
}

/// Reads four runs at equal distances by one instruction each, and writes those of 4 and of 8
/// bytes 16 bytes at a time, because a processor stores fewer values per cycle than it loads.
///
/// Measured on a Zen processor, every second column of 10,000 elements: `f32` 1.8 µs, with a
/// store for each run 3.0; `f64` 2.4 µs and 3.4.
///
/// # Safety
///
/// 1. to 3. of [`super::load_four`].
#[inline(always)]
pub(crate) unsafe fn load_four<const RUN: usize>(from: *const u8, step: isize, to: *mut u8) {
    if RUN == 4 {
        let four: __m128i;
        // SAFETY: the block reads 4 bytes at each of four addresses, which are valid by 1, and
        // accesses no other memory. Its effect on memory is that of `portable`.
        unsafe {
            asm!(
                "movd {a}, dword ptr [{from}]",
                "movd {b}, dword ptr [{from} + {step}]",
                "lea {from}, [{from} + 2 * {step}]",
                "movd {c}, dword ptr [{from}]",
                "movd {d}, dword ptr [{from} + {step}]",
                "punpckldq {a}, {b}",
                "punpckldq {c}, {d}",
                "punpcklqdq {a}, {c}",
                from = inout(reg) from => _,
                step = in(reg) step,
                a = out(xmm_reg) four,
                b = out(xmm_reg) _,
                c = out(xmm_reg) _,
                d = out(xmm_reg) _,
                options(nostack, preserves_flags, readonly),
            );
        }
        // SAFETY: by 3 16 bytes may be written. The write does not require an alignment.
        unsafe { to.cast::<__m128i>().write_unaligned(four) };
    } else if RUN == 8 {
        let (low, high): (__m128i, __m128i);
        // SAFETY: as above, for 8 bytes at each address.
        unsafe {
            asm!(
                "movq {low}, qword ptr [{from}]",
                "movhps {low}, qword ptr [{from} + {step}]",
                "lea {from}, [{from} + 2 * {step}]",
                "movq {high}, qword ptr [{from}]",
                "movhps {high}, qword ptr [{from} + {step}]",
                from = inout(reg) from => _,
                step = in(reg) step,
                low = out(xmm_reg) low,
                high = out(xmm_reg) high,
                options(nostack, preserves_flags, readonly),
            );
        }
        // SAFETY: by 3 32 bytes may be written. The write does not require an alignment.
        unsafe { to.cast::<[__m128i; 2]>().write_unaligned([low, high]) };
    } else {
        // SAFETY: guaranteed by our caller's 1 to 3.
        unsafe { super::load_one_by_one::<RUN>(from, step, to) };
    }
}

/// Writes 1, 2, 4, 8 or 16 bytes by one instruction.
///
/// # Safety
///
/// 1. to 3. of [`super::copy_to_shared`]; `len` is one of these numbers.
#[inline(always)]
pub(super) unsafe fn store(from: *const u8, to: *mut u8, len: usize) {
    macro_rules! store {
        ($register:ty, $class:ident, $instruction:literal) => {{
            // SAFETY: by 1 `len` bytes may be read. The read does not require an alignment.
            let value = unsafe { from.cast::<$register>().read_unaligned() };
            // SAFETY: the block writes `len` bytes at `to`, which are valid by 2, and
            // accesses no other memory. Its effect on memory is that of `portable`.
            unsafe {
                asm!(
                    $instruction,
                    to = in(reg) to,
                    value = in($class) value,
                    options(nostack, preserves_flags),
                );
            }
        }};
    }
    match len {
        1 => store!(u8, reg_byte, "mov byte ptr [{to}], {value}"),
        2 => store!(u16, reg, "mov word ptr [{to}], {value:x}"),
        4 => store!(f32, xmm_reg, "movss dword ptr [{to}], {value}"),
        16 => store!(__m128i, xmm_reg, "movups xmmword ptr [{to}], {value}"),
        _ => store!(f64, xmm_reg, "movsd qword ptr [{to}], {value}"),
    }
}
