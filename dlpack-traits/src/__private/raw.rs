//! Memory behind a raw pointer in a struct: `#[dlpack(unsafe(ptr, ...))]`.

use core::ptr::NonNull;

use super::{
    Converted, ConvertsInto, DataType, Describe, Description, Device, Dim, Error, Layout, Option,
    Result, SharedByClone, SharedOwner, StreamArg, Synchronize,
};
use crate::element::{AnyBits, Element};
use crate::storage::{DataRef, Storage};

/// The storage type of a struct without a storage, whose memory is behind a pointer.
#[derive(Debug)]
pub enum NoStorage {}

impl Storage for NoStorage {
    fn data(&self) -> DataRef<'_> {
        match *self {}
    }
}

/// A field that can be marked `#[dlpack(unsafe(ptr, ...))]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a raw pointer to elements",
    label = "not a raw pointer to a DLPack element type",
    note = "use `*const T`, `*mut T` or `NonNull<T>` with an element type; for untyped memory `*const u8`, and a field with the role `dtype`"
)]
pub trait RawPointer: Copy {
    /// The type of the elements behind the pointer.
    type Element: Element;

    /// Returns the address.
    fn address(self) -> *const Self::Element;
}

#[diagnostic::do_not_recommend]
impl<T: Element> RawPointer for *const T {
    type Element = T;

    #[inline]
    fn address(self) -> *const T {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<T: Element> RawPointer for *mut T {
    type Element = T;

    #[inline]
    fn address(self) -> *const T {
        self.cast_const()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Element> RawPointer for NonNull<T> {
    type Element = T;

    #[inline]
    fn address(self) -> *const T {
        self.as_ptr().cast_const()
    }
}

/// The memory behind a pointer, which may be NULL or wrong: only [`raw`] lends it.
#[derive(Clone, Copy, Debug)]
pub struct Pointed {
    address: *const u8,
    bytes: usize,
    dtype: DataType,
    axes: &'static [i64],
    device: Device,
    /// Whether consumers and other owners may write.
    writable: bool,
}

// SAFETY: it is plain data; lending the memory is unsafe.
unsafe impl Send for Pointed {}

/// Returns the memory behind a pointer. `BYTES` says whether `len` counts bytes or elements.
#[inline]
pub fn pointed<P: RawPointer, I: Dim, const BYTES: bool>(
    pointer: P,
    len: I,
    device: impl Converted<Device>,
) -> Result<Pointed, Error> {
    let device = device.converted()?;
    let size = if BYTES { 1 } else { size_of::<P::Element>() };
    let len = len.to_i64().and_then(|len| usize::try_from(len).ok());
    let bytes = len.and_then(|len| len.checked_mul(size));
    let Some(bytes) = bytes.filter(|bytes| isize::try_from(*bytes).is_ok()) else {
        return Err(Error::SizeOverflow);
    };
    let address = pointer.address();
    if address.is_null() && bytes != 0 {
        return Err(Error::Custom("the pointer to the elements is NULL"));
    }
    let (dtype, axes) = (P::Element::DTYPE, P::Element::AXES);
    Ok(Pointed { address: address.cast(), bytes, dtype, axes, device, writable: false })
}

/// Returns the memory behind a pointer that consumers may write: `unsafe(mut ptr, ...)`.
#[inline]
pub fn pointed_mut<P: RawPointer<Element: AnyBits>, I: Dim, const BYTES: bool>(
    pointer: P,
    len: I,
    device: impl Converted<Device>,
) -> Result<Pointed, Error> {
    let memory = pointed::<P, I, BYTES>(pointer, len, device)?;
    Ok(Pointed { writable: true, ..memory })
}

/// Lends the memory, as READ_ONLY unless it is from [`pointed_mut`].
///
/// # Safety
///
/// For as long as the loan lives:
/// 1. the address is the first of the initialized bytes of one allocation on the device, aligned for
///    their type, or there are none;
/// 2. no one writes to them. From `pointed_mut` instead: they may be read and written through the
///    pointer, any pattern of bits in them is acceptable to their owner, and Rust code accesses them
///    in ways that do not race with byte-wise relaxed atomic accesses: byte-wise atomically, or not
///    at the same time. No other Rust reference to them is in use;
/// 3. no work that writes them is pending except work that a field with the role `sync` waits for;
///    on another device than the CPU, the code that frees them waits for all work of the device
///    first: a consumer may call the deleter while its kernels still run.
#[inline]
pub unsafe fn raw<'a>(pointed: Result<Pointed, Error>) -> Result<DataRef<'a>, Error> {
    let Pointed { address, bytes, dtype, axes, device, writable } = pointed?;
    let data = if writable {
        // SAFETY: 1. and 2. By our caller's 1 and 2, with a length that was checked to fit.
        // 3. By our caller's 2.
        unsafe { DataRef::from_raw_parts_shared(address.cast_mut(), bytes, dtype, device) }
    } else {
        // SAFETY: 1. and 2. By our caller's 1, with a length that was checked to fit. 3. By our
        // caller's 2.
        unsafe { DataRef::from_raw_parts(address, bytes, dtype, device) }
    };
    let data = data.with_axes(axes);
    if device == Device::CPU {
        return Ok(data);
    }
    // SAFETY: 1. By our caller's 3 no work is pending. 2. By our caller's 3 the memory outlives all
    // work of consumers.
    Ok(unsafe { data.synchronized_by(&IDLE) })
}

impl Pointed {
    /// Whether the memory begins at that pointer.
    pub fn is_at<P: RawPointer>(&self, pointer: P) -> bool {
        pointer.address().cast() == self.address
    }
}

/// [`DLPackExport::share`](super::DLPackExport::share) of an owner with the attribute `shared`. `None`
/// if the clone is seen not to own the same memory.
///
/// # Safety
///
/// 1. Those of [`raw`] hold for as long as the clone lives, wherever it is.
#[inline]
pub unsafe fn share_raw<O: SharedByClone>(
    owner: &O,
    pointed: Result<Pointed, Error>,
    is_same: impl FnOnce(&O, &Pointed) -> bool,
) -> Option<SharedOwner> {
    let (owner, pointed) = (owner.another(), pointed.ok()?);
    if is_same(&owner, &pointed) {
        SharedOwner::new(SharedRaw { pointed, _owner: owner })
    } else {
        None
    }
}

/// A clone of the owner of memory behind a pointer.
struct SharedRaw<O> {
    pointed: Pointed,
    /// It keeps the memory alive.
    _owner: O,
}

impl<O> Storage for SharedRaw<O> {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        // SAFETY: 1, 2 and 3. By 1 of `share_raw`, because the clone lives.
        let data = unsafe { raw(Ok(self.pointed)) };
        data.unwrap_or(DataRef::refused(&Error::NotShareable))
    }
}

/// Synchronization for memory on which no work is pending, and which is freed after all
/// work of its device: a consumer may use it on any stream of the device without waiting.
struct Idle;

static IDLE: Idle = Idle;

impl Synchronize for Idle {
    fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// Returns the device in a field.
#[inline]
pub fn raw_device<T: ConvertsInto<Device>>(device: &T) -> Result<Device, Error> {
    device.value()
}

/// [`DLPackExport::describe`](super::DLPackExport::describe).
#[inline]
pub fn raw_data<'a>(
    out: Describe<'a>,
    layout: Layout<'a>,
    data: Result<DataRef<'a>, Error>,
) -> Result<Description<'a>, Error> {
    match data {
        Ok(data) => out.layout(layout).data(data),
        Err(error) => Err(error),
    }
}
