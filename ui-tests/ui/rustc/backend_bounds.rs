use std::cell::Cell;

use dlpack_traits::backend::{Backends, Cpu, NoStream, Stream};
use dlpack_traits::Error;

#[derive(Clone)]
pub struct QueueEventIsNone;

pub struct Mark;

// SAFETY: it is an example.
unsafe impl Stream for QueueEventIsNone {
    type Event = Mark;

    const IN_ORDER: bool = true;
    const GRAPHS: bool = false;

    fn record(&self) -> Result<Mark, Error> {
        Ok(Mark)
    }

    fn wait(&self, _: &Mark) -> Result<(), Error> {
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

pub struct Npu;

fn serves<Set: Backends>() {}

pub fn forgot_to_implement_it() {
    serves::<(Cpu, Npu)>();
}

#[derive(Clone)]
pub struct QueueStreamOfOneThread(Cell<u8>);

// SAFETY: it is an example.
unsafe impl Stream for QueueStreamOfOneThread {
    type Event = NoStream;

    const IN_ORDER: bool = true;
    const GRAPHS: bool = false;

    fn record(&self) -> Result<NoStream, Error> {
        Ok(NoStream)
    }

    fn wait(&self, _: &NoStream) -> Result<(), Error> {
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {}
