//! The handle of an import: [`Imported`].

use core::fmt;
use core::ops::Range;
use core::ptr::NonNull;

use super::ImportPolicy;
use super::checked::Checked;
use super::raw;
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
#[cfg(feature = "pyo3")]
use crate::ffi::DLTensor;
use crate::flags::Flags;
use crate::layout;
use crate::managed::{Abi, Guard, Guarded, Release};
use crate::storage::Access;
use crate::stream::ConsumerPlace;
use crate::version::Version;

/// A tensor that another library made, checked and owned.
///
/// Shape, strides and all other metadata are a copy, which was checked when the
/// tensor was taken; the C struct is not looked at again. Dropping this calls
/// its deleter.
///
/// The elements are still the other library's. Whatever the flags say, it may
/// write them at any time, so there are three ways to them:
///
/// | others | get | how |
/// |---|---|---|
/// | may write | copies of elements | [`elements`](Self::elements) |
/// | do not write | `&[T]` | [`frozen`](Self::frozen) of what this program exported and nobody writes, or `unsafe` [`assume_frozen`](Self::assume_frozen) |
/// | have nothing to do with it | `&mut [T]` | [`exclusive`](Self::exclusive) of what this program exported alone, or of a copy that it made ([`to_own_copy`](Self::to_own_copy)), or `unsafe` [`assume_exclusive`](Self::assume_exclusive) |
///
/// The first column is known of what this program exported itself
/// ([`ManagedTensor::import`](crate::ManagedTensor::import)). What has been
/// through C or Python may have changed hands, and is believed to be shared.
///
/// The memory of a legacy struct is [read-only](Self::is_read_only), because the struct
/// has no flag that says so, unless [`ImportPolicy::legacy_writable`] says otherwise.
///
/// [`Foreign`](crate::Foreign) makes it the `data` field of a struct, and so
/// exports it again without a copy.
///
/// ```
/// use dlpack_traits::{DLPackExport, DataType, Describe, Description, Error, Flags, Imported, Storage};
///
/// struct Samples(Vec<i16>);
///
/// impl DLPackExport for Samples {
///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
///         out.shape(&[2, 2]).data(self.0.data())
///     }
/// }
///
/// let pointer = Samples(vec![1, 2, 3, 4]).into_dlpack()?.into_raw();
///
/// // SAFETY: 1. to 4. `into_raw` gave a valid struct, whose owner we are now.
/// // 5. Nobody else has the vector.
/// let tensor = unsafe { Imported::from_raw(pointer)? };
/// assert_eq!((tensor.shape(), tensor.dtype()), (&[2, 2][..], DataType::I16));
/// assert_eq!(tensor.flags(), Flags::READ_ONLY);
/// let elements = tensor.elements::<i16>()?;
/// assert_eq!(elements.load(&[1, 0])?, 3);
/// assert_eq!(elements.iter().sum::<i16>(), 10);
/// # Ok::<(), Error>(())
/// ```
pub struct Imported {
    checked: Checked,
    /// Who may access the elements, if this crate lent them and the tensor has not been
    /// through C. Other producers are trusted as far as 5 of `from_raw` says.
    lent: Option<Access>,
    /// The consumer that the producer synchronized memory of a device with, if this crate
    /// exported the tensor and it has not been through C. Otherwise one that names no stream.
    synchronized: ConsumerPlace,
    /// Dropped when nothing uses the memory any more.
    release: Guarded,
}

// SAFETY: by 2 of `from_raw` any thread may call the deleter, by 4 any thread
// may access the elements, and all else is our own.
unsafe impl Send for Imported {}
// SAFETY: shared access reads metadata, which nobody writes, and elements,
// which is only reading. Slices of them that others could write are `unsafe` to have.
unsafe impl Sync for Imported {}

impl Imported {
    /// Leaves the duty to release the tensor to somebody else.
    pub(super) fn forget_release(self) {
        self.release.forget();
    }

    /// Takes a tensor from its producer.
    ///
    /// On an error the deleter has been called, unless the pointer is NULL. A
    /// NULL deleter is not called.
    ///
    /// # Errors
    ///
    /// [`Error::NullTensor`]; [`Error::VersionUnsupported`] for another major
    /// version; [`Error::NegativeRank`], [`Error::TooManyDims`] beyond 64,
    /// [`Error::NullShape`], [`Error::NegativeDim`], [`Error::SizeOverflow`],
    /// [`Error::NullData`], [`Error::UnsupportedDType`], [`Error::OutOfMemory`].
    ///
    /// # Safety
    ///
    /// What a struct says is checked against itself. What cannot be checked is
    /// that it is true, and that is what the caller promises:
    ///
    /// 1. `managed` is NULL, or points to an aligned, initialised struct of type
    ///    `A`, which nobody writes or frees until its deleter is called. Where
    ///    it names another major version than 1, no more than its fields up to
    ///    `deleter` need be there.
    /// 2. The struct is the caller's to give away: its deleter, if it is not
    ///    NULL, may be called once, by any thread, and nobody else calls it.
    /// 3. If `ndim` is 1 to 64, each of `shape` and `strides` is NULL, or points
    ///    to `ndim` aligned, initialised numbers, which nobody writes meanwhile.
    /// 4. If this returns `Ok`: from the lowest byte of an element to the
    ///    highest, all memory that the struct describes is part of one
    ///    allocation on `device`, is initialised and, until the deleter is
    ///    called, may be read by any thread, and written too, unless READ_ONLY
    ///    is set, or the struct is a legacy one and the policy is not
    ///    [`legacy_writable`](ImportPolicy::legacy_writable). On host devices the
    ///    elements are ready when this is called.
    /// 5. Until then, no one writes an element at the moment at which it is read
    ///    through this handle, except byte-wise atomically, as
    ///    [`SharedBuffer`](crate::SharedBuffer) does and as relaxed stores to `AtomicU8`s
    ///    do; and no `&mut` to it is used.
    #[inline(always)]
    pub unsafe fn from_raw<A: Abi>(managed: *mut A) -> Result<Self, Error> {
        // SAFETY: as this function demands.
        unsafe { Self::from_raw_with(managed, ImportPolicy::default()) }
    }

    /// [`from_raw`](Self::from_raw) under a policy for what the standard forbids
    /// and producers do.
    ///
    /// # Errors
    ///
    /// Those of `from_raw`, and [`Error::NullStrides`] where it is strict.
    ///
    /// # Safety
    ///
    /// Those of `from_raw`.
    #[inline(always)]
    pub unsafe fn from_raw_with<A: Abi>(
        managed: *mut A,
        policy: ImportPolicy,
    ) -> Result<Self, Error> {
        // SAFETY: as this function demands.
        Self::made(|tensor| unsafe { tensor.take(managed, policy, None) })
    }

    /// A tensor that is filled where it is: a handle that was just written costs more to
    /// move than to make.
    #[inline(always)]
    pub(crate) fn made<E>(fill: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<Self, E> {
        let mut tensor = Self::nothing();
        fill(&mut tensor)?;
        Ok(tensor)
    }

    /// The place of a tensor that is yet to be taken.
    #[inline(always)]
    pub(crate) const fn nothing() -> Self {
        let release = Guarded::new(Release::nothing(), None);
        Self {
            checked: Checked::nothing(),
            lent: None,
            synchronized: ConsumerPlace::DefaultStream,
            release,
        }
    }

    /// [`from_raw`](Self::from_raw) into the place of the tensor, see [`made`](Self::made).
    /// The deleter is called by `guard`, if there is one.
    ///
    /// After an error the deleter has been called, unless the pointer is NULL.
    ///
    /// # Errors
    ///
    /// Those of [`from_raw_with`](Self::from_raw_with).
    ///
    /// # Safety
    ///
    /// Those of `from_raw`.
    #[inline(always)]
    pub(crate) unsafe fn take<A: Abi>(
        &mut self,
        managed: *mut A,
        policy: ImportPolicy,
        guard: Option<Guard>,
    ) -> Result<(), Error> {
        let managed = NonNull::new(managed).ok_or(Error::NullTensor)?;
        // SAFETY: 1. and 2. are 1. and 2. of `from_raw`.
        let release = unsafe { A::release_of(managed) };
        // SAFETY: as this function demands.
        unsafe { self.take_from(managed, Guarded::new(release, guard), policy) }
    }

    /// [`take`](Self::take) for who has read the deleter already.
    ///
    /// # Safety
    ///
    /// Those of `from_raw`, but that the duty is that of `release`.
    #[inline(always)]
    unsafe fn take_from<A: Abi>(
        &mut self,
        managed: NonNull<A>,
        release: Guarded,
        policy: ImportPolicy,
    ) -> Result<(), Error> {
        // Written first, though it is needed last: what was written just now is slow to
        // move. From here on every way out calls the deleter.
        self.release = release;
        // SAFETY: 1. to 3. are 1. to 3. of `from_raw`.
        let claims = unsafe { raw::whole(managed, &mut self.checked.axes) };
        let taken = claims.and_then(|claims| self.checked.check(&claims, policy));
        if taken.is_err() {
            self.give_up();
        }
        taken
    }

    /// Calls the deleter of what cannot be used.
    #[cold]
    fn give_up(&mut self) {
        *self = Self::nothing();
    }

    /// A tensor that this crate exported and that has not been through C.
    ///
    /// # Safety
    ///
    /// 1. to 4. of `from_raw`.
    /// 5. Until the deleter is called, the elements are lent with that access.
    /// 6. Memory of a device was synchronized with a consumer in that place. Only what
    ///    [`on_host`](Self::on_host) accepts has to be ready for the processor.
    #[inline]
    pub(super) unsafe fn from_own<A: Abi>(
        managed: *mut A,
        access: Access,
        synchronized: ConsumerPlace,
    ) -> Result<Self, Error> {
        // What must not be written is not exported in the legacy struct.
        let policy = ImportPolicy::new().legacy_writable(true);
        Self::made(|tensor| {
            (tensor.lent, tensor.synchronized) = (Some(access), synchronized);
            // SAFETY: 1. to 4. are 1. to 4. of `from_raw`, 5. says more than its 5.
            unsafe { tensor.take(managed, policy, None) }
        })
    }

    /// [`from_raw`](Self::from_raw) for who has read the deleter already.
    ///
    /// # Safety
    ///
    /// Those of `from_raw`, but that the duty is that of `release`.
    pub(super) unsafe fn from_release<A: Abi>(
        managed: NonNull<A>,
        release: Release,
    ) -> Result<Self, Error> {
        let (release, policy) = (Guarded::from(release), ImportPolicy::default());
        // SAFETY: as this function demands.
        Self::made(|tensor| unsafe { tensor.take_from(managed, release, policy) })
    }

    /// Gives the struct back, as it came, to whoever is to call its deleter. With
    /// the [`version`](Self::version) `None` it is the legacy struct.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
    /// # struct Samples(Vec<f32>);
    /// # impl DLPackExport for Samples {
    /// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    /// #         out.shape(&[2]).data(self.0.data())
    /// #     }
    /// # }
    /// use dlpack_traits::{Imported, ffi};
    ///
    /// let tensor = Samples(vec![1.0, 2.0]).into_dlpack()?.import()?;
    /// let tensor = tensor.into_raw::<ffi::DLManagedTensor>().unwrap_err();
    /// let managed = tensor.into_raw::<ffi::DLManagedTensorVersioned>().unwrap();
    /// # // SAFETY: the struct is valid, and ours.
    /// # drop(unsafe { Imported::from_raw(managed)? });
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The tensor, if it came in the other struct.
    #[must_use = "the tensor leaks unless its deleter is called"]
    #[expect(clippy::result_large_err, reason = "it is the tensor itself")]
    #[inline]
    pub fn into_raw<A: Abi>(self) -> Result<*mut A, Self> {
        match A::of(self.release.release()) {
            Some(managed) => {
                self.release.forget();
                Ok(managed.as_ptr())
            }
            None => Err(self),
        }
    }

    /// Who may access the elements.
    #[inline]
    pub(super) fn access(&self) -> Access {
        match self.lent {
            Some(access) => access,
            None if self.is_read_only() => Access::ForeignReadOnly,
            None => Access::Shared,
        }
    }

    /// The consumer that memory of a device was synchronized with.
    #[inline]
    pub(super) fn synchronized(&self) -> ConsumerPlace {
        self.synchronized
    }

    /// Whether nobody else has the elements. Only an export of this crate that has not
    /// been through C is known to be so: IS_COPIED is a producer's statement, and NumPy
    /// sets it on copies that a subclass of `ndarray` has a reference to.
    #[inline]
    pub(super) fn is_alone(&self) -> bool {
        self.lent == Some(Access::Exclusive)
    }

    /// A tensor that somebody else owns, without a struct of its own: nothing
    /// is released.
    ///
    /// # Errors
    ///
    /// Those of [`from_raw`](Self::from_raw).
    ///
    /// # Safety
    ///
    /// 1. What [`from_raw`](Self::from_raw) says under 3. to 5. holds of `tensor`
    ///    until the handle is dropped.
    #[cfg(feature = "pyo3")]
    pub(crate) unsafe fn borrowed(tensor: &DLTensor) -> Result<Self, Error> {
        let mut borrowed = Self::nothing();
        // SAFETY: 1 has it.
        let claims = unsafe { raw::claims(tensor, Flags::NONE, &mut borrowed.checked.axes) }?;
        borrowed.checked.check(&claims, ImportPolicy::default())?;
        Ok(borrowed)
    }

    /// Extents, in elements.
    #[inline]
    pub fn shape(&self) -> &[i64] {
        self.checked.axes.shape()
    }

    /// Strides, in elements; those of a compact tensor where the producer gave none.
    #[inline]
    pub fn strides(&self) -> &[i64] {
        self.checked.axes.strides()
    }

    /// Number of dimensions.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// Number of elements.
    #[inline]
    pub fn numel(&self) -> i64 {
        self.checked.numel
    }

    /// Type of the elements.
    #[inline]
    pub fn dtype(&self) -> DataType {
        self.checked.dtype
    }

    /// Where the memory is. A kind that the standard does not name is kept.
    #[inline]
    pub fn device(&self) -> Device {
        self.checked.device
    }

    /// The flags, those that the standard does not name included; none for the
    /// legacy struct.
    #[inline]
    pub fn flags(&self) -> Flags {
        self.checked.flags
    }

    /// The version of the struct; `None` for the legacy one.
    #[inline]
    pub fn version(&self) -> Option<Version> {
        self.checked.version
    }

    /// The first element, whose address may have any alignment; NULL when there
    /// are no elements. On a device without addresses, the handle.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.checked.first
    }

    /// Bytes from the handle to the first element, on a device without
    /// addresses; 0 on others, where [`as_ptr`](Self::as_ptr) contains them.
    #[inline]
    pub fn byte_offset(&self) -> u64 {
        self.checked.byte_offset
    }

    /// The bytes between the lowest and the highest that belong to an element,
    /// counted from the first element. Strides may be negative, and so may the start.
    #[inline]
    pub fn byte_range(&self) -> Range<isize> {
        self.checked.bytes.0..self.checked.bytes.1
    }

    /// Whether the elements lie one after the other in row-major (C) order.
    #[inline]
    pub fn is_row_major(&self) -> bool {
        layout::is_row_major(self.shape(), self.strides())
    }

    /// Whether the elements lie one after the other in column-major (Fortran) order.
    #[inline]
    pub fn is_column_major(&self) -> bool {
        layout::is_column_major(self.shape(), self.strides())
    }

    /// Whether the memory must not be written: the producer set READ_ONLY, or the struct
    /// is a legacy one, which has no such flag, and the import did not allow writes
    /// ([`ImportPolicy::legacy_writable`]).
    ///
    /// It is exported again as READ_ONLY. A legacy struct of this program's own that has
    /// not left Rust ([`ManagedTensor::import`](crate::ManagedTensor::import)) is not
    /// read-only: memory that is, is not exported in one.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.checked.read_only
    }
}

impl fmt::Debug for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Imported")
            .field("dtype", &self.dtype())
            .field("device", &self.device())
            .field("shape", &self.shape())
            .field("strides", &self.strides())
            .field("flags", &self.flags())
            .field("data", &self.as_ptr())
            .field("release", &self.release)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use core::ffi::c_void;
    use core::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::ffi::{DLDevice, DLManagedTensor, DLTensor, kDLCPU};

    /// Whoever fills a place finds the deleter called when it is told of the error, not
    /// only when the place is left: it may look at what the deleter has done.
    #[test]
    fn a_refused_tensor_is_released_before_its_error_is_returned() {
        unsafe extern "C" fn count(managed: *mut DLManagedTensor) {
            // SAFETY: it is called with the struct below.
            let calls = unsafe { (*managed).manager_ctx };
            // SAFETY: it points to that count.
            unsafe { &*calls.cast::<AtomicUsize>() }.fetch_add(1, Ordering::Relaxed);
        }
        let calls = AtomicUsize::new(0);
        let mut managed = DLManagedTensor {
            dl_tensor: DLTensor {
                data: core::ptr::null_mut(),
                device: DLDevice { device_type: kDLCPU, device_id: 0 },
                ndim: 65,
                dtype: DataType::F32.to_ffi(),
                shape: core::ptr::null_mut(),
                strides: core::ptr::null_mut(),
                byte_offset: 0,
            },
            manager_ctx: (&raw const calls).cast_mut().cast::<c_void>(),
            deleter: Some(count),
        };
        let mut place = Imported::nothing();
        // SAFETY: 1. to 5. The struct is alive, and is refused.
        let taken = unsafe { place.take(&raw mut managed, ImportPolicy::default(), None) };
        assert_eq!(taken, Err(Error::TooManyDims { ndim: 65 }));
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        drop(place);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}
