//! What an import stores, in one allocation: [`Node`].

use core::ptr::NonNull;

use super::ImportPolicy;
use super::checked::{Checked, Claims};
use super::raw;
use crate::error::Error;
#[cfg(feature = "pyo3")]
use crate::ffi::DLTensor;
#[cfg(feature = "pyo3")]
use crate::flags::Flags;
#[cfg(feature = "pyo3")]
use crate::managed::Release;
use crate::managed::{Abi, Guarded};
use crate::storage::{Access, Counted, Vacant};
use crate::stream::ConsumerPlace;

/// The metadata of an imported tensor, validated, and the obligation to call its deleter.
///
/// It is allocated before shape and strides are read, and each of their numbers is read once,
/// into its final place. Shape and strides in a handle on the stack were measured too: the
/// import takes 12 ns instead of 17, and every move of the handle 6 to 18 more.
pub(super) struct Node {
    pub(super) checked: Checked,
    /// The access under which this crate lent the elements, if the tensor has not been
    /// through C. Other producers are trusted as far as 5 of `from_raw` says.
    pub(super) lent: Option<Access>,
    /// The consumer that the producer synchronized memory of a device with, if this crate
    /// exported the tensor and it has not been through C. Otherwise one that names no stream.
    pub(super) synchronized: ConsumerPlace,
    /// Calls the deleter when the last owner of the node is dropped.
    pub(super) release: Guarded,
}

// SAFETY: by 2 of `Imported::from_raw` any thread may call the deleter, by 4 any thread may
// access the elements, and the other fields are plain data.
unsafe impl Send for Node {}
// SAFETY: a shared node is only read, and so are the elements: a slice of elements that
// another thread could write is `unsafe` to obtain.
unsafe impl Sync for Node {}

impl Node {
    /// Reads a struct whose deleter `release` calls, also where this returns an error.
    ///
    /// # Errors
    ///
    /// Those of `Imported::from_raw_with`, but for NULL.
    ///
    /// # Safety
    ///
    /// 1. `managed` is valid as 1 and 3 of `Imported::from_raw` say, for as long as the
    ///    deleter is not called.
    /// 2. 4 and 5 of `Imported::from_raw` hold of it.
    #[inline(always)]
    pub(super) unsafe fn read<A: Abi>(
        managed: NonNull<A>,
        release: Guarded,
        policy: ImportPolicy,
    ) -> Result<Counted<Self>, Error> {
        let vacant = Vacant::new()?;
        // SAFETY: 1. Guaranteed by our caller's 1.
        let claims = unsafe { raw::whole(managed) }?;
        Self::fill(vacant, &claims, release, policy)
    }

    /// Reads a tensor without a struct that owns it: no deleter is called.
    ///
    /// # Errors
    ///
    /// Those of `Imported::from_raw`.
    ///
    /// # Safety
    ///
    /// 1. 3 to 5 of `Imported::from_raw` hold of `tensor` until the node is dropped.
    #[cfg(feature = "pyo3")]
    pub(super) unsafe fn borrow(tensor: &DLTensor) -> Result<Counted<Self>, Error> {
        let vacant = Vacant::new()?;
        // SAFETY: 1. Guaranteed by our caller's 1.
        let claims = unsafe { raw::claims(tensor, Flags::NONE) }?;
        Self::fill(vacant, &claims, Guarded::from(Release::nothing()), ImportPolicy::default())
    }

    #[inline(always)]
    fn fill(
        vacant: Vacant<Self>,
        claims: &Claims<'_>,
        release: Guarded,
        policy: ImportPolicy,
    ) -> Result<Counted<Self>, Error> {
        let mut node = vacant.fill(Self {
            checked: Checked::new(claims, policy),
            lent: None,
            synchronized: ConsumerPlace::DefaultStream,
            release,
        });
        node.checked.check(claims.shape, claims.strides, policy)?;
        Ok(node.into_counted())
    }
}
