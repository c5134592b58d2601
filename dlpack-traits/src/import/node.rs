//! The data of an import, in one allocation: [`Node`].
//!
//! One allocation holds the metadata, shape, strides and the deleter of an import;
//! `ImportedTensor`, `ImportedStorage` and derived structs share it and are one pointer. It
//! is allocated before the struct is read, because values that are read before a call of
//! the allocator are saved to the stack during the call. Import and drop take 1.15
//! times as long as a floor that also allocates. Rejected: metadata inside the handle (272
//! bytes; an `ImportedStorage` took 63 ns and a derived struct 99, because a freshly
//! written struct was moved), zeroed lists (2 ns), and separate loops for copying and
//! checking (6 ns).

use core::ptr::NonNull;

use super::ImportPolicy;
use super::raw;
use super::validate::{Metadata, RawMetadata};
use crate::error::Error;
#[cfg(feature = "pyo3")]
use crate::ffi::DLTensor;
#[cfg(feature = "pyo3")]
use crate::flags::Flags;
use crate::managed::{Abi, GuardedRelease};
use crate::storage::{TryArc, UninitTryArc};
use crate::stream::ConsumerPlace;
#[cfg(feature = "pyo3")]
use crate::version::Version;

/// The metadata of an imported tensor, validated, and the obligation to call its deleter.
///
/// It is allocated before shape and strides are read, and each of their numbers is read
/// once, into its final place. A handle with shape and strides inline was measured too: the
/// import takes 12 ns instead of 17, but each move of the handle takes 6 to 18 ns more.
pub(super) struct Node {
    pub(super) checked: Metadata,
    /// The consumer with which the producer synchronized device memory, if this crate
    /// exported the tensor and it has not passed through C. Otherwise a consumer that names
    /// no stream.
    pub(super) synchronized: ConsumerPlace,
    /// Calls the deleter when the last owner of the node is dropped.
    pub(super) release: GuardedRelease,
}

// SAFETY: by 2 of `ImportedTensor::from_raw` any thread may call the deleter, by 4 any thread may
// access the elements, and the other fields are plain data.
unsafe impl Send for Node {}
// SAFETY: the fields of a shared node are only read. Elements that several owners or threads
// can write are accessed byte-wise atomically, and a slice of such elements is `unsafe` to
// obtain.
unsafe impl Sync for Node {}

impl Node {
    /// Reads a struct. `release` calls its deleter, also if this returns an error.
    ///
    /// # Errors
    ///
    /// Those of `ImportedTensor::from_raw_with`, except for NULL.
    ///
    /// # Safety
    ///
    /// 1. `managed` is valid as 1 and 3 of `ImportedTensor::from_raw` say, for as long as the
    ///    deleter is not called.
    /// 2. 4 and 5 of `ImportedTensor::from_raw` hold for `managed`.
    #[inline(always)]
    pub(super) unsafe fn read<A: Abi>(
        managed: NonNull<A>,
        release: GuardedRelease,
        policy: ImportPolicy,
    ) -> Result<TryArc<Self>, Error> {
        let vacant = UninitTryArc::new()?;
        // SAFETY: 1. Guaranteed by our caller's 1.
        let claims = unsafe { raw::read_managed(managed) }?;
        Self::fill(vacant, &claims, release, policy)
    }

    /// Reads a tensor that has no managed struct. `release` releases its owner, also if this
    /// returns an error.
    ///
    /// # Errors
    ///
    /// Those of `ImportedTensor::from_raw`.
    ///
    /// # Safety
    ///
    /// 1. 3 to 5 of `ImportedTensor::from_raw` hold for `tensor`, until the owner is released
    ///    instead of the call of the deleter.
    #[cfg(feature = "pyo3")]
    #[inline(always)]
    pub(super) unsafe fn of_owner(
        tensor: &DLTensor,
        version: Option<Version>,
        flags: Flags,
        release: GuardedRelease,
    ) -> Result<TryArc<Self>, Error> {
        let vacant = UninitTryArc::new()?;
        // SAFETY: 1. Guaranteed by our caller's 1.
        let claims = unsafe { raw::read_tensor(tensor, flags) }?;
        Self::fill(vacant, &RawMetadata { version, ..claims }, release, ImportPolicy::default())
    }

    #[inline(always)]
    fn fill(
        vacant: UninitTryArc<Self>,
        claims: &RawMetadata<'_>,
        release: GuardedRelease,
        policy: ImportPolicy,
    ) -> Result<TryArc<Self>, Error> {
        let mut node = vacant.fill(Self {
            checked: Metadata::new(claims, policy),
            synchronized: ConsumerPlace::DefaultStream,
            release,
        });
        node.checked.check(claims.shape, claims.strides, policy)?;
        Ok(node.into_counted())
    }
}
