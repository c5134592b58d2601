//! The struct of a case in guarded memory: [`Built`].

use core::ffi::c_void;
use core::mem::ManuallyDrop;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bytemuck::cast_slice;
use tensors::Abi;
use tensors::ffi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
};

use crate::faults::What;
use crate::guarded::{Flush, Guarded};
use crate::{Array, Case, Data};

/// A C struct that a case can be written to.
pub trait HostileStruct: Abi {
    /// Whether it has a version and flags.
    const VERSIONED: bool;

    /// The struct.
    fn write(
        case: &Case,
        tensor: DLTensor,
        manager_ctx: *mut c_void,
        deleter: Option<unsafe extern "C" fn(*mut Self)>,
    ) -> Self;
}

impl HostileStruct for DLManagedTensorVersioned {
    const VERSIONED: bool = true;

    fn write(
        case: &Case,
        dl_tensor: DLTensor,
        manager_ctx: *mut c_void,
        deleter: Option<unsafe extern "C" fn(*mut Self)>,
    ) -> Self {
        let (version, flags) = (case.version.to_ffi(), case.flags.bits());
        Self { version, manager_ctx, deleter, flags, dl_tensor }
    }
}

impl HostileStruct for DLManagedTensor {
    const VERSIONED: bool = false;

    fn write(
        _: &Case,
        dl_tensor: DLTensor,
        manager_ctx: *mut c_void,
        deleter: Option<unsafe extern "C" fn(*mut Self)>,
    ) -> Self {
        Self { dl_tensor, manager_ctx, deleter }
    }
}

/// All memory of one struct.
#[derive(Debug)]
struct Parts {
    /// The struct, its dimensions, its strides.
    said: [Guarded; 3],
    data: Guarded,
    /// Where `manager_ctx` points: only the producer may read it, so it is never readable
    /// here.
    context: Guarded,
    deletes: AtomicUsize,
    has_deleter: bool,
}

/// All structs, by address: it is not read to find them.
static ALIVE: LazyLock<Mutex<HashMap<usize, Arc<Parts>>>> = LazyLock::new(Mutex::default);

fn alive() -> std::sync::MutexGuard<'static, HashMap<usize, Arc<Parts>>> {
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls the deleter that a struct at that address has, or had, without reading it;
/// `false` where it has none.
pub fn delete_at(address: usize) -> bool {
    let parts = alive().get(&address).map(Arc::clone);
    let parts = parts.filter(|parts| parts.has_deleter);
    parts.inspect(|parts| parts.delete()).is_some()
}

/// Counts, and closes all memory. It aborts where its argument is not the producer's own
/// pointer.
unsafe extern "C" fn delete<M>(managed: *mut M) {
    let parts = alive().get(&managed.addr()).map(Arc::clone);
    parts.expect("the deleter was given a pointer that is not the producer's").delete();
}

impl Parts {
    fn delete(&self) {
        self.deletes.fetch_add(1, Ordering::SeqCst);
        self.close();
    }

    fn close(&self) {
        self.said.iter().for_each(Guarded::delete);
        self.data.delete();
        self.context.delete();
    }
}

/// The struct of a case, as its producer gives it away.
#[derive(Debug)]
pub struct Built<M: HostileStruct> {
    parts: Arc<Parts>,
    raw: *mut M,
}

// SAFETY: it is an address beside memory that may change threads; the code that follows
// the address has its own argument.
unsafe impl<M: HostileStruct> Send for Built<M> {}
// SAFETY: as above.
unsafe impl<M: HostileStruct> Sync for Built<M> {}

impl Case {
    /// Writes the struct, with or without a deleter; elements touch one end of
    /// their pages.
    pub fn build<M: HostileStruct>(&self, with_deleter: bool, flush: Flush) -> Built<M> {
        let array = |what, array: &Array| match array {
            Array::Of(numbers) => Guarded::of(what, cast_slice(numbers), Flush::End),
            Array::Null | Array::Nowhere => Guarded::of(what, &[], Flush::End),
        };
        let shape = array(What::Shape, &self.shape);
        let strides = array(What::Strides, &self.strides);
        let data = match &self.data {
            Data::Bytes(bytes) => Guarded::of(What::Elements, bytes, flush),
            Data::Null | Data::Nowhere | Data::At(_) => Guarded::of(What::Elements, &[], flush),
        };
        let pointer = |array: &Array, memory: &Guarded| match array {
            Array::Null => ptr::null_mut(),
            Array::Of(_) | Array::Nowhere => memory.start().cast(),
        };
        let first = match self.data {
            Data::Null => ptr::null_mut(),
            Data::At(address) => ptr::without_provenance_mut(address),
            Data::Nowhere | Data::Bytes(_) => data.start(),
        };
        let tensor = DLTensor {
            data: first.cast(),
            device: DLDevice::from(self.device),
            ndim: self.ndim,
            dtype: DLDataType::from(self.dtype),
            shape: pointer(&self.shape, &shape),
            strides: pointer(&self.strides, &strides),
            byte_offset: self.byte_offset,
        };
        let context = Guarded::of(What::Context, &[], Flush::End);
        let manager_ctx = self.manager_ctx(&context);
        let managed = M::write(self, tensor, manager_ctx, with_deleter.then_some(delete::<M>));
        Built::new(&managed, size_of::<M>(), with_deleter, [shape, strides], data, context)
    }

    /// A versioned struct that ends behind its deleter: of another major version
    /// no more is known.
    pub fn build_head(&self) -> Built<DLManagedTensorVersioned> {
        let nothing = || Guarded::new(&[], Flush::End);
        let tensor = DLTensor {
            data: ptr::null_mut(),
            device: DLDevice::from(self.device),
            ndim: self.ndim,
            dtype: DLDataType::from(self.dtype),
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let deleter = Some(delete::<DLManagedTensorVersioned> as unsafe extern "C" fn(_));
        let context = Guarded::of(What::Context, &[], Flush::End);
        let manager_ctx = self.manager_ctx(&context);
        let managed = DLManagedTensorVersioned::write(self, tensor, manager_ctx, deleter);
        let head = size_of::<DLPackVersion>() + 2 * size_of::<*mut ()>();
        Built::new(&managed, head, true, [nothing(), nothing()], nothing(), context)
    }

    fn manager_ctx(&self, context: &Guarded) -> *mut c_void {
        if self.has_context { context.start().cast() } else { ptr::null_mut() }
    }
}

impl<M: HostileStruct> Built<M> {
    fn new(
        managed: &M,
        len: usize,
        has_deleter: bool,
        [shape, strides]: [Guarded; 2],
        data: Guarded,
        context: Guarded,
    ) -> Self {
        let bytes = ptr::from_ref(managed).cast::<u8>();
        let mut copy = vec![0; len];
        // SAFETY: the struct has at least that many bytes. Its padding, if it
        // had any, would be copied as it is.
        unsafe { copy.as_mut_ptr().copy_from_nonoverlapping(bytes, len) };
        let managed = Guarded::of(What::Struct, &copy, Flush::End);
        let raw = managed.start().cast::<M>();
        let deletes = AtomicUsize::new(0);
        let said = [managed, shape, strides];
        let parts = Arc::new(Parts { said, data, context, deletes, has_deleter });
        alive().insert(raw.addr(), Arc::clone(&parts));
        Self { parts, raw }
    }

    /// Returns the struct that the producer exports.
    pub fn raw(&self) -> *mut M {
        self.raw
    }

    /// Whether there is a deleter.
    pub fn has_deleter(&self) -> bool {
        self.parts.has_deleter
    }

    /// How often the deleter was called.
    pub fn deletes(&self) -> usize {
        self.parts.deletes.load(Ordering::SeqCst)
    }

    /// Address of the first byte of memory for elements.
    pub fn data(&self) -> *mut u8 {
        self.parts.data.start()
    }

    /// The struct, its dimensions and its strides.
    pub fn said(&self) -> &[Guarded; 3] {
        &self.parts.said
    }

    /// From now on the struct, its dimensions and its strides must not be read.
    pub fn close_struct(&self) {
        self.parts.said.iter().for_each(Guarded::close);
    }

    /// Elements cannot be read until they are opened.
    pub fn close_elements(&self) {
        self.parts.data.close();
    }

    /// Elements can be read again.
    pub fn open_elements(&self) {
        self.parts.data.open();
    }

    /// Leaves the memory as it is for the rest of the process.
    pub fn leak(self) {
        let _ = ManuallyDrop::new(self);
    }
}

impl<M: HostileStruct> Drop for Built<M> {
    fn drop(&mut self) {
        alive().remove(&self.raw.addr());
    }
}
