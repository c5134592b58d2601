//! Elements that others may write at any time: [`Cells`].

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// The bytes of one element of shared memory, read and written as a row of the
/// largest atomics that the element's size is a multiple of: a single one,
/// unless the element is wider than 8 bytes.
///
/// All of Rust's accesses to one element have to go through cells of one size:
/// atomics of different sizes race with each other.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'a> {
    ptr: *mut u8,
    alive: PhantomData<&'a u8>,
}

impl Cells<'_> {
    /// # Safety
    ///
    /// 1. For the whole of the lifetime, `ptr` is the first byte of an
    ///    initialised element, which may be read and, if [`store`](Self::store)
    ///    is called, written.
    /// 2. It is aligned to the largest power of two, up to 8, that divides the
    ///    element's size.
    /// 3. Meanwhile Rust touches the element only through cells of this size,
    ///    and others do not touch it at the same time.
    /// 4. `load` and `store` are called with slices of the element's size.
    #[inline]
    pub(crate) const unsafe fn new(ptr: *mut u8) -> Self {
        Self { ptr, alive: PhantomData }
    }

    /// The width, in bytes, of the atomics for elements of that size, and what
    /// their addresses are a multiple of.
    #[inline]
    pub(crate) const fn unit(element: usize) -> u8 {
        match element.trailing_zeros() {
            0 => 1,
            1 => 2,
            2 => 4,
            _ => 8,
        }
    }

    /// Reads bytes of shared memory, which Rust accesses with atomics of `unit`
    /// bytes.
    ///
    /// # Safety
    ///
    /// 1. At `from` there are as many initialised bytes as `to` has. They are
    ///    part of whole atomics of `unit` bytes, each at a multiple of `unit`,
    ///    all of which may be read and are alive for the time of the call.
    /// 2. Meanwhile Rust touches them only through atomics of that size, and
    ///    others do not touch them at the same time.
    #[inline]
    pub(crate) unsafe fn read(from: *mut u8, unit: u8, to: &mut [u8]) {
        let unit = usize::from(unit);
        let skew = from.addr() & unit.wrapping_sub(1);
        if skew == 0 && to.len() & unit.wrapping_sub(1) == 0 {
            for (index, part) in to.chunks_exact_mut(unit).enumerate() {
                // SAFETY: by 1 there are as many atomics.
                let place = unsafe { from.add(index.wrapping_mul(unit)) };
                // SAFETY: 1. and 2. are 1 of this function, 3. is 2, and 4.
                // `part` has the size of an atomic.
                unsafe { Cells::new(place) }.load(part);
            }
        } else {
            // SAFETY: 1. and 2. are those of this function.
            unsafe { Self::read_parts(from, unit, to) }
        }
    }

    /// [`read`](Self::read) where an atomic is wider than what is asked for.
    ///
    /// # Safety
    ///
    /// Those of `read`.
    #[cold]
    unsafe fn read_parts(from: *mut u8, unit: usize, to: &mut [u8]) {
        for (index, byte) in to.iter_mut().enumerate() {
            let place = from.wrapping_add(index);
            let inside = place.addr() & unit.wrapping_sub(1);
            let mut whole = [0_u8; 8];
            let Some(whole) = whole.get_mut(..unit) else { return };
            // SAFETY: 1. and 2. by 1 of `read` the atomic that the byte is part
            // of begins there, and may be read. 3. is 2. 4. `whole` has its size.
            unsafe { Cells::new(place.wrapping_sub(inside)) }.load(whole);
            *byte = whole.get(inside).copied().unwrap_or(0);
        }
    }
}

/// Defines the methods for every size of atomic.
macro_rules! cells {
    ($($size:literal => $atomic:ty, $int:ty, $cell:ident);+ $(;)?) => {
        impl<'a> Cells<'a> {
            $(
                /// The atomic at that place of the row.
                #[inline]
                #[allow(clippy::cast_ptr_alignment, reason = "2 of `new`; a byte needs none")]
                fn $cell(self, place: usize) -> &'a $atomic {
                    // SAFETY: by 4 of `new` the place lies inside the element.
                    let ptr = unsafe { self.ptr.cast::<$int>().add(place) };
                    // SAFETY: by 1 and 2 of `new` it is alive and aligned. By 3
                    // Rust touches it with nothing but such atomics; consumers
                    // synchronise their ordinary accesses with ours.
                    unsafe { <$atomic>::from_ptr(ptr) }
                }
            )+

            /// Reads the element.
            #[inline]
            pub(crate) fn load(self, to: &mut [u8]) {
                match Self::unit(to.len()) {
                    $($size => for (place, part) in to.chunks_exact_mut($size).enumerate() {
                        let bytes = self.$cell(place).load(Ordering::Relaxed).to_ne_bytes();
                        part.copy_from_slice(&bytes);
                    },)+
                    size => unreachable!("{size} is not the size of an atomic"),
                }
            }

            /// Writes the element.
            #[inline]
            pub(crate) fn store(self, from: &[u8]) {
                match Self::unit(from.len()) {
                    $($size => for (place, part) in from.chunks_exact($size).enumerate() {
                        let mut bytes = [0; $size];
                        bytes.copy_from_slice(part);
                        let value = <$int>::from_ne_bytes(bytes);
                        self.$cell(place).store(value, Ordering::Relaxed);
                    },)+
                    size => unreachable!("{size} is not the size of an atomic"),
                }
            }
        }
    };
}

cells! {
    1 => AtomicU8, u8, cell_8;
    2 => AtomicU16, u16, cell_16;
    4 => AtomicU32, u32, cell_32;
    8 => AtomicU64, u64, cell_64;
}
