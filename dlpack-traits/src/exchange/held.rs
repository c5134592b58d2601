//! A tensor that is taken over only if something comes of it: [`Held`].

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::mem::{ManuallyDrop, forget};
use core::ptr::NonNull;

use crate::error::Error;
use crate::ffi::DLManagedTensorVersioned;
use crate::import::Imported;
use crate::managed::{Abi, Guard, Guarded, Release};
use crate::sync::{AtomicU8, Ordering};
use crate::version::Version;

/// The second owner of a foreign tensor, beside an [`Imported`]: as long as it is
/// there, dropping the `Imported` does not release the tensor.
///
/// Who builds a value of an `Imported` may drop it at any moment, also on the way
/// to an error after which the tensor has to be the caller's again. So the
/// `Imported` is one of a copy of the struct, with a deleter of ours.
pub(super) struct Held(NonNull<Shared>);

/// What the two have in common. Whoever is done second frees it.
#[repr(C)]
struct Shared {
    /// First, so that a pointer to it is a pointer to the whole.
    managed: DLManagedTensorVersioned,
    /// The caller's struct, and a copy of it as it came.
    original: NonNull<DLManagedTensorVersioned>,
    as_it_came: DLManagedTensorVersioned,
    /// Releases the tensor. Not dropped where it stays with the caller.
    release: ManuallyDrop<Guarded>,
    state: AtomicU8,
}

/// Both are there.
const OPEN: u8 = 0;
/// The `Imported` is gone.
const DROPPED: u8 = 1;
/// The [`Held`] is gone, and the tensor belongs to the `Imported`.
const KEPT: u8 = 2;
/// Nothing came of it, but the `Imported` was put away: it and the caller both
/// have the tensor, and whoever is done second releases it.
const RETURNED: u8 = 3;
/// The caller is done with a tensor that was returned.
const DELETED: u8 = 4;

impl Held {
    /// Imports a tensor, and holds it back. Its deleter is called by `guard`, if there is
    /// one. After an error, and after a [`Held`] that was dropped, the tensor is the
    /// caller's.
    ///
    /// # Errors
    ///
    /// Those of [`Imported::from_raw`].
    ///
    /// # Safety
    ///
    /// 1. As for [`Imported::from_raw`].
    pub(super) unsafe fn new(
        tensor: *mut DLManagedTensorVersioned,
        guard: Option<Guard>,
    ) -> Result<(Self, Imported), Error> {
        let original = NonNull::new(tensor).ok_or(Error::NullTensor)?;
        // SAFETY: 1. is 1. of `from_raw`.
        let version = unsafe { version_of(original) };
        if let Some(found) = version.filter(|version| !version.is_readable()) {
            return Err(Error::VersionUnsupported { found });
        }
        let layout = Layout::new::<Shared>();
        // SAFETY: the struct has a size.
        let shared = unsafe { alloc(layout) };
        #[expect(clippy::cast_ptr_alignment, reason = "the layout is that of a `Shared`")]
        let shared = shared.cast::<Shared>();
        let Some(shared) = NonNull::new(shared) else {
            return Err(Error::OutOfMemory { bytes: layout.size() });
        };
        // SAFETY: by 1 of `from_raw` the struct is whole, since its version is
        // one of ours.
        let as_it_came = unsafe { original.read() };
        let managed = DLManagedTensorVersioned {
            manager_ctx: shared.as_ptr().cast(),
            deleter: Some(imported_dropped),
            ..as_it_came
        };
        // SAFETY: 1. and 2. are 1. and 2. of `from_raw`: it is dropped once, if
        // the tensor does not go back to the caller.
        let release = unsafe { release_of(original) };
        let release = ManuallyDrop::new(Guarded::new(release, guard));
        let state = AtomicU8::new(OPEN);
        // SAFETY: the memory was allocated for it.
        unsafe { shared.write(Shared { managed, original, as_it_came, release, state }) };
        let held = Self(shared);
        let copy = shared.as_ptr().cast::<DLManagedTensorVersioned>();
        // SAFETY: 1. to 3. The copy is a struct of ours, and its deleter may be
        // called once, by any thread. The arrays are those of the original, as
        // are 4. and 5., until our deleter calls its.
        let imported = unsafe { Imported::from_raw(copy) }?;
        Ok((held, imported))
    }

    /// Leaves the tensor to the `Imported`.
    pub(super) fn keep(self) {
        if self.leave(KEPT) == DROPPED {
            // SAFETY: 1. The other one is gone.
            drop(unsafe { free(self.0) });
        }
        forget(self);
    }

    /// Goes, and says what the other one did before.
    fn leave(&self, state: u8) -> u8 {
        self.shared().state.swap(state, Ordering::AcqRel)
    }

    /// What both have in common.
    fn shared(&self) -> &Shared {
        // SAFETY: whoever is done second frees it, and this one is not done.
        unsafe { self.0.as_ref() }
    }
}

/// Something came in between: the tensor goes back to the caller.
///
/// If somebody has put the `Imported` away, which safe code may do, there are two
/// who will use the memory. So the caller's struct gets a deleter of ours.
impl Drop for Held {
    fn drop(&mut self) {
        let Shared { original, as_it_came, ref state, .. } = *self.shared();
        let put_away = state.load(Ordering::Acquire) != DROPPED;
        if put_away {
            let manager_ctx = self.0.as_ptr().cast();
            let deleter = Some(caller_done as _);
            let managed = DLManagedTensorVersioned { manager_ctx, deleter, ..as_it_came };
            // SAFETY: by 1 of `new` the struct is alive, and as long as the call
            // lasts it is ours.
            unsafe { original.write(managed) };
        }
        if self.leave(RETURNED) == DROPPED {
            if put_away {
                // Another thread has dropped it just now.
                // SAFETY: as above.
                unsafe { original.write(as_it_came) };
            }
            // SAFETY: 1. The other one is gone.
            let release = unsafe { free(self.0) };
            forget(release);
        }
    }
}

/// The deleter of the copy.
///
/// # Safety
///
/// 1. `copy` is the struct of a [`Shared`], and this is the only call.
unsafe extern "C" fn imported_dropped(copy: *mut DLManagedTensorVersioned) {
    let Some(copy) = NonNull::new(copy) else { return };
    // SAFETY: by 1 the struct is alive and plain data.
    let copy = unsafe { copy.read() };
    let Some(shared) = NonNull::new(copy.manager_ctx.cast::<Shared>()) else { return };
    // SAFETY: whoever is done second frees it, and this one is not done.
    let state = unsafe { &raw const (*shared.as_ptr()).state };
    // SAFETY: as above.
    let state = unsafe { &*state };
    match state.swap(DROPPED, Ordering::AcqRel) {
        // SAFETY: 1. The other one is gone.
        KEPT => drop(unsafe { free(shared) }),
        // SAFETY: 1. The other two are gone, and the caller has said that it is done.
        DELETED => unsafe { finish(shared) },
        _ => {}
    }
}

/// The deleter of a tensor that was returned while its `Imported` was put away.
///
/// # Safety
///
/// 1. `tensor` is the caller's struct, and this is the only call.
unsafe extern "C" fn caller_done(tensor: *mut DLManagedTensorVersioned) {
    let Some(tensor) = NonNull::new(tensor) else { return };
    // SAFETY: by 1 the struct is alive and plain data.
    let tensor = unsafe { tensor.read() };
    let Some(shared) = NonNull::new(tensor.manager_ctx.cast::<Shared>()) else { return };
    // SAFETY: whoever is done second frees it, and this one is not done.
    let state = unsafe { &raw const (*shared.as_ptr()).state };
    // SAFETY: as above.
    let state = unsafe { &*state };
    if state.swap(DELETED, Ordering::AcqRel) == DROPPED {
        // SAFETY: 1. The other two are gone, and this is the caller.
        unsafe { finish(shared) }
    }
}

/// Releases a tensor that was returned.
///
/// # Safety
///
/// 1. As for [`free`], and the caller has called the deleter of its struct.
unsafe fn finish(shared: NonNull<Shared>) {
    // SAFETY: by 1 it is alive.
    let Shared { original, as_it_came, .. } = unsafe { shared.as_ref() };
    // What the producer's deleter finds in its struct is what it put there.
    // SAFETY: by 1 the struct is alive: its own deleter was not called yet.
    unsafe { original.write(*as_it_came) };
    // SAFETY: 1. is 1. of this function.
    drop(unsafe { free(shared) });
}

/// Frees what both had in common, and returns the duty to release the tensor.
///
/// # Safety
///
/// 1. `shared` came from [`Held::new`], and nobody uses it any more.
unsafe fn free(shared: NonNull<Shared>) -> Guarded {
    // SAFETY: by 1 it is alive and initialised, and not used after this.
    let Shared { release, .. } = unsafe { shared.read() };
    // SAFETY: `new` allocated it with this layout.
    unsafe { dealloc(shared.as_ptr().cast(), Layout::new::<Shared>()) };
    ManuallyDrop::into_inner(release)
}

/// The version of a struct.
///
/// # Safety
///
/// 1. As for 1. of [`Imported::from_raw`], and not NULL.
unsafe fn version_of<A: Abi>(managed: NonNull<A>) -> Option<Version> {
    // SAFETY: 1. is 1. of this function.
    unsafe { A::version_of(managed) }
}

/// The duty to call the deleter of a struct.
///
/// # Safety
///
/// 1. As for 1. of [`Imported::from_raw`], and not NULL.
/// 2. As for 2. of it, if the result is dropped.
unsafe fn release_of<A: Abi>(managed: NonNull<A>) -> Release {
    // SAFETY: 1. and 2. are 1. and 2. of this function.
    unsafe { A::release_of(managed) }
}
