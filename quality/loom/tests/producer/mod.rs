//! A foreign tensor whose memory loom watches: unordered reads and writes are a failure
//! of the model.

#![allow(dead_code, reason = "each test uses its part")]

use core::ptr;
use std::sync::Arc;

use dlpack_traits::ffi::{DLManagedTensorVersioned, DLPackVersion, DLTensor};
use dlpack_traits::{
    DLPackExport, DataType, Describe, Description, DescriptionMut, Device, Error, ImportedTensor,
    Storage,
};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};

/// The model of the elements, and the number of calls of the deleter.
pub struct Memory {
    cell: UnsafeCell<u8>,
    deleted: AtomicUsize,
}

// SAFETY: loom reports racing accesses to the cell.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub fn read(&self) {
        // SAFETY: the pointer is good for the call.
        self.cell.with(|byte| unsafe { byte.read() });
    }

    pub fn write(&self) {
        // SAFETY: as above.
        self.cell.with_mut(|byte| unsafe { byte.write(1) });
    }

    fn end(&self) {
        self.write();
        self.deleted.fetch_add(1, Ordering::Relaxed);
    }
}

pub struct Producer(Arc<Memory>);

struct Context {
    managed: DLManagedTensorVersioned,
    memory: Arc<Memory>,
    shape: [i64; 1],
    elements: [u8; 1],
}

impl Producer {
    pub fn new() -> Self {
        Self(Arc::new(Memory { cell: UnsafeCell::new(0), deleted: AtomicUsize::new(0) }))
    }

    pub fn memory(&self) -> Arc<Memory> {
        Arc::clone(&self.0)
    }

    pub fn deleted(&self) -> usize {
        self.0.deleted.load(Ordering::Relaxed)
    }

    pub fn import(&self) -> ImportedTensor {
        // SAFETY: it was just made, for this.
        unsafe { ImportedTensor::from_raw(self.tensor(0)) }.unwrap()
    }

    /// Imports memory that this crate exported, and that the consumer owns exclusively.
    pub fn import_own(&self) -> ImportedTensor {
        let owner = Owner { bytes: vec![0], memory: self.memory() };
        owner.into_dlpack().unwrap().import().unwrap()
    }

    /// Returns a tensor whose deleter must be called once.
    pub fn tensor(&self, flags: u64) -> *mut DLManagedTensorVersioned {
        let tensor = DLTensor {
            data: ptr::null_mut(),
            device: Device::CPU.into(),
            ndim: 1,
            dtype: DataType::U8.into(),
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let managed = DLManagedTensorVersioned {
            version: DLPackVersion { major: 1, minor: 1 },
            manager_ctx: ptr::null_mut(),
            deleter: Some(delete),
            flags,
            dl_tensor: tensor,
        };
        let context = Context { managed, memory: self.memory(), shape: [1], elements: [0] };
        let context = Box::into_raw(Box::new(context));
        // SAFETY: it was just allocated and has no other owner.
        unsafe {
            (*context).managed.manager_ctx = context.cast();
            (*context).managed.dl_tensor.data = (&raw mut (*context).elements).cast();
            (*context).managed.dl_tensor.shape = (&raw mut (*context).shape).cast();
            &raw mut (*context).managed
        }
    }
}

/// An owner of ours, whose drop is counted as that of a foreign tensor.
struct Owner {
    bytes: Vec<u8>,
    memory: Arc<Memory>,
}

impl DLPackExport for Owner {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[1]).data(self.bytes.data())
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        out.shape(&[1]).data_mut(self.bytes.data_mut())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.memory.end();
    }
}

/// Writes to the memory: an unfinished access of another owner races with this write.
unsafe extern "C" fn delete(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: it was made by `tensor`, and this is the only call.
    let context = unsafe { Box::from_raw((*tensor).manager_ctx.cast::<Context>()) };
    context.memory.end();
}
