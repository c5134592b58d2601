//! The deleter runs exactly once, on every path, however and wherever it is called.
//!
//! Valgrind runs this binary too.

use core::panic::AssertUnwindSafe;
use core::ptr;
use std::panic::{catch_unwind, panic_any};
use std::sync::Arc;

use dlpack_tests::counted::{Drops, Owner, Ticket};
use dlpack_tests::foreign::{CStruct, Farewell, ImportedStorage};
use tensors::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use tensors::{
    DLPackExport, DataRef, Describe, Description, DescriptionMut, Error, ManagedTensor,
    SharedBuffer, SharedOwner, Storage, StreamArg,
};

/// Shapes that differ in how a packet stores them: dimensions inside of it, in a second
/// allocation, none; no elements.
const SHAPES: [&[i64]; 7] = [
    &[],
    &[6],
    &[2, 3],
    &[1, 1, 1, 1, 1, 1, 2, 3],
    &[2, 1, 1, 1, 1, 1, 1, 1, 3],
    &[0],
    &[2, 3, 0, 1, 1, 1, 1, 1, 1, 1],
];

fn numbers(shape: &[i64]) -> Vec<i32> {
    (0..i32::try_from(shape.iter().product::<i64>()).unwrap()).collect()
}

/// Reads and, where it may, writes everything, then calls the deleter.
fn consume<M: CStruct>(tensor: ImportedStorage<M>, shape: &[i64], how: Farewell, elsewhere: bool) {
    assert_eq!(tensor.shape(), shape);
    assert_eq!(tensor.elements::<i32>(), numbers(shape));
    if tensor.is_writable() {
        tensor.write(|old: i32| !old);
        assert_eq!(tensor.elements::<i32>(), numbers(shape).iter().map(|n| !n).collect::<Vec<_>>());
    }
    if elsewhere {
        tensor.delete_elsewhere(how);
    } else {
        tensor.delete(how);
    }
}

/// Every export of both structs, consumed in every way.
#[test]
fn consuming_an_export_drops_the_owner_once() {
    for (number, shape) in SHAPES.into_iter().enumerate() {
        for how in Farewell::ALL {
            for elsewhere in [false, true] {
                // Miri, which is slow, sees half of the combinations.
                if cfg!(miri) && elsewhere == ((how as usize + number) % 2 == 0) {
                    continue;
                }
                let once = |export: &dyn Fn(Drops)| {
                    let drops = Drops::new();
                    export(drops.clone());
                    assert_eq!(drops.count(), 1, "{shape:?} {how:?} elsewhere: {elsewhere}");
                };
                let owner = |drops: &Drops| Owner::new(numbers(shape), shape).counted(drops);
                once(&|drops| {
                    let tensor = owner(&drops).into_dlpack().unwrap();
                    assert_eq!(drops.count(), 0);
                    consume(ImportedStorage::from(tensor), shape, how, elsewhere);
                });
                once(&|drops| {
                    let tensor = owner(&drops).into_dlpack_legacy().unwrap();
                    assert_eq!(drops.count(), 0);
                    consume(ImportedStorage::from(tensor), shape, how, elsewhere);
                });
                once(&|drops| {
                    let tensor = owner(&drops).copy_to_dlpack().unwrap();
                    assert_eq!(drops.count(), 1, "a copy does not keep its source");
                    consume(ImportedStorage::from(tensor), shape, how, elsewhere);
                });
            }
        }
    }
}

/// A handle that is dropped calls the deleter by itself, also on another thread.
#[test]
fn dropping_an_unread_export_drops_the_owner_once() {
    for shape in SHAPES {
        let drops = Drops::new();
        let owner = || Owner::new(numbers(shape), shape).counted(&drops);
        drop(owner().into_dlpack().unwrap());
        assert_eq!(drops.count(), 1);
        drop(owner().into_dlpack_legacy().unwrap());
        assert_eq!(drops.count(), 2);
        let tensor = owner().into_dlpack().unwrap();
        std::thread::spawn(move || drop(tensor)).join().unwrap();
        assert_eq!(drops.count(), 3);
    }
}

/// A handle that became a raw pointer no longer calls the deleter.
#[test]
fn into_raw_leaves_the_deleter_to_the_caller() {
    let drops = Drops::new();
    let tensor = Owner::new(vec![1_i32], &[1]).counted(&drops).into_dlpack().unwrap();
    let before = tensor.as_raw();
    let tensor = ImportedStorage::from(tensor);
    assert_eq!(tensor.as_ptr(), before);
    assert_eq!(drops.count(), 0);
    tensor.delete(Farewell::Plain);
    assert_eq!(drops.count(), 1);
}

/// `free(NULL)` does nothing, and neither does a deleter.
#[test]
fn null_is_refused() {
    let drops = Drops::new();
    let tensor = Owner::new(vec![1_i32], &[1]).counted(&drops).into_dlpack().unwrap();
    let tensor = ImportedStorage::from(tensor);
    let deleter = tensor.deleter().unwrap();
    // SAFETY: our deleters take NULL.
    unsafe { deleter(ptr::null_mut()) };
    assert_eq!(drops.count(), 0);
    tensor.delete(Farewell::Plain);
    assert_eq!(drops.count(), 1);

    let tensor = Owner::new(vec![1_i32], &[1]).counted(&drops).into_dlpack_legacy().unwrap();
    let tensor = ImportedStorage::from(tensor);
    let deleter = tensor.deleter().unwrap();
    // SAFETY: our deleters take NULL.
    unsafe { deleter(ptr::null_mut()) };
    assert_eq!(drops.count(), 1);
    tensor.delete(Farewell::Plain);
    assert_eq!(drops.count(), 2);
}

/// A storage with counted handles.
#[derive(Clone)]
struct Handle {
    data: Arc<Vec<i32>>,
    /// Dropped with the last handle.
    _last: Arc<Ticket>,
    /// The owner of each handle.
    handles: Drops,
}

struct CountedHandle(Handle, #[expect(dead_code, reason = "dropped")] Ticket);

impl Storage for CountedHandle {
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(&self.0.data)
    }

    fn share(&self) -> Option<SharedOwner> {
        let ticket = self.0.handles.ticket();
        SharedOwner::new(CountedHandle(self.0.clone(), ticket))
    }
}

/// Each export of a shared object drops its own handle, in any order.
#[test]
fn each_export_of_a_shared_owner_is_deleted_once() {
    let (memory, handles) = (Drops::new(), Drops::new());
    let handle = Handle {
        data: Arc::new(numbers(&[2, 3])),
        _last: Arc::new(memory.ticket()),
        handles: handles.clone(),
    };
    let owner = Owner::new(CountedHandle(handle, handles.ticket()), &[2, 3]);
    let tensors: Vec<ImportedStorage> = (0..6).map(|_| owner.to_dlpack().unwrap().into()).collect();
    drop(owner);
    assert_eq!((handles.count(), memory.count()), (1, 0));
    for (deleted, tensor) in tensors.into_iter().rev().enumerate() {
        assert_eq!((handles.count(), memory.count()), (deleted + 1, 0));
        assert!(!tensor.is_writable());
        consume(tensor, &[2, 3], Farewell::ALL[deleted % 5], deleted % 2 == 0);
    }
    assert_eq!((handles.count(), memory.count()), (7, 1));
}

/// The reference count of an `Arc` returns to its earlier value.
#[test]
fn reference_counts() {
    let data: Arc<[i32]> = numbers(&[2, 3]).into();
    let owner = Owner::new(Arc::clone(&data), &[2, 3]);
    let tensors: Vec<ManagedTensor> = (0..4).map(|_| owner.to_dlpack().unwrap()).collect();
    assert_eq!(Arc::strong_count(&data), 6);
    drop(tensors);
    assert_eq!(Arc::strong_count(&data), 2);
    assert!(owner.clone_with(&[7]).to_dlpack().is_err());
    assert_eq!(Arc::strong_count(&data), 2, "a refused export keeps nothing");
    drop(owner.into_dlpack().unwrap());
    assert_eq!(Arc::strong_count(&data), 1);
}

trait CloneWith {
    fn clone_with(&self, shape: &[i64]) -> Self;
}

impl CloneWith for Owner<Arc<[i32]>> {
    fn clone_with(&self, shape: &[i64]) -> Self {
        Owner::new(Arc::clone(&self.data), shape)
    }
}

/// Which of an exportable's functions misbehaves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Describe,
    DescribeMut,
    HandOff,
    Share,
    Drop,
}

/// How it does so.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    /// It returns an error.
    Error,
    /// It panics.
    Panic,
    /// It panics with a value whose drop panics, that many times in a row.
    Bombs(usize),
    /// It panics with a value whose drop always panics.
    Endless,
}

/// A panic payload whose drop panics with the next one.
struct Bomb(usize);

impl Drop for Bomb {
    fn drop(&mut self) {
        if let Some(left) = self.0.checked_sub(1) {
            panic_any(Bomb(left));
        }
    }
}

/// The same without an end. It has no size, so a leak takes no memory.
struct Endless;

impl Drop for Endless {
    fn drop(&mut self) {
        panic_any(Endless);
    }
}

struct Hostile {
    data: Vec<i32>,
    at: At,
    trouble: Trouble,
    _ticket: Ticket,
}

impl Hostile {
    fn new(at: At, trouble: Trouble, drops: &Drops) -> Self {
        Self { data: vec![1, 2, 3], at, trouble, _ticket: drops.ticket() }
    }

    fn act(&self, at: At) -> Result<(), Error> {
        if self.at != at {
            return Ok(());
        }
        match self.trouble {
            Trouble::Error => Err(Error::Custom("hostile")),
            Trouble::Panic => panic!("hostile"),
            Trouble::Bombs(count) => panic_any(Bomb(count)),
            Trouble::Endless => panic_any(Endless),
        }
    }
}

impl DLPackExport for Hostile {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        self.act(At::Describe)?;
        out.shape(&[3]).data(self.data.data())
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        self.act(At::DescribeMut)?;
        out.shape(&[3]).data_mut(self.data.data_mut())
    }

    fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
        self.act(At::HandOff)
    }

    fn share(&self) -> Option<SharedOwner> {
        self.act(At::Share).ok()?;
        SharedOwner::new(vec![1])
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        let _ = self.act(At::Drop);
    }
}

/// Runs code that may panic, and forgets the payload.
fn panics(f: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(()) => false,
        Err(mut payload) => {
            if let Some(bomb) = payload.downcast_mut::<Bomb>() {
                bomb.0 = 0;
            }
            if payload.is::<Endless>() {
                core::mem::forget(payload);
            } else {
                drop(payload);
            }
            true
        }
    }
}

/// Trouble before there is a tensor: the error or panic arrives, the owner is
/// dropped once, and nothing else happens.
#[test]
fn errors_before_the_export_drop_the_owner_once() {
    for trouble in [Trouble::Error, Trouble::Panic, Trouble::Bombs(2), Trouble::Endless] {
        for at in [At::DescribeMut, At::HandOff] {
            for legacy in [false, true] {
                let drops = Drops::new();
                let hostile = Hostile::new(at, trouble, &drops);
                let panicked = panics(|| {
                    let error = if legacy {
                        hostile.into_dlpack_legacy().unwrap_err()
                    } else {
                        hostile.into_dlpack().unwrap_err()
                    };
                    assert_eq!(error, Error::Custom("hostile"));
                });
                assert_eq!(panicked, trouble != Trouble::Error, "{at:?} {trouble:?}");
                assert_eq!(drops.count(), 1, "{at:?} {trouble:?} legacy: {legacy}");
            }
        }
        for at in [At::Describe, At::HandOff] {
            let drops = Drops::new();
            let hostile = Hostile::new(at, trouble, &drops);
            let panicked = panics(|| {
                assert_eq!(hostile.copy_to_dlpack().unwrap_err(), Error::Custom("hostile"));
            });
            assert_eq!(panicked, trouble != Trouble::Error);
            let panicked = panics(|| {
                assert_eq!(hostile.to_dlpack().unwrap_err(), Error::Custom("hostile"));
            });
            assert_eq!(panicked, trouble != Trouble::Error);
            assert_eq!(drops.count(), 0, "still ours");
            drop(hostile);
            assert_eq!(drops.count(), 1);
        }
        let drops = Drops::new();
        let hostile = Hostile::new(At::Share, trouble, &drops);
        let panicked = panics(|| {
            assert_eq!(hostile.to_dlpack().unwrap_err(), Error::NotShareable);
        });
        assert_eq!(panicked, trouble != Trouble::Error);
        assert_eq!(drops.count(), 0, "still ours");
    }
}

/// The value comes back with an error, at each stage, and can be exported again.
#[test]
fn a_failed_export_returns_the_value() {
    for at in [At::DescribeMut, At::HandOff] {
        let drops = Drops::new();
        let hostile = Hostile::new(at, Trouble::Error, &drops);
        let start = hostile.data.as_ptr();
        let (mut hostile, error) = hostile.try_into_dlpack().unwrap_err();
        assert_eq!((error, drops.count()), (Error::Custom("hostile"), 0));
        hostile.at = At::Drop;
        let tensor = hostile.try_into_dlpack().map_err(|(_, error)| error).unwrap();
        assert_eq!((tensor.data_ptr(), drops.count()), (start.cast(), 0));
        drop(tensor);
        assert_eq!(drops.count(), 1);

        let panicking = Hostile::new(at, Trouble::Panic, &drops);
        assert!(panics(|| drop(panicking.try_into_dlpack())));
        assert_eq!(drops.count(), 2);
    }
}

/// An owner whose drop panics: the deleter returns to C normally.
#[test]
fn a_drop_panic_does_not_leave_the_deleter() {
    for trouble in [Trouble::Panic, Trouble::Bombs(1), Trouble::Bombs(3), Trouble::Endless] {
        for how in Farewell::ALL {
            let drops = Drops::new();
            let hostile = || Hostile::new(At::Drop, trouble, &drops);
            ImportedStorage::from(hostile().into_dlpack().unwrap()).delete(how);
            assert_eq!(drops.count(), 1, "{trouble:?} {how:?}");
            ImportedStorage::from(hostile().into_dlpack_legacy().unwrap()).delete_elsewhere(how);
            assert_eq!(drops.count(), 2, "{trouble:?} {how:?}");
            drop(hostile().into_dlpack().unwrap());
            assert_eq!(drops.count(), 3, "{trouble:?} {how:?}");
        }
    }
}

/// The payload of a panic is dropped too, not leaked.
#[test]
fn panic_payloads_are_dropped() {
    struct Carrier {
        data: Vec<i32>,
        payload: Option<Ticket>,
    }

    impl DLPackExport for Carrier {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[3]).data(self.data.data())
        }
    }

    impl Drop for Carrier {
        fn drop(&mut self) {
            panic_any(self.payload.take());
        }
    }

    let drops = Drops::new();
    let owner = Carrier { data: vec![1, 2, 3], payload: Some(drops.ticket()) };
    ImportedStorage::from(owner.into_dlpack().unwrap()).delete(Farewell::Plain);
    assert_eq!(drops.count(), 1);
}

/// An owner whose drop panics while a failed export returns: there is no C code in
/// between, so the panic reaches the caller.
#[test]
fn a_drop_panic_after_a_failed_export_reaches_the_caller() {
    struct Unlendable(Hostile);

    impl DLPackExport for Unlendable {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[4]).data(self.0.data.data())
        }
    }

    let drops = Drops::new();
    let owner = Unlendable(Hostile::new(At::Drop, Trouble::Panic, &drops));
    assert!(panics(|| drop(owner.into_dlpack())));
    assert_eq!(drops.count(), 1);
}

/// Errors that the library finds after the owner was moved to its place.
#[test]
fn an_export_refused_after_the_move_drops_the_owner_once() {
    type Export = fn(Owner<Vec<i32>>) -> Error;
    let exports: [Export; 2] =
        [|owner| owner.into_dlpack().unwrap_err(), |owner| owner.into_dlpack_legacy().unwrap_err()];
    for export in exports {
        let drops = Drops::new();
        let owner = |shape: &[i64]| Owner::new(vec![0_i32; 6], shape).counted(&drops);
        let out_of_bounds = Error::OutOfBounds { start: 0, end: 28, len: 24 };
        assert_eq!(export(owner(&[7])), out_of_bounds);
        assert_eq!(export(owner(&[7, 1, 1, 1, 1, 1, 1, 1, 1, 1])), out_of_bounds);
        assert_eq!(
            export(owner(&[6]).strided(&[1], 4)),
            Error::OutOfBounds { start: 4, end: 28, len: 24 }
        );
        assert_eq!(
            export(owner(&[2]).strided(&[-1], 0)),
            Error::OutOfBounds { start: -4, end: 4, len: 24 }
        );
        assert_eq!(export(owner(&[-1])), Error::NegativeDim { axis: 0, dim: -1 });
        assert_eq!(export(owner(&[1; 65])), Error::TooManyDims { ndim: 65 });
        assert_eq!(
            export(owner(&[2]).strided(&[1, 1], 0)),
            Error::RankMismatch { shape: 1, strides: 2 }
        );
        assert_eq!(drops.count(), 7);
    }
    // Frozen memory, and memory in which two elements overlap.
    let drops = Drops::new();
    let frozen = Owner::new(Arc::<[i32]>::from([1, 2]), &[2]).counted(&drops);
    assert_eq!(frozen.into_dlpack_legacy().unwrap_err(), Error::ReadOnlyLegacy);
    assert_eq!(drops.count(), 1);
    let overlapping = Owner::new(vec![1_i32], &[5]).strided(&[0], 0).counted(&drops);
    assert_eq!(overlapping.into_dlpack_legacy().unwrap_err(), Error::ReadOnlyLegacy);
    assert_eq!(drops.count(), 2);
}

/// The tensor outlives everything that it was made from.
#[test]
fn an_export_outlives_its_source() {
    let buffer = SharedBuffer::from_slice(&numbers(&[2, 3])).unwrap();
    let owner = Owner::new(buffer.clone(), &[2, 3]);
    let shared: ImportedStorage<DLManagedTensorVersioned> = owner.to_dlpack().unwrap().into();
    let legacy: ImportedStorage<DLManagedTensor> = owner.into_dlpack_legacy().unwrap().into();
    drop(buffer);
    shared.write(|n: i32| n * 2);
    shared.delete_elsewhere(Farewell::Copy);
    assert_eq!(legacy.elements::<i32>(), [0, 2, 4, 6, 8, 10]);
    legacy.delete_elsewhere(Farewell::Narrow);
}
