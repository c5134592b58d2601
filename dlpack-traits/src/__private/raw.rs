//! Memory behind a raw pointer in a struct: `#[dlpack(unsafe(ptr, ...))]`.

use core::ptr::NonNull;

use super::{
    Converted, Describe, Description, Device, DeviceField, Dim, Error, Layout, Result, StreamArg,
    Synchronize,
};
use crate::element::Element;
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

/// Lends the memory behind a pointer as READ_ONLY, also for a `*mut`, which does not
/// promise that no other code reads or writes.
///
/// `BYTES` says whether `len` counts bytes or elements.
///
/// # Safety
///
/// For as long as the loan lives:
/// 1. `pointer.address()` is the first of `len` initialized elements (or bytes) of one
///    allocation on `device`, aligned, or `len` is 0;
/// 2. no one writes to them, and no work that does is pending except work that a field with
///    the role `sync` waits for;
/// 3. on another device than the CPU, the code that frees them waits for all work of the
///    device first: a consumer may call the deleter while its kernels still run.
#[inline]
pub unsafe fn raw<P: RawPointer, I: Dim, const BYTES: bool>(
    pointer: &P,
    len: I,
    device: impl Converted<Device>,
) -> Result<DataRef<'_>, Error> {
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
    let dtype = P::Element::DTYPE;
    // SAFETY: 1. and 2. By our caller's 1, with a length that was checked to fit. 3. By our
    // caller's 2.
    let data = unsafe { DataRef::from_raw_parts(address.cast(), bytes, dtype, device) };
    let data = data.with_axes(P::Element::AXES);
    if device == Device::CPU {
        return Ok(data);
    }
    // SAFETY: 1. By our caller's 2 no work is pending. 2. By our caller's 3 the memory
    // outlives all work of consumers.
    Ok(unsafe { data.synchronized_by(&IDLE) })
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
pub fn raw_device<T: DeviceField>(device: &T) -> Result<Device, Error> {
    device.device()
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
