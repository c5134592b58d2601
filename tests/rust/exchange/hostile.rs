//! Makes objects of every hostile and unusual struct, in memory in which a forbidden read
//! ends the process.

use core::ptr;

use dlpack_tests::guarded::{Flush, announce};
use dlpack_tests::hostile::{
    Built, Case, borderline, delete_at, malformed, on_devices, other_majors,
};
use tensors::exchange::Importable;
use tensors::ffi::DLManagedTensorVersioned;

use crate::exchange::host::{TAKING, Taken, Taking, free, only_raised, raised, table_of};

type Struct = Built<DLManagedTensorVersioned>;

fn refused(case: &Case, built: &Struct) {
    announce(&case.words);
    let outcome = table_of::<Taken, Importable>().to_object(built.raw());
    assert_eq!(outcome, (-1, ptr::null_mut()), "{}", case.words);
    let error = case.error.expect("the error of a malformed struct").to_string();
    assert_eq!(only_raised(), ("BufferError".to_owned(), error), "{}", case.words);
    // X9: it is the caller's still.
    assert_eq!(built.deletes(), 0, "{}", case.words);
    assert_eq!(delete_at(built.raw().addr()), built.has_deleter());
}

/// The error is the import's, and the tensor stays with the caller.
#[test]
#[cfg_attr(miri, ignore = "Miri has no pages to protect")]
fn malformed_structs_stay_with_the_caller() {
    TAKING.set(Taking::Keeps);
    for case in malformed() {
        for with_deleter in [true, false] {
            refused(&case, &case.build(with_deleter, Flush::End));
        }
    }
    for case in other_majors() {
        refused(&case, &case.build_head());
    }
}

/// The object has the tensor, and its deleter runs when the object dies. Nothing of
/// the struct is read in between.
#[test]
#[cfg_attr(miri, ignore = "Miri has no pages to protect")]
fn borderline_structs_belong_to_the_object() {
    TAKING.set(Taking::Keeps);
    for case in borderline().into_iter().chain(on_devices()) {
        for with_deleter in [true, false] {
            announce(&case.words);
            let built: Struct = case.build(with_deleter, Flush::End);
            let (code, made) = table_of::<Taken, Importable>().to_object(built.raw());
            assert_eq!((code, raised()), (0, vec![]), "{}", case.words);
            assert_eq!(built.deletes(), 0, "{}", case.words);
            free::<Taken>(made);
            assert_eq!(built.deletes(), usize::from(with_deleter), "{}", case.words);
        }
    }
}
