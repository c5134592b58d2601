//! The legacy struct (before DLPack 1.0) inside of the versioned one:
//! [`RawManaged::into_legacy`].
//!
//! Both structs contain the same `DLTensor`: the versioned one at its end, the legacy one
//! at its beginning. So a versioned struct that is followed by the remaining fields of the
//! legacy struct contains a legacy struct. Every export makes versioned structs, and a
//! consumer of the legacy struct gets a pointer into one; no type needs a second export
//! path.
//!
//! Writing the legacy struct over the versioned one was measured too: it moves a freshly
//! written struct and takes 8 ns more.

use core::ffi::c_void;
use core::mem::offset_of;

use crate::error::Error;
use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use crate::flags::Flags;
use crate::managed::call_deleter::Deleter;
use crate::managed::{ManagedStruct, ManagedTensor, RawManaged};
use crate::version::Version;

/// The fields of the legacy struct after its `DLTensor`. A [`Slot`](crate::Slot) has room
/// for them.
#[repr(C)]
struct Fields {
    manager_ctx: *mut c_void,
    deleter: Option<Deleter<DLManagedTensor>>,
}

/// Offset of the legacy struct in the versioned one.
const START: usize = offset_of!(DLManagedTensorVersioned, dl_tensor);

/// A versioned struct, followed by the fields of the legacy one.
#[repr(C)]
struct VersionedAndLegacy {
    versioned: DLManagedTensorVersioned,
    fields: Fields,
}

const _: () = {
    let fields = offset_of!(VersionedAndLegacy, fields).wrapping_sub(START);
    assert!(offset_of!(DLManagedTensor, dl_tensor) == 0);
    assert!(fields == size_of::<DLTensor>());
    assert!(fields.wrapping_add(size_of::<Fields>()) == size_of::<DLManagedTensor>());
    assert!(offset_of!(Fields, manager_ctx) == 0);
    assert!(offset_of!(DLManagedTensor, manager_ctx) == fields);
    let deleter = fields.wrapping_add(offset_of!(Fields, deleter));
    assert!(offset_of!(DLManagedTensor, deleter) == deleter);
    assert!(offset_of!(VersionedAndLegacy, versioned) == 0);
    assert!(align_of::<DLManagedTensor>() <= align_of::<DLTensor>());
};

impl ManagedTensor {
    /// Converts the tensor to the legacy struct.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnlyLegacy`], [`Error::PaddedLegacy`] or [`Error::UnsupportedDType`]
    /// for a tensor that the legacy struct cannot express. The tensor is then released.
    #[inline]
    pub(crate) fn into_legacy(self) -> Result<ManagedTensor<DLManagedTensor>, Error> {
        let (access, synchronized) = (self.access(), self.synchronized());
        let managed = RawManaged::from(self).into_legacy()?.into_raw();
        // SAFETY: 1. and 2. Guaranteed by the handle, which was consumed. 3. It is the access
        // of the same loan. 4. The struct is not versioned. 5. Guaranteed by the handle.
        Ok(unsafe { ManagedTensor::from_raw(managed, access, synchronized) })
    }
}

impl RawManaged {
    /// [`ManagedTensor::into_legacy`].
    #[inline]
    pub(crate) fn into_legacy(self) -> Result<RawManaged<DLManagedTensor>, Error> {
        if let Some(error) = not_in_legacy(self.managed()) {
            return Err(error);
        }
        let both = self.into_raw().cast::<VersionedAndLegacy>();
        let fields = Fields { manager_ctx: both.as_ptr().cast(), deleter: Some(delete) };
        let place = both
            .as_ptr()
            .wrapping_byte_add(offset_of!(VersionedAndLegacy, fields))
            .cast::<Fields>();
        // SAFETY: by 4 of `ManagedTensor::from_raw` there is room for the fields after the
        // struct, and it belongs to the handle that was consumed.
        unsafe { place.write(fields) };
        // The `DLTensor` is inside of the struct, so its address does not saturate.
        let legacy = both.map_addr(|start| start.saturating_add(START)).cast::<DLManagedTensor>();
        // SAFETY: 1. By the assertions above it is a legacy struct, whose arrays are those
        // of the versioned one. 2. Its deleter calls the deleter of the versioned struct,
        // which any thread may call once. 4. It is not versioned.
        Ok(unsafe { RawManaged::from_raw(legacy) })
    }
}

/// Returns an error if the legacy struct cannot express the version or the flags of a
/// versioned one.
#[inline]
fn not_in_legacy(versioned: &DLManagedTensorVersioned) -> Option<Error> {
    let flags = Flags::from_bits(versioned.flags);
    if Version::from(versioned.version) != Version::CURRENT {
        // The legacy struct has no version field to state this.
        Some(Error::UnsupportedDType { dtype: versioned.dl_tensor.dtype.into() })
    } else if flags.contains(Flags::READ_ONLY) {
        Some(Error::ReadOnlyLegacy)
    } else if flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED) {
        Some(Error::PaddedLegacy)
    } else {
        None
    }
}

/// Calls the deleter of the versioned struct, which is unchanged.
///
/// Like the other deleters of this crate it finds that struct through `manager_ctx`.
///
/// # Safety
///
/// 1. `managed` points to a struct that [`into_legacy`](RawManaged::into_legacy) made, or to
///    a copy of one whose `manager_ctx` was not changed.
/// 2. This is the only call for that struct, and no one uses its memory any more.
unsafe extern "C" fn delete(managed: *mut DLManagedTensor) {
    // SAFETY: 1. By 1 it points to such a struct.
    let Some(versioned) = (unsafe { DLManagedTensor::read_ctx(managed) }) else { return };
    // SAFETY: 1., 2. and 4. By 1 it is the versioned struct, as its handle had it, and by 2
    // it is released now.
    drop(unsafe { RawManaged::from_raw(versioned.cast::<DLManagedTensorVersioned>()) });
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::sync::Arc;
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::describe::{Describe, Description, DescriptionMut};
    use crate::dtype::DataType;
    use crate::export::{AsExport, DLPackExport};
    use crate::export_arc::ExportArc;
    use crate::managed::Packet;
    use crate::storage::{DataMut, DataRef, SharedBuffer, Storage};
    use crate::stream_arg::StreamArg;

    /// An owner that counts its instances.
    struct Owner(Vec<f32>, #[expect(dead_code, reason = "it is counted")] Arc<()>);

    impl Storage for Owner {
        fn data(&self) -> DataRef<'_> {
            self.0.data()
        }

        fn data_mut(&mut self) -> DataMut<'_> {
            self.0.data_mut()
        }
    }

    impl DLPackExport for Owner {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[2]).data(self.data())
        }

        fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
            out.shape(&[2]).data_mut(self.data_mut())
        }
    }

    fn exported(alive: &Arc<()>, flags: Flags) -> RawManaged {
        let owner = Owner(vec![1.0, 2.0], Arc::clone(alive));
        let packet = Packet::place(owner).expect("memory");
        let exported = packet.lend(AsExport, StreamArg::unspecified(), flags);
        exported.expect("a tensor").into()
    }

    #[test]
    fn the_legacy_struct_owns_what_the_versioned_one_did() {
        let alive = Arc::new(());
        let legacy = exported(&alive, Flags::IS_COPIED).into_legacy().expect("legacy");
        let mut copy = *legacy.managed();
        assert_eq!((DataType::from(copy.dl_tensor.dtype), copy.dl_tensor.ndim), (DataType::F32, 1));
        // SAFETY: there is one dimension.
        assert_eq!(unsafe { copy.dl_tensor.shape.read() }, 2);
        // SAFETY: there are two elements.
        let elements = unsafe { copy.dl_tensor.data.cast::<[f32; 2]>().read() };
        assert_eq!(elements.map(f32::to_bits), [1.0_f32, 2.0].map(f32::to_bits));
        assert_eq!(Arc::strong_count(&alive), 2);
        let _ = legacy.into_raw();
        let deleter = copy.deleter.expect("a deleter");
        // SAFETY: 1. The argument is a copy of the struct. 2. It is the only call.
        unsafe { deleter(&raw mut copy) };
        assert_eq!(Arc::strong_count(&alive), 1);
        drop(exported(&alive, Flags::NONE).into_legacy());
        assert_eq!(Arc::strong_count(&alive), 1);
        assert_eq!(format!("{:?}", exported(&alive, Flags::NONE)), "RawManaged");
    }

    /// The slot of an `ExportArc` has room for the legacy fields too, for one consumer after
    /// another.
    #[test]
    fn a_block_has_room_for_it_too() {
        struct Numbers(SharedBuffer<f32>, #[expect(dead_code, reason = "counted")] Arc<()>);
        impl DLPackExport for Numbers {
            fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
                out.shape(&[2]).data(self.0.data())
            }
        }
        let alive = Arc::new(());
        let numbers = Numbers(SharedBuffer::zeroed(2).expect("memory"), Arc::clone(&alive));
        let shared = ExportArc::new(numbers).expect("memory");
        for _ in 0..2 {
            let lent = RawManaged::from(shared.to_dlpack().expect("a tensor"));
            let legacy = lent.into_legacy().expect("writable").into_raw();
            // SAFETY: the struct is ours until the deleter is called.
            let mut copy = unsafe { legacy.read() };
            // SAFETY: as above; a consumer may write anything to it.
            unsafe { legacy.cast::<u8>().write_bytes(0xAA, size_of::<DLManagedTensor>()) };
            assert!(shared.clone().try_into_inner().is_err());
            let deleter = copy.deleter.expect("a deleter");
            // SAFETY: 1. The argument is a copy of the struct. 2. It is the only call.
            unsafe { deleter(&raw mut copy) };
            assert_eq!(Arc::strong_count(&alive), 2);
        }
        let last = RawManaged::from(shared.to_dlpack().expect("a tensor"));
        drop(shared);
        assert!(last.into_legacy().is_ok());
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn what_it_cannot_say_is_refused() {
        let alive = Arc::new(());
        for (flags, error) in [
            (Flags::READ_ONLY, Error::ReadOnlyLegacy),
            (Flags::IS_SUBBYTE_TYPE_PADDED, Error::PaddedLegacy),
        ] {
            assert_eq!(exported(&alive, flags).into_legacy().err(), Some(error));
            assert_eq!(Arc::strong_count(&alive), 1);
        }
    }
}
