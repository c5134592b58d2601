//! The one allocation of an export: [`Packet`].

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::mem::{forget, offset_of};
use core::ptr::NonNull;

use crate::contain::contain_second;
use crate::described::{Described, Plain};
use crate::dims::Space;
use crate::error::Error;
use crate::ffi::{DLManagedTensorVersioned, DLTensor};
use crate::flags::Flags;
use crate::managed::deleter::delete;
use crate::managed::legacy::{self, Tail};
use crate::managed::{Abi, ManagedTensor};
use crate::storage::Access;
use crate::version::Version;

/// Everything of a packet but the owner.
///
/// It holds raw pointers only. A `Box` or a `&mut` in here would be moved when
/// the head is written, and with that would lay claim to memory to which the C
/// struct already points.
#[repr(C)]
struct Head<A> {
    /// First, so that a pointer to it is a pointer to the packet.
    managed: A,
    tail: Tail,
    /// Shape and strides of more dimensions, in an allocation of their own
    /// with its length in front ([`Spill`]); or NULL.
    spill: *mut i64,
}

const _: () = assert!(offset_of!(Head<DLManagedTensorVersioned>, tail) == legacy::TAIL);

/// What an export allocates: the C struct, the dimensions, and the owner that
/// keeps the elements alive.
#[repr(C)]
pub(crate) struct Packet<A, O> {
    head: Head<A>,
    owner: O,
    /// Shape, then strides, of few dimensions. Last, so that what is used of a
    /// packet of low rank lies together.
    dims: Space,
}

/// A packet with an owner in its final place and, until [`finish`](Self::finish),
/// no head. Dropping it drops the owner and frees the packet.
pub(crate) struct Placed<A: Abi, O> {
    packet: NonNull<Packet<A, O>>,
}

impl<A: Abi, O> Packet<A, O> {
    /// Moves an owner to the place where it stays until the deleter drops it.
    ///
    /// On failure the owner is dropped.
    #[inline(always)]
    pub(crate) fn place(owner: O) -> Result<Placed<A, O>, Error> {
        let layout = Layout::new::<Self>();
        // SAFETY: a packet has a head, so its size is not zero.
        let packet = unsafe { alloc(layout) };
        let Some(packet) = NonNull::new(packet.cast::<Self>()) else {
            return Err(out_of_memory(layout.size()));
        };
        // SAFETY: the allocation has the layout of a packet, so the owner's
        // field is inside it.
        let place = unsafe { &raw mut (*packet.as_ptr()).owner };
        // SAFETY: the place is aligned for an owner and holds nothing yet.
        unsafe { place.write(owner) };
        Ok(Placed { packet })
    }
}

#[cold]
fn out_of_memory(bytes: usize) -> Error {
    Error::OutOfMemory { bytes }
}

impl<A: Abi, O> Placed<A, O> {
    /// The owner in its final place.
    #[inline(always)]
    pub(crate) fn owner(&self) -> *mut O {
        // SAFETY: the packet is allocated, so the owner's field is inside it.
        unsafe { &raw mut (*self.packet.as_ptr()).owner }
    }

    /// Where the dimensions of a plain tensor are written.
    #[inline(always)]
    pub(crate) fn space(&self) -> *mut Space {
        // SAFETY: the packet is allocated, so the field is inside it.
        unsafe { &raw mut (*self.packet.as_ptr()).dims }
    }

    /// Writes the rest of the head and gives the packet away.
    ///
    /// # Safety
    ///
    /// 1. `plain` was lent by this packet's owner, in its place, and the owner
    ///    has not been named since. Its dimensions were written to
    ///    [`space`](Self::space).
    /// 2. As for [`finish`](Self::finish).
    #[inline(always)]
    pub(crate) unsafe fn finish_plain(self, plain: &Plain<'_>, flags: Flags) -> ManagedTensor<A> {
        let shape: *mut i64 = self.space().cast();
        // There are at most 8 dimensions, and there is room for twice as many.
        let strides = shape.wrapping_add(plain.ndim());
        let tensor = plain.to_ffi(shape, strides);
        let unfinished = self.unfinished();
        forget(self);
        let (access, none) = (plain.access(), core::ptr::null_mut());
        // SAFETY: 1. and 2. are 1. and 2. of this function; there is no spill.
        unsafe { unfinished.give_away(tensor, Version::CURRENT, access, flags, none) }
    }

    /// The same without its type.
    #[inline(always)]
    pub(crate) fn unfinished(&self) -> Unfinished<A> {
        Unfinished { head: self.packet.cast(), space: self.space(), deleter: delete::<A, O> }
    }

    /// Gives the packet away if its head was written; otherwise drops it. By then nothing
    /// that its owner lent may be an argument of any function that has not returned.
    ///
    /// # Safety
    ///
    /// 1. `outcome` is that of [`Unfinished::finish`] for this packet, or an error.
    #[inline(always)]
    pub(crate) unsafe fn settle(self, outcome: &Result<ManagedTensor<A>, Error>) {
        if outcome.is_ok() {
            forget(self);
        }
    }

    /// Writes the head and gives the packet away.
    ///
    /// # Safety
    ///
    /// Those of [`Unfinished::finish`].
    #[inline(always)]
    pub(crate) unsafe fn finish(
        self,
        described: &Described<'_>,
        flags: Flags,
    ) -> Result<ManagedTensor<A>, Error> {
        // SAFETY: 1. and 2. are 1. and 2. of this function.
        let outcome = unsafe { self.unfinished().finish(described, flags) };
        // SAFETY: 1. That is it.
        unsafe { self.settle(&outcome) };
        outcome
    }
}

/// A packet whose head is to be written, whatever its owner's type: what has to do with
/// every field is there once, not for every type that is exported.
pub(crate) struct Unfinished<A: Abi> {
    /// The packet begins with it.
    head: NonNull<Head<A>>,
    space: *mut Space,
    deleter: unsafe extern "C" fn(*mut A),
}

impl<A: Abi> Unfinished<A> {
    /// Writes the head. The result owns the packet.
    ///
    /// # Safety
    ///
    /// 1. `described` was lent by this packet's owner, in its place, and the
    ///    owner has not been named since.
    /// 2. The owner may be dropped by any thread at any time: it is `Send` and
    ///    borrows nothing.
    #[inline(never)]
    pub(crate) unsafe fn finish(
        self,
        described: &Described<'_>,
        flags: Flags,
    ) -> Result<ManagedTensor<A>, Error> {
        let ndim = described.shape().len();
        let (shape, spill) = if ndim <= Space::CAPACITY {
            (self.space.cast(), core::ptr::null_mut())
        } else {
            let spill = Spill::alloc(ndim)?;
            (spill.dims(), spill.into_raw())
        };
        // SAFETY: there is room for twice `ndim` dimensions from `shape` on.
        let strides = unsafe { shape.add(ndim) };
        // SAFETY: as above, and the room is new, so it overlaps nothing.
        unsafe { described.shape().as_ptr().copy_to_nonoverlapping(shape, ndim) };
        // SAFETY: as above; a description has as many strides as dimensions.
        unsafe { described.strides().as_ptr().copy_to_nonoverlapping(strides, ndim) };
        let tensor = described.to_ffi(shape, strides);
        let access = described.memory().access;
        // SAFETY: 1. and 2. are 1. and 2. of this function; the dimensions were
        // just written.
        Ok(unsafe { self.give_away(tensor, described.version(), access, flags, spill) })
    }

    /// Writes the head.
    ///
    /// # Safety
    ///
    /// 1. `tensor` describes memory that this packet's owner lent in its place
    ///    with that access, and the owner has not been named since. Its dimensions
    ///    are in this packet, or in `spill`, which came from
    ///    [`Spill::into_raw`] or is NULL.
    /// 2. As for [`finish`](Self::finish).
    #[inline(always)]
    unsafe fn give_away(
        self,
        tensor: DLTensor,
        version: Version,
        access: Access,
        flags: Flags,
        spill: *mut i64,
    ) -> ManagedTensor<A> {
        let head = self.head.as_ptr();
        let managed = A::new(tensor, version, flags, head.cast(), self.deleter);
        // SAFETY: the packet is allocated, so the field is inside it.
        let place = unsafe { &raw mut (*head).managed };
        // SAFETY: the place is aligned, and what it held needs no drop.
        unsafe { place.write(managed) };
        // SAFETY: the packet is allocated, so the field is inside it.
        let place = unsafe { &raw mut (*head).spill };
        // SAFETY: the place is aligned, and what it held needs no drop.
        unsafe { place.write(spill) };
        // SAFETY: 1. The head is complete, and its struct is the packet's, to which
        // nobody writes. 2. Its deleter frees this packet and drops its owner, which by
        // 2 any thread may do. 3. Its memory is valid until then by 1, lent with that
        // access. 4. The pointer is that of the packet, which has a tail there.
        unsafe { ManagedTensor::from_raw(self.head.cast(), access) }
    }
}

impl<A: Abi, O> Drop for Placed<A, O> {
    /// Nothing came of the packet, which is rare: all who may come here call this.
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: 1. The owner is in its place from `place` on, and this is the end.
        contain_second(|| unsafe { free(self.packet) });
    }
}

/// Drops the owner of a packet and frees the memory, the latter also where the former
/// panics.
///
/// # Safety
///
/// 1. The packet came from [`Packet::place`], and is not used again.
#[inline(always)]
unsafe fn free<A: Abi, O>(packet: NonNull<Packet<A, O>>) {
    struct Free(NonNull<u8>, Layout);
    impl Drop for Free {
        #[inline]
        fn drop(&mut self) {
            // SAFETY: `place` allocated the packet with this layout.
            unsafe { dealloc(self.0.as_ptr(), self.1) }
        }
    }
    let _free = Free(packet.cast(), Layout::new::<Packet<A, O>>());
    // SAFETY: by 1 the packet is allocated, so the owner's field is inside it.
    let owner = unsafe { &raw mut (*packet.as_ptr()).owner };
    // SAFETY: by 1 it is initialised, and only this drops it.
    unsafe { owner.drop_in_place() }
}

/// Drops the owner and frees the packet.
///
/// # Safety
///
/// 1. `packet` came from [`Placed::finish`] with the same `A` and `O`, through
///    `manager_ctx`, and is not used again.
#[inline]
pub(crate) unsafe fn release<A: Abi, O>(packet: NonNull<Packet<A, O>>) {
    // SAFETY: by 1 the packet is alive, so the field is inside it.
    let place = unsafe { &raw const (*packet.as_ptr()).head.spill };
    // SAFETY: `finish` wrote the field.
    let spill = unsafe { place.read() };
    if let Some(spill) = NonNull::new(spill) {
        // SAFETY: `finish` got it from `Spill::into_raw`, and by 1 this is its end.
        drop(unsafe { Spill::from_raw(spill) });
    }
    // SAFETY: 1. is 1. of this function.
    unsafe { free(packet) }
}

/// Shape and strides of more dimensions than there is room for: one thin allocation
/// that holds the number of dimensions, then the dimensions twice.
struct Spill(NonNull<i64>);

impl Spill {
    #[cold]
    fn alloc(ndim: usize) -> Result<Self, Error> {
        let layout = Self::layout(ndim).ok_or(Error::TooManyDims { ndim })?;
        // SAFETY: the layout holds at least the number in front.
        let start = unsafe { alloc(layout) };
        #[expect(clippy::cast_ptr_alignment, reason = "the layout is that of `i64`s")]
        let start = start.cast::<i64>();
        let start = NonNull::new(start).ok_or_else(|| out_of_memory(layout.size()))?;
        // SAFETY: the allocation is aligned for an `i64` and holds at least one.
        unsafe { start.write(i64::try_from(ndim).unwrap_or(0)) };
        Ok(Self(start))
    }

    fn layout(ndim: usize) -> Option<Layout> {
        Layout::array::<i64>(ndim.checked_mul(2)?.checked_add(1)?).ok()
    }

    /// The first of the dimensions.
    fn dims(&self) -> *mut i64 {
        // SAFETY: the allocation holds the number in front and at least one more.
        unsafe { self.0.as_ptr().add(1) }
    }

    fn into_raw(self) -> *mut i64 {
        let start = self.0.as_ptr();
        forget(self);
        start
    }

    /// # Safety
    ///
    /// 1. `start` came from [`into_raw`](Self::into_raw) and is not used again.
    #[cold]
    unsafe fn from_raw(start: NonNull<i64>) -> Self {
        Self(start)
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        // SAFETY: `alloc` wrote the number in front.
        let ndim = unsafe { self.0.read() };
        // `alloc` computed the same layout from the same number.
        if let Some(layout) = usize::try_from(ndim).ok().and_then(Self::layout) {
            // SAFETY: the layout is that of the allocation.
            unsafe { dealloc(self.0.as_ptr().cast(), layout) }
        }
    }
}
