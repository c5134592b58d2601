//! Structs whose shared owner is not a known type, but one behind a table of functions.

use std::sync::Arc;

use dlpack_traits::{DLPackExport, Storage};

use super::element::F32;
use super::floor::{Floor, Lists, Placed, bytes, contiguous};

/// More variants than those of which the shared owner is a known type.
#[derive(Clone, Storage)]
#[expect(dead_code, reason = "one variant is measured")]
pub(crate) enum ManyBuffers {
    F32(Arc<[f32]>),
    F64(Arc<[f64]>),
    I8(Arc<[i8]>),
    I16(Arc<[i16]>),
    I32(Arc<[i32]>),
    I64(Arc<[i64]>),
    U8(Arc<[u8]>),
    U16(Arc<[u16]>),
    U32(Arc<[u32]>),
    U64(Arc<[u64]>),
    Owned32(Vec<f32>),
    Owned64(Vec<f64>),
    OwnedU8(Vec<u8>),
}

/// An enum of many buffers.
#[derive(Clone, DLPackExport)]
pub(crate) struct Many {
    pub(crate) data: ManyBuffers,
    pub(crate) shape: [usize; 2],
}

/// A storage of any type behind a reference count.
#[derive(Clone, Storage)]
#[expect(dead_code, reason = "one variant is measured")]
pub(crate) enum GenericBuffer<S> {
    Floats(Arc<[f32]>),
    Other(Arc<S>),
}

/// An enum with a generic owner.
#[derive(Clone, DLPackExport)]
pub(crate) struct Generic {
    pub(crate) data: GenericBuffer<Vec<f32>>,
    pub(crate) shape: [usize; 2],
}

impl Floor for Many {
    type Owner = Arc<[f32]>;

    fn owner(&self) -> Arc<[f32]> {
        match &self.data {
            ManyBuffers::F32(data) => Arc::clone(data),
            _ => panic!("the floor is that of floats"),
        }
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let ManyBuffers::F32(data) = &self.data else { return None };
        let (first, len) = bytes(data);
        contiguous(lists, &self.shape, first, len, F32)
    }
}

impl Floor for Generic {
    type Owner = Arc<[f32]>;

    fn owner(&self) -> Arc<[f32]> {
        match &self.data {
            GenericBuffer::Floats(data) => Arc::clone(data),
            GenericBuffer::Other(_) => panic!("the floor is that of floats"),
        }
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let GenericBuffer::Floats(data) = &self.data else { return None };
        let (first, len) = bytes(data);
        contiguous(lists, &self.shape, first, len, F32)
    }
}
