use dlpack_traits::python::{Convert, PyTensor};
use dlpack_traits::{As, Lossy};

pub fn sum(_: Convert<PyTensor<'_, As<f64, Lossy>>>) {}

fn main() {}
