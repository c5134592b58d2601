//! Lent memory, without its lifetime ([`Memory`]), its bytes ([`Window`]), and how they may be accessed
//! ([`Access`]).

use core::mem::MaybeUninit;
use core::num::NonZeroUsize;
use core::panic::RefUnwindSafe;
use core::ptr::NonNull;

use crate::byte_atomic;
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi;
use crate::storage::synchronize::{SyncBy, Synchronizer};
use crate::stream_arg::ConsumerPlace;

/// The bytes that a storage lends. Offsets of a description count from the first of them, on
/// every device, and no element is outside of them.
///
/// The C struct of memory behind a handle has the offset of the window and that of the
/// description in one number, so no description reaches the bytes of the object below the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// The address of the first byte, or the handle of the object with the bytes.
    pub(crate) data: *mut u8,
    /// Bytes from the handle to the first byte; `None` if `data` is an address.
    pub(crate) in_object: Option<InObject>,
    /// Length in bytes. Offset and length together are at most `isize::MAX`.
    pub(crate) byte_len: usize,
}

/// Bytes from the handle of an object, in the size of a `usize` also as an `Option`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InObject(NonZeroUsize);

impl InObject {
    /// An offset of at most `isize::MAX`.
    pub(crate) const fn new(bytes: usize) -> Self {
        Self(NonZeroUsize::MIN.saturating_add(bytes))
    }

    pub(crate) const fn bytes(self) -> usize {
        self.0.get().wrapping_sub(1)
    }
}

impl Window {
    /// Bytes at an address.
    #[inline(always)]
    pub(crate) const fn at(data: *mut u8, byte_len: usize) -> Self {
        Self { data, in_object: None, byte_len }
    }

    /// All bytes of an allocation, or of an object if the device has no addresses.
    #[inline(always)]
    pub(crate) const fn whole(data: *mut u8, byte_len: usize, device: Device) -> Self {
        let in_object = if device.has_addresses() { None } else { Some(InObject::new(0)) };
        Self { data, in_object, byte_len }
    }
}

/// The provenance of memory that another library made and that is exported again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForeignInfo {
    /// The least number of minor versions by which the type of its elements is newer than
    /// this crate; 0 for a type that this crate defines.
    pub(crate) later: u8,
    /// The consumer that its producer synchronized it with.
    pub(crate) synchronized: ConsumerPlace,
}

/// The layout of lent elements that are not contiguous in row-major order.
///
/// A description without strides, offset and length uses it, because it would otherwise name
/// the elements in the order in which they lie in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strided<'a> {
    /// The shape, without the axes of each element.
    pub(crate) shape: &'a [i64],
    /// The strides of these dimensions, in `dtype`s.
    pub(crate) strides: &'a [i64],
    /// Bytes from the start of the window to the first element.
    pub(crate) byte_offset: usize,
    /// The type of the elements.
    pub(crate) dtype: DataType,
}

/// A storage whose elements can have strides.
///
/// A loan refers to the storage, and asks for the strides only if a description has none:
/// to look at them at the import costs each import 15 ns.
pub(crate) trait OwnLayout: RefUnwindSafe {
    /// The layout of the elements, if they are not contiguous in row-major order from the
    /// first byte on.
    fn strided(&self) -> Option<Strided<'_>>;
}

/// Lent memory, without its lifetime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// The bytes.
    pub(crate) window: Window,
    /// Type of the elements, or of the innermost parts of elements with axes.
    pub(crate) dtype: DataType,
    /// The axes of each element; empty for most types.
    pub(crate) axes: &'static [i64],
    /// The device of the memory.
    pub(crate) device: Device,
    /// The access that the loan permits.
    pub(crate) access: Access,
    /// Whether elements narrower than a byte are padded to one byte each.
    pub(crate) padded: bool,
    /// `Some` if another library made the memory, and so guarantees the layout and the type
    /// of its elements.
    pub(crate) foreign: Option<ForeignInfo>,
    /// The reason why there is no memory; `None` if there is memory.
    refusal: Option<&'static Error>,
    /// Synchronizes the memory with a consumer. Host memory needs no synchronization.
    pub(super) sync: Option<SyncBy>,
}

impl Memory {
    /// The memory of an import, part by part, with what is known of it: the type, that another
    /// library made it, and that there is memory.
    #[inline(always)]
    pub(super) fn known_import(self, dtype: DataType) -> Self {
        debug_assert!(self.refusal.is_none() && self.foreign.is_some() && self.dtype == dtype);
        let Self { window, axes, device, access, padded, foreign, sync, .. } = self;
        let synchronized = ConsumerPlace::DefaultStream;
        let foreign = Some(foreign.unwrap_or(ForeignInfo { later: 0, synchronized }));
        let refusal = None;
        Self { window, dtype, axes, device, access, padded, foreign, refusal, sync }
    }

    /// Memory whose elements have no axes.
    pub(super) const fn new(
        window: Window,
        dtype: DataType,
        device: Device,
        access: Access,
    ) -> Self {
        Self {
            window,
            dtype,
            axes: &[],
            device,
            access,
            padded: false,
            foreign: None,
            refusal: None,
            sync: None,
        }
    }

    /// Returns a copy in memory of its own: a call that takes the address of the copy
    /// leaves the original in registers.
    #[inline(always)]
    pub(crate) fn copied(&self) -> Self {
        *self
    }

    /// The value of a storage without memory.
    pub(super) const fn refused(reason: &'static Error) -> Self {
        let nowhere = Window::at(NonNull::dangling().as_ptr(), 0);
        let memory = Self::new(nowhere, DataType::U8, Device::CPU, Access::Frozen);
        Self { refusal: Some(reason), ..memory }
    }

    /// Returns the reason why there is no memory, if there is none.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.refusal {
            None => Ok(()),
            Some(reason) => Err(*reason),
        }
    }

    /// The same bytes as elements of another type; a description checks that type against
    /// their number and address. `None` if these elements are not bytes.
    pub(super) fn with_dtype(self, dtype: DataType) -> Option<Self> {
        // Bytes can be read as numbers of any type, but not as handles.
        let handle = dtype.code() == ffi::kDLOpaqueHandle;
        let bytes = self.dtype == DataType::U8 && self.axes.is_empty() && !handle;
        if self.refusal.is_some() || dtype == self.dtype {
            Some(self)
        } else if bytes {
            // The producer of bytes does not guarantee that they are valid as another type.
            Some(Self { dtype, foreign: None, ..self })
        } else {
            None
        }
    }

    /// The bytes from an offset on, as elements of another type without axes; `None` if these are not
    /// bytes at an address. There are none behind the end.
    pub(super) fn part_of_bytes(self, offset: usize, dtype: DataType) -> Option<Self> {
        let Window { data, in_object, byte_len } = self.window;
        let is_handle = dtype.code() == ffi::kDLOpaqueHandle;
        let is_bytes = self.dtype == DataType::U8 && in_object.is_none() && !is_handle;
        if self.refusal.is_some() || !is_bytes {
            return None;
        }
        let offset = offset.min(byte_len);
        let window = Window::at(data.wrapping_add(offset), byte_len.wrapping_sub(offset));
        Some(Self { window, dtype, axes: &[], foreign: None, ..self })
    }

    /// Whether another library guarantees that the elements are of this type.
    #[inline]
    pub(crate) fn vouches_for(&self, dtype: DataType) -> bool {
        self.foreign.is_some() && self.dtype == dtype
    }

    /// Whether the common case applies: there is memory, at an address.
    #[inline(always)]
    pub(crate) fn is_common(&self) -> bool {
        self.refusal.is_none() && self.window.in_object.is_none()
    }

    /// Size in bytes of one element with its axes; `None` if elements are packed.
    #[inline]
    pub(crate) fn element_size(&self) -> Option<usize> {
        let size = self.dtype.byte_size()?;
        // The size of a Rust type fits.
        self.axes.iter().try_fold(size, |size, &dim| size.checked_mul(usize::try_from(dim).ok()?))
    }

    /// Whether this is host memory that needs no synchronization.
    #[inline(always)]
    pub(crate) const fn is_idle_host(&self) -> bool {
        self.sync.is_none() && self.device.is_host()
    }

    /// Returns the synchronization of pending work on the memory with a consumer.
    #[inline(always)]
    pub(crate) const fn synchronizer(&self) -> Synchronizer {
        Synchronizer::new(self.sync, self.device)
    }
}

/// The access that a loan of memory permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    // The read-only ones first, so that one comparison finds them.
    /// No one writes: the loan was made from `&[T]`.
    Frozen,
    /// No one may write through the loan, but other owners may write meanwhile.
    SharedReadOnly,
    /// As `SharedReadOnly`, for foreign memory, which might be mapped read-only or lent
    /// from a `&[T]`.
    ForeignReadOnly,
    /// Every owner may write: no Rust reference to the elements ever exists.
    Shared,
    /// Only the borrower may read and write: the loan was made from `&mut [T]`.
    Exclusive,
}

impl Access {
    /// Whether an export must set READ_ONLY.
    #[inline]
    pub(crate) const fn is_read_only(self) -> bool {
        matches!(self, Access::Frozen | Access::SharedReadOnly | Access::ForeignReadOnly)
    }

    /// Whether other owners may write, so that Rust must read byte-wise atomically.
    ///
    /// Under Miri, foreign memory that may be lent from a `&[T]` is read by ordinary loads:
    /// Stacked Borrows rejects a reference to an atomic that was made from a `&[T]`, and the
    /// stable library has no atomic load without such a reference. A test must therefore not
    /// write this memory meanwhile.
    #[inline(always)]
    pub(crate) const fn is_read_atomically(self) -> bool {
        match self {
            Access::Frozen | Access::Exclusive => false,
            Access::Shared | Access::SharedReadOnly => true,
            Access::ForeignReadOnly => !cfg!(miri),
        }
    }

    /// Copies `len` bytes of lent memory to private memory, byte-wise atomically if other
    /// owners may write.
    ///
    /// # Safety
    ///
    /// 1. During the call, `from` is the first of `len` initialized bytes that are lent
    ///    with this access.
    /// 2. `to` is the first of `len` bytes that may be written, and that no one else
    ///    accesses during the call.
    #[inline]
    pub(crate) unsafe fn copy(self, from: *const u8, to: *mut u8, len: usize) {
        if !self.is_read_atomically() {
            // SAFETY: by 1 `from` may be read, and no one writes, or only this borrower; by 2
            // `to` may be written, and overlaps nothing.
            return unsafe { from.copy_to_nonoverlapping(to, len) };
        }
        // SAFETY: 1. Guaranteed by our caller's 1; memory that is read atomically under Miri
        // may be written. 2. Guaranteed by the obligations of a shared loan. 3. Guaranteed by
        // our caller's 2.
        unsafe { byte_atomic::copy_from_shared(from, to, len) };
    }

    /// Reads a value from lent memory, as [`copy`](Self::copy) does.
    ///
    /// # Safety
    ///
    /// 1. As 1 of [`copy`](Self::copy), with the size of `T` as `len`.
    #[inline(always)]
    pub(crate) unsafe fn load<T: Copy>(self, from: *const u8) -> MaybeUninit<T> {
        if !self.is_read_atomically() {
            // SAFETY: by 1 the bytes may be read, and no one writes, or only this borrower.
            // Any bytes are a valid `MaybeUninit`.
            return unsafe { from.cast::<MaybeUninit<T>>().read_unaligned() };
        }
        // SAFETY: 1. Guaranteed by our caller's 1; memory that is read atomically under Miri
        // may be written. 2. Guaranteed by the obligations of a shared loan.
        unsafe { byte_atomic::load(from) }
    }
}
