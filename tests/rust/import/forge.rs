//! Structs as a foreign producer writes them, valid and invalid: [`Forged`].

use core::ffi::c_void;
use core::ptr;

use dlpack_tests::counted::{Drops, Ticket};
use dlpack_tests::foreign::CStruct;
use tensors::ffi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
};
use tensors::{
    Abi, DataType, Device, Error, Exclusive, Flags, ImportedTensor, ManagedTensor, Version,
};

/// The metadata of a struct. The elements live in memory of its own.
#[derive(Clone, Debug)]
pub(crate) struct Forged {
    pub(crate) version: Version,
    pub(crate) flags: Flags,
    /// The value of `ndim`, where it differs from the length of `shape`.
    pub(crate) ndim: Option<i32>,
    pub(crate) shape: Option<Vec<i64>>,
    pub(crate) strides: Option<Vec<i64>>,
    /// The memory.
    pub(crate) bytes: Vec<u8>,
    /// Where `data` points to, counted from the start of the memory; NULL for none.
    pub(crate) data: Option<usize>,
    /// The value of `data`, where it is not readable memory.
    pub(crate) address: Option<usize>,
    pub(crate) byte_offset: u64,
    pub(crate) dtype: DataType,
    pub(crate) device: Device,
    pub(crate) deleter: bool,
}

/// A sound row-major tensor of those numbers.
pub(crate) fn forged(shape: &[i64], numbers: &[i32]) -> Forged {
    Forged {
        version: Version::CURRENT,
        flags: Flags::NONE,
        ndim: None,
        shape: Some(shape.to_vec()),
        strides: None,
        bytes: numbers.iter().flat_map(|number| number.to_ne_bytes()).collect(),
        data: Some(0),
        address: None,
        byte_offset: 0,
        dtype: DataType::I32,
        device: Device::CPU,
        deleter: true,
    }
}

/// The memory that the deleter frees.
#[repr(C)]
struct Context<M> {
    managed: M,
    memory: Vec<u64>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    ticket: Ticket,
}

/// A struct of either ABI that can be forged.
pub(crate) trait Forge: CStruct {
    const VERSIONED: bool;
    fn make(forged: &Forged, tensor: DLTensor, manager_ctx: *mut c_void) -> Self;
    fn manager_ctx(self) -> *mut c_void;
}

impl Forge for DLManagedTensorVersioned {
    const VERSIONED: bool = true;

    fn make(forged: &Forged, dl_tensor: DLTensor, manager_ctx: *mut c_void) -> Self {
        Self {
            version: forged.version.to_ffi(),
            manager_ctx,
            deleter: forged.deleter.then_some(delete::<Self>),
            flags: forged.flags.bits(),
            dl_tensor,
        }
    }

    fn manager_ctx(self) -> *mut c_void {
        self.manager_ctx
    }
}

impl Forge for DLManagedTensor {
    const VERSIONED: bool = false;

    fn make(forged: &Forged, dl_tensor: DLTensor, manager_ctx: *mut c_void) -> Self {
        Self { dl_tensor, manager_ctx, deleter: forged.deleter.then_some(delete::<Self>) }
    }

    fn manager_ctx(self) -> *mut c_void {
        self.manager_ctx
    }
}

/// Frees the context, and aborts if its argument is not the producer's own pointer.
unsafe extern "C" fn delete<M: Forge>(managed: *mut M) {
    // SAFETY: a consumer passes the struct, alive.
    let context = unsafe { managed.read() }.manager_ctx().cast::<Context<M>>();
    assert!(ptr::eq(managed, context.cast()), "the deleter was given a copy");
    // SAFETY: `raw` boxed it, and this is its end.
    drop(unsafe { Box::from_raw(context) });
}

impl Forged {
    pub(crate) fn strided(self, strides: &[i64], byte_offset: u64) -> Self {
        Self { strides: Some(strides.to_vec()), byte_offset, ..self }
    }

    /// The struct on the heap, as a producer hands it out.
    pub(crate) fn raw<M: Forge>(&self, drops: &Drops) -> *mut M {
        let mut memory = vec![0_u64; self.bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut memory)[..self.bytes.len()].copy_from_slice(&self.bytes);
        let mut shape = self.shape.clone().unwrap_or_default();
        let mut strides = self.strides.clone().unwrap_or_default();
        let data = memory.as_mut_ptr().cast::<u8>();
        let data = self.data.map_or(ptr::null_mut(), |skip| data.wrapping_add(skip));
        let data = self.address.map_or(data, ptr::without_provenance_mut);
        let tensor = DLTensor {
            data: data.cast(),
            device: DLDevice::from(self.device),
            ndim: self.ndim.unwrap_or_else(|| i32::try_from(shape.len()).unwrap()),
            dtype: DLDataType::from(self.dtype),
            shape: self.shape.as_ref().map_or(ptr::null_mut(), |_| shape.as_mut_ptr()),
            strides: self.strides.as_ref().map_or(ptr::null_mut(), |_| strides.as_mut_ptr()),
            byte_offset: self.byte_offset,
        };
        let managed = M::make(self, tensor, ptr::null_mut());
        let ticket = drops.ticket();
        let context = Box::into_raw(Box::new(Context { managed, memory, shape, strides, ticket }));
        // SAFETY: the box is alive, and begins with the struct.
        unsafe { context.cast::<M>().write(M::make(self, tensor, context.cast())) };
        context.cast()
    }

    /// Takes it. The pointer is for [`free`].
    pub(crate) fn import<M: Forge>(
        &self,
        drops: &Drops,
    ) -> (*mut M, Result<ImportedTensor, Error>) {
        let raw = self.raw::<M>(drops);
        // SAFETY: 1. and 2. The struct is alive, and we own it. 3. The arrays have
        // `ndim` entries, where it is not rejected. 4. Tests that succeed describe
        // the memory. 5. It belongs to the struct.
        (raw, unsafe { ImportedTensor::from_raw(raw) })
    }

    /// Takes a versioned struct that is in order.
    pub(crate) fn imported(&self) -> ImportedTensor {
        self.import::<DLManagedTensorVersioned>(&Drops::new()).1.unwrap()
    }
}

/// Frees a struct whose deleter was NULL.
pub(crate) fn free<M: Forge>(raw: *mut M) {
    // SAFETY: it is freed only here.
    unsafe { delete(raw) }
}

/// The fields of a struct that are the same in every major version.
#[repr(C)]
pub(crate) struct Head {
    version: DLPackVersion,
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Head)>,
}

/// A struct of another major version: it ends behind the deleter.
pub(crate) fn other_major(version: Version, drops: &Drops) -> *mut DLManagedTensorVersioned {
    unsafe extern "C" fn delete(head: *mut Head) {
        // SAFETY: the head is alive.
        let context = unsafe { head.read() }.manager_ctx;
        // SAFETY: both were boxed below, and this is their end.
        drop(unsafe { Box::from_raw(context.cast::<Ticket>()) });
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(head) });
    }
    let manager_ctx = Box::into_raw(Box::new(drops.ticket())).cast();
    let head = Head { version: version.to_ffi(), manager_ctx, deleter: Some(delete) };
    Box::into_raw(Box::new(head)).cast()
}

/// Returns the elements of a tensor whose memory has no other owner, as that of every
/// [`Forged`].
pub(crate) fn alone(tensor: &mut ImportedTensor) -> Exclusive<'_> {
    // SAFETY: 1. The memory has no other owner.
    unsafe { tensor.assume_exclusive() }.unwrap()
}

/// One of our own exports, imported.
pub(crate) fn import<A: Abi>(tensor: ManagedTensor<A>) -> ImportedTensor {
    tensor.import().expect("one of our own")
}
