//! Structs of the shapes that users have.
//!
//! `quality/instructions` includes this file and `floor.rs`, and counts what is timed here.

use std::sync::Arc;

use dlpack_traits::{DLPackExport, DataType, Storage};

/// Contiguous, of a rank that the type has.
#[derive(Clone, DLPackExport)]
pub(crate) struct Contiguous {
    pub(crate) data: Arc<[f32]>,
    pub(crate) shape: [usize; 2],
}

/// Any strides, of any rank.
#[derive(Clone, DLPackExport)]
pub(crate) struct Strided {
    pub(crate) data: Arc<[f32]>,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
}

/// A part of a storage that other tensors use too.
#[derive(Clone, DLPackExport)]
pub(crate) struct Offset {
    pub(crate) data: Arc<[f32]>,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    #[dlpack(offset(elements))]
    pub(crate) offset: usize,
}

/// A storage of one of several element types.
#[derive(Clone, Storage)]
pub(crate) enum Buffer {
    F32(Arc<[f32]>),
    U8(Arc<[u8]>),
}

/// The tensor of most frameworks.
#[derive(Clone, DLPackExport)]
pub(crate) struct General {
    pub(crate) data: Buffer,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    #[dlpack(offset(elements))]
    pub(crate) offset: usize,
}

/// Bytes, with an element type that is chosen at run time.
#[derive(Clone, DLPackExport)]
pub(crate) struct Bytes {
    pub(crate) data: Arc<[u8]>,
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: DataType,
}
