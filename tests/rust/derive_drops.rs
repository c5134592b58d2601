//! The deleter drops the struct, once, with every field of it.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use tensors::{DLPackExport, DataType, Flags, ManagedTensor, SharedOwner, Storage};

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
