//! Tensors that are opaque handles to Rust: all metadata is read from the C++ library
//! behind them. The trait is implemented by hand. All promises about the memory are in
//! one place, where the storage lends it.

use core::ffi::c_void;
use core::ptr::NonNull;

use dlpack_tests::counted::{Drops, Ticket};
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{
    DLPackExport, DataRef, DataType, Describe, Description, Device, Error, Flags, Storage,
    StreamArg, Synchronize, ffi,
};

use super::consumer::Expected;

/// A stand-in for a C++ library.
mod library {
    use core::ptr::NonNull;

    use dlpack_tests::counted::Ticket;

    /// The private state of the library.
    pub(super) struct Hidden {
        elements: Vec<i64>,
        sizes: Vec<i64>,
        _drop: Ticket,
    }

    pub(super) fn create(elements: &[i64], sizes: &[i64], drop: Ticket) -> NonNull<Hidden> {
        let (elements, sizes) = (elements.to_vec(), sizes.to_vec());
        NonNull::from(Box::leak(Box::new(Hidden { elements, sizes, _drop: drop })))
    }

    /// # Safety
    ///
    /// 1. The handle is alive.
    pub(super) unsafe fn elements(handle: NonNull<Hidden>) -> (*const i64, usize) {
        // SAFETY: by 1; no one writes to the handle.
        let hidden = unsafe { handle.as_ref() };
        (hidden.elements.as_ptr(), hidden.elements.len())
    }

    /// # Safety
    ///
    /// 1. The handle is alive, and stays so for `'a`.
    pub(super) unsafe fn sizes<'a>(handle: NonNull<Hidden>) -> &'a [i64] {
        // SAFETY: by 1; no one writes to the handle.
        unsafe { &handle.as_ref().sizes }
    }

    /// # Safety
    ///
    /// 1. The handle is alive, and is not used again.
    pub(super) unsafe fn free(handle: NonNull<Hidden>) {
        // SAFETY: by 1, and `create` made it of a box.
        drop(unsafe { Box::from_raw(handle.as_ptr()) });
    }
}

/// The one place that depends on how the library stores its tensors.
struct Handle(NonNull<library::Hidden>);

// SAFETY: the library can be called from any thread.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is alive until here.
        unsafe { library::free(self.0) }
    }
}

impl Storage for Handle {
    fn data(&self) -> DataRef<'_> {
        // SAFETY: the handle is alive while it is borrowed.
        let (first, len) = unsafe { library::elements(self.0) };
        // SAFETY: the library guarantees that these are `len` elements that live as long
        // as the handle, and that it does not write to them.
        unsafe {
            DataRef::from_raw_parts(
                first.cast(),
                len.saturating_mul(size_of::<i64>()),
                DataType::I64,
                Device::CPU,
            )
        }
    }
}

struct Wrapped(Handle);

impl DLPackExport for Wrapped {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        // SAFETY: the handle is alive while it is borrowed.
        let sizes = unsafe { library::sizes(self.0.0) };
        out.shape(sizes).data(self.0.data())
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.0)
    }
}

#[test]
fn metadata_is_read_from_the_library() {
    let drops = Drops::new();
    let wrap =
        |sizes: &[i64]| Wrapped(Handle(library::create(&[1, 2, 3, 4], sizes, drops.ticket())));
    let expected = Expected {
        shape: &[2, 2],
        strides: &[2, 1],
        flags: Flags::READ_ONLY,
        elements: &[1_i64, 2, 3, 4],
    };
    expected.assert_moved(wrap(&[2, 2]), &drops);
    // A library with a bug is an error too.
    let error = wrap(&[5]).into_dlpack().unwrap_err();
    assert_eq!(error, Error::OutOfBounds { start: 0, end: 40, len: 32 });
    assert_eq!(drops.count(), 2);
}

/// A buffer of a graphics interface: it has no address that a program could use, and
/// other code may close it.
struct Surface {
    object: Option<NonNull<c_void>>,
    byte_len: usize,
    _drop: Ticket,
}

// SAFETY: only the driver dereferences the object; for other code it is a number.
unsafe impl Send for Surface {}

const VULKAN: Device = Device::new(ffi::kDLVulkan, 1);

impl Storage for Surface {
    fn data(&self) -> DataRef<'_> {
        let Some(object) = self.object else {
            return DataRef::refused(&Error::Custom("the surface is closed"));
        };
        // SAFETY: the object is alive until it is closed, which takes `&mut`,
        // and its bytes hold whatever numbers are in them.
        let data = unsafe {
            DataRef::from_raw_parts(object.as_ptr().cast(), self.byte_len, DataType::U8, VULKAN)
        };
        // SAFETY: 1. and 2. No device of this program has the object.
        unsafe { data.synchronized_by(&Idle) }
    }
}

/// Nothing is pending, and nothing will be.
struct Idle;

impl Synchronize for Idle {
    fn sync_for(&self, _consumer: StreamArg<'_>) -> Result<(), Error> {
        Ok(())
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, dtype = F16)]
struct Texels {
    data: Surface,
    shape: [u32; 2],
    #[dlpack(offset(bytes))]
    first: u64,
}

fn texels(shape: [u32; 2], drops: &Drops) -> Texels {
    let object = Some(NonNull::dangling());
    Texels { data: Surface { object, byte_len: 64, _drop: drops.ticket() }, shape, first: 16 }
}

/// The handle stays as it is, and the offset beside it.
#[test]
fn a_handle_without_an_address() {
    let drops = Drops::new();
    let foreign = ImportedStorage::from(texels([4, 6], &drops).into_dlpack().unwrap());
    let tensor = foreign.tensor();
    assert_eq!(Device::from(tensor.device), VULKAN);
    assert_eq!(DataType::from(tensor.dtype), DataType::F16);
    assert_eq!((tensor.data, tensor.byte_offset), (NonNull::dangling().as_ptr(), 16));
    assert_eq!((foreign.shape(), foreign.strides()), (vec![4, 6], vec![6, 1]));
    assert!(!foreign.is_writable());
    foreign.delete_elsewhere(Farewell::Narrow);
    assert_eq!(drops.count(), 1);
    let error = texels([4, 7], &drops).into_dlpack().unwrap_err();
    assert_eq!(error, Error::OutOfBounds { start: 16, end: 72, len: 64 });
}

#[test]
fn a_closed_tensor_is_an_error() {
    let drops = Drops::new();
    let mut texels = texels([4, 6], &drops);
    texels.data.object = None;
    assert_eq!(texels.into_dlpack().unwrap_err(), Error::Custom("the surface is closed"));
    assert_eq!(drops.count(), 1);
}
