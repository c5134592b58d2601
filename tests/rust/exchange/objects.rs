//! `managed_tensor_to_py_object_no_sync`: after a success the object owns the tensor,
//! after a failure the caller, which then calls the deleter.

use core::ptr;
use core::sync::atomic::AtomicPtr;

use dlpack_tests::counted::Drops;
use tensors::exchange::Importable;
use tensors::ffi::DLManagedTensorVersioned;
use tensors::{DLPackExport, Error, Flags, Version};

use crate::exchange::forge::{Forged, forged, free as free_silent, other_major};
use crate::exchange::host::{
    Called, FULL, HELPER, Numbers, Picture, STOLEN, TAKING, Taken, Taking, Wrong, exports, free,
    object, only_raised, raised, table_of, value,
};

fn importable() -> Called {
    table_of::<Taken, Importable>()
}

/// Two rows of three.
fn numbers() -> Forged {
    forged(&[2, 3], &[0, 1, 2, 3, 4, 5])
}

/// Releases a tensor that the caller still owns, as tvm-ffi does.
fn delete(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: the tensor is alive, by the count.
    let deleter = unsafe { (*tensor).deleter }.expect("a deleter");
    // SAFETY: it is called only here.
    unsafe { deleter(tensor) }
}

#[test]
fn an_object_owns_the_tensor_and_releases_it_when_dropped() {
    let drops = Drops::new();
    TAKING.set(Taking::Keeps);
    let (code, made) = importable().to_object(numbers().raw(&drops));
    assert_eq!((code, raised()), (0, vec![]));
    assert_eq!(drops.count(), 0);
    free::<Taken>(made);
    assert_eq!(drops.count(), 1);
}

#[test]
fn an_object_that_copied_releases_the_tensor_at_once() {
    let drops = Drops::new();
    TAKING.set(Taking::Copies);
    let (code, made) = importable().to_object(numbers().raw(&drops));
    assert_eq!((code, drops.count()), (0, 1));
    let tensor = importable().managed(made);
    assert_eq!(tensor.0, -1, "a vector has one owner, and this host cannot be one");
    assert_eq!(only_raised().0, "BufferError");
    free::<Taken>(made);
    assert_eq!(drops.count(), 1);
}

/// X9: the deleter runs once, and the caller runs it.
#[test]
fn after_a_failure_the_caller_owns_the_tensor() {
    let cases = [
        (Taking::Refuses, false, "ValueError", "two dimensions"),
        (Taking::Panics, false, "RuntimeError", "panicked"),
        (Taking::DropsAndPanics, false, "RuntimeError", "panicked"),
        (Taking::PanicsWithIt, false, "RuntimeError", "panicked"),
        (Taking::Keeps, true, "RuntimeError", "no memory for an object"),
        (Taking::Copies, true, "RuntimeError", "no memory for an object"),
    ];
    for (taking, full, kind, text) in cases {
        let drops = Drops::new();
        let tensor = numbers().raw(&drops);
        TAKING.set(taking);
        FULL.set(full);
        let outcome = importable().to_object(tensor);
        FULL.set(false);
        assert_eq!(outcome, (-1, ptr::null_mut()), "{taking:?}");
        let raised = only_raised();
        assert_eq!(raised.0, kind, "{taking:?}");
        assert!(raised.1.contains(text), "{raised:?}");
        assert_eq!(drops.count(), 0, "{taking:?}");
        delete(tensor);
        assert_eq!(drops.count(), 1, "{taking:?}");
    }
}

#[test]
fn an_export_only_class_refuses_without_reading_the_tensor() {
    let drops = Drops::new();
    let tensor = numbers().raw(&drops);
    assert_eq!(exports::<Picture>().to_object(tensor), (-1, ptr::null_mut()));
    let (kind, text) = only_raised();
    assert_eq!(kind, "BufferError");
    assert!(text.contains("only exports"), "{text}");
    assert_eq!(drops.count(), 0);
    delete(tensor);
    assert_eq!(drops.count(), 1);
}

/// A constructor that stores the tensor and returns an error shares it with the caller,
/// and the last of the two owners releases it.
#[test]
fn a_tensor_shared_by_a_failed_constructor_has_two_owners() {
    for caller_first in [true, false] {
        let drops = Drops::new();
        TAKING.set(Taking::Steals);
        let tensor = numbers().raw(&drops);
        assert_eq!(importable().to_object(tensor), (-1, ptr::null_mut()));
        assert_eq!(only_raised().0, "ValueError");
        let stolen = STOLEN.take().expect("the tensor");
        if caller_first {
            delete(tensor);
            assert_eq!(drops.count(), 0);
            let elements = stolen.elements::<i32>().unwrap().to_vec().unwrap();
            assert_eq!(elements, [0, 1, 2, 3, 4, 5]);
            drop(stolen);
        } else {
            drop(stolen);
            assert_eq!(drops.count(), 0);
            delete(tensor);
        }
        assert_eq!(drops.count(), 1);
    }
}

/// X9: the thread that drops it, and the caller, may be done at the same moment.
#[test]
fn a_tensor_dropped_on_another_thread_meanwhile_has_two_owners() {
    for _ in 0..if cfg!(miri) { 2 } else { 200 } {
        let drops = Drops::new();
        TAKING.set(Taking::HandsOver);
        let tensor = numbers().raw(&drops);
        assert_eq!(importable().to_object(tensor), (-1, ptr::null_mut()));
        assert_eq!(only_raised().0, "ValueError");
        delete(tensor);
        HELPER.take().expect("a thread").join().expect("no panic");
        assert_eq!(drops.count(), 1);
    }
}

#[test]
fn invalid_structs_stay_with_the_caller() {
    TAKING.set(Taking::Keeps);
    let wrong = [
        Forged { ndim: Some(-1), ..numbers() },
        Forged { ndim: Some(65), ..numbers() },
        Forged { shape: None, ndim: Some(2), ..numbers() },
        Forged { shape: Some(vec![2, -3]), ..numbers() },
        Forged { data: None, ..numbers() },
        Forged { byte_offset: u64::MAX, ..numbers() },
    ];
    for case in wrong {
        let drops = Drops::new();
        let tensor = case.raw(&drops);
        assert_eq!(importable().to_object(tensor), (-1, ptr::null_mut()), "{case:?}");
        assert_eq!(only_raised().0, "BufferError");
        assert_eq!(drops.count(), 0, "{case:?}");
        delete(tensor);
        assert_eq!(drops.count(), 1, "{case:?}");
    }
}

/// Only the fields that every version has are read.
#[test]
fn another_major_version_stays_with_the_caller() {
    for version in [Version::new(2, 0), Version::new(0, 8)] {
        let drops = Drops::new();
        let tensor = other_major(version, &drops);
        assert_eq!(importable().to_object(tensor), (-1, ptr::null_mut()));
        assert_eq!(only_raised().1, Error::VersionUnsupported { found: version }.to_string());
        assert_eq!(drops.count(), 0);
        // SAFETY: the deleter is in the part that every version has.
        let deleter = unsafe { &raw const (*tensor).deleter };
        // SAFETY: as above.
        let deleter = unsafe { deleter.read() }.expect("a deleter");
        // SAFETY: it is called only here.
        unsafe { deleter(tensor) };
        assert_eq!(drops.count(), 1);
    }
}

#[test]
fn a_null_deleter_is_not_called() {
    TAKING.set(Taking::Keeps);
    let drops = Drops::new();
    let tensor = Forged { deleter: false, ..numbers() }.raw::<DLManagedTensorVersioned>(&drops);
    let (code, made) = importable().to_object(tensor);
    assert_eq!(code, 0);
    free::<Taken>(made);
    assert_eq!(drops.count(), 0);
    free_silent(tensor);
}

#[test]
fn null_is_refused_and_the_tensor_is_not_touched() {
    assert_eq!(importable().to_object(ptr::null_mut()), (-1, ptr::null_mut()));
    assert_eq!(only_raised().1, Error::NullTensor.to_string());
    let drops = Drops::new();
    let tensor = numbers().raw(&drops);
    let function = importable().0.managed_tensor_to_py_object_no_sync.expect("set");
    // SAFETY: the tensor is alive; the function accepts NULL.
    assert_eq!(unsafe { function(tensor, ptr::null_mut()) }, -1);
    assert_eq!(only_raised().1, "`out` is NULL");
    assert_eq!(drops.count(), 0);
    delete(tensor);
}

/// Metadata, flags included, are the producer's; the object may die anywhere.
#[test]
fn the_object_holds_the_tensor_unchanged() {
    TAKING.set(Taking::Keeps);
    let drops = Drops::new();
    let case = Forged { flags: Flags::READ_ONLY, version: Version::new(1, 9), ..numbers() };
    let (_, made) = importable().to_object(case.strided(&[3, 1], 0).raw(&drops));
    // SAFETY: `made` is such an object; the host's objects have their value last.
    let taken = unsafe { value::<Taken>(made) };
    let tensor = taken.tensor.as_ref().expect("kept");
    assert_eq!(tensor.flags(), Flags::READ_ONLY);
    assert_eq!(tensor.version(), Some(Version::new(1, 9)));
    assert_eq!((tensor.shape(), tensor.strides()), (&[2, 3][..], &[3, 1][..]));
    let made = AtomicPtr::new(made);
    std::thread::spawn(move || free::<Taken>(made.into_inner())).join().expect("no panic");
    assert_eq!(drops.count(), 1);
}

/// An export of this crate, imported by a class of this crate.
#[test]
fn an_own_export_is_imported_again() {
    TAKING.set(Taking::Keeps);
    let numbers = object(Numbers::new(Wrong::Nowhere));
    let (_, tensor) = exports::<Numbers>().managed(numbers);
    let (code, made) = importable().to_object(tensor);
    assert_eq!(code, 0);
    free::<Numbers>(numbers);
    // SAFETY: `made` is such an object.
    let taken = unsafe { value::<Taken>(made) };
    let elements = taken.tensor.as_ref().expect("kept").elements::<i32>().unwrap();
    assert_eq!(elements.to_vec().unwrap(), [0, 1, 2, 3, 4, 5]);
    assert!(taken.tensor().is_ok());
    free::<Taken>(made);
}
