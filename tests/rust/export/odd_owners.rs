//! Unusual safe implementations, which must be sound all the same: memory that safe code
//! lends stays alive until the deleter runs.

#![forbid(unsafe_code)]

use core::cell::{Cell, OnceCell, RefCell};
use core::sync::atomic::AtomicPtr;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use dlpack_tests::counted::Owner;
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{
    DLPackExport, DataMut, DataRef, Describe, Description, DescriptionMut, Element, Error,
    ExportArc, Flags, SharedOwner, Slot, Storage, StreamArg,
};

const SIX: [i32; 6] = [0, 1, 2, 3, 4, 5];

/// Exports, reads, writes where that is allowed, and deletes on another thread.
fn check(owner: impl DLPackExport + Send + 'static, expected: &[i32], flags: Flags) {
    let tensor = owner.into_dlpack().unwrap();
    assert_eq!(tensor.flags(), flags);
    let tensor = ImportedStorage::from(tensor);
    assert_eq!(tensor.elements::<i32>(), expected);
    if tensor.is_writable() {
        tensor.write(|n: i32| n + 1);
    }
    tensor.delete_elsewhere(Farewell::Narrow);
}

/// Lends what its function returns for its value.
struct By<T>(T, fn(&mut T) -> &mut [i32]);

impl<T> DLPackExport for By<T> {
    fn describe<'a>(&'a self, _: Describe<'a>) -> Result<Description<'a>, Error> {
        Err(Error::Custom("only by value"))
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        let elements = (self.1)(&mut self.0);
        out.shape([elements.len()]).data_mut(DataMut::from_mut_slice(elements))
    }
}

/// Elements that live for ever. They can be reached for ever too, so that Miri
/// and valgrind do not call them lost.
fn leak<const N: usize>(elements: [i32; N]) -> &'static mut [i32] {
    static KEPT: Mutex<Vec<AtomicPtr<i32>>> = Mutex::new(Vec::new());
    let leaked = Box::leak(Box::new(elements));
    KEPT.lock().unwrap().push(AtomicPtr::new(leaked.as_mut_ptr()));
    leaked
}

#[test]
fn memory_behind_locks_and_cells() {
    let six = || SIX.to_vec();
    check(By(Mutex::new(six()), |m| m.get_mut().unwrap()), &SIX, Flags::NONE);
    check(By(RwLock::new(SIX), |m| m.get_mut().unwrap()), &SIX, Flags::NONE);
    check(By(RefCell::new(SIX), |m| m.get_mut()), &SIX, Flags::NONE);
    check(By(Cell::new(SIX), |m| m.get_mut()), &SIX, Flags::NONE);
    check(By(VecDeque::from(six()), |m| m.make_contiguous()), &SIX, Flags::NONE);
    check(By(Arc::new(SIX), |m| &mut Arc::make_mut(m)[..]), &SIX, Flags::NONE);
    let lock = OnceLock::from(six());
    check(By(lock, |m| m.get_mut().unwrap()), &SIX, Flags::NONE);
}

/// The memory was allocated during the call, and belongs to the owner since.
#[test]
fn memory_made_while_lending() {
    check(
        By(Vec::new(), |m| {
            m.extend(SIX);
            m.shrink_to_fit();
            m
        }),
        &SIX,
        Flags::NONE,
    );
    check(
        By(vec![9; 3], |m| {
            *m = SIX.to_vec();
            m
        }),
        &SIX,
        Flags::NONE,
    );
    check(By(Some(SIX), |m| m.insert([7; 6])), &[7; 6], Flags::NONE);
    check(By((), |()| leak([1, 2])), &[1, 2], Flags::NONE);
    check(By((), |()| &mut []), &[], Flags::NONE);
    let leaked = leak(SIX);
    check(By(leaked, |m| m), &SIX, Flags::NONE);
    let leaked = leak(SIX);
    let taken = By(Mutex::new(Some(leaked)), |m| m.get_mut().unwrap().take().unwrap());
    check(taken, &SIX, Flags::NONE);
}

/// The view is computed on demand, from a shared reference.
#[test]
fn memory_made_while_viewing() {
    #[derive(Default)]
    struct Lazy {
        elements: OnceLock<Vec<i32>>,
        asked: Cell<usize>,
        local: OnceCell<[usize; 1]>,
    }

    impl DLPackExport for Lazy {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            self.asked.set(self.asked.get() + 1);
            let elements = self.elements.get_or_init(|| SIX.to_vec());
            let shape = self.local.get_or_init(|| [elements.len()]);
            out.shape(shape).data(elements.data())
        }
    }

    check(Lazy::default(), &SIX, Flags::READ_ONLY);
}

/// A slot that lives for ever, and can be reached for ever.
fn leaked_slot() -> &'static mut Slot {
    static KEPT: Mutex<Vec<AtomicPtr<Slot>>> = Mutex::new(Vec::new());
    let leaked = Box::leak(Box::new(Slot::new()));
    KEPT.lock().unwrap().push(AtomicPtr::new(core::ptr::from_mut(leaked)));
    leaked
}

/// A shape of 6 elements.
fn six_in(ndim: usize) -> Vec<u8> {
    let mut shape = vec![1; ndim];
    shape[ndim / 2] = 6;
    shape
}

/// The error of an export of a tensor that was described in another slot.
const ELSEWHERE: Error =
    Error::Custom("the tensor was described in another slot than the one that was given");

/// Every export of a tensor, by which it is refused.
fn refused<T: DLPackExport + Send + Sync + 'static>(tensor: T) {
    let tensor = Arc::new(tensor);
    assert_eq!(tensor.tensor().unwrap_err(), ELSEWHERE);
    let (lent, copied) = (ExportArc::new(Arc::clone(&tensor)).unwrap(), tensor.copy_to_dlpack());
    let exports = [tensor.to_dlpack(), lent.to_dlpack(), lent.to_dlpack(), copied];
    for export in exports {
        assert_eq!(export.unwrap_err(), ELSEWHERE);
    }
    let (tensor, error) = tensor.try_into_dlpack().unwrap_err();
    assert_eq!((error, Arc::strong_count(&tensor)), (ELSEWHERE, 2));
    assert_eq!(tensor.into_dlpack().unwrap_err(), ELSEWHERE);
}

/// A tensor must be described in the given slot.
#[test]
fn described_in_another_slot() {
    struct Elsewhere(Arc<[i32]>, Vec<u8>);

    impl DLPackExport for Elsewhere {
        fn describe<'a>(&'a self, _: Describe<'a>) -> Result<Description<'a>, Error> {
            leaked_slot().describe().shape(&self.1).data(self.0.data())
        }

        fn storage(&self) -> Option<&dyn Storage> {
            Some(&self.0)
        }
    }

    for ndim in [1, 2, 8, 9, 64] {
        refused(Elsewhere(SIX.into(), six_in(ndim)));
    }
}

/// Safe code that describes a tensor in the given slot, and keeps the description, can
/// read that slot for as long as the loan lasts. The slot is moved or freed before that.
#[test]
fn a_kept_description_is_refused() {
    struct Kept {
        bytes: [u8; 1],
        ndim: usize,
        as_memory: bool,
    }

    impl DLPackExport for Kept {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            static KEPT: Mutex<Vec<AtomicPtr<()>>> = Mutex::new(Vec::new());
            let shape = vec![1_u8; self.ndim];
            let kept = Box::new(out.shape(shape).data(self.bytes.data())?);
            let kept: &'a mut Description<'a> = Box::leak(kept);
            KEPT.lock().unwrap().push(AtomicPtr::new(core::ptr::from_mut(kept).cast()));
            let lists: &'a [i64] = kept.shape();
            let other = leaked_slot().describe();
            if self.as_memory {
                other.shape([self.ndim]).data(DataRef::from_slice(lists))
            } else {
                other.shape(lists).data(self.bytes.data())
            }
        }
    }

    for ndim in [1, 8, 9, 64] {
        for as_memory in [true, false] {
            refused(Kept { bytes: [7], ndim, as_memory });
        }
    }
}

/// Nor is a tensor exported that was described in the slot of another export, from inside
/// of which it was made.
#[test]
fn a_description_in_the_slot_of_another_export_is_refused() {
    struct Inner<'x>(Arc<[i32]>, Vec<u8>, Cell<Option<Describe<'x>>>);

    impl DLPackExport for Inner<'_> {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            self.2.take().unwrap_or(out).shape(&self.1).data(self.0.data())
        }

        fn storage(&self) -> Option<&dyn Storage> {
            Some(&self.0)
        }
    }

    struct Outer(Arc<[i32]>, Vec<u8>);

    impl DLPackExport for Outer {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            let inner = Inner(Arc::clone(&self.0), self.1.clone(), Cell::new(Some(out)));
            assert_eq!(inner.to_dlpack().unwrap_err(), ELSEWHERE);
            assert_eq!(inner.tensor().unwrap().shape().len(), self.1.len());
            leaked_slot().describe().shape(&[2, 3]).data(self.0.data())
        }

        fn storage(&self) -> Option<&dyn Storage> {
            Some(&self.0)
        }
    }

    for ndim in [1, 2, 8, 9, 64] {
        refused(Outer(SIX.into(), six_in(ndim)));
    }
}

/// A different result of each call, which must not affect the runtime.
#[test]
fn an_owner_that_returns_another_object_on_each_call() {
    #[derive(Default)]
    struct Moody {
        calls: Cell<usize>,
        many: Vec<i32>,
        few: [i32; 1],
        offset: bool,
    }

    impl Moody {
        fn turn(&self) -> bool {
            self.calls.set(self.calls.get() + 1);
            self.calls.get() % 2 == 1
        }
    }

    impl Storage for Moody {
        fn data(&self) -> DataRef<'_> {
            if self.turn() { self.many.data() } else { self.few.data() }
        }

        fn data_mut(&mut self) -> DataMut<'_> {
            if self.turn() { self.few.data_mut() } else { self.many.data_mut() }
        }

        fn share(&self) -> Option<SharedOwner> {
            let share: Arc<[i32]> = if self.turn() { SIX.into() } else { [9].into() };
            SharedOwner::new(share)
        }
    }

    let moody = || Moody { many: SIX.to_vec(), few: [9], ..Moody::default() };
    for _ in 0..4 {
        let owner = Owner::new(moody(), &[6]);
        owner.data.calls.set(1);
        check(owner, &SIX, Flags::NONE);
        let owner = Owner::new(moody(), &[6]);
        assert!(matches!(owner.into_dlpack(), Err(Error::OutOfBounds { .. })));
        let owner = Owner::new(moody(), &[1]);
        assert_eq!(owner.to_dlpack().unwrap_err(), Error::ShareOutOfRange);
        assert!(!owner.data.offset);
    }
}

/// The memory is a static, not the owner's.
#[test]
fn memory_of_a_static_is_exported() {
    static STATIC: [i32; 6] = SIX;

    struct Nothing;

    impl DLPackExport for Nothing {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[6]).data(STATIC.data())
        }
    }

    check(Nothing, &SIX, Flags::READ_ONLY);
    check(Box::new(Nothing) as Box<dyn DLPackExport + Send>, &SIX, Flags::READ_ONLY);
    check(Arc::new(Nothing), &SIX, Flags::READ_ONLY);
}

/// Owners behind pointers, with their elements inside.
#[test]
fn owners_behind_pointers() {
    let owner = || Owner::new(SIX, &[6]);
    check(Box::new(owner()), &SIX, Flags::NONE);
    check(Box::new(Box::new(owner()) as Box<dyn DLPackExport + Send>), &SIX, Flags::NONE);
    check(Arc::new(owner()), &SIX, Flags::READ_ONLY);
    check(Arc::new(owner()) as Arc<dyn DLPackExport + Send + Sync>, &SIX, Flags::READ_ONLY);
    let shared = Arc::new(Owner::new(Arc::new(SIX), &[6]));
    let (one, two) = (Arc::clone(&shared).to_dlpack().unwrap(), shared.to_dlpack().unwrap());
    assert_eq!(one.data_ptr(), two.data_ptr());
    check(shared, &SIX, Flags::READ_ONLY);
}

/// Shape and strides of the owner's own, which a consumer may overwrite in its
/// struct without changing them.
#[test]
fn dimensions_are_copied() {
    struct Kept {
        data: Vec<i32>,
        shape: [i64; 2],
        at_the_end: Arc<Mutex<Vec<i64>>>,
    }

    impl DLPackExport for Kept {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&self.shape).strides(&self.shape).data(self.data.data())
        }
    }

    impl Drop for Kept {
        fn drop(&mut self) {
            *self.at_the_end.lock().unwrap() = self.shape.to_vec();
        }
    }

    let kept = Arc::new(Mutex::new(Vec::new()));
    let owner = Kept { data: vec![3; 9], shape: [2, 2], at_the_end: Arc::clone(&kept) };
    let tensor: ImportedStorage = owner.into_dlpack().unwrap().into();
    assert_eq!((tensor.shape(), tensor.strides()), (vec![2, 2], vec![2, 2]));
    tensor.delete(Farewell::Scribbled);
    assert_eq!(*kept.lock().unwrap(), [2, 2]);
}

/// `sync_for` is called once, before the loan, and its changes are visible.
#[test]
fn sync_for_is_called_before_the_memory_is_lent() {
    #[derive(Default)]
    struct Waiting {
        calls: Mutex<Vec<&'static str>>,
        log: Arc<Mutex<Vec<&'static str>>>,
        data: Vec<i32>,
    }

    impl Waiting {
        fn note(&self, call: &'static str) {
            self.calls.lock().unwrap().push(call);
            self.log.lock().unwrap().push(call);
        }
    }

    impl DLPackExport for Waiting {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            self.note("describe");
            out.shape(&[0]).data(self.data.data())
        }

        fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
            self.note("describe_mut");
            out.shape(&[0]).data_mut(self.data.data_mut())
        }

        fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
            self.note("sync_for");
            consumer.host()
        }
    }

    let waiting = Waiting::default();
    let log = Arc::clone(&waiting.log);
    waiting.copy_to_dlpack().unwrap();
    assert_eq!(*log.lock().unwrap(), ["sync_for", "describe"]);
    log.lock().unwrap().clear();
    drop(waiting.into_dlpack().unwrap());
    assert_eq!(*log.lock().unwrap(), ["sync_for", "describe_mut"]);
}

/// An owner whose drop exports its data.
#[test]
fn export_during_drop() {
    struct Matryoshka {
        inside: Option<Arc<[i32]>>,
        out: Arc<Mutex<Option<tensors::ManagedTensor>>>,
    }

    impl DLPackExport for Matryoshka {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            let inside = self.inside.as_ref().ok_or(Error::Custom("empty"))?;
            out.shape(&[6]).data(inside.data())
        }
    }

    impl Drop for Matryoshka {
        fn drop(&mut self) {
            let owner = Owner::new(self.inside.take().unwrap(), &[6]);
            *self.out.lock().unwrap() = Some(owner.to_dlpack().unwrap());
        }
    }

    let out = Arc::new(Mutex::new(None));
    let owner = Matryoshka { inside: Some(Arc::from(SIX)), out: Arc::clone(&out) };
    drop(owner.into_dlpack().unwrap());
    let tensor: ImportedStorage = out.lock().unwrap().take().unwrap().into();
    assert_eq!(tensor.elements::<i32>(), SIX);
    tensor.delete(Farewell::Plain);
}

/// The promise of the element type decides, not the slice that lends it.
#[test]
fn any_bits() {
    const { assert!(!bool::ANY_BITS && u8::ANY_BITS) };
    let mut flags = [true, false];
    let mut slot = Slot::new();
    let lent = slot.describe().shape(&[2]).data_mut(DataMut::from_mut_slice(&mut flags));
    assert!(lent.is_ok());
}
