//! The same tensor. Strides that reach outside of the data are an error.

use std::sync::Arc;

use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Tensor {
    pub data: Arc<Vec<f32>>,
    pub shape: [usize; 2],
    pub strides: [usize; 2],
}
