//! Function arguments: arrays that are checked when the function is called.

mod checks;
mod convert;
mod device_tensor;
mod mismatch;
mod operand;
mod tensor;
mod tensor_mut;
mod tensors;
mod wrappers;

pub use checks::ANY_RANK;
pub use convert::{Convert, Convertible};
pub use device_tensor::PyDeviceTensor;
pub use operand::Operand;
pub use tensor::{PyRecords, PyTensor};
pub use tensor_mut::PyTensorMut;
pub use tensors::PyTensors;
pub use wrappers::{AtMost, Exact, FromTensor};

pub(super) use tensor::Access;
