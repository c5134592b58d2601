//! A tensor in any wrapper is exported as it is without one, and is described once for
//! each export.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use tensors::{
    AsDims, DLPackExport, DataType, Describe, Description, DescriptionMut, Dims, Element, Error,
    ExportArc, Flags, ImportedStorage, ImportedTensor, ManagedTensor, Order, SharedBuffer,
    SharedOwner, Storage, StreamArg,
};

const SIX: [i32; 6] = [0, 1, 2, 3, 4, 5];

/// A tensor that counts how often it is described, written by hand.
struct Counted<T> {
    tensor: T,
    described: Arc<AtomicUsize>,
}

impl<T: DLPackExport> DLPackExport for Counted<T> {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        self.described.fetch_add(1, Ordering::SeqCst);
        self.tensor.describe(out)
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        self.described.fetch_add(1, Ordering::SeqCst);
        self.tensor.describe_mut(out)
    }

    fn storage(&self) -> Option<&dyn Storage> {
        self.tensor.storage()
    }

    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.tensor.sync_for(consumer)
    }

    fn share(&self) -> Option<SharedOwner> {
        self.tensor.share()
    }
}

/// The metadata that a consumer gets, with the first bytes instead of the address.
type Seen = (Vec<i64>, Vec<i64>, DataType, usize, Vec<u8>);

fn seen(tensor: &ManagedTensor) -> Seen {
    let first = tensor.data_ptr();
    let numel: i64 = tensor.shape().iter().product();
    let bytes = usize::try_from(numel).unwrap() * tensor.dtype().element_bits() as usize / 8;
    // SAFETY: the tensors of this file are contiguous, on the host, and initialized.
    let bytes = (bytes > 0).then(|| unsafe { core::slice::from_raw_parts(first, bytes) });
    let bytes = bytes.unwrap_or_default().to_vec();
    (tensor.shape().to_vec(), tensor.strides().to_vec(), tensor.dtype(), bytes.len(), bytes)
}

/// Exports a tensor in every way and wrapper, written by the derive and by hand.
fn check<T: DLPackExport + Send + Sync + 'static>(make: impl Fn() -> T) {
    type Export<'a, T> = &'a dyn Fn(Counted<T>) -> Result<ManagedTensor, Error>;

    let alone = make().into_dlpack().unwrap();
    let (alone, moved) = (seen(&alone), alone.flags());
    let viewed = make();
    let viewed = viewed.tensor().unwrap();
    assert_eq!((viewed.shape(), viewed.strides(), viewed.dtype()), (&*alone.0, &*alone.1, alone.2));
    let lent = if viewed.is_read_only() { Flags::READ_ONLY } else { Flags::NONE };

    let note = |name: &str, flags: Flags, times: usize, export: Export<T>| {
        let described = Arc::default();
        let tensor = Counted { tensor: make(), described: Arc::clone(&described) };
        let tensor = export(tensor).unwrap();
        assert_eq!(described.load(Ordering::SeqCst), times, "{name}");
        assert_eq!((seen(&tensor), tensor.flags()), (alone.clone(), flags), "{name}");
    };
    note("moved", moved, 1, &|tensor| tensor.into_dlpack());
    note("in a box", moved, 1, &|tensor| Box::new(tensor).into_dlpack());
    note("in an arc", lent, 1, &|tensor| Arc::new(tensor).into_dlpack());
    note("lent in place", lent, 1, &|tensor| ExportArc::new(tensor)?.to_dlpack());
    note("lent in a packet", lent, 2, &|tensor| {
        let tensor = ExportArc::new(tensor)?;
        let _in_place = tensor.to_dlpack()?;
        tensor.to_dlpack()
    });
    note("lent by its wrapper", lent, 1, &|tensor| {
        ExportArc::new(ExportArc::new(tensor)?)?.to_dlpack()
    });
    note("copied", Flags::IS_COPIED, 1, &|tensor| tensor.copy_to_dlpack());
    if make().share().is_some() {
        note("shared", lent, 1, &|tensor| tensor.to_dlpack());
        note("shared from a box", lent, 1, &|tensor| Box::new(tensor).to_dlpack());
        note("shared from an arc", lent, 1, &|tensor| Arc::new(tensor).to_dlpack());
    }
    let described = Arc::default();
    let legacy = Counted { tensor: make(), described: Arc::clone(&described) };
    match legacy.into_dlpack_legacy() {
        Ok(legacy) => assert_eq!((legacy.shape(), moved), (&*alone.0, Flags::NONE)),
        Err(error) => assert_eq!((error, moved), (Error::ReadOnlyLegacy, Flags::READ_ONLY)),
    }
    assert_eq!(described.load(Ordering::SeqCst), 1);
}

/// A tensor of the derive, with a shape of any type.
#[derive(DLPackExport)]
#[dlpack(crate = tensors, spare_capacity)]
struct Array<S, D: ?Sized> {
    data: S,
    shape: D,
}

/// Lists that are read in place and lists that are converted, of every length, with
/// elements in any storage.
#[test]
fn wrappers_lend_any_storage() {
    fn storages<D: AsDims + Send + Sync + 'static>(shape: impl Fn() -> D) {
        check(|| Array { data: SIX.to_vec(), shape: shape() });
        check(|| Array { data: SIX, shape: shape() });
        let data = Arc::<[i32]>::from(SIX);
        let shared = || Array { data: Arc::clone(&data), shape: shape() };
        check(shared);
        check(|| Box::new(shared()));
        check(|| Arc::new(shared()));
        check(|| ExportArc::new(shared()).unwrap());
        let data = SharedBuffer::from_slice(&SIX).unwrap();
        check(|| Array { data: data.clone(), shape: shape() });
        let foreign = || ImportedStorage::<i32>::new(shared().into_dlpack()?.import()?);
        check(|| Array { data: foreign().unwrap(), shape: shape() });
    }
    // The last two are more than a packet has room for.
    let lists: [&[u8]; 8] =
        [&[2, 3], &[6], &[], &[1, 6], &[2, 0], &[2, 1, 1, 1, 1, 1, 1, 3], &[1; 9], &[1; 64]];
    for list in lists {
        storages(|| list.iter().map(|&size| i64::from(size)).collect::<Vec<_>>());
        storages(|| list.to_vec());
    }
}

/// Every kind of list, with elements that are moved and elements that are shared.
#[test]
fn wrappers_lend_any_list() {
    fn lists<D: AsDims + Send + Sync + 'static>(shape: impl Fn() -> D) {
        check(|| Array { data: SIX.to_vec(), shape: shape() });
        let data = Arc::<[i32]>::from(SIX);
        check(|| Array { data: Arc::clone(&data), shape: shape() });
    }
    lists(|| [2_usize, 3]);
    lists(|| [6_u8]);
    lists(|| [2_i64, 3]);
    lists(|| [0_usize; 0]);
    lists(|| vec![1_u32, 6]);
    lists(|| vec![3_isize, 2]);
    lists(|| Box::<[i64]>::from([2, 1, 1, 1, 1, 1, 1, 3]));
    lists(|| Arc::<[u16]>::from([2, 1, 1, 1, 1, 1, 1, 3]));
    lists(|| &[2_i128, 3]);
    lists(|| &[5_u64][..]);
    lists(|| Dims::borrowed(&[2, 3]));
    // More than a packet has room for.
    lists(|| [1_u8; 9]);
    lists(|| [1_i64; 9]);
    lists(|| vec![1_usize; 64]);
    // No elements.
    lists(|| [2_u8, 0]);
}

/// Shapes that are listed, and newtypes.
#[test]
fn wrappers_lend_tensors_without_a_shape_field() {
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, shape(height, 3))]
    struct Listed {
        data: Vec<i32>,
        height: u8,
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, shape(2, 3))]
    struct Constant {
        data: Arc<[i32]>,
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, transparent)]
    struct Around(Listed);

    let listed = || Listed { data: SIX.to_vec(), height: 2 };
    check(listed);
    check(|| Around(listed()));
    check(|| Constant { data: Arc::from(SIX) });
}

/// Six numbers of another library.
fn at_an_odd_address() -> ImportedStorage {
    let bytes = Array { data: vec![0_u8; 25], shape: [6_u8] };
    let managed = bytes.into_dlpack().unwrap().into_raw();
    // SAFETY: the struct is alive and has no other owner.
    let tensor = unsafe { &mut (*managed).dl_tensor };
    let skipped = usize::from(tensor.data.addr() % 2 == 0);
    tensor.data = tensor.data.wrapping_byte_add(skipped);
    tensor.dtype = DataType::I32.into();
    // SAFETY: 1. to 3. It is a struct of this crate, which has no other owner. 4. and 5.
    // Six numbers end where the 25 bytes do, or before.
    ImportedStorage::new(unsafe { ImportedTensor::from_raw(managed) }.unwrap()).unwrap()
}

/// Elements with axes, an order, and memory that is not aligned to its elements.
#[test]
fn wrappers_lend_other_tensors() {
    #[derive(Clone, Copy, Element)]
    #[dlpack(crate = tensors)]
    #[repr(transparent)]
    struct Pair([i32; 2]);
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Ordered {
        data: Vec<i32>,
        shape: [u8; 2],
        #[dlpack(order)]
        order: Order,
    }

    check(|| Array { data: vec![Pair([0, 1])], shape: [1_u8] });
    check(|| Array { data: at_an_odd_address(), shape: [6_u8] });
    check(|| Ordered { data: SIX.to_vec(), shape: [2, 3], order: Order::RowMajor });
}
