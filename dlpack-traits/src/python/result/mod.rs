//! Function results: Rust tensors as objects of NumPy, or of the library of an argument.

mod into_python;
mod library;
mod numpy_result;
mod output;

pub use into_python::IntoPython;
pub use library::LibraryOf;
pub use numpy_result::Numpy;
pub use output::{PyOutput, allocate_output};
