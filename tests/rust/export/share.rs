//! Exports that leave the object usable: which owner keeps the memory, which consumers
//! may write it, and that a wrong `share` has no effect.

use core::cell::Cell;
use core::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;
use std::thread;

use dlpack_tests::counted::{Drops, Owner, Ticket};
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use dlpack_tests::random::Random;
use tensors::{
    DLPackExport, DataRef, DataType, Describe, Description, Device, Error, Flags, SharedBuffer,
    SharedOwner, Storage,
};

const SIX: [i32; 6] = [0, 1, 2, 3, 4, 5];

/// The tensor has the storage's own address, and the shape of a view.
#[test]
fn shared_exports_have_the_same_memory() {
    fn check<S: Storage + Send + 'static>(storage: S, flags: Flags) {
        let start = storage.data().as_ptr();
        let owner = Owner::new(storage, &[3]).strided(&[-2], 20);
        let tensor = owner.to_dlpack().unwrap();
        assert_eq!(tensor.data_ptr(), start.wrapping_add(20));
        assert_eq!(tensor.flags(), flags);
        drop(owner);
        let tensor = ImportedStorage::from(tensor);
        assert_eq!(tensor.elements::<i32>(), [5, 3, 1]);
        tensor.delete_elsewhere(Farewell::Narrow);
    }
    check(Arc::<[i32]>::from(SIX), Flags::READ_ONLY);
    check(Arc::new(SIX), Flags::READ_ONLY);
    check(Arc::new(SIX.to_vec()), Flags::READ_ONLY);
    check(Arc::new(SIX) as Arc<dyn Storage + Send + Sync>, Flags::READ_ONLY);
    check(Box::new(Arc::<[i32]>::from(SIX)) as Box<dyn Storage + Send>, Flags::READ_ONLY);
    check(SharedBuffer::from_slice(&SIX).unwrap(), Flags::NONE);
    check(Arc::new(SharedBuffer::from_slice(&SIX).unwrap()), Flags::NONE);
}

/// Bytes that another owner writes, and that consumers may not write: the memory of another
/// process, mapped for reading.
struct Mapped(Arc<[AtomicU8]>);

impl Storage for Mapped {
    fn data(&self) -> DataRef<'_> {
        let first = self.0.as_ptr().cast();
        // SAFETY: 1. The slice has that many bytes, and is borrowed. 2. They are initialized,
        // and any byte is a `u8`. 3. They are atomics, which Rust accesses as such.
        unsafe {
            DataRef::from_raw_parts_shared_read_only(first, self.0.len(), DataType::U8, Device::CPU)
        }
    }
}

/// A read during a write of another owner is not a data race: Miri reports one for a plain load.
#[test]
fn shared_read_only_memory_is_read_while_another_owner_writes() {
    let bytes: Arc<[AtomicU8]> = (0..64).map(AtomicU8::new).collect();
    let export = Owner::new(Mapped(Arc::clone(&bytes)), &[64]).into_dlpack().unwrap();
    assert_eq!(export.flags(), Flags::READ_ONLY);
    let mut tensor = export.import().unwrap();
    let read = thread::scope(|scope| {
        scope.spawn(|| bytes.iter().for_each(|byte| byte.store(100, Ordering::Relaxed)));
        tensor.elements::<u8>().unwrap().to_vec().unwrap()
    });
    for (old, value) in (0_u8..).zip(read) {
        assert!(value == old || value == 100, "{value} was never stored");
    }
    assert_eq!(tensor.elements::<u8>().unwrap().to_vec().unwrap(), [100; 64]);
    assert_eq!(tensor.elements_mut::<u8>().map(|_| ()), Err(Error::ReadOnly));
    assert_eq!(tensor.frozen().map(|_| ()), Err(Error::NotFrozen));
    assert_eq!(tensor.into_owned_slice::<u8>().unwrap_err(), Error::NotFrozen);
}

/// Rust and the consumer see each other's writes, also through clones, and
/// after Rust's own handles are gone.
#[test]
fn a_shared_buffer_is_seen_from_both_sides() {
    let buffer = SharedBuffer::from_slice(&SIX).unwrap();
    let clone = buffer.clone();
    let owner = Owner::new(buffer.clone(), &[6]);
    let (one, two): (ImportedStorage, ImportedStorage) =
        (owner.to_dlpack().unwrap().into(), owner.to_dlpack().unwrap().into());
    one.write(|n: i32| n * 2);
    assert_eq!(clone.to_vec(), [0, 2, 4, 6, 8, 10]);
    assert_eq!(two.elements::<i32>(), clone.to_vec());
    buffer.store(0, 7);
    assert_eq!(two.elements::<i32>()[0], 7);
    assert_eq!(clone.load(0), 7);
    drop((buffer, clone, owner));
    two.delete_elsewhere(Farewell::Plain);
    assert_eq!(one.elements::<i32>(), [7, 2, 4, 6, 8, 10]);
    one.delete(Farewell::Copy);
}

/// Elements of every size that is copied in one register or in several.
#[test]
fn shared_elements_of_every_size() {
    fn check<T: tensors::AnyBits + bytemuck::Zeroable + PartialEq + core::fmt::Debug>(
        values: [T; 3],
    ) {
        let buffer = SharedBuffer::from_slice(&values).unwrap();
        assert_eq!((buffer.len(), buffer.is_empty()), (3, false));
        assert_eq!(buffer.to_vec(), values);
        assert_eq!(buffer.data().as_ptr().addr() % 64, 0, "JAX wants 64 bytes");
        buffer.store(1, values[2]);
        assert_eq!(
            [buffer.load(0), buffer.load(1), buffer.load(2)],
            [values[0], values[2], values[2]]
        );
        let tensor: ImportedStorage = Owner::new(buffer.clone(), &[3]).to_dlpack().unwrap().into();
        tensor.write(|_: T| values[0]);
        tensor.delete(Farewell::Plain);
        assert_eq!(buffer.to_vec(), [values[0]; 3]);
        let zeroed = SharedBuffer::<T>::zeroed(2).unwrap();
        assert_eq!(zeroed.to_vec(), [T::zeroed(); 2]);
    }
    check([1_u8, 2, 3]);
    check([i16::MIN, -1, 2]);
    check([1.5_f32, f32::MAX, -0.0]);
    check([1.5_f64, f64::MAX, -0.0]);
    check([half::bf16::ONE, half::bf16::ZERO, half::bf16::MAX]);
    check([1.0_f64, 2.0, 3.0].map(|re| tensors::Complex { re, im: -re }));
    check([1.0_f32, 2.0, 3.0].map(|re| tensors::Complex { re, im: -re }));

    let empty = SharedBuffer::<f64>::zeroed(0).unwrap();
    assert!(empty.is_empty() && empty.to_vec().is_empty());
    assert!(Owner::new(empty, &[0]).to_dlpack().unwrap().data_ptr().is_null());
    let bytes = SharedBuffer::<f64>::zeroed(usize::MAX).unwrap_err();
    assert_eq!(bytes, Error::OutOfMemory { bytes: usize::MAX });
}

#[test]
#[should_panic(expected = "index 3 out of bounds of 3 elements")]
fn load_checks_the_index() {
    SharedBuffer::<u16>::zeroed(3).unwrap().load(3);
}

#[test]
#[should_panic(expected = "out of bounds")]
fn store_checks_the_index() {
    SharedBuffer::<u16>::zeroed(3).unwrap().store(usize::MAX / 2 + 1, 0);
}

/// A storage with one owner cannot be shared.
#[test]
fn storages_without_another_owner_are_not_shared() {
    for error in [
        Owner::new(SIX.to_vec(), &[6]).to_dlpack().unwrap_err(),
        Owner::new(SIX, &[6]).to_dlpack().unwrap_err(),
        Owner::new(&SIX[..], &[6]).to_dlpack().unwrap_err(),
        Owner::new(std::rc::Rc::new(SIX), &[6]).to_dlpack().unwrap_err(),
    ] {
        assert_eq!(error, Error::NotShareable);
    }
}

/// In an `Arc` every exportable has several owners, whatever its storage.
#[test]
fn an_arc_is_shareable() {
    fn check<T: DLPackExport + Send + Sync + ?Sized + 'static>(owner: Arc<T>, flags: Flags) {
        let address = owner.tensor().unwrap().data_ptr();
        let first = owner.to_dlpack().unwrap();
        let second = Box::new(Arc::clone(&owner)).to_dlpack().unwrap();
        assert_eq!(Arc::strong_count(&owner), 3, "two exports, each of which is an owner");
        drop(owner);
        for tensor in [first, second] {
            assert_eq!((tensor.data_ptr(), tensor.flags()), (address, flags));
            let foreign = ImportedStorage::from(tensor);
            assert_eq!(foreign.elements::<i32>(), SIX);
            foreign.delete_elsewhere(Farewell::Plain);
        }
    }
    check(Arc::new(Owner::new(SIX.to_vec(), &[6])), Flags::READ_ONLY);
    check(Arc::new(Owner::new(SIX, &[6])), Flags::READ_ONLY);
    let erased: Arc<dyn DLPackExport + Send + Sync> = Arc::new(Owner::new(SIX.to_vec(), &[2, 3]));
    check(erased, Flags::READ_ONLY);
    // A storage that can have several owners is shared without the rest of the object.
    let shareable = Arc::new(Owner::new(SharedBuffer::from_slice(&SIX).unwrap(), &[6]));
    let tensor = shareable.to_dlpack().unwrap();
    assert_eq!((Arc::strong_count(&shareable), tensor.flags()), (1, Flags::NONE));
    let short = Arc::new(Owner::new(SIX.to_vec(), &[7]));
    assert!(matches!(short.to_dlpack(), Err(Error::OutOfBounds { .. })));
    assert_eq!(Arc::strong_count(&short), 1);
}

/// An exportable type whose `share` returns what the test chooses.
struct Liar<F> {
    data: Arc<[i32]>,
    shape: [usize; 1],
    share: F,
}

impl<F: Fn(&Arc<[i32]>) -> Option<SharedOwner>> DLPackExport for Liar<F> {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&self.shape).spare_capacity().data(self.data.data())
    }

    fn share(&self) -> Option<SharedOwner> {
        (self.share)(&self.data)
    }
}

fn lie(share: impl Fn(&Arc<[i32]>) -> Option<SharedOwner>) -> Error {
    let liar = Liar { data: Arc::from(SIX), shape: [6], share };
    liar.to_dlpack().unwrap_err()
}

/// A part of some shared memory.
struct Window {
    data: Arc<[i32]>,
    start: usize,
    end: usize,
    _ticket: Option<Ticket>,
}

impl Storage for Window {
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(&self.data[self.start..self.end])
    }
}

fn window(data: &Arc<[i32]>, start: usize, end: usize) -> Window {
    Window { data: Arc::clone(data), start, end, _ticket: None }
}

#[test]
fn a_share_with_other_memory_is_refused() {
    assert_eq!(lie(|_| SharedOwner::new(Arc::<[i32]>::from(SIX))), Error::ShareOutOfRange);
    assert_eq!(lie(|_| SharedOwner::new(SIX.to_vec())), Error::ShareOutOfRange);
    assert_eq!(lie(|_| SharedOwner::new(&SIX[..])), Error::ShareOutOfRange);
    assert_eq!(lie(|_| SharedOwner::new([0_i32; 2])), Error::ShareOutOfRange, "in the handle");
    assert_eq!(lie(|_| SharedOwner::new([0_i32; 99])), Error::ShareOutOfRange, "boxed");
    assert_eq!(lie(|data| SharedOwner::new(window(data, 0, 5))), Error::ShareOutOfRange);
    assert_eq!(lie(|data| SharedOwner::new(window(data, 1, 6))), Error::ShareOutOfRange);
    assert_eq!(lie(|data| SharedOwner::new(window(data, 6, 6))), Error::ShareOutOfRange);
    assert_eq!(lie(|_| None), Error::NotShareable);
    let elsewhere = lie(|_| SharedOwner::new(Elsewhere));
    let (device, storage) = (Device::CPU, Device::cuda(0));
    assert_eq!(elsewhere, Error::DeviceMismatch { device, storage });
    // All of the memory, or more of it than the tensor needs, is valid too.
    let part = Liar {
        data: Arc::from(SIX),
        shape: [3],
        share: |data: &Arc<_>| SharedOwner::new(window(data, 0, 4)),
    };
    let tensor = part.to_dlpack().unwrap();
    assert_eq!(tensor.data_ptr().cast(), part.data.as_ptr());
    // Nor is as much as it needs, of however much there is.
    let part = Liar {
        data: Arc::from(vec![7; 1000]),
        shape: [3],
        share: |data: &Arc<_>| SharedOwner::new(window(data, 0, 3)),
    };
    let tensor = part.to_dlpack().unwrap();
    assert_eq!(tensor.data_ptr().cast(), part.data.as_ptr());
}

/// Memory of another device.
struct Elsewhere;

impl Storage for Elsewhere {
    fn data(&self) -> DataRef<'_> {
        // SAFETY: there are no bytes, so there is nothing to promise.
        unsafe { DataRef::from_raw_parts(core::ptr::null(), 0, DataType::I32, Device::cuda(0)) }
    }
}

/// A handle that is too large for the packet is boxed, and dropped with it.
#[test]
fn large_shared_owners_are_exported() {
    struct Large {
        window: Window,
        _rest: [u64; 20],
    }

    impl Storage for Large {
        fn data(&self) -> DataRef<'_> {
            self.window.data()
        }
    }

    #[repr(align(64))]
    struct Aligned(Window);

    impl Storage for Aligned {
        fn data(&self) -> DataRef<'_> {
            assert!(core::ptr::from_ref(self).is_aligned());
            self.0.data()
        }
    }

    let drops = Drops::new();
    let counted = |data: &Arc<[i32]>| {
        let data = Arc::clone(data);
        Window { data, start: 0, end: 6, _ticket: Some(drops.ticket()) }
    };
    let large = Liar {
        data: Arc::from(SIX),
        shape: [6],
        share: |data: &Arc<[i32]>| {
            SharedOwner::new(Large { window: counted(data), _rest: [0; 20] })
        },
    };
    let aligned = Liar {
        data: Arc::from(SIX),
        shape: [6],
        share: |data: &Arc<[i32]>| SharedOwner::new(Aligned(counted(data))),
    };
    for (before, tensor) in [large.to_dlpack(), aligned.to_dlpack()].into_iter().enumerate() {
        let tensor = ImportedStorage::from(tensor.unwrap());
        assert_eq!(tensor.elements::<i32>(), SIX);
        assert_eq!(drops.count(), before);
        tensor.delete_elsewhere(Farewell::Copy);
        assert_eq!(drops.count(), before + 1);
    }
    assert_eq!(Arc::strong_count(&large.data), 1);
}

/// The runtime reads the memory of the shared owner once; a later result has no effect.
#[test]
fn the_memory_of_a_shared_owner_is_read_once() {
    struct Moody {
        data: Arc<[i32]>,
        asked: Cell<usize>,
    }

    impl Storage for Moody {
        fn data(&self) -> DataRef<'_> {
            self.asked.set(self.asked.get() + 1);
            if self.asked.get() == 1 { self.data.data() } else { DataRef::from_slice::<i32>(&[]) }
        }
    }

    let owner = Liar {
        data: Arc::from(SIX),
        shape: [6],
        share: |data: &Arc<[i32]>| {
            SharedOwner::new(Moody { data: Arc::clone(data), asked: Cell::new(0) })
        },
    };
    let tensor: ImportedStorage = owner.to_dlpack().unwrap().into();
    drop(owner);
    assert_eq!(tensor.elements::<i32>(), SIX);
    tensor.delete(Farewell::Plain);
}

/// A view of some memory, shared as a part of it.
struct View {
    owner: Owner<Arc<[i32]>>,
    start: usize,
    end: usize,
}

impl DLPackExport for View {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        self.owner.describe(out)
    }

    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(window(&self.owner.data, self.start, self.end))
    }
}

/// Random views of random windows: an export exists exactly if every element
/// is inside of the handle's own memory, and then has the right elements.
#[test]
fn random_windows_of_shared_memory_are_exported() {
    const CASES: usize = if cfg!(miri) { 60 } else { 20_000 };
    let mut random = Random::new(5);
    let data: Arc<[i32]> = (0..24).collect();
    let mut accepted = 0;
    for _ in 0..CASES {
        let mut bound = || random.below(25);
        let (one, two) = (bound(), bound());
        let (start, end) = (one.min(two), one.max(two));
        let shape = [random.within(0..=4), random.within(1..=4)];
        let strides = [random.within(-5..=5), random.within(-3..=3)];
        let first = i64::try_from(random.below(24)).unwrap();

        let owner = Owner::new(Arc::clone(&data), &shape);
        let byte_offset = u64::try_from(first * 4).unwrap();
        let view = View { owner: owner.strided(&strides, byte_offset), start, end };
        let wanted: Vec<i64> = dlpack_tests::positions::positions(&shape, &strides)
            .into_iter()
            .map(|position| first + position)
            .collect();
        let within = |low: usize, high: usize| {
            let range = i64::try_from(low).unwrap()..i64::try_from(high).unwrap();
            wanted.iter().all(|position| range.contains(position))
        };
        match view.to_dlpack() {
            Ok(tensor) => {
                assert!(within(start, end), "{shape:?} {strides:?} {first} in {start}..{end}");
                accepted += 1;
                let tensor = ImportedStorage::from(tensor);
                let found: Vec<i64> = tensor.elements::<i32>().into_iter().map(i64::from).collect();
                assert_eq!(found, wanted);
                tensor.delete(Farewell::Plain);
            }
            Err(Error::ShareOutOfRange) => assert!(!within(start, end) && within(0, 24)),
            Err(Error::OutOfBounds { .. }) => assert!(!within(0, 24)),
            Err(error) => panic!("{error}"),
        }
    }
    println!("windows: {CASES} cases, {accepted} accepted");
    assert!(accepted * 10 > CASES);
    assert_eq!(Arc::strong_count(&data), 1);
}

/// A `SharedBuffer` takes over the memory of a vector with its spare capacity, and of a boxed
/// slice, and the last owner frees it.
#[test]
fn a_shared_buffer_takes_over_a_vector() {
    fn check(buffer: &SharedBuffer<u16>, address: *const u16, values: &[u16]) {
        assert_eq!(buffer.data().as_ptr(), address.cast());
        assert_eq!(buffer.to_vec(), values);
    }
    let mut vector = Vec::with_capacity(7);
    vector.extend([1_u16, 2, 3]);
    let address = vector.as_ptr();
    let buffer = SharedBuffer::from(vector);
    check(&buffer, address, &[1, 2, 3]);
    let tensor: ImportedStorage = Owner::new(buffer.clone(), &[3]).to_dlpack().unwrap().into();
    buffer.store(2, 9);
    tensor.write(|n: u16| n * 2);
    check(&buffer, address, &[2, 4, 18]);
    drop(buffer);
    assert_eq!(tensor.elements::<u16>(), [2, 4, 18]);
    tensor.delete_elsewhere(Farewell::Plain);

    let boxed: Box<[u16]> = Box::from([4, 5]);
    let address = boxed.as_ptr();
    let buffer = SharedBuffer::from(boxed);
    check(&buffer, address, &[4, 5]);
    std::thread::spawn(move || buffer.store(0, 6)).join().unwrap();

    // Vectors and slices without elements.
    assert!(SharedBuffer::from(Vec::<f32>::new()).to_vec().is_empty());
    assert!(SharedBuffer::from(Vec::<f32>::with_capacity(9)).to_vec().is_empty());
    assert!(SharedBuffer::from(Box::<[f32]>::from([])).to_vec().is_empty());
}
