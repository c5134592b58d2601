//! Function results: Rust tensors as objects of NumPy, or of the library of an argument.

mod into_python;
mod library;
mod output;

pub use into_python::{IntoPython, Numpy};
pub use library::LibraryOf;
pub use output::{PyOutput, allocate_output};
