//! `parking_lot` and `tokio`: elements behind a lock, as those of candle, exported zero-copy.
//!
//! An owned guard (`read_arc`, `read_owned`) is the owner of the export: the lock is held until the
//! consumer releases the tensor, and writers wait for it. No `unsafe`: no one writes meanwhile.
#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_traits::DLPackExport;
use parking_lot::{ArcRwLockReadGuard, RawRwLock, RwLock};
use tokio::sync::{OwnedRwLockReadGuard, RwLock as AsyncRwLock};

/// A tensor whose clones and views share one storage.
#[derive(Clone)]
pub struct Variable {
    storage: Arc<RwLock<Vec<f32>>>,
    shape: Vec<usize>,
    strides: Vec<usize>,
    start: usize,
}

/// A tensor whose lock is held.
#[derive(DLPackExport)]
pub struct Locked {
    #[dlpack(data, slice = f32)]
    storage: ArcRwLockReadGuard<RawRwLock, Vec<f32>>,
    shape: Vec<usize>,
    strides: Vec<usize>,
    #[dlpack(offset(elements))]
    start: usize,
}

impl Variable {
    /// Locks the elements for reading, until the consumer of the export releases them.
    pub fn locked(&self) -> Locked {
        let Self { storage, shape, strides, start } = self.clone();
        Locked { storage: storage.read_arc(), shape, strides, start }
    }
}

/// The same for a lock of tokio, whose waiting readers do not block a thread.
#[derive(DLPackExport)]
pub struct LockedRow {
    #[dlpack(data, slice = f32)]
    storage: OwnedRwLockReadGuard<Vec<f32>>,
    shape: [usize; 1],
}

/// Waits for the lock, and exports all elements.
pub async fn locked_row(storage: &Arc<AsyncRwLock<Vec<f32>>>) -> LockedRow {
    let storage = Arc::clone(storage).read_owned().await;
    LockedRow { shape: [storage.len()], storage }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn matrix() -> Variable {
        let storage = Arc::new(RwLock::new((0_u8..6).map(f32::from).collect()));
        Variable { storage, shape: vec![2, 2], strides: vec![3, 1], start: 1 }
    }

    #[test]
    fn export_holds_the_lock_until_it_is_released_on_another_thread() {
        let matrix = matrix();
        let address = matrix.storage.read()[1..].as_ptr();
        let tensor = matrix.locked().into_dlpack().unwrap();
        assert_eq!(tensor.data_ptr(), address.cast());
        assert!(tensor.is_read_only());
        // Other readers do not wait, and writers do.
        assert!(matrix.storage.try_read().is_some());
        assert!(matrix.storage.try_write().is_none());
        let consumer = std::thread::spawn(move || {
            let tensor = tensor.import()?;
            tensor.elements::<f32>()?.to_vec()
        });
        assert_eq!(consumer.join().unwrap(), Ok(vec![1.0, 2.0, 4.0, 5.0]));
        matrix.storage.try_write().expect("no reader")[1] = 9.0;
    }

    #[test]
    fn rejected_export_releases_the_lock() {
        let matrix = Variable { shape: vec![3, 2], ..matrix() };
        assert!(matrix.locked().into_dlpack().is_err());
        assert!(matrix.storage.try_write().is_some());
    }

    #[test]
    fn export_holds_the_lock_of_tokio() {
        let storage = Arc::new(AsyncRwLock::new(vec![1.0, 2.0]));
        let row = pin!(locked_row(&storage)).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(row) = row else { panic!("the lock is free") };
        let tensor = row.into_dlpack().unwrap();
        assert!(storage.try_read().is_ok() && storage.try_write().is_err());
        drop(tensor);
        assert!(storage.try_write().is_ok());
    }
}
