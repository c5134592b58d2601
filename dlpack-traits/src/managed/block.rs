//! A value, the count of its owners, and a C struct to lend it by, in one allocation:
//! [`Holder`].

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::mem::{MaybeUninit, forget, needs_drop, offset_of};
use core::ptr::NonNull;

use crate::contain::{contain, contain_second};
use crate::described::{Described, Plain};
use crate::dims::Space;
use crate::error::Error;
use crate::ffi::{DLManagedTensorVersioned, DLTensor};
use crate::flags::Flags;
use crate::managed::ManagedTensor;
use crate::managed::legacy::{self, Tail};
use crate::managed::owners::Owners;
use crate::storage::Access;
use crate::version::Version;

/// The C struct comes from here: only the versioned one can say READ_ONLY, which is
/// what nearly all that has several owners must say.
type Managed = DLManagedTensorVersioned;

/// One of the owners of a value. The others are more of these and, while the value
/// is lent, one consumer.
pub(crate) struct Holder<T> {
    block: NonNull<Block<T>>,
    owns: PhantomData<Block<T>>,
}

/// The fields are reached through raw pointers, each on its own: a consumer has the
/// first while others are in use.
#[repr(C)]
struct Block<T> {
    /// Written by who lends, read by the consumer.
    managed: MaybeUninit<Managed>,
    tail: Tail,
    owners: Owners,
    value: T,
    /// Written by who lends, read by the consumer. Last, as in a packet.
    dims: Space,
}

const _: () = assert!(offset_of!(Block<u8>, tail) == legacy::TAIL);

// SAFETY: it gives out `&T` on any thread, and the thread of the last owner drops
// the `T`.
unsafe impl<T: Send + Sync> Send for Holder<T> {}
// SAFETY: as above; whoever has a reference to one can make another.
unsafe impl<T: Send + Sync> Sync for Holder<T> {}

impl<T> Holder<T> {
    /// The first owner of a value, which is dropped on an error.
    pub(crate) fn new(value: T) -> Result<Self, Error> {
        let layout = Layout::new::<Block<T>>();
        // SAFETY: a block has a struct in it, so its size is not zero.
        let block = unsafe { alloc(layout) };
        let Some(block) = NonNull::new(block.cast::<Block<T>>()) else {
            return Err(Error::OutOfMemory { bytes: layout.size() });
        };
        let dims = Space::new();
        let (managed, tail) = (MaybeUninit::uninit(), Tail::uninit());
        let new = Block { managed, tail, owners: Owners::one(), value, dims };
        // SAFETY: the allocation has the layout of a block, and holds nothing yet.
        unsafe { block.write(new) };
        Ok(Self { block, owns: PhantomData })
    }

    #[inline]
    pub(crate) fn value(&self) -> &T {
        // SAFETY: a handle keeps the block alive, so the field is inside it.
        let value = unsafe { &raw const (*self.block.as_ptr()).value };
        // SAFETY: it is initialised, and by `&mut` only who is alone has it.
        unsafe { &*value }
    }

    /// The value, if this is its only owner and it is not lent.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        if !self.owners().is_one() {
            return None;
        }
        // SAFETY: a handle keeps the block alive, so the field is inside it.
        let value = unsafe { &raw mut (*self.block.as_ptr()).value };
        // SAFETY: nobody else has it, and this handle, through which alone it could
        // be cloned or lent, is borrowed uniquely.
        Some(unsafe { &mut *value })
    }

    /// The value, if this is its only owner and it is not lent; otherwise the owner.
    pub(crate) fn into_inner(self) -> Result<T, Self> {
        if !self.owners().is_one() {
            return Err(self);
        }
        let block = self.block;
        forget(self);
        // SAFETY: nobody has the block but us, who have forgotten the handle.
        let value = unsafe { &raw const (*block.as_ptr()).value };
        // SAFETY: as above; it is initialised, and not used again.
        let value = unsafe { value.read() };
        // SAFETY: `new` allocated it with this layout; what is left in it needs no drop.
        unsafe { dealloc(block.as_ptr().cast(), Layout::new::<Block<T>>()) };
        Ok(value)
    }

    #[inline]
    fn owners(&self) -> &Owners {
        // SAFETY: a handle keeps the block alive.
        unsafe { owners(self.block) }
    }

    /// Lends the value in its place; `None` while somebody has it so.
    #[inline(always)]
    pub(crate) fn lend(&self) -> Option<Lent<'_, T>> {
        // Not made where it is not the case: dropping it ends a lend.
        if self.owners().lend() { Some(Lent { handle: self }) } else { None }
    }
}

impl<T> Clone for Holder<T> {
    /// Another owner.
    ///
    /// # Panics
    ///
    /// Where there are more than a quarter of the address space has bytes.
    #[inline]
    fn clone(&self) -> Self {
        assert!(self.owners().add(), "too many owners of one value");
        Self { block: self.block, owns: PhantomData }
    }
}

impl<T> Drop for Holder<T> {
    #[inline]
    fn drop(&mut self) {
        if self.owners().remove() {
            // SAFETY: 1. Nobody is left.
            let run = || unsafe { free(self.block) };
            if needs_drop::<T>() {
                contain_second(run);
            } else {
                run();
            }
        }
    }
}

/// The right to fill in the C struct of a block. Dropping it ends the lend.
pub(crate) struct Lent<'a, T> {
    handle: &'a Holder<T>,
}

impl<T> Lent<'_, T> {
    /// Where the dimensions are written. Nobody else does so while this is there.
    #[inline(always)]
    pub(crate) fn space(&self) -> *mut Space {
        // SAFETY: the handle keeps the block alive, so the field is inside it.
        unsafe { &raw mut (*self.handle.block.as_ptr()).dims }
    }

    /// Writes the struct of a plain tensor and gives it away.
    ///
    /// # Safety
    ///
    /// 1. `plain` was lent by the value of this block, which any thread may read and
    ///    drop. Its dimensions were written to [`space`](Self::space).
    #[inline(always)]
    pub(crate) unsafe fn finish_plain(self, plain: &Plain<'_>) -> ManagedTensor {
        let shape: *mut i64 = self.space().cast();
        // There are at most 8 dimensions, and there is room for twice as many.
        let strides = shape.wrapping_add(plain.ndim());
        let tensor = plain.to_ffi(shape, strides);
        // SAFETY: 1. is 1. of this function.
        unsafe { self.give_away(tensor, Version::CURRENT, plain.flags(), plain.access()) }
    }

    /// Writes the struct and gives it away. `None` where there are more dimensions
    /// than there is room for.
    ///
    /// # Safety
    ///
    /// 1. `described` was lent by the value of this block, which any thread may read
    ///    and drop.
    pub(crate) unsafe fn finish(self, described: &Described<'_>) -> Option<ManagedTensor> {
        let ndim = described.shape().len();
        if ndim > Space::CAPACITY {
            return None;
        }
        let shape: *mut i64 = self.space().cast();
        // There is room for twice as many.
        let strides = shape.wrapping_add(ndim);
        // SAFETY: the room is for who has the lend, and nobody lent dimensions from it.
        unsafe { described.shape().as_ptr().copy_to_nonoverlapping(shape, ndim) };
        // SAFETY: as above; a description has as many strides as dimensions.
        unsafe { described.strides().as_ptr().copy_to_nonoverlapping(strides, ndim) };
        let tensor = described.to_ffi(shape, strides);
        let access = described.memory().access;
        // SAFETY: 1. is 1. of this function.
        Some(unsafe { self.give_away(tensor, described.version(), described.flags(), access) })
    }

    /// # Safety
    ///
    /// 1. `tensor` describes memory that the value of this block lent with that access,
    ///    with dimensions in the space of this block. Any thread may read and drop
    ///    the value.
    #[inline(always)]
    unsafe fn give_away(
        self,
        tensor: DLTensor,
        version: Version,
        flags: Flags,
        access: Access,
    ) -> ManagedTensor {
        let block = self.handle.block;
        // The consumer before may have written to it, so all of it is written anew.
        let managed = Managed {
            version: version.to_ffi(),
            manager_ctx: block.as_ptr().cast(),
            deleter: Some(returned::<T>),
            flags: flags.bits(),
            dl_tensor: tensor,
        };
        // SAFETY: the handle keeps the block alive, so the field is inside it.
        let place = unsafe { &raw mut (*block.as_ptr()).managed }.cast::<Managed>();
        // SAFETY: it is aligned, and for who has the lend.
        unsafe { place.write(managed) };
        forget(self);
        // SAFETY: 1. Until the lend ends, which only the deleter does from here on,
        // nobody writes to the struct or its dimensions. 2. It ends the lend, once,
        // and by 1 on any thread. 3. By 1, and the lend keeps the value alive and as
        // it is. 4. The pointer is that of the block, whose tail is for who has the lend.
        unsafe { ManagedTensor::from_raw(block.cast::<Managed>(), access) }
    }
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        // The handle is an owner still, so this was not the last.
        self.handle.owners().give_back();
    }
}

/// The deleter of a value that was lent in its place.
///
/// It finds the block through `manager_ctx`, as that of a packet does.
///
/// # Safety
///
/// 1. `managed` points to a struct that [`Lent::give_away`] wrote for the same `T`, or
///    to a copy of one whose `manager_ctx` was not changed.
/// 2. This is the only call for that lend, and its consumer uses neither the struct
///    nor the memory any more.
unsafe extern "C" fn returned<T>(managed: *mut Managed) {
    let Some(managed) = NonNull::new(managed) else { return };
    // SAFETY: by 1 it points to such a struct, which is plain data.
    let managed = unsafe { managed.read() };
    let Some(block) = NonNull::new(managed.manager_ctx.cast::<Block<T>>()) else { return };
    // SAFETY: by 2 the lend is not over, and keeps the block alive.
    if unsafe { owners(block) }.give_back() {
        // SAFETY: 1. Nobody is left.
        unsafe { free_contained(block) }
    }
}

/// Frees a block for a caller in C.
///
/// # Safety
///
/// 1. As for [`free`].
#[cold]
unsafe fn free_contained<T>(block: NonNull<Block<T>>) {
    // SAFETY: 1. is 1. of this function.
    let run = move || unsafe { free(block) };
    if needs_drop::<T>() {
        // It is freed either way, and there is nobody to tell.
        let _ = contain(run);
    } else {
        run();
    }
}

/// The owners of a block.
///
/// # Safety
///
/// 1. As long as the result is used, one of them is there.
#[inline]
unsafe fn owners<'a, T>(block: NonNull<Block<T>>) -> &'a Owners {
    // SAFETY: by 1 the block is alive, so the field is inside it.
    let owners = unsafe { &raw const (*block.as_ptr()).owners };
    // SAFETY: by 1; it is initialised, and never borrowed uniquely.
    unsafe { &*owners }
}

/// Drops a value and frees its block, the latter also where the former panics.
///
/// # Safety
///
/// 1. The last owner is gone.
unsafe fn free<T>(block: NonNull<Block<T>>) {
    struct Free(NonNull<u8>, Layout);
    impl Drop for Free {
        #[inline]
        fn drop(&mut self) {
            // SAFETY: `new` allocated the block with this layout.
            unsafe { dealloc(self.0.as_ptr(), self.1) }
        }
    }
    let _free = Free(block.cast(), Layout::new::<Block<T>>());
    // SAFETY: by 1 nobody else uses the block, so the field is inside it.
    let value = unsafe { &raw mut (*block.as_ptr()).value };
    // SAFETY: it is initialised, and only this drops it.
    unsafe { value.drop_in_place() }
}
