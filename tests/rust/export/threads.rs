//! Many threads: exports on some, drops on others.

use std::sync::mpsc;
use std::sync::{Arc, Barrier};
use std::thread;

use dlpack_tests::counted::{Drops, Owner};
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::ffi::DLManagedTensor;
use tensors::{
    DLPackExport, DataType, Device, Error, Flags, ManagedTensor, SharedBuffer, SharedOwner,
};

const THREADS: usize = 8;
const EACH: usize = if cfg!(miri) { 6 } else { 2_000 };
/// Long enough for threads to access one element at the same time.
const ROUNDS: usize = if cfg!(miri) { 10 } else { 50_000 };

const _: () = {
    const fn send<T: Send>() {}
    const fn sync<T: Sync>() {}
    send::<ManagedTensor>();
    sync::<ManagedTensor>();
    send::<ManagedTensor<DLManagedTensor>>();
    sync::<ManagedTensor<DLManagedTensor>>();
    send::<SharedBuffer<f32>>();
    sync::<SharedBuffer<f32>>();
    send::<SharedOwner>();
    send::<Error>();
    sync::<Error>();
    send::<(DataType, Device, Flags)>();
    sync::<(DataType, Device, Flags)>();
};

/// Types that must *not* cross threads, by two candidate implementations: a type that
/// implements the trait makes the call ambiguous.
macro_rules! assert_not {
    ($trait:ident: $($type:ty),+) => {$(
        const _: fn() = || {
            trait Ambiguous<A> { fn some() {} }
            impl<T: ?Sized> Ambiguous<()> for T {}
            struct Has;
            impl<T: ?Sized + $trait> Ambiguous<Has> for T {}
            let _ = <$type as Ambiguous<_>>::some;
        };
    )+};
}

// Its content is `Send`, and need not be `Sync`.
assert_not!(Sync: SharedOwner);

/// Eight threads export by value and drop each other's tensors.
#[test]
fn an_export_is_dropped_on_another_thread() {
    let drops = Drops::new();
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..THREADS).map(|_| mpsc::channel::<(usize, ManagedTensor)>()).unzip();
    thread::scope(|scope| {
        for (own, receiver) in receivers.into_iter().enumerate() {
            let (senders, drops) = (senders.clone(), drops.clone());
            scope.spawn(move || {
                for number in 0..EACH {
                    let value = i32::try_from(own * EACH + number).unwrap();
                    let owner = Owner::new(vec![value; 3], &[3]).counted(&drops);
                    let tensor = owner.into_dlpack().unwrap();
                    senders[(own + number) % THREADS].send((own * EACH + number, tensor)).unwrap();
                }
                drop(senders);
                for (value, tensor) in receiver {
                    let tensor = ImportedStorage::from(tensor);
                    let value = i32::try_from(value).unwrap();
                    assert_eq!(tensor.elements::<i32>(), [value; 3]);
                    tensor.write(|n: i32| n + 1);
                    tensor.delete(Farewell::ALL[usize::try_from(value).unwrap() % 5]);
                }
            });
        }
        drop(senders);
    });
    assert_eq!(drops.count(), THREADS * EACH);
}

/// Eight threads export one shared object at once; a ninth drops it.
#[test]
fn many_threads_export_one_object() {
    let data: Arc<[i32]> = Arc::from([1, 2, 3]);
    let drops = Drops::new();
    let owner = Arc::new(Owner::new(Arc::clone(&data), &[3]).counted(&drops));
    let barrier = Arc::new(Barrier::new(THREADS + 1));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (owner, barrier) = (Arc::clone(&owner), Arc::clone(&barrier));
            thread::spawn(move || {
                barrier.wait();
                let tensors: Vec<ManagedTensor> =
                    (0..EACH).map(|_| owner.to_dlpack().unwrap()).collect();
                drop(owner);
                tensors
            })
        })
        .collect();
    barrier.wait();
    drop(owner);
    let tensors: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    assert_eq!(drops.count(), 1, "the object is gone, its memory is not");
    assert_eq!(Arc::strong_count(&data), 1 + THREADS * EACH);
    for tensor in tensors {
        let tensor = ImportedStorage::from(tensor);
        assert_eq!(tensor.elements::<i32>(), [1, 2, 3]);
        tensor.delete(Farewell::Narrow);
    }
    assert_eq!(Arc::strong_count(&data), 1);
}

/// Metadata of one handle is read by all threads at once.
#[test]
fn many_threads_read_one_handle() {
    let tensor = Owner::new(vec![0_f32; 6], &[2, 3]).into_dlpack().unwrap();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                assert_eq!((tensor.shape(), tensor.strides()), (&[2, 3][..], &[3, 1][..]));
                assert_eq!((tensor.dtype(), tensor.device()), (DataType::F32, Device::CPU));
                assert_eq!((tensor.flags(), tensor.ndim()), (Flags::NONE, 2));
                assert!(!tensor.data_ptr().is_null());
            });
        }
    });
}

/// Rust's own stores and loads from many threads are not a race, also while others
/// copy the buffer. An element may be torn: each of its bytes was stored by some thread.
#[test]
fn many_threads_write_shared_elements() {
    let all_bytes = |n: u8| u64::from_ne_bytes([n; 8]);
    let is_stored = |read: u64| read.to_ne_bytes().iter().all(|byte| (1..=4).contains(byte));
    let buffer = SharedBuffer::from_slice(&[all_bytes(1); 4]).unwrap();
    let owner = Owner::new(buffer.clone(), &[2, 2]).strided(&[1, 2], 0);
    thread::scope(|scope| {
        for thread in 1..=4_u8 {
            let buffer = &buffer;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    buffer.store(round % 2, all_bytes(thread));
                    assert!(is_stored(buffer.load(round / 2 % 2)));
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..ROUNDS.div_ceil(50).max(4) {
                let copy: ImportedStorage = owner.copy_to_dlpack().unwrap().into();
                assert!(copy.elements::<u64>().into_iter().all(is_stored));
                copy.delete(Farewell::Plain);
            }
        });
    });
}
