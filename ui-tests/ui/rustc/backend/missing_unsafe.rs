use dlpack_traits::Error;
use dlpack_traits::backend::{NoStream, Stream};

#[derive(Clone)]
pub struct Queue;

impl Stream for Queue {
    type Event = NoStream;

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
