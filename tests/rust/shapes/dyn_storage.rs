//! Memory behind a trait object. A trait of the project's own is a storage if `Storage`
//! is its supertrait; one without it is exported by its pointer, with `unsafe`.

use std::sync::Arc;

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, DataRef, DataType, Error, Flags, Storage};

use super::consumer::Expected;

/// Memory with a record of its origin.
trait Resource: Storage + Send + Sync {
    fn name(&self) -> &'static str;
}

struct Heap(Vec<i32>, #[expect(dead_code, reason = "it is there to be dropped")] Ticket);

impl Storage for Heap {
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(&self.0)
    }
}

impl Resource for Heap {
    fn name(&self) -> &'static str {
        "heap"
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Block {
    #[dlpack(data)]
    resource: Arc<dyn Resource>,
    shape: Vec<usize>,
    dtype: DataType,
}

#[test]
fn a_trait_above_which_is_storage() {
    let drops = Drops::new();
    let block = |dtype| Block {
        resource: Arc::new(Heap(vec![3, 4], drops.ticket())),
        shape: vec![2, 1],
        dtype,
    };
    let expected = Expected {
        shape: &[2, 1],
        strides: &[1, 1],
        flags: Flags::READ_ONLY,
        elements: &[3_i32, 4],
    };
    let numbers = block(DataType::I32);
    assert_eq!(numbers.resource.name(), "heap");
    expected.assert_shared(&numbers);
    expected.assert_moved(numbers, &drops);
    let error = block(DataType::F32).into_dlpack().unwrap_err();
    assert_eq!(error, Error::DTypeMismatch { dtype: DataType::F32, storage: DataType::I32 });
    assert_eq!(drops.count(), 2);
}

/// Any storage at all.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Boxed {
    data: Box<dyn Storage + Send>,
    shape: [usize; 1],
    _drop: Ticket,
}

#[test]
fn a_box_of_any_storage_is_writable() {
    let drops = Drops::new();
    let boxed = Boxed { data: Box::new(vec![0.5_f64, 1.5]), shape: [2], _drop: drops.ticket() };
    let expected =
        Expected { shape: &[2], strides: &[1], flags: Flags::NONE, elements: &[0.5_f64, 1.5] };
    expected.assert_moved(boxed, &drops);
}

/// Memory of a library without DLPack support.
trait Allocation: Send + Sync {
    fn address(&self) -> *const u8;
    fn bytes(&self) -> usize;
}

struct Pinned(Box<[u16]>);

impl Allocation for Pinned {
    fn address(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct ImportedStorage {
    // SAFETY: the owner keeps the memory, which has that length, and no one writes to it.
    #[dlpack(unsafe(ptr, len(bytes) = bytes))]
    address: *const u8,
    bytes: usize,
    #[dlpack(owner)]
    owner: Arc<dyn Allocation>,
    shape: Vec<usize>,
    dtype: DataType,
    _drop: Ticket,
}

// SAFETY: the pointer points into memory that `owner` keeps alive, and that any thread
// may read.
unsafe impl Send for ImportedStorage {}

impl ImportedStorage {
    fn new(owner: Arc<dyn Allocation>, shape: Vec<usize>, dtype: DataType, drop: Ticket) -> Self {
        let (address, bytes) = (owner.address(), owner.bytes());
        Self { address, bytes, owner, shape, dtype, _drop: drop }
    }
}

#[test]
fn a_trait_without_storage_is_exported_by_pointer() {
    let drops = Drops::new();
    let owner: Arc<dyn Allocation> = Arc::new(Pinned(Box::new([1, 2, 3])));
    let tensor =
        |shape| ImportedStorage::new(Arc::clone(&owner), shape, DataType::U16, drops.ticket());
    let expected =
        Expected { shape: &[3], strides: &[1], flags: Flags::READ_ONLY, elements: &[1_u16, 2, 3] };
    let whole = tensor(vec![3]);
    assert_eq!(whole.owner.bytes(), 6);
    expected.assert_moved(whole, &drops);
    let error = tensor(vec![4]).into_dlpack().unwrap_err();
    assert_eq!(error, Error::OutOfBounds { start: 0, end: 8, len: 6 });
    assert_eq!((drops.count(), Arc::strong_count(&owner)), (2, 1));
}
