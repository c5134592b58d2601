//! The type of the field is another crate's.

use std::collections::VecDeque;

use dlpack_traits::{DLPackImport};

#[derive(DLPackImport)]
#[dlpack(transparent)]
pub struct Samples(VecDeque<f32>);

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::ImportedTensor) {
    let _ = Samples::from_dlpack(tensor);
}
