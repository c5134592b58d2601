//! The data of an import, in one allocation: [`Node`].
//!
//! One allocation holds the metadata, shape, strides and the deleter of an import;
//! `ImportedTensor`, `ImportedStorage` and derived structs share it and are one pointer. Import
//! and drop take as long as by hand, where the allocation is most of the time. Rejected:
//! metadata inside the handle (272 bytes; an `ImportedStorage` took 63 ns and a derived struct
//! 99, because a freshly written struct was moved), and separate loops for copying and checking
//! (6 ns).

use core::fmt;
use core::mem::ManuallyDrop;

#[cfg(feature = "pyo3")]
use super::raw::Unmanaged;
use super::raw::{ElementRange, Managed, RawTensor, copy_any, copy_lists};
use super::validate::{Metadata, Place};
use crate::error::Error;
use crate::import::ImportPolicy;
use crate::managed::{Abi, Guard, GuardedRelease, Release};
use crate::storage::{TryArc, UninitTryArc};
use crate::stream_arg::ConsumerPlace;

/// The metadata of an imported tensor, validated, and the obligation to call its deleter. The list
/// of its [`TryArc`] is its shape, and then its strides.
pub(in crate::import) struct Node {
    pub(in crate::import) checked: Metadata,
    /// The consumer with which the producer synchronized device memory, if this crate
    /// exported the tensor and it has not passed through C. Otherwise a consumer that names
    /// no stream.
    pub(in crate::import) synchronized: ConsumerPlace,
    /// Released when the last owner of the node is dropped.
    pub(in crate::import) owner: Owner,
}

/// The owner of the memory of a node. A view takes no word more than a tensor: the tag is one of
/// `Release` (`a_view_takes_no_room_in_other_nodes`).
pub(in crate::import) enum Owner {
    /// The struct, or the object, of the producer. A release calls the deleter.
    Producer(GuardedRelease),
    /// The node with the producer, for a view. That node is not a view, so the drop of a view of a
    /// view does not recurse.
    Whole(Whole),
}

/// An owner of the node of which a view is a part.
///
/// Its drop is outlined: otherwise that of a node would be recursive, and not inlined where an import
/// is dropped (measured: 10 instructions per import).
pub(in crate::import) struct Whole {
    node: ManuallyDrop<TryArc<Node>>,
}

impl Whole {
    fn new(node: TryArc<Node>) -> Self {
        Self { node: ManuallyDrop::new(node) }
    }

    /// A panic of the producer's code ends the process, as one of a deleter does.
    #[cold]
    #[inline(never)]
    extern "C" fn release(&mut self) {
        // SAFETY: only `drop` calls this, once, and nothing uses the node afterwards.
        unsafe { ManuallyDrop::drop(&mut self.node) }
    }
}

impl Drop for Whole {
    #[inline]
    fn drop(&mut self) {
        self.release();
    }
}

impl Owner {
    /// The release of the producer; `None` for a view.
    #[inline]
    pub(in crate::import) fn release(&self) -> Option<&Release> {
        match self {
            Owner::Producer(release) => Some(release.release()),
            Owner::Whole(_) => None,
        }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Producer(release) => release.fmt(f),
            Owner::Whole(whole) => whole.node.owner.fmt(f),
        }
    }
}

// SAFETY: by 2 of `ImportedTensor::from_raw` any thread may call the deleter, by 4 any thread may
// access the elements, and the other fields are plain data. The node of a view is such a node.
unsafe impl Send for Node {}
// SAFETY: the fields of a shared node are only read. Elements that several owners or threads
// can write are accessed byte-wise atomically, and a slice of such elements is `unsafe` to
// obtain.
unsafe impl Sync for Node {}

/// Memory for a node.
type Room = UninitTryArc<Node>;

impl Node {
    /// Reads a struct. Its deleter is called also if this returns an error; `guard`, if there is
    /// one, calls it.
    ///
    /// # Errors
    ///
    /// Those of `ImportedTensor::from_raw_with`, except for NULL.
    #[inline(always)]
    pub(in crate::import) fn read<A: Abi>(
        managed: Managed<A>,
        guard: Option<Guard>,
        policy: ImportPolicy,
    ) -> Result<TryArc<Self>, Error> {
        match Unowned::fast(managed.tensor().ok(), policy) {
            Ok(node) => Ok(node.owned(GuardedRelease::new(managed.release(), guard))),
            Err(room) => match Self::read_any(room, managed, guard, policy) {
                // Moved, so that the call does not force the result above into memory.
                Ok(node) => Ok(node),
                Err(error) => Err(error),
            },
        }
    }

    /// The slow path, for every tensor. Its arguments fit in registers, so the fast path does not
    /// write them to the stack.
    #[cold]
    #[inline(never)]
    fn read_any<A: Abi>(
        room: Option<Room>,
        managed: Managed<A>,
        guard: Option<Guard>,
        policy: ImportPolicy,
    ) -> Result<TryArc<Self>, Error> {
        let read = managed.tensor().and_then(|tensor| Unowned::any(room, tensor, policy));
        let release = GuardedRelease::new(managed.release(), guard);
        Ok(read?.owned(release))
    }

    /// Reads the metadata of a struct. The result does not call the deleter.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    pub(in crate::import) fn borrowed<A: Abi>(managed: &Managed<A>) -> Result<TryArc<Self>, Error> {
        let policy = ImportPolicy::default();
        let read = match Unowned::fast(managed.tensor().ok(), policy) {
            Ok(node) => node,
            Err(room) => Unowned::any(room, managed.tensor()?, policy)?,
        };
        Ok(read.owned(Release::nothing().into()))
    }

    /// A view: a node of elements of `source` with these dimensions and strides, `ndim` of each, which
    /// is another owner of the memory. `offset` is that of the first element from the first one of
    /// `source`, in units of stride; it is not used if the view is empty.
    ///
    /// All elements of the view are elements of `source`.
    ///
    /// # Errors
    ///
    /// [`Error::InsideByte`], [`Error::OutOfMemory`].
    pub(in crate::import) fn part_of(
        source: &TryArc<Self>,
        ndim: usize,
        axes: impl Iterator<Item = (i64, i64)>,
        offset: i64,
    ) -> Result<TryArc<Self>, Error> {
        // There are at most 64 dimensions.
        let numbers = ndim.wrapping_mul(2);
        let mut room = Room::new(numbers).ok_or_else(|| Room::out_of_memory(numbers))?;
        let (shape, strides) = room.zeroed_list().split_at_mut(ndim);
        for ((to_dim, to_stride), (dim, stride)) in shape.iter_mut().zip(&mut *strides).zip(axes) {
            (*to_dim, *to_stride) = (dim, stride);
        }
        let checked = source.checked.part(shape, strides, offset)?;
        let whole = match &source.owner {
            Owner::Producer(_) => source,
            Owner::Whole(whole) => &whole.node,
        };
        // All numbers are zero, or have been written.
        let view = Unowned { room, checked };
        Ok(view.owned_by(Owner::Whole(Whole::new(whole.clone())), source.synchronized))
    }

    /// Whether the memory has no other owner: another view, or its source.
    #[inline]
    pub(in crate::import) fn is_only_owner(&mut self) -> bool {
        match &mut self.owner {
            Owner::Producer(_) => true,
            Owner::Whole(whole) => whole.node.get_mut().is_some(),
        }
    }

    /// Reads a tensor that has no struct. `release` releases its owner, also if this returns an error.
    ///
    /// # Errors
    ///
    /// Those of `ImportedTensor::from_raw`.
    #[cfg(feature = "pyo3")]
    #[inline(always)]
    pub(in crate::import) fn read_unmanaged(
        tensor: &Unmanaged,
        release: GuardedRelease,
    ) -> Result<TryArc<Self>, Error> {
        /// The slow path. No argument is a reference to what `release` may free.
        #[cold]
        #[inline(never)]
        fn any(
            room: Option<Room>,
            tensor: &Unmanaged,
            release: GuardedRelease,
        ) -> Result<TryArc<Node>, Error> {
            let read = Unowned::any(room, tensor.tensor(), ImportPolicy::default());
            Ok(read?.owned(release))
        }
        match Unowned::fast(Some(tensor.tensor()), ImportPolicy::default()) {
            Ok(node) => Ok(node.owned(release)),
            Err(room) => match any(room, tensor, release) {
                // Moved, as above.
                Ok(node) => Ok(node),
                Err(error) => Err(error),
            },
        }
    }
}

/// A node without its release.
///
/// Invariant: all numbers of the list in `room` have been written.
struct Unowned {
    room: Room,
    checked: Metadata,
}

impl Unowned {
    /// The fast path, for nearly every tensor; `tensor` is `None` if the version is unsupported. An
    /// error does not mean that the tensor is invalid; it contains the memory for the node, if that has
    /// been allocated.
    #[inline(always)]
    fn fast(tensor: Option<RawTensor<'_>>, policy: ImportPolicy) -> Result<Self, Option<Room>> {
        let tensor = tensor.ok_or(None)?;
        let lists = tensor.some_lists().ok_or(None)?;
        let mut room = Room::new(lists.numbers()).ok_or(None)?;
        let Some((numel, reach)) = copy_lists(room.list(), lists) else { return Err(Some(room)) };
        // Not before: what is read before the allocator is called is saved to the stack.
        let claims = tensor.metadata();
        let allowed = lists.strides.is_some() || policy.allows_null_strides(claims.version);
        let place = Place::fast(&claims, numel, reach).filter(|place| {
            allowed && policy.check_nbytes(place.nbytes(claims.dtype, claims.flags)).is_ok()
        });
        match place {
            // `copy_lists` has written all numbers.
            Some(place) => Ok(Self { room, checked: Metadata::new(claims, policy, place) }),
            None => Err(Some(room)),
        }
    }

    /// The slow path, for every tensor, after the fast one. Inlined, into functions that are not: a
    /// result that is moved is copied by 16-byte loads, which wait for the stores before them
    /// (measured: 15 ns).
    #[inline(always)]
    fn any(room: Option<Room>, tensor: RawTensor<'_>, policy: ImportPolicy) -> Result<Self, Error> {
        let lists = tensor.lists()?;
        let room = match room {
            Some(room) if room.len() == lists.numbers() => Some(room),
            // The fast path found no memory.
            None if !lists.shape.is_empty() => None,
            _ => Room::new(lists.numbers()),
        };
        let mut room = room.ok_or_else(|| Room::out_of_memory(lists.numbers()))?;
        let claims = tensor.metadata();
        let allowed = lists.strides.is_some() || policy.allows_null_strides(claims.version);
        // Without dimensions only the lists are unusual.
        let scalar = || Place::fast(&claims, 1, ElementRange::of_contiguous(1));
        let place = if let Some(place) = lists.shape.is_empty().then(scalar).flatten() {
            place
        } else {
            let (shape, strides) = copy_any(room.zeroed_list(), lists);
            Place::exact(&claims, shape, strides, allowed)?
        };
        policy.check_nbytes(place.nbytes(claims.dtype, claims.flags))?;
        Ok(Self { room, checked: Metadata::new(claims, policy, place) })
    }

    /// Adds the release.
    #[inline(always)]
    fn owned(self, release: GuardedRelease) -> TryArc<Node> {
        self.owned_by(Owner::Producer(release), ConsumerPlace::DefaultStream)
    }

    /// Adds the owner, and the consumer with which it synchronized the memory.
    #[inline(always)]
    fn owned_by(self, owner: Owner, synchronized: ConsumerPlace) -> TryArc<Node> {
        let Self { room, checked } = self;
        let node = Node { checked, synchronized, owner };
        // SAFETY: 1. By the invariant.
        unsafe { room.finish(node) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;
    use crate::ffi::{DLManagedTensorVersioned, DLTensor};
    use crate::{device::Device, version::Version};

    #[test]
    fn a_view_takes_no_room_in_other_nodes() {
        assert_eq!(size_of::<Owner>(), size_of::<GuardedRelease>());
    }

    /// A producer may have changed the number of dimensions before the slow path reads it.
    #[test]
    fn memory_for_another_number_of_dimensions_is_not_used() {
        let (shape, strides, mut elements) = ([2, 3], [3, 1], [0_u8; 6]);
        let mut managed = DLManagedTensorVersioned {
            version: Version::CURRENT.to_ffi(),
            manager_ctx: core::ptr::null_mut(),
            deleter: None,
            flags: 0,
            dl_tensor: DLTensor {
                data: elements.as_mut_ptr().cast(),
                device: Device::CPU.to_ffi(),
                ndim: 2,
                dtype: DataType::U8.to_ffi(),
                shape: shape.as_ptr().cast_mut(),
                strides: strides.as_ptr().cast_mut(),
                byte_offset: 0,
            },
        };
        for ndim in [0, 1, 2, 3] {
            // SAFETY: 1. The struct is alive, and its deleter is NULL.
            let managed = unsafe { Managed::new(&raw mut managed) }.unwrap();
            let tensor = managed.tensor().unwrap();
            let node = Unowned::any(Room::new(2 * ndim), tensor, ImportPolicy::default()).unwrap();
            let node = node.owned(GuardedRelease::new(managed.release(), None));
            assert_eq!(node.list(), [2, 3, 3, 1]);
        }
    }
}
