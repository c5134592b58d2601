//! `managed_tensor_from_py_object_no_sync`.

use core::ptr;

use dlpack_tests::counted::Drops;
use dlpack_tests::foreign::Farewell;
use tensors::Storage;
use tensors::ffi::DLPACK_FLAG_BITMASK_READ_ONLY;

use crate::exchange::host::{
    BROKEN, Numbers, Picture, Wrong, exports, free, object, only_raised, raised,
};

/// X10: the header, and that there is one table.
#[test]
fn the_table_has_version_1_3_and_no_predecessor() {
    let table = exports::<Picture>().0;
    let version = table.header.version;
    assert_eq!((version.major, version.minor), (1, 3));
    assert!(table.header.prev_api.is_null());
    assert!(table.managed_tensor_allocator.is_some());
    assert!(table.managed_tensor_from_py_object_no_sync.is_some());
    assert!(table.managed_tensor_to_py_object_no_sync.is_some());
    assert!(table.dltensor_from_py_object_no_sync.is_some());
    assert!(table.current_work_stream.is_some());
}

#[test]
fn an_object_is_exported_without_a_copy_and_stays_usable() {
    let numbers = Numbers::new(Wrong::Nowhere);
    let address = numbers.data.data().as_ptr();
    let object = object(numbers);
    for farewell in Farewell::ALL {
        let tensor = exports::<Numbers>().tensor(object);
        assert_eq!(tensor.elements::<i32>(), [0, 1, 2, 3, 4, 5]);
        assert_eq!((tensor.shape(), tensor.strides()), (vec![2, 3], vec![3, 1]));
        assert!(ptr::eq(tensor.data(), address));
        assert!(tensor.is_writable());
        tensor.delete(farewell);
    }
    // The memory outlives the object, which is not used again.
    let tensor = exports::<Numbers>().tensor(object);
    free::<Numbers>(object);
    assert_eq!(tensor.elements::<i32>(), [0, 1, 2, 3, 4, 5]);
    tensor.delete(Farewell::Plain);
}

#[test]
fn read_only_memory_has_the_flag() {
    let object = object(Picture::new());
    let tensor = exports::<Picture>().tensor(object);
    assert_eq!(tensor.flags(), DLPACK_FLAG_BITMASK_READ_ONLY);
    tensor.delete(Farewell::Plain);
    free::<Picture>(object);
}

#[test]
fn failures_are_raised_once_and_leave_null() {
    let cases = [
        (Wrong::Tensor, "BufferError", "not yet\0"),
        (Wrong::HandOff, "BufferError", "the event was never recorded"),
        (Wrong::NoShare, "BufferError", "the storage has a single owner"),
        (Wrong::TensorPanics, "RuntimeError", "panicked"),
        (Wrong::HandOffPanics, "RuntimeError", "panicked"),
        (Wrong::SharePanics, "RuntimeError", "panicked"),
    ];
    for (wrong, kind, text) in cases {
        let drops = Drops::new();
        let object = object(Numbers { wrong, ..Numbers::counted(&drops) });
        let (code, tensor) = exports::<Numbers>().managed(object);
        assert_eq!((code, tensor), (-1, ptr::null_mut()), "{wrong:?}");
        let raised = only_raised();
        assert_eq!(raised.0, kind, "{wrong:?}");
        assert!(raised.1.contains(text), "{raised:?}");
        assert_eq!(drops.count(), 0);
        free::<Numbers>(object);
        assert_eq!(drops.count(), 1);
    }
}

#[test]
fn other_objects_and_null_are_refused() {
    let other = object(Picture::new());
    assert_eq!(exports::<Numbers>().managed(other), (-1, ptr::null_mut()));
    assert_eq!(only_raised(), ("RuntimeError".into(), "no object of this class".into()));
    assert_eq!(exports::<Numbers>().managed(ptr::null_mut()), (-1, ptr::null_mut()));
    assert_eq!(only_raised(), ("ValueError".into(), "`py_object` is NULL".into()));
    let function = exports::<Picture>().0.managed_tensor_from_py_object_no_sync.expect("set");
    // SAFETY: the object is alive; the function accepts NULL.
    assert_eq!(unsafe { function(other, ptr::null_mut()) }, -1);
    assert_eq!(only_raised(), ("ValueError".into(), "`out` is NULL".into()));
    free::<Picture>(other);
}

#[test]
fn a_host_that_panics_is_contained() {
    let object = object(Picture::new());
    BROKEN.set(true);
    let outcome = exports::<Picture>().managed(object);
    BROKEN.set(false);
    assert_eq!(outcome, (-1, ptr::null_mut()));
    assert_eq!(only_raised().0, "RuntimeError");
    assert!(raised().is_empty());
    free::<Picture>(object);
}
