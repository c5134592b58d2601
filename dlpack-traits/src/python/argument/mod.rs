//! Function arguments: arrays that are checked when the function is called.

mod advice;
mod at_most;
mod checks;
mod convert;
mod device_tensor;
mod exact;
mod exceptions;
mod from_tensor;
mod refusals;
mod tensor;
mod tensor_mut;
mod tensors;

pub use at_most::AtMost;
pub use checks::ANY_RANK;
pub use convert::{Convert, Convertible};
pub use device_tensor::PyDeviceTensor;
pub use exact::Exact;
pub use from_tensor::FromTensor;
pub use tensor::PyTensor;
pub use tensor_mut::PyTensorMut;
pub use tensors::PyTensors;
