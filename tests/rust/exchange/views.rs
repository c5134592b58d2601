//! `dltensor_from_py_object_no_sync`.

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;
use core::slice;
use core::sync::atomic::AtomicPtr;
use std::sync::{Arc, Mutex};

use tensors::backend::Cpu;
use tensors::exchange::{NotImportable, table};
use tensors::ffi::{DLPackExchangeAPI, DLTensor};
use tensors::{
    DLPackExport, DataRef, DataType, Describe, Description, Device, Error, ExportArc, SharedBuffer,
    Slot, Storage,
};

use crate::exchange::host::{
    Heap, Numbers, Picture, Wrong, changing_object, exports, free, object, only_raised, raised,
};

/// Dimensions and strides of 64 bits.
#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
struct Strided {
    data: SharedBuffer<u16>,
    shape: Vec<i64>,
    strides: [isize; 2],
}

/// Elements of less than a byte in a byte each.
#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
#[dlpack(dtype = FLOAT4_E2M1FN, padded)]
struct Padded {
    data: SharedBuffer<u8>,
    shape: [usize; 1],
}

/// Calls the function as C does, with memory that was not initialized.
fn view(table: &DLPackExchangeAPI, object: *mut c_void) -> (i32, DLTensor) {
    let function = table.dltensor_from_py_object_no_sync.expect("set");
    let mut out = MaybeUninit::<DLTensor>::uninit();
    // SAFETY: the object is alive; `out` may be written.
    let code = unsafe { function(object, out.as_mut_ptr()) };
    // SAFETY: it is written on success and on failure.
    (code, unsafe { out.assume_init() })
}

/// A view of an object that must have one.
fn viewed(table: &DLPackExchangeAPI, object: *mut c_void) -> DLTensor {
    let (code, tensor) = view(table, object);
    assert_eq!((code, raised()), (0, vec![]));
    tensor
}

fn dims(tensor: &DLTensor, array: *const i64) -> &[i64] {
    // SAFETY: the array has `ndim` entries, and the objects of these tests live
    // longer than their views.
    unsafe { slice::from_raw_parts(array, usize::try_from(tensor.ndim).expect("a rank")) }
}

/// Returns the table of a class whose memory is also lent for reading.
fn lends<T: DLPackExport + 'static>() -> &'static DLPackExchangeAPI {
    table::<T, Heap<true>, Cpu, NotImportable>()
}

#[test]
fn a_view_points_into_the_object() {
    let numbers = Numbers::new(Wrong::Nowhere);
    let address = numbers.data.data().as_ptr();
    let object = object(numbers);
    let table = exports::<Numbers>().0;
    let first = viewed(table, object);
    let second = viewed(table, object);
    for tensor in [&first, &second] {
        assert!(ptr::eq(tensor.data.cast(), address));
        assert_eq!(dims(tensor, tensor.shape), [2, 3]);
        assert_eq!(dims(tensor, tensor.strides), [3, 1]);
        assert_eq!((tensor.byte_offset, DataType::from(tensor.dtype)), (0, DataType::I32));
        // SAFETY: the object is alive, and has six elements.
        let last = unsafe { tensor.data.cast::<i32>().add(5) };
        // SAFETY: the memory is shared and writable.
        unsafe { last.write(50) };
    }
    assert!(ptr::eq(first.strides, second.strides), "they are in one place");
    let tensor = exports::<Numbers>().tensor(object);
    assert_eq!(tensor.elements::<i32>(), [0, 1, 2, 3, 4, 50]);
    tensor.delete(dlpack_tests::foreign::Farewell::Plain);
    free::<Numbers>(object);
}

/// Dimensions that a class stores as 64-bit integers are not copied: the view points to
/// them.
#[test]
fn stored_dimensions_are_not_copied() {
    let picture = object(Picture::new());
    let tensor = viewed(lends::<Picture>(), picture);
    let range = picture.addr()..picture.addr() + 256;
    assert!(range.contains(&tensor.shape.addr()), "the shape is in the object");
    assert_eq!(dims(&tensor, tensor.shape), [3, 4, 2]);
    assert_eq!(dims(&tensor, tensor.strides), [8, 2, 1]);
    free::<Picture>(picture);

    let data = SharedBuffer::zeroed(6).expect("memory");
    let strided = Strided { data, shape: vec![2, 3], strides: [1, 2] };
    let shape = strided.shape.as_ptr();
    let strided = object(strided);
    let tensor = viewed(exports::<Strided>().0, strided);
    assert!(ptr::eq(tensor.shape, shape));
    assert!((strided.addr()..strided.addr() + 256).contains(&tensor.strides.addr()));
    assert_eq!(dims(&tensor, tensor.strides), [1, 2]);
    free::<Strided>(strided);
}

/// Only the strides that were checked are pointed at, which are those that were named last.
#[test]
fn strides_given_twice_use_the_last_list() {
    struct Twice(SharedBuffer<u16>, [i64; 1], [i64; 1]);

    impl DLPackExport for Twice {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&self.1).strides(&self.2).strides([1]).data(self.0.data())
        }
    }

    let twice = object(Twice(SharedBuffer::zeroed(6).expect("memory"), [6], [1 << 40]));
    let tensor = viewed(exports::<Twice>().0, twice);
    assert_eq!(dims(&tensor, tensor.strides), [1]);
    free::<Twice>(twice);
}

/// Strides in bytes are not those of the tensor, which are in elements.
#[test]
fn a_view_does_not_point_at_strides_in_bytes() {
    struct Bytes(SharedBuffer<u16>, [i64; 2], [i64; 2]);

    impl DLPackExport for Bytes {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&self.1).byte_strides(&self.2).data(self.0.data())
        }
    }

    let bytes = object(Bytes(SharedBuffer::zeroed(6).expect("memory"), [2, 3], [6, 2]));
    let tensor = viewed(exports::<Bytes>().0, bytes);
    assert_eq!(dims(&tensor, tensor.strides), [3, 1]);
    free::<Bytes>(bytes);
}

/// A rank shortens both lists, and strides of fewer entries are not pointed at.
#[test]
fn a_view_has_the_strides_that_were_checked_after_a_rank() {
    struct Capacity(SharedBuffer<u16>, [i64; 3], Vec<i64>);

    impl DLPackExport for Capacity {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&self.1).strides(&self.2).rank(2).data(self.0.data())
        }
    }

    for (strides, text) in [(vec![1 << 40, 1], "spans bytes"), (vec![3], "room for 1")] {
        let data = SharedBuffer::zeroed(6).expect("memory");
        let capacity = object(Capacity(data, [2, 3, 0], strides));
        assert_eq!(view(exports::<Capacity>().0, capacity).0, -1);
        let raised = raised();
        assert!(raised.iter().any(|one| one.text.contains(text)), "{raised:?}");
        free::<Capacity>(capacity);
    }
}

/// A slot on the stack is freed when the call returns, so a view must not borrow from it.
#[test]
fn a_tensor_that_was_described_elsewhere_is_refused() {
    /// The slots that live for ever, so that Miri and valgrind do not call them lost.
    static KEPT: Mutex<Vec<AtomicPtr<Slot>>> = Mutex::new(Vec::new());

    struct Elsewhere(SharedBuffer<u16>);

    impl DLPackExport for Elsewhere {
        fn describe<'a>(&'a self, _: Describe<'a>) -> Result<Description<'a>, Error> {
            let slot = Box::leak(Box::new(Slot::new()));
            let mut kept = KEPT.lock().expect("not poisoned");
            kept.push(AtomicPtr::new(ptr::from_mut(slot)));
            slot.describe().shape(&[6]).data(self.0.data())
        }
    }

    let data = SharedBuffer::zeroed(6).expect("memory");
    let elsewhere = object(Elsewhere(data));
    assert_eq!(view(exports::<Elsewhere>().0, elsewhere).0, -1);
    let raised = raised();
    assert!(raised.iter().any(|one| one.text.contains("another slot")), "{raised:?}");
    free::<Elsewhere>(elsewhere);
}

/// Nor are those of a tensor in a newtype or in an `ExportArc`.
#[test]
fn stored_dimensions_of_wrapped_tensors_are_not_copied() {
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Array<D> {
        data: SharedBuffer<u8>,
        shape: D,
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, transparent)]
    struct Around<D>(Array<D>)
    where
        D: tensors::AsDims;

    /// Checks the view of an object with a tensor whose shape is stored.
    fn check<T: DLPackExport + 'static>(tensor: T, table: &DLPackExchangeAPI, shape: *const i64) {
        let object = object(tensor);
        let seen = viewed(table, object);
        let inside = (object.addr()..object.addr() + 256).contains(&seen.shape.addr());
        assert!(if shape.is_null() { inside } else { ptr::eq(seen.shape, shape) });
        assert_eq!(dims(&seen, seen.shape), [3, 5]);
        assert_eq!(dims(&seen, seen.strides), [5, 1]);
        free::<T>(object);
    }
    fn array<D>(shape: D) -> Array<D> {
        Array { data: SharedBuffer::zeroed(15).expect("memory"), shape }
    }
    fn writable<T: DLPackExport + 'static>(tensor: T, shape: *const i64) {
        check(tensor, exports::<T>().0, shape);
    }
    writable(array([3_i64, 5]), ptr::null());
    writable(Around(array([3_isize, 5])), ptr::null());
    let long = array(vec![3_usize, 5]);
    let shape = long.shape.as_ptr();
    writable(long, shape.cast());
    let shared = ExportArc::new(array([3_i64, 5])).expect("memory");
    let shape = shared.shape.as_ptr();
    writable(shared, shape);
}

/// Narrow integers, lists of fields and constants outlive the call too.
#[test]
fn computed_dimensions_outlive_the_call() {
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Narrow {
        data: SharedBuffer<u8>,
        shape: [u32; 2],
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    #[dlpack(shape(height, 5))]
    struct Listed {
        data: SharedBuffer<u8>,
        height: u8,
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    #[dlpack(shape(3, 5))]
    struct Constant {
        data: SharedBuffer<u8>,
    }
    let data = || SharedBuffer::<u8>::zeroed(15).expect("memory");
    let all = [
        (object(Narrow { data: data(), shape: [3, 5] }), exports::<Narrow>().0),
        (object(Listed { data: data(), height: 3 }), exports::<Listed>().0),
        (object(Constant { data: data() }), exports::<Constant>().0),
    ];
    let tensors = all.map(|(object, table)| viewed(table, object));
    for tensor in &tensors {
        assert_eq!(dims(tensor, tensor.shape), [3, 5]);
        assert_eq!(dims(tensor, tensor.strides), [5, 1]);
    }
    free::<Narrow>(all[0].0);
    free::<Listed>(all[1].0);
    free::<Constant>(all[2].0);
}

#[test]
fn empty_tensors_and_scalars_are_viewed() {
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Any {
        data: SharedBuffer<u8>,
        shape: Vec<usize>,
    }
    for (len, shape) in [(1, vec![]), (0, vec![0]), (0, vec![3, 0, 2])] {
        let ndim = shape.len();
        let object = object(Any { data: SharedBuffer::zeroed(len).expect("memory"), shape });
        let tensor = viewed(exports::<Any>().0, object);
        assert_eq!(usize::try_from(tensor.ndim), Ok(ndim));
        assert_eq!(tensor.data.is_null(), len == 0);
        assert!(!tensor.shape.is_null() && !tensor.strides.is_null());
        if ndim == 0 {
            // Not where an empty vector pretends to be: C may compare with it.
            assert!(ptr::eq(tensor.shape, tensor.strides));
        }
        free::<Any>(object);
    }
}

/// The same refusals as for a capsule without flags.
#[test]
fn tensors_that_a_dltensor_cannot_describe_are_refused() {
    let picture = object(Picture::new());
    let (code, tensor) = view(exports::<Picture>().0, picture);
    assert_eq!((code, tensor.ndim), (-1, 0));
    assert!(tensor.data.is_null() && tensor.shape.is_null() && tensor.strides.is_null());
    let (kind, text) = only_raised();
    assert_eq!(kind, "BufferError");
    assert!(text.contains("read-only"), "{text}");
    free::<Picture>(picture);

    let data = SharedBuffer::zeroed(2).expect("memory");
    let padded = object(Padded { data, shape: [2] });
    assert_eq!(view(exports::<Padded>().0, padded).0, -1);
    assert!(only_raised().1.contains("padded"));
    free::<Padded>(padded);
}

/// Memory of a device, lent without an object that orders the work on it.
struct Unsynchronized;

impl Storage for Unsynchronized {
    fn data(&self) -> DataRef<'_> {
        let bytes = core::ptr::without_provenance_mut(0x1000);
        // SAFETY: 1. to 3. No device has this address, and no test follows it.
        unsafe { DataRef::from_raw_parts_shared(bytes, 2, DataType::U8, Device::cuda(0)) }
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
struct OnDevice {
    data: Unsynchronized,
    shape: [usize; 1],
}

/// Nothing orders the consumer's work after that on the memory.
#[test]
fn memory_that_nothing_synchronizes_is_refused() {
    let object = object(OnDevice { data: Unsynchronized, shape: [2] });
    assert_eq!(view(exports::<OnDevice>().0, object).0, -1);
    assert!(only_raised().1.contains("synchronized_by"));
    free::<OnDevice>(object);
}

#[test]
fn classes_that_can_change_are_refused() {
    let object = changing_object(Numbers::new(Wrong::Nowhere));
    assert_eq!(view(exports::<Numbers>().0, object).0, -1);
    assert_eq!(only_raised(), ("RuntimeError".into(), "it can change".into()));
    free::<Numbers>(object);
}

#[test]
fn failures_are_raised_once_and_leave_no_pointers() {
    for (wrong, kind) in [
        (Wrong::Tensor, "BufferError"),
        (Wrong::HandOff, "BufferError"),
        (Wrong::TensorPanics, "RuntimeError"),
        (Wrong::HandOffPanics, "RuntimeError"),
    ] {
        let object = object(Numbers::new(wrong));
        let (code, tensor) = view(exports::<Numbers>().0, object);
        assert_eq!((code, tensor.ndim), (-1, 0), "{wrong:?}");
        assert!(tensor.data.is_null() && tensor.shape.is_null());
        assert_eq!(only_raised().0, kind, "{wrong:?}");
        free::<Numbers>(object);
    }
    let other = object(Picture::new());
    assert_eq!(view(exports::<Numbers>().0, other).0, -1);
    assert_eq!(only_raised().1, "no object of this class");
    assert_eq!(view(exports::<Numbers>().0, ptr::null_mut()).0, -1);
    assert_eq!(only_raised().1, "`py_object` is NULL");
    let function = exports::<Picture>().0.dltensor_from_py_object_no_sync.expect("set");
    // SAFETY: the object is alive; the function accepts NULL.
    assert_eq!(unsafe { function(other, ptr::null_mut()) }, -1);
    assert_eq!(only_raised().1, "`out` is NULL");
    free::<Picture>(other);
}

/// A view holds no owner: the object keeps the memory alive.
#[test]
fn a_view_does_not_own_the_object() {
    let data: Arc<[u8]> = (0..24).collect();
    let picture = object(Picture { data: Arc::clone(&data), shape: [3, 4, 2] });
    let tensor = viewed(lends::<Picture>(), picture);
    assert_eq!(Arc::strong_count(&data), 2);
    assert!(ptr::eq(tensor.data.cast(), data.data().as_ptr()));
    free::<Picture>(picture);
    assert_eq!(Arc::strong_count(&data), 1);
}
