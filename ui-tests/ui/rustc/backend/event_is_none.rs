use dlpack_traits::Error;
use dlpack_traits::backend::Stream;

#[derive(Clone)]
pub struct Queue;

pub struct Mark;

// SAFETY: it is an example.
unsafe impl Stream for Queue {
    type Event = Mark;

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

fn main() {}
