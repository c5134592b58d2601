//! `ExportArc` around unusual values, called in unusual orders. All of it is safe code,
//! so all of it must be sound; Miri checks it.

#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use dlpack_tests::counted::{Drops, Owner, Ticket};
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{
    AsDims, DLPackExport, DataRef, Describe, Description, Error, ExportArc, ManagedTensor, Storage,
};

const SIX: [i32; 6] = [0, 1, 2, 3, 4, 5];

/// A value that keeps exports, also of itself.
struct Keeper {
    data: Vec<i32>,
    kept: Mutex<Vec<ManagedTensor>>,
    _ticket: Ticket,
}

impl Keeper {
    fn new(drops: &Drops) -> Self {
        Self { data: SIX.to_vec(), kept: Mutex::default(), _ticket: drops.ticket() }
    }
}

impl DLPackExport for Keeper {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[2, 3]).data(self.data.data())
    }
}

/// Exports that are inside of their own value keep it alive; once they are outside, the
/// last of them frees it, though it was made of a handle that is gone.
#[test]
fn a_value_may_hold_its_own_export() {
    let drops = Drops::new();
    let shared = ExportArc::new(Keeper::new(&drops)).unwrap();
    for _ in 0..3 {
        let tensor = shared.to_dlpack().unwrap();
        shared.kept.lock().unwrap().push(tensor);
    }
    let mut kept = core::mem::take(&mut *shared.kept.lock().unwrap());
    drop(shared);
    assert_eq!(drops.count(), 0);
    // The export in place is dropped last, on another thread.
    let in_place = kept.remove(0);
    drop(kept);
    assert_eq!(drops.count(), 0);
    ImportedStorage::from(in_place).delete_elsewhere(Farewell::Copy);
    assert_eq!(drops.count(), 1);
}

/// A deleter that frees a value, whose drop calls the next deleter, and so on.
#[test]
fn a_deleter_may_call_another_deleter() {
    let drops = Drops::new();
    let mut last = ExportArc::new(Keeper::new(&drops)).unwrap().into_dlpack().unwrap();
    for _ in 0..20 {
        let next = ExportArc::new(Keeper::new(&drops)).unwrap();
        next.kept.lock().unwrap().push(last);
        // A consumer with a packet is there too.
        let (in_block, in_packet) = (next.to_dlpack().unwrap(), next.to_dlpack().unwrap());
        drop((next, in_block));
        last = in_packet;
    }
    assert_eq!(drops.count(), 0);
    ImportedStorage::from(last).delete(Farewell::CopyOfWiped);
    assert_eq!(drops.count(), 21);
}

/// The only owner may write at once: all reads of consumers on other threads happen
/// before.
#[test]
fn a_value_is_exclusive_after_consumers_on_other_threads() {
    let rounds = if cfg!(miri) { 8 } else { 300 };
    let drops = Drops::new();
    let mut shared = ExportArc::new(Keeper::new(&drops)).unwrap();
    for round in 0..rounds {
        let consumers: Vec<_> =
            (0..3).map(|_| ImportedStorage::from(shared.to_dlpack().unwrap())).collect();
        let workers: Vec<_> = consumers
            .into_iter()
            .map(|consumer| {
                thread::spawn(move || {
                    let sum: i32 = consumer.elements::<i32>().iter().sum();
                    consumer.delete(Farewell::ALL[0]);
                    sum
                })
            })
            .collect();
        // Not after `join`, which would order the two by itself.
        let alone = loop {
            match shared.get_mut() {
                Some(alone) => break alone,
                None => thread::yield_now(),
            }
        };
        alone.data[0] += 1;
        let before = 15 + round;
        assert!(workers.into_iter().all(|worker| worker.join().unwrap() == before));
    }
    let in_use = shared.to_dlpack().unwrap();
    let worker = thread::spawn(move || drop(in_use));
    let value = loop {
        match shared.try_into_inner() {
            Ok(value) => break value,
            Err(other) => shared = other,
        }
        thread::yield_now();
    };
    assert_eq!((value.data[0], drops.count()), (rounds, 0));
    worker.join().unwrap();
}

/// Handles and tensors that are never dropped make a value immortal, and nothing worse.
#[test]
fn a_forgotten_export_keeps_the_value() {
    type Value = Owner<Vec<i32>>;
    // Freed again, so that leak checkers do not report them.
    static HANDLES: Mutex<Vec<ExportArc<Value>>> = Mutex::new(Vec::new());
    static TENSORS: Mutex<Vec<ManagedTensor>> = Mutex::new(Vec::new());
    let mut shared = ExportArc::new(Owner::new(SIX.to_vec(), &[6])).unwrap();
    TENSORS.lock().unwrap().push(shared.to_dlpack().unwrap());
    assert!(shared.get_mut().is_none());
    let next = ImportedStorage::from(shared.to_dlpack().unwrap());
    HANDLES.lock().unwrap().push(shared);
    assert_eq!(next.elements::<i32>(), SIX);
    next.delete_elsewhere(Farewell::Scribbled);
    assert_eq!(HANDLES.lock().unwrap().first().unwrap().to_dlpack().unwrap().shape(), [6]);
}

/// Values without a size, with more alignment than an allocator gives by itself, and in
/// one another.
#[test]
fn values_of_odd_sizes_and_alignments_are_exported() {
    struct Nothing;
    #[repr(align(8192))]
    struct Aligned([i32; 6]);
    impl DLPackExport for Nothing {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[6]).data(DataRef::from_slice(&SIX))
        }
    }
    impl DLPackExport for Aligned {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[6]).data(DataRef::from_slice(&self.0))
        }
    }
    fn check(value: impl DLPackExport + Send + Sync + 'static, align: usize) {
        let shared = ExportArc::new(ExportArc::new(value).unwrap()).unwrap();
        let tensors = [shared.to_dlpack().unwrap(), shared.to_dlpack().unwrap()];
        drop(shared);
        for tensor in tensors {
            assert_eq!(tensor.data_ptr().addr() % align, 0);
            let consumer = ImportedStorage::from(tensor);
            assert_eq!(consumer.elements::<i32>(), SIX);
            consumer.delete_elsewhere(Farewell::Narrow);
        }
    }
    check(Nothing, 4);
    check(Aligned(SIX), 8192);
    check(Box::new(Aligned(SIX)), 8192);
}

/// A shape that changes with each call, borrowed or not, with a different rank, with too
/// many elements, or none at all.
struct Fickle(AtomicUsize);

const SHAPES: [&[i64]; 7] = [&[2, 3], &[6], &[3, 2], &[1, 2, 3], &[2, 4], &[], &[-2, -3]];

impl AsDims for Fickle {
    type Dim = i64;

    fn as_dims(&self) -> &[i64] {
        let turn = self.0.fetch_add(1, Ordering::Relaxed);
        SHAPES[turn % SHAPES.len()]
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
struct Changing<S> {
    data: S,
    shape: Fickle,
}

/// Whatever a shape returns at which call, no tensor exceeds its elements.
#[test]
fn shapes_that_change_between_calls_stay_in_bounds() {
    fn check<S: Storage + Send + Sync + 'static>(data: S) {
        let shared = ExportArc::new(Changing { data, shape: Fickle(AtomicUsize::new(0)) }).unwrap();
        let (mut made, mut first) = (0, None);
        for _ in 0..5 * SHAPES.len() {
            let value: &Changing<S> = &shared;
            for tensor in [shared.to_dlpack(), value.to_dlpack()].into_iter().flatten() {
                let consumer = ImportedStorage::from(tensor);
                let elements = consumer.elements::<i32>();
                assert!(elements.iter().all(|element| SIX.contains(element)));
                made += 1;
                // One stays for a while.
                match first {
                    None => first = Some(consumer),
                    Some(_) => consumer.delete(Farewell::ALL[made % Farewell::ALL.len()]),
                }
            }
        }
        first.expect("a tensor was made").delete(Farewell::Plain);
    }
    check(SIX.to_vec());
    check(Arc::new(SIX.to_vec()));
    check(tensors::SharedBuffer::from_slice(&SIX).unwrap());
}
