//! Storages that count how many are alive, and how many exports hold one.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use dlpack_traits::{DataMut, DataRef, SharedOwner, Storage};
use pyo3::prelude::*;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static EXPORTS: AtomicUsize = AtomicUsize::new(0);
static RELEASES: AtomicUsize = AtomicUsize::new(0);

/// How many counted storages exist.
#[pyfunction]
pub(crate) fn live() -> usize {
    LIVE.load(Ordering::SeqCst)
}

/// How many exports have taken an owner of a `Several`.
#[pyfunction]
pub(crate) fn exports() -> usize {
    EXPORTS.load(Ordering::SeqCst)
}

/// How many of those owners a deleter has dropped.
#[pyfunction]
pub(crate) fn releases() -> usize {
    RELEASES.load(Ordering::SeqCst)
}

/// A storage that is counted as long as it exists.
pub(crate) struct Counted<S>(S);

impl<S> Counted<S> {
    pub(crate) fn new(storage: S) -> Self {
        LIVE.fetch_add(1, Ordering::SeqCst);
        Self(storage)
    }

    pub(crate) fn get(&self) -> &S {
        &self.0
    }

    pub(crate) fn get_mut(&mut self) -> &mut S {
        &mut self.0
    }
}

impl<S> Drop for Counted<S> {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

impl<S: Storage> Storage for Counted<S> {
    fn data(&self) -> DataRef<'_> {
        self.0.data()
    }

    fn data_mut(&mut self) -> DataMut<'_> {
        self.0.data_mut()
    }
}

/// A counted storage with several owners, each of which is counted too.
pub(crate) struct Several<S>(Arc<Counted<S>>);

impl<S> Several<S> {
    pub(crate) fn new(storage: S) -> Self {
        Self(Arc::new(Counted::new(storage)))
    }

    pub(crate) fn get(&self) -> &S {
        self.0.get()
    }
}

impl<S: Storage + Send + Sync + 'static> Storage for Several<S> {
    fn data(&self) -> DataRef<'_> {
        self.0.data()
    }

    fn share(&self) -> Option<SharedOwner> {
        EXPORTS.fetch_add(1, Ordering::SeqCst);
        SharedOwner::new(Exported(Arc::clone(&self.0)))
    }
}

/// The owner of an export of a [`Several`].
struct Exported<S>(Arc<Counted<S>>);

impl<S> Drop for Exported<S> {
    fn drop(&mut self) {
        RELEASES.fetch_add(1, Ordering::SeqCst);
    }
}

impl<S: Storage + Send + Sync + 'static> Storage for Exported<S> {
    fn data(&self) -> DataRef<'_> {
        self.0.data()
    }
}
