//! The tensor of kornia-tensor 0.2, whose DLPack functions are `kornia_tensor::dlpack`.

pub mod after;
