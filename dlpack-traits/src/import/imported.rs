//! The handle of an imported tensor: [`ImportedTensor`].
//!
//! The type has no parameter for the C struct: after the validation the structs differ only
//! in the deleter. A struct with an `ImportedStorage<T>` therefore accepts tensors of old
//! and new producers.

use core::fmt;
use core::ops::Range;

use super::ImportPolicy;
use super::reader::node::{Node, Owner};
use super::reader::raw::Managed;
#[cfg(feature = "pyo3")]
use super::reader::raw::Unmanaged;
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::DLPACK_MAJOR_VERSION;
use crate::flags::Flags;
#[cfg(feature = "pyo3")]
use crate::managed::GuardedRelease;
use crate::managed::{Abi, Guard, Release};
use crate::storage::{Access, TryArc};
use crate::stream_arg::ConsumerPlace;
use crate::strides;
use crate::version::Version;

/// An owned, validated tensor of another library or of this program.
///
/// Shape, strides and all other metadata are copied and validated when the tensor is
/// imported; the C struct is not read again. Dropping the handle calls the deleter.
///
/// The elements stay in the producer's memory (zero-copy). The producer may write them
/// between reads, also with READ_ONLY set. Which access is possible depends on what other owners do:
///
/// | other owners | access | method |
/// |---|---|---|
/// | may write | copies of elements, one by one or in blocks | [`elements`](Self::elements), and for writing [`elements_mut`](Self::elements_mut) |
/// | do not write | `&[T]` | [`frozen`](Self::frozen), for memory that this program exported read-only and that no one writes; or `unsafe` [`assume_frozen`](Self::assume_frozen) |
/// | do not access it | `&mut [T]` | [`exclusive`](Self::exclusive), for memory that this program exported by value and that has no other owner, or for a copy that it made ([`to_own_copy`](Self::to_own_copy)); or `unsafe` [`assume_exclusive`](Self::assume_exclusive) |
///
/// Without `unsafe`, the second row is for tensors that this program exported itself
/// ([`ManagedTensor::import`](crate::ManagedTensor::import)), and the third row for these and for
/// copies by [`to_own_copy`](Self::to_own_copy). A tensor that passed through C or Python is treated as in
/// the first row.
///
/// A struct of DLPack before 1.0 (*legacy*) has no READ_ONLY flag: its memory is
/// [read-only](Self::is_read_only), unless [`ImportPolicy::legacy_writable`] allows writes.
///
/// [`ImportedStorage`](crate::ImportedStorage) makes the tensor the `data` field of a struct, and exports
/// it again without a copy. [`select`](Self::select), [`narrow`](Self::narrow),
/// [`permute`](Self::permute) and [`reverse`](Self::reverse) return a part of it, or another order.
///
/// ```
/// use dlpack_traits::{DLPackExport, DataType, Describe, Description, Error, Flags, ImportedTensor, Storage};
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
/// // SAFETY: 1. to 4. `into_raw` returned a valid struct, whose owner we are now.
/// // 5. No one else accesses the vector.
/// let tensor = unsafe { ImportedTensor::from_raw(pointer)? };
/// assert_eq!((tensor.shape(), tensor.dtype()), (&[2, 2][..], DataType::I16));
/// assert_eq!(tensor.flags(), Flags::READ_ONLY);
/// let elements = tensor.elements::<i16>()?;
/// assert_eq!(elements.load(&[1, 0])?, 3);
/// assert_eq!(elements.iter().sum::<i16>(), 10);
/// # Ok::<(), Error>(())
/// ```
///
/// The handle is one pointer to a heap allocation, which stores the validated metadata. A handle
/// that stored shape and strides inline would not allocate, but each move of it would cost more;
/// [`ImportedSlice`](crate::ImportedSlice) allocates nothing for a contiguous tensor that is not empty,
/// of an element type such as `f32`.
pub struct ImportedTensor {
    /// The only owner of the node, unless this handle is a part of an `ImportedStorage`.
    node: TryArc<Node>,
}

impl ImportedTensor {
    /// Imports a tensor from its producer.
    ///
    /// If this returns an error, the deleter has been called, unless `managed` or the
    /// deleter is NULL.
    ///
    /// # Errors
    ///
    /// [`Error::NullTensor`]; [`Error::VersionUnsupported`] for another major
    /// version; [`Error::NegativeRank`], [`Error::TooManyDims`] beyond 64,
    /// [`Error::NullShape`], [`Error::NegativeDim`], [`Error::SizeOverflow`],
    /// [`Error::NullData`], [`Error::NoSuchDevice`], [`Error::UnsupportedDType`],
    /// [`Error::OutOfMemory`].
    ///
    /// # Safety
    ///
    /// The fields of the struct are checked for consistency with each other. Whether they
    /// are true cannot be checked, so the caller promises:
    ///
    /// 1. `managed` is NULL, or points to an aligned, initialized struct of type `A`, which
    ///    no one writes or frees until its deleter is called. If it has a major version
    ///    other than 1, only its fields up to `deleter` need to exist.
    /// 2. The caller owns the struct and transfers the ownership: its deleter, if it is not NULL, may
    ///    be called once, by any thread, and no one else calls it.
    /// 3. If `ndim` is 1 to 64, each of `shape` and `strides` is NULL, or points to `ndim`
    ///    aligned, initialized numbers, which no one writes meanwhile.
    /// 4. If this returns `Ok`, the following holds for all memory that the struct describes, from
    ///    the lowest byte of an element to the highest:
    ///    - it is part of one allocation on `device`;
    ///    - it is initialized, and on host devices the elements are ready when this is called;
    ///    - any thread may read it until the deleter is called;
    ///    - any thread may also write it until then, unless READ_ONLY is set, or the struct is a
    ///      legacy one and the policy is not [`legacy_writable`](ImportPolicy::legacy_writable).
    /// 5. Until the deleter is called, no one writes an element at the moment at which it
    ///    is read through this handle, or accesses it at the moment at which it is written
    ///    through this handle ([`elements_mut`](Self::elements_mut)), except byte-wise
    ///    atomically, as [`SharedBuffer`](crate::SharedBuffer) does and as relaxed loads and
    ///    stores of `AtomicU8`s do. No `&mut` to it is used, and no `&` while it is written
    ///    through this handle.
    #[inline(always)]
    pub unsafe fn from_raw<A: Abi>(managed: *mut A) -> Result<Self, Error> {
        // SAFETY: guaranteed by our caller, whose obligations are the same.
        unsafe { Self::from_raw_with(managed, ImportPolicy::default()) }
    }

    /// Imports a tensor as [`from_raw`](Self::from_raw) does, under a policy for structs
    /// that break the standard, as those of some producers do.
    ///
    /// # Errors
    ///
    /// Those of `from_raw`, [`Error::NullStrides`] under a policy of strict strides, and
    /// [`Error::TooManyBytes`] under one of [`max_bytes`](ImportPolicy::max_bytes).
    ///
    /// # Safety
    ///
    /// Those of `from_raw`.
    #[inline(always)]
    pub unsafe fn from_raw_with<A: Abi>(
        managed: *mut A,
        policy: ImportPolicy,
    ) -> Result<Self, Error> {
        // SAFETY: guaranteed by our caller, whose obligations are the same.
        unsafe { Self::guarded(managed, policy, None) }
    }

    /// Imports a tensor as [`from_raw_with`](Self::from_raw_with) does; `guard`, if there
    /// is one, calls the deleter.
    ///
    /// # Errors
    ///
    /// Those of `from_raw_with`.
    ///
    /// # Safety
    ///
    /// Those of `from_raw`.
    #[inline(always)]
    pub(crate) unsafe fn guarded<A: Abi>(
        managed: *mut A,
        policy: ImportPolicy,
        guard: Option<Guard>,
    ) -> Result<Self, Error> {
        // SAFETY: 1. Guaranteed by our caller, whose obligations are the same.
        let managed = unsafe { Managed::new(managed) }.ok_or(Error::NullTensor)?;
        Ok(Self { node: Node::read(managed, guard, policy)? })
    }

    /// Imports a tensor that this crate exported and that has not passed through C.
    ///
    /// # Safety
    ///
    /// 1. to 4. of `from_raw`.
    /// 5. Until the deleter is called, the elements are lent with the access `access`.
    /// 6. Device memory was synchronized with a consumer in the place `synchronized`. Only
    ///    memory that [`on_host`](Self::on_host) accepts must be ready for the processor.
    #[inline]
    pub(super) unsafe fn from_own<A: Abi>(
        managed: *mut A,
        access: Access,
        synchronized: ConsumerPlace,
    ) -> Result<Self, Error> {
        // This crate does not export memory that must not be written in the legacy struct.
        let policy = ImportPolicy::new().legacy_writable(true);
        // SAFETY: 1. to 4. Guaranteed by our caller's 1 to 4. 5. Implied by our caller's 5.
        let mut tensor = unsafe { Self::guarded(managed, policy, None) }?;
        if let Some(node) = tensor.node.get_mut() {
            node.checked.access = match access {
                Access::Shared if node.checked.access.is_read_only() => Access::SharedReadOnly,
                // No one writes memory that has no other owner and that is READ_ONLY.
                Access::Exclusive if node.checked.access.is_read_only() => Access::Frozen,
                access => access,
            };
            node.synchronized = synchronized;
        }
        Ok(tensor)
    }

    /// Reads the metadata of a struct. The result does not call the deleter.
    ///
    /// # Errors
    ///
    /// Those of [`from_raw`](Self::from_raw), except for NULL.
    ///
    /// # Safety
    ///
    /// 1. The result, and all that is made from it, is dropped before the deleter is called.
    pub(super) unsafe fn borrowed<A: Abi>(managed: &Managed<A>) -> Result<Self, Error> {
        Ok(Self { node: Node::borrowed(managed)? })
    }

    /// Returns another owner of the same tensor, for an `ImportedStorage`. It must not be given out
    /// as an `ImportedTensor`, because an `ImportedTensor` is the only owner.
    #[inline]
    pub(crate) fn another_owner(&self) -> Self {
        Self { node: self.node.clone() }
    }

    /// Whether this handle is the only owner.
    #[inline]
    pub(super) fn is_only_owner(&mut self) -> bool {
        self.node.get_mut().is_some_and(Node::is_only_owner)
    }

    /// The node, of which a view is made.
    #[inline]
    pub(super) fn node(&self) -> &TryArc<Node> {
        &self.node
    }

    /// A tensor that is the only owner of this node.
    #[inline]
    pub(super) fn of_node(node: TryArc<Node>) -> Self {
        Self { node }
    }

    /// Leaves the call of the deleter to the caller.
    ///
    /// # Panics
    ///
    /// If the tensor has another owner, which would call the deleter too. Only an `ImportedStorage`
    /// has one, and it gives out no `ImportedTensor` by value while others exist.
    pub(super) fn forget_release(mut self) {
        let node = self.node.get_mut().expect("an `ImportedTensor` is the only owner of its node");
        if let Owner::Producer(release) = &mut node.owner {
            release.forget();
        }
    }

    /// The release of the producer; `None` for a view of a part of its tensor.
    #[inline]
    pub(super) fn release(&self) -> Option<&Release> {
        self.node.owner.release()
    }

    /// The access with which Rust reads the elements by value.
    ///
    /// Exclusive memory is read as shared: the other owners in an `ImportedStorage` may export it as
    /// writable at any time. [`exclusive`](Self::exclusive) checks
    /// [`is_alone`](Self::is_alone) instead.
    #[inline]
    pub(super) fn access(&self) -> Access {
        match self.node.checked.access {
            Access::Exclusive => Access::Shared,
            access => access,
        }
    }

    /// Whether the elements are in memory of [`Device::CPU`] and not padded. Nearly all are; an
    /// export then uses constants in place of these fields.
    #[inline(always)]
    pub(super) fn is_ordinary(&self) -> bool {
        let padded = self.flags().contains(Flags::IS_SUBBYTE_TYPE_PADDED);
        self.device() == Device::CPU && !padded
    }

    /// States that device memory was synchronized with a stream that the caller named.
    #[cfg(feature = "pyo3")]
    #[cold]
    pub(crate) fn on_named_stream(mut self) -> Self {
        if let Some(node) = self.node.get_mut() {
            node.synchronized = ConsumerPlace::Stream;
        }
        self
    }

    /// The same memory as that of [`Device::CPU`]; [`Error::NotOnHost`] if there is another handle.
    ///
    /// # Safety
    ///
    /// 1. `data` is an address where the processor may access the elements, which are ready for it.
    pub(crate) unsafe fn into_host(mut self) -> Result<Self, Error> {
        let device = self.device();
        let node = self.node.get_mut().ok_or(Error::NotOnHost { device })?;
        node.checked.set_host()?;
        node.synchronized = ConsumerPlace::Host;
        Ok(self)
    }

    /// The consumer that device memory was synchronized with.
    #[inline]
    pub(crate) fn synchronized(&self) -> ConsumerPlace {
        self.node.synchronized
    }

    /// Whether no one else has access to the elements. This is known only for a tensor that
    /// this crate exported and that has not passed through C: IS_COPIED is a statement of
    /// the producer, and NumPy sets it on copies that a subclass of `ndarray` has a
    /// reference to.
    #[inline]
    pub(super) fn is_alone(&self) -> bool {
        self.node.checked.access == Access::Exclusive
    }

    /// Imports a tensor without a managed struct. `release` releases its owner when the handle
    /// is dropped, and if this returns an error.
    ///
    /// # Errors
    ///
    /// Those of [`from_raw`](Self::from_raw).
    #[cfg(feature = "pyo3")]
    #[inline(always)]
    pub(crate) fn of_owner(tensor: &Unmanaged, release: GuardedRelease) -> Result<Self, Error> {
        Ok(Self { node: Node::read_unmanaged(tensor, release)? })
    }

    /// Shape and strides.
    #[inline]
    fn lists(&self) -> (&[i64], &[i64]) {
        let list = self.node.list();
        list.split_at(list.len() / 2)
    }

    /// Shape: the size of each dimension, in elements.
    #[inline]
    pub fn shape(&self) -> &[i64] {
        self.lists().0
    }

    /// Strides, in elements. If `strides` is NULL, those of a contiguous row-major
    /// tensor.
    #[inline]
    pub fn strides(&self) -> &[i64] {
        self.lists().1
    }

    /// Number of dimensions.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// Number of elements.
    #[inline]
    pub fn numel(&self) -> i64 {
        self.node.checked.place.numel
    }

    /// Number of bytes of all elements together, as those of a contiguous copy: `nbytes` of NumPy. A
    /// broadcast tensor has more of them than memory.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, OwnedTensor};
    ///
    /// let tensor = OwnedTensor::new(vec![0.0_f32; 6], &[2, 3])?.into_dlpack()?.import()?;
    /// assert_eq!(tensor.nbytes(), 24);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    #[inline]
    pub fn nbytes(&self) -> u64 {
        self.node.checked.place.nbytes(self.dtype(), self.flags())
    }

    /// Data type of the elements.
    #[inline]
    pub fn dtype(&self) -> DataType {
        self.node.checked.dtype
    }

    /// Device of the memory. A device type that the standard does not define is kept as it
    /// is.
    #[inline]
    pub fn device(&self) -> Device {
        self.node.checked.device
    }

    /// Flags, including bits that the standard does not define; none for the legacy struct.
    #[inline]
    pub fn flags(&self) -> Flags {
        self.node.checked.flags
    }

    /// Version of the struct; `None` for the legacy one.
    #[inline]
    pub fn version(&self) -> Option<Version> {
        self.node.checked.minor.map(|minor| Version::new(DLPACK_MAJOR_VERSION, minor))
    }

    /// Address of the first element, which may have any alignment; NULL if the tensor is
    /// empty. On a device without addresses, the device's handle of the memory, such as a `cl_mem`.
    #[inline]
    pub fn data_ptr(&self) -> *const u8 {
        self.node.checked.place.first
    }

    /// Bytes from the start of the memory to the first element, on a device without addresses; 0
    /// on other devices, where [`data_ptr`](Self::data_ptr) includes them.
    #[inline]
    pub fn byte_offset(&self) -> u64 {
        self.node.checked.place.byte_offset
    }

    /// The range of bytes that the elements span, counted from the first element. With
    /// negative strides the start of the range is negative.
    #[inline]
    pub fn byte_range(&self) -> Range<isize> {
        self.node.checked.place.bytes.0..self.node.checked.place.bytes.1
    }

    /// Whether the elements are contiguous in row-major (C) order.
    #[inline]
    pub fn is_row_major(&self) -> bool {
        strides::is_row_major(self.shape(), self.strides())
    }

    /// Whether the elements are contiguous in column-major (Fortran) order.
    #[inline]
    pub fn is_column_major(&self) -> bool {
        strides::is_column_major(self.shape(), self.strides())
    }

    /// Whether the memory must not be written: the producer set READ_ONLY, or the struct is
    /// a legacy one, which has no such flag, and the import did not allow writes
    /// ([`ImportPolicy::legacy_writable`]).
    ///
    /// Such a tensor is exported again as READ_ONLY. A legacy struct that this program
    /// exported and that has not left Rust
    /// ([`ManagedTensor::import`](crate::ManagedTensor::import)) is not read-only, because
    /// read-only memory is not exported in a legacy struct.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.node.checked.access.is_read_only()
    }
}

impl fmt::Debug for ImportedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImportedTensor")
            .field("dtype", &self.dtype())
            .field("device", &self.device())
            .field("shape", &self.shape())
            .field("strides", &self.strides())
            .field("flags", &self.flags())
            .field("data", &self.data_ptr())
            .field("release", &self.node.owner)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use core::ffi::c_void;
    use core::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::ffi::{DLDevice, DLManagedTensor, DLTensor, kDLCPU};

    /// The caller may read what the deleter wrote as soon as it has the error.
    #[test]
    fn a_refused_tensor_is_released_before_its_error_is_returned() {
        unsafe extern "C" fn count(managed: *mut DLManagedTensor) {
            // SAFETY: this crate calls it with the struct below.
            let calls = unsafe { (*managed).manager_ctx };
            // SAFETY: `manager_ctx` points to the counter below.
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
        // SAFETY: 1. to 5. The struct is alive, and is rejected.
        let taken = unsafe { ImportedTensor::from_raw(&raw mut managed) };
        assert_eq!(taken.err(), Some(Error::TooManyDims { ndim: 65 }));
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}
