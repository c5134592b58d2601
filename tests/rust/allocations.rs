//! The number of allocations: none for a borrowed view, one for an export.

mod allocations {
    pub(crate) mod counting;
}

use core::ffi::c_void;
use core::mem::MaybeUninit;
use std::sync::Arc;

use allocations::counting::{BYTES, counting};
use dlpack_tests::counted::Owner;
use tensors::backend::Cpu;
use tensors::exchange::{NotImportable, ObjectHost, TableError, table};
use tensors::ffi::DLManagedTensorVersioned;
use tensors::{
    AsDims, DLPackExport, DLPackImport, Describe, Description, Element, Error, ExportArc,
    ImportedStorage, ImportedTensor, Readable, SharedBuffer, SharedOwner, Storage,
};

#[test]
fn the_counter_counts() {
    let (boxed, allocated, freed) = counting(|| Box::new(1));
    assert_eq!((allocated, freed), (1, 0));
    assert_eq!(counting(|| drop(boxed)), ((), 0, 1));
}

#[test]
fn a_borrowed_view_allocates_nothing() {
    let eight = [2, 1, 1, 1, 1, 1, 1, 3];
    for shape in [&[][..], &[6], &[2, 3], &[0], &eight] {
        let owner = Owner::new(vec![0_f32; 6], shape);
        let ((), allocated, freed) = counting(|| {
            let view = owner.tensor().unwrap();
            let tensor = view.dl_tensor();
            assert!(!tensor.as_raw().is_null());
        });
        assert_eq!((allocated, freed), (0, 0), "{shape:?}");
    }
    let owner = Owner::new(vec![0_f32; 6], &[2, 3]).strided(&[1, 2], 0);
    let ((), allocated, _) = counting(|| assert!(owner.tensor().is_ok()));
    assert_eq!(allocated, 0, "stored strides");
    let wrong = Owner::new(vec![0_f32; 6], &[2, 4]);
    let ((), allocated, _) = counting(|| assert!(wrong.tensor().is_err()));
    assert_eq!(allocated, 0, "an error");
}

#[test]
fn an_export_allocates_once() {
    let eight = [2, 1, 1, 1, 1, 1, 1, 3];
    for shape in [&[][..], &[6], &[2, 3], &[0], &eight] {
        let owner = || Owner::new(vec![0_f32; 6], shape);
        let ready = owner();
        let (tensor, allocated, freed) = counting(|| ready.into_dlpack().unwrap());
        assert_eq!((allocated, freed), (1, 0), "{shape:?}");
        // The packet, and the owner's vectors of elements and, if it has any, dimensions.
        let vectors = if shape.is_empty() { 1 } else { 2 };
        let ((), allocated, freed) = counting(|| drop(tensor));
        assert_eq!((allocated, freed), (0, 1 + vectors), "{shape:?}");

        let ready = owner();
        let (tensor, allocated, freed) = counting(|| ready.into_dlpack_legacy().unwrap());
        assert_eq!((allocated, freed), (1, 0), "{shape:?}");
        drop(tensor);
    }
}

#[test]
fn a_shared_export_allocates_once() {
    fn check<S: Storage>(storage: S) {
        let owner = Owner::new(storage, &[2, 3]);
        let (tensor, allocated, freed) = counting(|| owner.to_dlpack().unwrap());
        assert_eq!((allocated, freed), (1, 0));
        assert_eq!(counting(|| drop(tensor)), ((), 0, 1));
    }
    check(Arc::<[f32]>::from([0.0; 6]));
    check(Arc::new(vec![0_f32; 6]));
    check(Arc::new([0_f32; 6]));
    check(SharedBuffer::<f32>::zeroed(6).unwrap());
    check(Arc::new(vec![0_f32; 6]) as Arc<dyn Storage + Send + Sync>);
}

/// Every shared export holds one `SharedOwner`: it takes as many bytes for a derived
/// tensor as for one that was written by hand, and in any wrapper.
#[test]
fn a_shared_export_has_the_same_size_in_any_wrapper() {
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Array<S> {
        data: S,
        shape: [usize; 2],
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, transparent)]
    struct Around<S>(Array<S>)
    where
        S: Storage;

    /// Owner, C struct and room for eight dimensions.
    const MOST: usize = 320;

    /// Bytes that an export takes.
    fn taken<T: DLPackExport>(tensor: &T) -> usize {
        let before = BYTES.get();
        drop(tensor.to_dlpack().unwrap());
        BYTES.get() - before
    }
    fn check<S: Storage + Clone + Send + Sync + 'static>(data: S) {
        let array = || Array { data: data.clone(), shape: [2, 3] };
        let by_hand = taken(&Owner::new(data.clone(), &[2, 3]));
        assert!((size_of::<SharedOwner>()..=MOST).contains(&by_hand), "{by_hand} bytes");
        assert_eq!(taken(&array()), by_hand);
        assert_eq!(taken(&Around(array())), by_hand);
        assert_eq!(taken(&Box::new(array())), by_hand);
        assert_eq!(taken(&Arc::new(array())), by_hand);
    }
    check(Arc::<[f32]>::from([0.0; 6]));
    check(Arc::new([0_f32; 6]));
    check(SharedBuffer::<f32>::zeroed(6).unwrap());
}

/// More than eight dimensions take one more allocation for them and their strides.
#[test]
fn many_dimensions_take_a_second_allocation() {
    let shape = [2, 1, 1, 1, 1, 1, 1, 1, 3];
    let owner = Owner::new(vec![0_f32; 6], &shape).strided(&[3, 1, 1, 1, 1, 1, 1, 1, 1], 0);
    let (tensor, allocated, freed) = counting(|| owner.into_dlpack().unwrap());
    assert_eq!((allocated, freed), (2, 0));
    // Packet, spill; elements, shape, strides.
    assert_eq!(counting(|| drop(tensor)), ((), 0, 5));

    let owner = Owner::new(vec![0_f32; 6], &shape);
    let (tensor, allocated, freed) = counting(|| owner.into_dlpack().unwrap());
    assert_eq!((allocated, freed), (2, 0));
    assert_eq!(counting(|| drop(tensor)), ((), 0, 4));
}

/// The same for a derived struct: one more than for eight dimensions, three for a copy.
#[test]
fn many_dimensions_of_a_derived_struct_take_a_second_allocation() {
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Compact<D> {
        data: Arc<[u8]>,
        shape: D,
    }
    fn allocated<D: AsDims>(shape: D) -> [usize; 2] {
        let compact = Compact { data: Arc::from([0]), shape };
        let ((), shared, _) = counting(|| drop(compact.to_dlpack().unwrap()));
        let ((), copied, _) = counting(|| drop(compact.copy_to_dlpack().unwrap()));
        [shared, copied]
    }
    assert_eq!((allocated([1_usize; 8]), allocated([1_usize; 9])), ([1, 2], [2, 5]));
    assert_eq!((allocated([1_u8; 8]), allocated([1_u8; 9])), ([1, 2], [2, 5]));
}

#[test]
fn a_refused_export_frees_everything() {
    for shape in [&[7][..], &[-1], &[1; 65], &[7, 1, 1, 1, 1, 1, 1, 1, 1]] {
        let (result, allocated, freed) = counting(|| {
            let owner = Owner::new(vec![0_f32; 6], shape);
            owner.into_dlpack().map(drop)
        });
        assert!(result.is_err());
        assert_eq!(allocated, freed, "{shape:?}");
    }
}

/// Every access to the tensor, and `into_raw`, allocate nothing more. Only an iterator over
/// elements has a block of its own.
#[test]
fn an_import_allocates_once() {
    let eight = [2, 1, 1, 1, 1, 1, 1, 3];
    for shape in [&[][..], &[6], &[2, 3], &[0], &eight] {
        let tensor = Owner::new(vec![0_f32; 6], shape).into_dlpack().unwrap();
        let (raw, allocated, freed) = counting(|| {
            let mut tensor = tensor.import().unwrap();
            tensor.elements::<f32>().unwrap().for_each_block(|block| {
                assert!(block.iter().all(|element| element.to_bits() == 0));
            });
            assert_eq!(tensor.raw_bits().unwrap().iter().sum::<u64>(), 0);
            let mut exclusive = tensor.exclusive().unwrap();
            exclusive.as_mut_slice::<f32>().unwrap().fill(0.0);
            exclusive.elements_mut::<f32>().unwrap().for_each(|element| *element = 0.0);
            assert!(exclusive.as_frozen().as_bytes().is_ok());
            tensor.into_raw::<DLManagedTensorVersioned>().unwrap()
        });
        assert_eq!((allocated, freed), (1, 1), "{shape:?}");
        let (tensor, allocated, freed) = counting(|| {
            // SAFETY: 1. to 4. The struct is valid, and we own it. 5. The memory has no
            // other owner.
            unsafe { ImportedTensor::from_raw(raw) }.unwrap()
        });
        assert_eq!((allocated, freed), (1, 0), "{shape:?}");
        let (len, allocated, freed) = counting(|| {
            let elements = tensor.elements::<f32>().unwrap();
            assert!(elements.iter().all(|element| element.to_bits() == 0));
            elements.len()
        });
        let blocks = usize::from(len != 0);
        assert_eq!((allocated, freed), (blocks, blocks), "{shape:?}");
        let (foreign, allocated, freed) = counting(|| ImportedStorage::<f32>::new(tensor).unwrap());
        assert_eq!((allocated, freed), (0, 0), "{shape:?}");
        drop(foreign);
    }
}

/// An export in place allocates nothing, in any wrapper; while it exists, further exports
/// allocate a packet.
#[test]
fn an_export_in_place_allocates_nothing() {
    fn check<T: DLPackExport>(tensor: &T) {
        let (first, allocated, freed) = counting(|| tensor.to_dlpack().unwrap());
        assert_eq!((allocated, freed), (0, 0));
        let (second, allocated, freed) = counting(|| tensor.to_dlpack().unwrap());
        assert_eq!((allocated, freed), (1, 0));
        assert_eq!(counting(|| drop(first)), ((), 0, 0));
        assert_eq!(counting(|| drop(second)), ((), 0, 1));
    }
    let make = || ExportArc::new(Owner::new(vec![0_f32; 6], &[2, 3])).unwrap();
    check(&make());
    check(&Box::new(make()));
    check(&Arc::new(make()));
    let moved = make();
    let (tensor, allocated, freed) = counting(|| moved.into_dlpack().unwrap());
    assert_eq!((allocated, freed), (0, 0));
    // The block, and the owner's vectors.
    assert_eq!(counting(|| drop(tensor)), ((), 0, 3));
}

/// A copy takes its elements and the packet.
#[test]
fn a_copy_allocates_twice() {
    let owner = Owner::new(vec![0_f32; 6], &[2, 3]).strided(&[1, 2], 0);
    let (tensor, allocated, freed) = counting(|| owner.copy_to_dlpack().unwrap());
    assert_eq!((allocated, freed), (2, 0));
    assert_eq!(counting(|| drop(tensor)), ((), 0, 2));
}

/// A copied field is read into its memory, in either order.
#[test]
fn a_copied_field_allocates_once() {
    #[derive(DLPackImport)]
    #[dlpack(crate = tensors)]
    struct ByRows<T: Readable> {
        #[dlpack(copy)]
        data: Vec<T>,
        shape: [u8; 2],
    }
    #[derive(DLPackImport)]
    #[dlpack(crate = tensors, order = column_major)]
    struct ByColumns<const N: usize> {
        #[dlpack(copy)]
        data: Vec<i32>,
        shape: [u8; N],
    }

    fn of<T: DLPackImport, E: Element>(shape: &[i64], zero: E) -> (T, usize) {
        let tensor = Owner::new(vec![zero; 6], shape).into_dlpack().unwrap().import().unwrap();
        let (field, allocated, _) = counting(|| T::from_dlpack(tensor).unwrap());
        (field, allocated)
    }
    let (field, allocated) = of::<ByRows<i32>, i32>(&[2, 3], 1);
    assert_eq!((field.data, field.shape, allocated), (vec![1; 6], [2, 3], 1));
    let (field, allocated) = of::<ByRows<u8>, u8>(&[2, 3], 1);
    assert_eq!((field.data, field.shape, allocated), (vec![1; 6], [2, 3], 1));
    let (field, allocated) = of::<ByColumns<1>, i32>(&[6], 1);
    assert_eq!((field.data, field.shape, allocated), (vec![1; 6], [6], 1));
    let (field, allocated) = of::<ByColumns<2>, i32>(&[2, 3], 1);
    assert_eq!((field.data, field.shape, allocated), (vec![1; 6], [2, 3], 1));
}

/// A large copy is made by the thread that asks for it: a second one would be allocated.
#[test]
#[cfg_attr(miri, ignore = "copies 16 MiB")]
fn a_large_copy_starts_no_thread() {
    let len = 16 << 20;
    let owner = Owner::new(vec![1_u8; len], &[16 << 20]);
    let (tensor, allocated, _) = counting(|| owner.copy_to_dlpack().unwrap());
    assert_eq!(allocated, 2);
    drop(tensor);
}

/// A13: new memory is zero, not the bytes of an earlier allocation.
#[test]
fn new_memory_is_zeroed() {
    for len in [1, 3, 64, 1000] {
        let buffer = SharedBuffer::<u8>::zeroed(len).unwrap();
        assert_eq!(buffer.to_vec(), vec![0; len]);
    }
}

/// L13: an owner whose drop panics leaks nothing.
#[test]
fn a_drop_that_panics_frees_its_packet() {
    struct Panics(Owner<Vec<i32>>);

    impl DLPackExport for Panics {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            self.0.describe(out)
        }
    }

    impl Drop for Panics {
        fn drop(&mut self) {
            // A panic without a message, for which no allocation stays.
            std::panic::resume_unwind(Box::new(()));
        }
    }

    let nine = [2, 1, 1, 1, 1, 1, 1, 1, 3];
    for shape in [&[6][..], &nine] {
        let ((), allocated, freed) = counting(|| {
            let owner = Panics(Owner::new(vec![0_i32; 6], shape));
            drop(owner.into_dlpack().unwrap());
        });
        assert_eq!(allocated, freed, "{shape:?}");
        assert!(allocated > 0);
    }
}

/// Synchronizing on the host, and with our own stream, allocates nothing.
#[test]
fn sync_for_allocates_nothing() {
    use new_device::Npu;
    use tensors::backend::{Cpu, UsedStreams, WorkStream};
    use tensors::{Device, StreamArg};

    let (host, uses) =
        (WorkStream::<Cpu>::current(Device::CPU).unwrap(), UsedStreams::<Cpu>::new());
    let handed = counting(|| uses.sync_for(&host, StreamArg::unspecified()));
    assert_eq!(handed, (Ok(()), 0, 0));
    if cfg!(miri) {
        return; // Miri wants the device's threads to end.
    }
    let device = Device::new(tensors::ffi::kDLExtDev, 0);
    let (stream, uses) = (WorkStream::<Npu>::current(device).unwrap(), UsedStreams::<Npu>::new());
    assert_eq!(counting(|| uses.sync_for(&stream, stream.as_arg())), (Ok(()), 0, 0));
}

/// Objects that are their values.
struct Pointers;

// SAFETY: 1. and 2. An object is its value, and no `&mut` to one is ever made. 3.
// These tests do not write.
unsafe impl<T: DLPackExport + 'static> ObjectHost<T> for Pointers {
    type Error = ();

    const READ_ONLY_VIEWS: bool = true;

    unsafe fn with<R>(
        object: *mut c_void,
        run: impl FnOnce(&T) -> Result<R, TableError<()>>,
    ) -> Result<R, TableError<()>> {
        // SAFETY: by 1 it is a living object.
        run(unsafe { &*object.cast::<T>() })
    }

    unsafe fn view<R>(
        object: *mut c_void,
        run: impl FnOnce(&T) -> Result<R, TableError<()>>,
    ) -> Result<R, TableError<()>> {
        // SAFETY: 1. is 1. of this function.
        unsafe { Self::with(object, run) }
    }

    unsafe fn raise(_: TableError<()>) {}
}

/// How often the table of `T` allocates for a view and for a managed tensor.
fn of_the_table<T: DLPackExport + 'static>(value: T) -> (usize, usize) {
    let table = table::<T, Pointers, Cpu, NotImportable>();
    let object: *mut c_void = Box::into_raw(Box::new(value)).cast();
    let view = table.dltensor_from_py_object_no_sync.unwrap();
    let mut tensor = MaybeUninit::uninit();
    let (code, views, freed) = counting(|| {
        // SAFETY: the object is alive; `tensor` may be written.
        unsafe { view(object, tensor.as_mut_ptr()) }
    });
    assert_eq!((code, freed), (0, 0));
    let from_object = table.managed_tensor_from_py_object_no_sync.unwrap();
    let mut managed = core::ptr::null_mut();
    let (code, exports, freed) = counting(|| {
        // SAFETY: the object is alive; `managed` may be written.
        unsafe { from_object(object, &raw mut managed) }
    });
    assert_eq!((code, freed), (0, 0));
    // SAFETY: it was just exported.
    let deleter = unsafe { (*managed).deleter }.unwrap();
    // SAFETY: the only call.
    let ((), allocated, freed) = counting(|| unsafe { deleter(managed) });
    assert_eq!((allocated, freed), (0, 1));
    // SAFETY: it was boxed above, and is not used again.
    drop(unsafe { Box::from_raw(object.cast::<T>()) });
    (views, exports)
}

/// Not even the first view of its kind allocates.
#[test]
fn a_view_through_the_table_allocates_nothing() {
    let eight = [2, 1, 1, 1, 1, 1, 1, 3];
    for shape in [&[][..], &[6], &[2, 3], &[1, 6], &eight] {
        let shared = Owner::new(SharedBuffer::<f32>::zeroed(6).unwrap(), shape);
        assert_eq!(of_the_table(shared), (0, 1), "{shape:?}");
        let frozen = Owner::new(Arc::<[f32]>::from([0.0; 6]), shape);
        assert_eq!(of_the_table(frozen), (0, 1), "{shape:?}");
    }
    let strided = Owner::new(Arc::<[f32]>::from([0.0; 6]), &[2, 3]).strided(&[1, 2], 0);
    assert_eq!(of_the_table(strided), (0, 1));
}
