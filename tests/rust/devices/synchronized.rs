//! The loan of device memory contains its synchronizer, and every export calls that
//! before it returns a struct, whatever the types around the memory do.

use core::cell::{Cell, RefCell, UnsafeCell};
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex};

use dlpack_tests::counted::{Drops, Ticket};
use new_device::Npu;
use tensors::backend::{Cpu, copy_on_device, copy_to_host};
use tensors::exchange::{NotImportable, table};
use tensors::ffi::DLTensor;
use tensors::{
    DLPackExport, DataMut, DataRef, DataType, Describe, Description, DescriptionMut, Device, Error,
    ExportArc, ImportedStorage, ManagedTensor, SharedOwner, Storage, StreamArg, StreamKind,
    Synchronize,
};

use super::npu::{NPU, Session, vector};
use super::objects::{Called, Heap, free, object, raised};

thread_local! {
    /// Consumers for which memory was synchronized.
    static CALLS: RefCell<Vec<StreamKind>> = const { RefCell::new(Vec::new()) };
    static OUTCOME: Cell<Outcome> = const { Cell::new(Outcome::Done) };
}

/// The result of a synchronizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Fails,
    Panics,
}

/// A device with addresses. No runtime of it is called.
const ADDRESSES: Device = Device::cuda(0);

const BROKEN: Error = Error::Custom("the device is broken");

/// Called by each test, which may run on the thread of another.
fn begin(outcome: Outcome) -> Session {
    CALLS.take();
    OUTCOME.set(outcome);
    Session
}

/// Four elements that consumers may write.
struct Elements(UnsafeCell<[f32; 4]>);

// SAFETY: no reference to the elements exists, and only copies read them.
unsafe impl Sync for Elements {}

/// Memory of a device: no device that is used here follows the address.
#[derive(Clone)]
struct Memory {
    elements: Arc<Elements>,
    device: Device,
    _ticket: Arc<Ticket>,
}

impl Storage for Memory {
    fn data(&self) -> DataRef<'_> {
        let first = self.elements.0.get().cast();
        // SAFETY: 1. They are four floats. 2. Any bits are one. 3. No reference to them exists.
        let data = unsafe { DataRef::from_raw_parts_shared(first, 16, DataType::F32, self.device) };
        // SAFETY: 1. and 2. No device works on it.
        unsafe { data.synchronized_by(self) }
    }

    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(self.clone())
    }
}

impl Synchronize for Memory {
    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        CALLS.with_borrow_mut(|calls| calls.push(consumer.kind()));
        match OUTCOME.get() {
            Outcome::Done => Ok(()),
            Outcome::Fails => Err(BROKEN),
            Outcome::Panics => panic!("sync_for() panics on purpose"),
        }
    }
}

/// The weakest safe implementation around such memory: its `sync_for` does nothing, as a
/// storage, as a tensor, and as the owner of an export.
struct Careless {
    memory: Memory,
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
}

impl Storage for Careless {
    fn data(&self) -> DataRef<'_> {
        self.memory.data()
    }

    fn data_mut(&mut self) -> DataMut<'_> {
        self.memory.data_mut()
    }

    fn share(&self) -> Option<SharedOwner> {
        let Self { memory, shape, strides } = self;
        let (memory, shape, strides) = (memory.clone(), shape.clone(), strides.clone());
        SharedOwner::new(Self { memory, shape, strides })
    }
}

impl Synchronize for Careless {
    fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
        Ok(())
    }
}

impl DLPackExport for Careless {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        let shaped = out.shape(&self.shape);
        match &self.strides {
            Some(strides) => shaped.strides(strides),
            None => shaped,
        }
        .data(Storage::data(self))
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        let shaped = out.shape(&self.shape);
        match &self.strides {
            Some(strides) => shaped.strides(strides),
            None => shaped,
        }
        .data_mut(self.memory.data_mut())
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(self)
    }

    fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// The same, exported by the derive's shortest code.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Derived {
    data: Memory,
    shape: [i64; 1],
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, transparent)]
struct Newtype(Derived);

#[derive(Storage)]
#[dlpack(crate = ::tensors)]
enum Variant {
    Memory(Memory),
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct InVariant {
    data: Variant,
    shape: [i64; 1],
}

fn memory(drops: &Drops, device: Device) -> Memory {
    Memory {
        elements: Arc::new(Elements(UnsafeCell::new([0.0; 4]))),
        device,
        _ticket: Arc::new(drops.ticket()),
    }
}

fn careless(memory: Memory, shape: &[i64], strides: Option<&[i64]>) -> Careless {
    Careless { memory, shape: shape.to_vec(), strides: strides.map(<[i64]>::to_vec) }
}

/// A consumer whose argument is recorded in `CALLS`.
fn consumer() -> StreamArg<'static> {
    // SAFETY: 1. Nothing is done on a stream.
    unsafe { StreamArg::from_handle(77) }
}

const CONSUMER: StreamKind = StreamKind::Handle(77);

/// An export, with the stream argument of its consumer.
type Export = fn(Memory) -> (StreamKind, Result<(), Error>);

/// By value, and with another owner.
fn both<T: DLPackExport + Send + 'static>(make: impl Fn() -> T) -> (StreamKind, Result<(), Error>) {
    let shared = make().to_dlpack_on(consumer()).map(drop);
    let calls = CALLS.with_borrow(Vec::len);
    let moved = make().into_dlpack_on(consumer()).map(drop);
    if moved.is_ok() {
        // Each did it, once.
        assert_eq!((calls, CALLS.with_borrow(Vec::len)), (1, 2));
        CALLS.with_borrow_mut(Vec::pop);
    }
    assert_eq!(shared, moved);
    (CONSUMER, moved)
}

const NINE: [i64; 9] = [1, 1, 1, 1, 1, 1, 1, 1, 4];

const EXPORTS: [(&str, Export); 14] = [
    ("compact", |memory| both(|| careless(memory.clone(), &[4], None))),
    ("strided", |memory| both(|| careless(memory.clone(), &[2], Some(&[2])))),
    ("nine dimensions", |memory| both(|| careless(memory.clone(), &NINE, None))),
    ("boxed", |memory| {
        both(|| Box::new(careless(memory.clone(), &[4], None)) as Box<dyn DLPackExport + Send>)
    }),
    ("arc", |memory| both(|| Arc::new(Derived { data: memory.clone(), shape: [4] }))),
    ("derived", |memory| both(|| Derived { data: memory.clone(), shape: [4] })),
    ("newtype", |memory| both(|| Newtype(Derived { data: memory.clone(), shape: [4] }))),
    ("variant", |memory| both(|| InVariant { data: Variant::Memory(memory.clone()), shape: [4] })),
    ("legacy", |memory| {
        let exported = careless(memory, &[4], None).into_dlpack_legacy().map(drop);
        (StreamKind::Unspecified, exported)
    }),
    ("shared", |memory| {
        let shared = ExportArc::new(Derived { data: memory, shape: [4] }).unwrap();
        (CONSUMER, shared.to_dlpack_on(consumer()).map(drop))
    }),
    ("shared, nine dimensions", |memory| {
        let shared = ExportArc::new(careless(memory, &NINE, None)).unwrap();
        (CONSUMER, shared.to_dlpack_on(consumer()).map(drop))
    }),
    ("shared, lent twice", |memory| {
        let shared = ExportArc::new(Derived { data: memory, shape: [4] }).unwrap();
        OUTCOME.with(|outcome| {
            let first = outcome.replace(Outcome::Done);
            let tensor = shared.to_dlpack_on(consumer()).unwrap();
            CALLS.take();
            outcome.set(first);
            let second = shared.to_dlpack_on(consumer()).map(drop);
            drop(tensor);
            (CONSUMER, second)
        })
    }),
    ("table, tensor", |memory| in_table(memory, true)),
    ("table, view", |memory| in_table(memory, false)),
];

/// All exports, of memory behind a handle, of memory at an address, which takes the shorter code,
/// and of memory of the host that a device works on.
fn exports() -> impl Iterator<Item = (&'static str, Export, Device)> {
    let of = |device| EXPORTS.into_iter().map(move |(name, export)| (name, export, device));
    of(NPU).chain(of(ADDRESSES)).chain(of(Device::CUDA_HOST))
}

/// An export through the exchange table of another host than Python.
fn in_table(memory: Memory, tensor: bool) -> (StreamKind, Result<(), Error>) {
    let called = Called(table::<Derived, Heap, (Cpu, Npu), NotImportable>());
    let value = object(Derived { data: memory, shape: [4] });
    let failed = if tensor {
        let function = called.0.managed_tensor_from_py_object_no_sync.expect("set");
        let mut out = core::ptr::null_mut();
        // SAFETY: the object is alive; `out` may be written.
        let code = unsafe { function(value, &raw mut out) };
        if !out.is_null() {
            // SAFETY: 1. It was just exported.
            drop(unsafe { tensors::ImportedTensor::from_raw(out) });
        }
        code != 0
    } else {
        let function = called.0.dltensor_from_py_object_no_sync.expect("set");
        let mut out = MaybeUninit::<DLTensor>::uninit();
        let object: *mut c_void = value;
        // SAFETY: the object is alive; `out` may be written.
        unsafe { function(object, out.as_mut_ptr()) != 0 }
    };
    free::<Derived>(value);
    assert_eq!(raised().len(), usize::from(failed));
    let outcome = match OUTCOME.get() {
        // It unwinds into no C function; here, the tests below want to see it.
        Outcome::Panics => panic!("contained"),
        _ if failed => Err(BROKEN),
        _ => Ok(()),
    };
    (StreamKind::WorkStream, outcome)
}

#[test]
fn every_export_synchronizes_the_memory_once() {
    let _session = begin(Outcome::Done);
    for (name, export, device) in exports() {
        let drops = Drops::new();
        CALLS.take();
        let (says, outcome) = export(memory(&drops, device));
        assert_eq!(outcome, Ok(()), "{name}");
        assert_eq!(CALLS.take(), [says], "{name}");
        assert_eq!(drops.count(), 1, "{name}");
    }
}

#[test]
fn memory_that_cannot_be_synchronized_is_not_exported() {
    let _session = begin(Outcome::Fails);
    for (name, export, device) in exports() {
        let drops = Drops::new();
        let (_, outcome) = export(memory(&drops, device));
        assert_eq!(outcome, Err(BROKEN), "{name}");
        assert_eq!(drops.count(), 1, "{name}");
    }
}

#[test]
fn a_synchronizer_that_panics_leaves_the_owner_dropped_once() {
    let _session = begin(Outcome::Panics);
    for (name, export, device) in exports() {
        let drops = Drops::new();
        let memory = memory(&drops, device);
        let outcome = catch_unwind(AssertUnwindSafe(|| export(memory)));
        assert!(outcome.is_err(), "{name}");
        assert_eq!(drops.count(), 1, "{name}");
    }
}

/// Copies read the memory after the work, and are refused for a consumer for which it
/// cannot be ordered.
#[test]
fn copies_synchronize_the_memory() {
    let _session = begin(Outcome::Done);
    let drops = Drops::new();
    let pinned = || careless(memory(&drops, Device::CUDA_HOST), &[4], None);
    CALLS.take();
    drop(pinned().copy_to_dlpack().unwrap());
    assert_eq!(CALLS.take(), [StreamKind::OnHost]);
    drop(copy_to_host::<Cpu, _>(&pinned()).unwrap());
    assert_eq!(CALLS.take(), [StreamKind::OnHost]);
    OUTCOME.set(Outcome::Fails);
    assert_eq!(pinned().copy_to_dlpack().map(drop), Err(BROKEN));
    let device = || careless(memory(&drops, NPU), &[4], None);
    assert_eq!(copy_to_host::<Npu, _>(&device()).map(drop), Err(BROKEN));
    assert_eq!(copy_on_device::<Npu, _>(&device(), consumer()).map(drop), Err(BROKEN));
}

/// A view can be synchronized before it is passed to a C function.
#[test]
fn a_borrowed_view_can_be_synchronized() {
    let _session = begin(Outcome::Done);
    let drops = Drops::new();
    let value = careless(memory(&drops, NPU), &[4], None);
    CALLS.take();
    let view = value.tensor().unwrap();
    assert_eq!(view.sync_for(consumer()), Ok(()));
    assert_eq!(CALLS.take(), [CONSUMER]);
    OUTCOME.set(Outcome::Fails);
    assert_eq!(view.into_read_only().sync_for(consumer()), Err(BROKEN));
}

/// A tensor whose other owner has memory of its own.
struct Other {
    mine: Memory,
    theirs: Mutex<Memory>,
}

impl DLPackExport for Other {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[4]).data(self.mine.data())
    }

    fn share(&self) -> Option<SharedOwner> {
        self.theirs.lock().unwrap().share()
    }
}

/// The same memory, lent without a synchronizer.
struct Bare(Memory);

impl Storage for Bare {
    fn data(&self) -> DataRef<'_> {
        let first = self.0.elements.0.get().cast();
        // SAFETY: 1. to 3. No test reads or writes it.
        unsafe { DataRef::from_raw_parts_shared(first, 16, DataType::F32, self.0.device) }
    }
}

/// Memory whose other owner lends it without a synchronizer.
struct Lying(Memory);

impl Storage for Lying {
    fn data(&self) -> DataRef<'_> {
        self.0.data()
    }

    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(Bare(self.0.clone()))
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Unsynchronized {
    data: Lying,
    shape: [i64; 1],
}

/// The exported memory and its synchronizer are the owner's, not the tensor's.
#[test]
fn the_owner_of_an_export_is_synchronized() {
    let _session = begin(Outcome::Done);
    let drops = Drops::new();
    let (mine, theirs) = (memory(&drops, ADDRESSES), memory(&drops, ADDRESSES));
    let other = Other { mine: mine.clone(), theirs: Mutex::new(theirs) };
    assert_eq!(other.to_dlpack_on(consumer()).map(drop), Err(Error::ShareOutOfRange));
    let refused = |error: Result<(), Error>| {
        let error = error.unwrap_err();
        assert!(error.to_string().contains("synchronized_by"), "{error}");
    };
    let plain = Unsynchronized { data: Lying(mine.clone()), shape: [4] };
    refused(plain.to_dlpack_on(consumer()).map(drop));
    refused(vector(Lying(mine), 4).to_dlpack_on(consumer()).map(drop));
}

/// Imported memory stays in the order in which it was imported.
#[test]
fn imported_memory_takes_consumers_without_a_stream() {
    let _session = begin(Outcome::Done);
    let drops = Drops::new();
    let exported = Derived { data: memory(&drops, NPU), shape: [4] }.into_dlpack().unwrap();
    let foreign: ImportedStorage = ImportedStorage::new(exported.import().unwrap()).unwrap();
    assert!(foreign.to_dlpack().is_ok());
    for consumer in [consumer(), StreamArg::no_sync(), StreamArg::work_stream()] {
        let refused = foreign.to_dlpack_on(consumer).map(drop);
        assert_eq!(refused, Err(Error::NotOrdered { device: NPU }), "{consumer:?}");
    }
    drop(foreign);
    assert_eq!(drops.count(), 1);
}

/// The buffer orders its work for the consumer that the export named, and frees the memory after
/// the work of that consumer. It does not learn of the consumers of the import.
#[test]
fn memory_exported_for_a_stream_and_imported_is_not_exported_again() {
    let _session = begin(Outcome::Done);
    let drops = Drops::new();
    let tensor = || Derived { data: memory(&drops, ADDRESSES), shape: [4] };
    let exports: [fn(Derived, StreamArg<'_>) -> ManagedTensor; 4] = [
        |tensor, consumer| tensor.into_dlpack_on(consumer).unwrap(),
        |tensor, consumer| tensor.to_dlpack_on(consumer).unwrap(),
        |tensor, consumer| Arc::new(tensor).into_dlpack_on(consumer).unwrap(),
        |tensor, consumer| ExportArc::new(tensor).unwrap().to_dlpack_on(consumer).unwrap(),
    ];
    let named = [consumer(), StreamArg::no_sync(), StreamArg::work_stream(), StreamArg::on_host()];
    for (at, export) in exports.iter().enumerate() {
        let imported = export(tensor(), StreamArg::unspecified()).import().unwrap();
        let foreign: ImportedStorage = ImportedStorage::new(imported).unwrap();
        assert_eq!(foreign.to_dlpack().map(drop), Ok(()), "export {at}");
        for first in named {
            let imported = export(tensor(), first).import().unwrap();
            let foreign: ImportedStorage = ImportedStorage::new(imported).unwrap();
            for second in named.into_iter().chain([StreamArg::unspecified()]) {
                let refused = Err(Error::NotOrdered { device: ADDRESSES });
                let exported = foreign.to_dlpack_on(second).map(drop);
                assert_eq!(exported, refused, "export {at} for {first:?}, then for {second:?}");
                let exported = foreign.clone().into_dlpack_on(second).map(drop);
                assert_eq!(exported, refused, "export {at} for {first:?}, then for {second:?}");
            }
        }
    }
    assert_eq!(drops.count(), 20);
}

/// The buffer waits for its work if the consumer is the processor or names no stream.
#[test]
fn pinned_memory_exported_for_a_stream_is_not_read_by_the_host() {
    let _session = begin(Outcome::Done);
    let (drops, device) = (Drops::new(), Device::CUDA_HOST);
    let imported = |consumer| {
        let tensor = Derived { data: memory(&drops, device), shape: [4] };
        tensor.into_dlpack_on(consumer).unwrap().import().unwrap()
    };
    for ready in [StreamArg::unspecified(), StreamArg::on_host()] {
        assert_eq!(imported(ready).elements::<f32>().unwrap().to_vec(), Ok(vec![0.0; 4]));
        assert!(ImportedStorage::<f32>::new(imported(ready)).is_ok());
    }
    let refused = Err(Error::NotOrdered { device });
    for pending in [consumer(), StreamArg::no_sync(), StreamArg::work_stream()] {
        let tensor = imported(pending);
        assert_eq!(tensor.elements::<f32>().map(drop), refused);
        assert_eq!(tensor.raw_bits().map(drop), refused);
        assert_eq!(tensor.to_own_copy().map(drop), refused);
        assert_eq!(ImportedStorage::<f32>::new(tensor).map(drop), refused);
        let any: ImportedStorage = ImportedStorage::new(imported(pending)).unwrap();
        assert_eq!(any.typed::<f32>().map(drop), refused);
    }
    let typed = ImportedStorage::<f32>::new(imported(StreamArg::on_host())).unwrap();
    assert_eq!(typed.to_dlpack().map(drop), refused);
}
