//! Tensors that note whether they were described in words: [`InWords`].

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use tensors::__private::{Plain, Room};
use tensors::{DLPackExport, Error, Lend, SharedOwner, StreamArg, TensorView};

/// A tensor that counts how often it is asked for a description. Of one that is
/// compact from the start of its storage nobody needs it: there is a shorter way, which
/// comes to the same tensor, so nothing else tells the two apart but a clock.
#[derive(Debug)]
pub struct InWords<T> {
    /// The tensor.
    pub tensor: T,
    /// How often it was described.
    pub described: Arc<AtomicUsize>,
}

impl<T> InWords<T> {
    /// One that was not described yet.
    pub fn new(tensor: T) -> Self {
        Self { tensor, described: Arc::default() }
    }
}

impl<T: DLPackExport> DLPackExport for InWords<T> {
    fn tensor(&self) -> Result<TensorView<'_>, Error> {
        self.described.fetch_add(1, Ordering::SeqCst);
        self.tensor.tensor()
    }

    fn lend(&mut self) -> Result<Lend<'_>, Error> {
        self.described.fetch_add(1, Ordering::SeqCst);
        self.tensor.lend()
    }

    fn tensor_in<'a>(&'a self, room: Room<'a>) -> Option<Plain<'a>> {
        self.tensor.tensor_in(room)
    }

    fn lend_in<'a>(&'a mut self, room: Room<'a>) -> Option<Plain<'a>> {
        self.tensor.lend_in(room)
    }

    fn stored_shape(&self) -> Option<&[i64]> {
        self.tensor.stored_shape()
    }

    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.tensor.sync_for(consumer)
    }

    fn share(&self) -> Option<SharedOwner> {
        self.tensor.share()
    }
}
