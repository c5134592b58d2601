//! `ExportArc`: exports in place, one at a time, and the last owner.

use core::panic::AssertUnwindSafe;
use std::sync::{Arc, Barrier};
use std::thread;

use dlpack_tests::counted::{Drops, Owner, Ticket};
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{
    DLPackExport, DLPackImport, Describe, Description, Error, ExportArc, Flags,
    ImportedStorage as ForeignStorage, ImportedTensor, SharedBuffer, SharedOwner, Storage,
    StreamArg, Synchronize,
};

const SIX: [i32; 6] = [0, 1, 2, 3, 4, 5];

/// A derived tensor, which is exported by the fast path.
#[derive(Debug, DLPackExport)]
#[dlpack(crate = tensors)]
struct Matrix {
    data: Vec<i32>,
    shape: [usize; 2],
    #[dlpack(skip)]
    _ticket: Ticket,
}

fn matrix(drops: &Drops) -> ExportArc<Matrix> {
    let matrix = Matrix { data: SIX.to_vec(), shape: [2, 3], _ticket: drops.ticket() };
    ExportArc::new(matrix).unwrap()
}

/// The struct is in the block, whichever way the tensor is described, and a second
/// consumer has one of its own.
#[test]
fn the_first_export_is_in_place_and_others_are_packets() {
    fn check<T: DLPackExport + Send + Sync + 'static>(value: T, shape: &[i64], in_place: bool) {
        let shared = ExportArc::new(value).unwrap();
        let first = shared.to_dlpack().unwrap();
        let second = shared.to_dlpack().unwrap();
        assert_ne!(first.as_raw(), second.as_raw());
        assert_eq!(first.data_ptr(), second.data_ptr());
        for tensor in [&first, &second] {
            assert_eq!((tensor.shape(), tensor.flags()), (shape, Flags::READ_ONLY));
        }
        let place = first.as_raw();
        for farewell in Farewell::ALL {
            let consumer = ImportedStorage::from(shared.to_dlpack().unwrap());
            consumer.delete(farewell);
        }
        drop(first);
        for farewell in Farewell::ALL {
            let again = shared.to_dlpack().unwrap();
            if in_place {
                assert_eq!(again.as_raw(), place);
            }
            assert_eq!(again.shape(), shape);
            ImportedStorage::from(again).delete_elsewhere(farewell);
        }
        // The first one is free, and the second still has its packet.
        let second = ImportedStorage::from(second);
        assert_eq!(second.elements::<i32>().first(), Some(&SIX[0]));
        second.delete(Farewell::Plain);
    }
    let drops = Drops::new();
    let plain = Matrix { data: SIX.to_vec(), shape: [2, 3], _ticket: drops.ticket() };
    check(plain, &[2, 3], true);
    check(Owner::new(SIX.to_vec(), &[3, 2]), &[3, 2], true);
    check(Owner::new(SIX, &[6]), &[6], true);
    check(
        Owner::new(SIX.to_vec(), &[1, 1, 1, 1, 1, 1, 1, 1, 6]),
        &[1, 1, 1, 1, 1, 1, 1, 1, 6],
        false,
    );
}

/// The last owner drops the value, once, and no earlier one does.
#[test]
fn the_last_owner_drops_the_value() {
    type Step = fn(&mut Vec<ExportArc<Matrix>>, &mut Vec<ImportedStorage>);
    let (handle, tensor): (Step, Step) = (
        |owners, _| drop(owners.pop()),
        |_, tensors| tensors.pop().unwrap().delete(Farewell::Narrow),
    );
    let orders: [&[Step]; 5] = [
        &[handle, handle, tensor, tensor],
        &[tensor, tensor, handle, handle],
        &[handle, tensor, handle, tensor],
        &[tensor, handle, tensor, handle],
        &[handle, tensor, tensor, handle],
    ];
    for order in orders {
        for tensors_first in [false, true] {
            let drops = Drops::new();
            let shared = matrix(&drops);
            let mut tensors: Vec<ImportedStorage> =
                (0..2).map(|_| shared.to_dlpack().unwrap().into()).collect();
            if tensors_first {
                tensors.reverse();
            }
            let mut owners = vec![shared.clone(), shared];
            for (number, step) in order.iter().enumerate() {
                assert_eq!(drops.count(), 0, "before step {number}");
                step(&mut owners, &mut tensors);
            }
            assert_eq!(drops.count(), 1);
        }
    }
}

/// A value that another can still see is not changed.
#[test]
fn the_only_owner_may_change_the_value() {
    let drops = Drops::new();
    let mut shared = matrix(&drops);
    shared.get_mut().unwrap().data[0] = 7;
    let clone = shared.clone();
    assert!(shared.get_mut().is_none());
    let shared = shared.try_into_inner().unwrap_err();
    drop(shared);
    let mut clone = clone;
    let tensor = clone.to_dlpack().unwrap();
    assert!(clone.get_mut().is_none());
    let mut clone = clone.try_into_inner().unwrap_err();
    let tensor = ImportedStorage::from(tensor);
    assert_eq!(tensor.elements::<i32>(), [7, 1, 2, 3, 4, 5]);
    assert!(clone.get_mut().is_none());
    tensor.delete(Farewell::Plain);
    clone.get_mut().expect("nothing is lent any more").data[0] = 8;
    assert_eq!((clone.data[0], drops.count()), (8, 0));
}

#[test]
fn the_only_owner_may_take_the_value() {
    let drops = Drops::new();
    let shared = matrix(&drops);
    drop(shared.to_dlpack().unwrap());
    let matrix = shared.try_into_inner().unwrap();
    assert_eq!((matrix.data.as_slice(), drops.count()), (&SIX[..], 0));
    drop(matrix);
    assert_eq!(drops.count(), 1);
}

/// An invalid tensor is an error each time, and the block is free again after it.
#[test]
fn an_error_ends_the_export_in_place() {
    let mut shared = ExportArc::new(Owner::new(SIX.to_vec(), &[7])).unwrap();
    for _ in 0..3 {
        let error = shared.to_dlpack().unwrap_err();
        assert!(matches!(error, Error::OutOfBounds { .. }), "{error}");
    }
    let error = shared.to_dlpack_on(StreamArg::unspecified()).unwrap_err();
    assert!(matches!(error, Error::OutOfBounds { .. }), "{error}");
    shared.get_mut().expect("nothing is lent").shape[0] = 6;
    assert_eq!(shared.to_dlpack().unwrap().shape(), [6]);
}

/// A panic of the value's own code too.
#[test]
fn a_panic_ends_the_export_in_place() {
    struct Panics(bool);
    impl DLPackExport for Panics {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            assert!(!self.0, "requested by the test");
            out.shape(&[6]).data(SIX.as_slice().into_data())
        }
    }
    trait IntoData<'a> {
        fn into_data(self) -> tensors::DataRef<'a>;
    }
    impl<'a> IntoData<'a> for &'a [i32] {
        fn into_data(self) -> tensors::DataRef<'a> {
            tensors::DataRef::from_slice(self)
        }
    }
    let mut shared = ExportArc::new(Panics(true)).unwrap();
    let export = AssertUnwindSafe(|| drop(shared.to_dlpack()));
    std::panic::catch_unwind(export).unwrap_err();
    shared.get_mut().expect("nothing is lent").0 = false;
    assert_eq!(shared.to_dlpack().unwrap().shape(), [6]);
}

/// Code that exports a value while it is exported gets a packet.
#[test]
fn a_nested_export_is_a_packet() {
    struct Inside(std::sync::Mutex<Option<ExportArc<Inside>>>);
    impl DLPackExport for Inside {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            let inner = self.0.lock().unwrap().take();
            if let Some(inner) = inner {
                assert_eq!(inner.to_dlpack()?.shape(), [6]);
            }
            out.shape(&[6]).data(tensors::DataRef::from_slice(&SIX))
        }
    }
    let shared = ExportArc::new(Inside(std::sync::Mutex::default())).unwrap();
    *shared.0.lock().unwrap() = Some(shared.clone());
    assert_eq!(shared.to_dlpack().unwrap().shape(), [6]);
    assert!(shared.try_into_inner().is_ok());
}

/// A value whose `Drop` panics is freed, both by a handle and by a consumer.
#[test]
fn a_drop_panic_frees_the_block() {
    struct Bomb(Vec<i32>, #[expect(dead_code, reason = "it is dropped")] Ticket);
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("requested by the test");
        }
    }
    impl DLPackExport for Bomb {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[6]).data(self.0.data())
        }
    }
    let drops = Drops::new();
    let shared = ExportArc::new(Bomb(SIX.to_vec(), drops.ticket())).unwrap();
    let tensor = ImportedStorage::from(shared.to_dlpack().unwrap());
    drop(shared);
    assert_eq!(drops.count(), 0);
    tensor.delete(Farewell::Plain);
    assert_eq!(drops.count(), 1);
    let shared = ExportArc::new(Bomb(SIX.to_vec(), drops.ticket())).unwrap();
    std::panic::catch_unwind(AssertUnwindSafe(|| drop(shared))).unwrap_err();
    assert_eq!(drops.count(), 2);
}

/// A handle that has not been through C is imported as frozen.
#[test]
fn exports_are_imported_as_frozen() {
    let drops = Drops::new();
    let shared = matrix(&drops);
    let tensor = shared.to_dlpack().unwrap().import().unwrap();
    assert_eq!(tensor.frozen().unwrap().as_slice::<i32>().unwrap(), SIX);
    assert!(tensor.version().is_some());
}

/// A shared writable buffer is exported as writable.
#[test]
fn writable_memory_is_exported_writable() {
    let buffer = SharedBuffer::from_slice(&SIX).unwrap();
    let shared = ExportArc::new(Owner::new(buffer.clone(), &[6])).unwrap();
    let tensor = ImportedStorage::from(shared.to_dlpack().unwrap());
    assert_eq!(tensor.flags(), 0);
    tensor.write(|n: i32| n + 1);
    assert_eq!(buffer.to_vec(), [1, 2, 3, 4, 5, 6]);
    tensor.delete(Farewell::Copy);
    let legacy = ImportedStorage::from(shared.clone().into_dlpack_legacy().unwrap());
    assert_eq!(legacy.elements::<i32>()[5], 6);
    legacy.delete(Farewell::Plain);
}

/// All other methods return the result of the value.
#[test]
fn other_methods_are_those_of_the_value() {
    struct Busy(SharedBuffer<i32>);
    impl Storage for Busy {
        fn data(&self) -> tensors::DataRef<'_> {
            // SAFETY: 1. and 2. No device works on it.
            unsafe { self.0.data().synchronized_by(self) }
        }
        fn share(&self) -> Option<SharedOwner> {
            self.0.share()
        }
    }
    impl Synchronize for Busy {
        fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
            Err(Error::Custom("it is busy"))
        }
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Line {
        data: Busy,
        shape: [i64; 1],
    }
    let line = Line { data: Busy(SharedBuffer::from_slice(&SIX).unwrap()), shape: [6] };
    let mut shared = ExportArc::new(line).unwrap();
    let place = shared.data.data().as_ptr();
    assert_eq!(shared.storage().unwrap().data().as_ptr(), place);
    assert_eq!(shared.share().unwrap().data().as_ptr(), place);
    assert_eq!(shared.tensor().unwrap().shape(), [6]);
    let busy = Error::Custom("it is busy");
    let synchronized = shared.tensor().unwrap().sync_for(StreamArg::unspecified());
    assert_eq!(synchronized, Err(busy));
    // Before that, there is neither an export in place nor a packet.
    assert_eq!(shared.to_dlpack().unwrap_err(), busy);
    assert_eq!(shared.clone().into_dlpack_legacy().unwrap_err(), busy);
    assert!(shared.get_mut().is_some());
    assert!(ExportArc::new(Owner::new(SIX.to_vec(), &[6])).unwrap().share().is_none());

    let number = ExportArc::new(Some(7)).unwrap();
    assert_eq!(format!("{number:?}"), "Some(7)");
}

/// An export by value consumes the handle, and the tensor becomes the owner.
#[test]
fn an_export_arc_is_exported_by_value() {
    let drops = Drops::new();
    let tensor = ImportedStorage::from(matrix(&drops).into_dlpack().unwrap());
    assert_eq!((tensor.elements::<i32>().as_slice(), drops.count()), (&SIX[..], 0));
    tensor.delete_elsewhere(Farewell::CopyOfWiped);
    assert_eq!(drops.count(), 1);
    drop(matrix(&drops).into_dlpack_on(StreamArg::unspecified()).unwrap());
    assert_eq!(drops.count(), 2);
    matrix(&drops).into_dlpack_legacy().unwrap_err();
    assert_eq!(drops.count(), 3);
}

/// A newtype, a box and an `Arc` of it export in place too.
#[test]
fn wrappers_of_an_export_arc_export_in_place() {
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, transparent)]
    struct Around(ExportArc<Matrix>);

    let drops = Drops::new();
    let around = Arc::new(Box::new(Around(matrix(&drops))));
    let place = around.0.to_dlpack().unwrap().as_raw();
    let tensor = around.to_dlpack().unwrap();
    assert_eq!((tensor.as_raw(), tensor.shape()), (place, &[2, 3][..]));
    drop(around);
    assert_eq!(drops.count(), 0);
    drop(tensor);
    assert_eq!(drops.count(), 1);
}

/// Threads that clone, export, read and drop, with consumers that outlive them.
#[test]
fn many_threads_export_one_value() {
    let (threads, rounds) = if cfg!(miri) { (3, 6) } else { (8, 20_000) };
    let drops = Drops::new();
    let shared = matrix(&drops);
    let start = Arc::new(Barrier::new(threads));
    let workers: Vec<_> = (0..threads)
        .map(|number| {
            let (mine, start) = (shared.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                let mut last = None;
                for round in 0..rounds {
                    let mine = mine.clone();
                    let tensor = ImportedStorage::from(mine.to_dlpack().unwrap());
                    drop(mine);
                    assert_eq!(tensor.tensor().ndim, 2);
                    assert_eq!(tensor.elements::<i32>(), SIX);
                    if let Some(tensor) = last.replace(tensor) {
                        let tensor: ImportedStorage = tensor;
                        tensor.delete(Farewell::ALL[(number + round) % Farewell::ALL.len()]);
                    }
                }
                last
            })
        })
        .collect();
    drop(shared);
    let left: Vec<ImportedStorage> =
        workers.into_iter().filter_map(|worker| worker.join().unwrap()).collect();
    assert_eq!(drops.count(), 0);
    for tensor in left {
        assert_eq!(tensor.elements::<i32>(), SIX);
        tensor.delete_elsewhere(Farewell::Plain);
    }
    assert_eq!(drops.count(), 1);
}

/// It is `Send` and `Sync` as its value allows.
#[test]
fn export_arc_is_send_and_sync() {
    fn both<T: Send + Sync>() {}
    both::<ExportArc<Matrix>>();
    // And a storage of the crate's own may be in it.
    let imported = ExportArc::new(Owner::new(SIX.to_vec(), &[6])).unwrap().into_dlpack().unwrap();
    let imported: ImportedTensor = imported.import().unwrap();
    let foreign = ForeignStorage::<i32>::from_dlpack(imported);
    assert!(foreign.is_ok());
}
