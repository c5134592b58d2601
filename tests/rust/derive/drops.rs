//! The deleter drops the struct, once, with every field of it.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{
    DLPackExport, DataRef, DataType, Error, Flags, ManagedTensor, SharedOwner, Storage, StreamArg,
    Synchronize,
};

/// Writes to the first element, as a consumer in C does.
fn write_first(tensor: &ManagedTensor, value: i32) {
    assert_eq!((tensor.flags(), tensor.dtype()), (Flags::NONE, DataType::I32));
    let first: *mut [u8; 4] = tensor.data_ptr().cast_mut().cast();
    // SAFETY: the tensor is not READ_ONLY, and has an element of 4 bytes there.
    unsafe { first.write(value.to_ne_bytes()) };
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Counted {
    data: Vec<i32>,
    shape: [usize; 1],
    #[dlpack(skip)]
    drops: Arc<AtomicUsize>,
    #[dlpack(skip)]
    sum: Arc<AtomicUsize>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
        let sum: i32 = self.data.iter().sum();
        self.sum.store(usize::try_from(sum).unwrap_or(0), Ordering::Relaxed);
    }
}

fn counted(len: usize) -> (Counted, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (drops, sum) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let data = vec![1, 2];
    let counted = Counted { data, shape: [len], drops: drops.clone(), sum: sum.clone() };
    (counted, drops, sum)
}

#[test]
fn the_struct_is_dropped_once_after_the_consumer_wrote() {
    let (counted, drops, sum) = counted(2);
    let tensor = counted.into_dlpack().unwrap();
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    thread::spawn(move || {
        write_first(&tensor, 40);
        drop(tensor);
    })
    .join()
    .unwrap();
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    assert_eq!(sum.load(Ordering::Relaxed), 42, "the owner has the written elements");
}

#[test]
fn a_refused_export_drops_the_struct_once() {
    let (counted, drops, _) = counted(3);
    assert!(counted.into_dlpack().is_err());
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

/// An inline array moves with its struct: a pointer that was taken too early
/// would point to where it was.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(2))]
struct Inline {
    data: [i32; 2],
    #[dlpack(skip)]
    seen: Arc<AtomicUsize>,
}

impl Drop for Inline {
    fn drop(&mut self) {
        let first = usize::try_from(self.data[0]).unwrap_or(0);
        self.seen.store(first, Ordering::Relaxed);
    }
}

#[test]
fn an_inline_array_is_lent_at_its_final_address() {
    let seen = Arc::new(AtomicUsize::new(0));
    let tensor = Inline { data: [1, 2], seen: seen.clone() }.into_dlpack().unwrap();
    write_first(&tensor, 7);
    drop(tensor);
    assert_eq!(seen.load(Ordering::Relaxed), 7);
}

/// The same, by the way that tensors with strides go.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Strided {
    data: [i32; 2],
    shape: [usize; 1],
    strides: [isize; 1],
    #[dlpack(skip)]
    seen: Arc<AtomicUsize>,
}

impl Drop for Strided {
    fn drop(&mut self) {
        let first = usize::try_from(self.data[0]).unwrap_or(0);
        self.seen.store(first, Ordering::Relaxed);
    }
}

#[test]
fn an_inline_array_with_strides_is_lent_at_its_final_address() {
    let seen = Arc::new(AtomicUsize::new(0));
    let strided = Strided { data: [1, 2], shape: [2], strides: [1], seen: seen.clone() };
    let tensor = strided.into_dlpack().unwrap();
    write_first(&tensor, 7);
    drop(tensor);
    assert_eq!(seen.load(Ordering::Relaxed), 7);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Shared {
    data: Arc<Vec<f64>>,
    shape: [usize; 1],
}

#[test]
fn a_shared_export_outlives_the_struct() {
    let data = Arc::new(vec![0.5, 1.5]);
    let shared = Shared { data: data.clone(), shape: [2] };
    assert!(shared.share().is_some_and(|owner: SharedOwner| owner.data().byte_len() == 16));
    let tensor = shared.to_dlpack().unwrap();
    drop(shared);
    assert_eq!(Arc::strong_count(&data), 2);
    assert_eq!(tensor.data_ptr(), data.as_ptr().cast());
    drop(tensor);
    assert_eq!(Arc::strong_count(&data), 1);
}

const FAILED: Error = Error::Custom("the work failed");

/// Work on memory.
struct Work {
    fails: bool,
}

impl Synchronize for Work {
    fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
        if self.fails { Err(FAILED) } else { Ok(()) }
    }
}

/// Memory with work on it.
struct Worked {
    bytes: Vec<u8>,
    work: Work,
    _ticket: Ticket,
}

impl Storage for Worked {
    fn data(&self) -> DataRef<'_> {
        // SAFETY: 1. and 2. No device works on it.
        unsafe { DataRef::from_slice(&self.bytes).synchronized_by(&self.work) }
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Tensor {
    data: Worked,
    shape: [usize; 1],
    #[dlpack(sync)]
    work: Work,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, transparent)]
struct Around(Tensor);

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
enum Either {
    Around(Box<Around>),
    #[dlpack(skip)]
    Nothing {
        _ticket: Ticket,
    },
}

/// Makes a tensor fail to export.
type Fail = fn(&mut Tensor);

/// Each step of `try_into_dlpack` that can fail, and its error.
const FAILURES: [(Fail, Error); 3] = [
    (|tensor| tensor.shape = [3], Error::OutOfBounds { start: 0, end: 3, len: 2 }),
    (|tensor| tensor.work.fails = true, FAILED),
    (|tensor| tensor.data.work.fails = true, FAILED),
];

/// A value returns with each error, is dropped once, and can be exported where its fields are
/// corrected.
fn each_failure_returns<T: DLPackExport + Send + 'static>(
    wrap: fn(Tensor) -> T,
    inner: fn(&mut T) -> &mut Tensor,
) {
    for (fail, expected) in FAILURES {
        let drops = Drops::new();
        let failing = || {
            let data =
                Worked { bytes: vec![1, 2], work: Work { fails: false }, _ticket: drops.ticket() };
            let mut value = wrap(Tensor { data, shape: [2], work: Work { fails: false } });
            fail(inner(&mut value));
            value
        };
        assert_eq!(failing().into_dlpack().unwrap_err(), expected);
        assert_eq!(drops.count(), 1);

        let (value, error) = failing().try_into_dlpack().unwrap_err();
        assert_eq!((error, drops.count()), (expected, 1));
        let (mut value, error) = value.try_into_dlpack().unwrap_err();
        assert_eq!((error, drops.count()), (expected, 1));

        let tensor = inner(&mut value);
        (tensor.shape, tensor.work.fails, tensor.data.work.fails) = ([2], false, false);
        let address = tensor.data.bytes.as_ptr();
        let exported = value.try_into_dlpack().map_err(|(_, error)| error).unwrap();
        assert_eq!((exported.data_ptr(), drops.count()), (address.cast(), 1));
        thread::spawn(move || drop(exported)).join().unwrap();
        assert_eq!(drops.count(), 2);

        drop(failing().try_into_dlpack().unwrap_err());
        assert_eq!(drops.count(), 3);
    }
}

#[test]
fn a_failed_export_returns_a_struct_a_newtype_or_an_enum() {
    each_failure_returns(|tensor| tensor, |tensor| tensor);
    each_failure_returns(Around, |around| &mut around.0);
    each_failure_returns(
        |tensor| Either::Around(Box::new(Around(tensor))),
        |either| match either {
            Either::Around(around) => &mut around.0,
            Either::Nothing { .. } => unreachable!("it was wrapped"),
        },
    );
}

#[test]
fn a_variant_without_a_tensor_returns() {
    let drops = Drops::new();
    let nothing = Either::Nothing { _ticket: drops.ticket() };
    let (nothing, error) = nothing.try_into_dlpack().unwrap_err();
    assert_eq!((error, drops.count()), (Error::NoStorage { variant: "Nothing" }, 0));
    assert!(matches!(nothing, Either::Nothing { .. }));
    drop(nothing);
    assert_eq!(drops.count(), 1);
}
