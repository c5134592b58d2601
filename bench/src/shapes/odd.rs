//! Structs of shapes that are less common than those of `types.rs`, with their floors.

use core::ptr;
use std::sync::Arc;

use dlpack_traits::{DLPackExport, DataType, Element};

use super::element::{self, F32, U8};
use super::floor::{Floor, Lists, Placed, bytes, contiguous, strided};

const F4: DataType = DataType::FLOAT4_E2M1FN;
/// Elements of 4 bits. Their size is not used for the address: lists and length count elements.
const PACKED: element::Element = element::Element { dtype: F4.to_ffi(), size: 1, align: 1 };

/// Rows that lie farther apart than they are long.
#[derive(Clone, DLPackExport)]
pub(crate) struct Pitched {
    pub(crate) data: Arc<[f32]>,
    pub(crate) shape: [usize; 2],
    #[dlpack(pitch(elements))]
    pub(crate) pitch: usize,
}

/// An image with rows of any number of bytes.
#[derive(Clone, DLPackExport)]
pub(crate) struct Image {
    pub(crate) data: Arc<[u8]>,
    pub(crate) shape: [usize; 3],
    #[dlpack(pitch(bytes))]
    pub(crate) pitch: usize,
}

/// Fortran order.
#[derive(Clone, DLPackExport)]
#[dlpack(order = column_major)]
pub(crate) struct Columns {
    pub(crate) data: Arc<[f32]>,
    pub(crate) shape: [usize; 2],
}

/// Strides that count bytes, as NumPy's do.
#[derive(Clone, DLPackExport)]
pub(crate) struct ByteStrided {
    pub(crate) data: Arc<[f32]>,
    pub(crate) shape: Vec<usize>,
    #[dlpack(strides(bytes))]
    pub(crate) strides: Vec<isize>,
}

/// A part of a storage whose end is known.
#[derive(Clone, DLPackExport)]
pub(crate) struct Window {
    pub(crate) data: Arc<[f32]>,
    pub(crate) shape: [usize; 2],
    #[dlpack(offset(elements))]
    pub(crate) offset: usize,
    #[dlpack(len(elements))]
    pub(crate) len: usize,
}

/// A shape in an array of a fixed capacity.
#[derive(Clone, DLPackExport)]
pub(crate) struct Capacity {
    pub(crate) data: Arc<[f32]>,
    pub(crate) shape: [usize; 6],
    #[dlpack(ndim)]
    pub(crate) ndim: usize,
}

/// Three numbers.
#[derive(Clone, Copy, Element)]
#[repr(transparent)]
pub(crate) struct Rgb(pub(crate) [f32; 3]);

/// Elements that are arrays.
#[derive(Clone, DLPackExport)]
pub(crate) struct Pixels {
    pub(crate) data: Arc<[Rgb]>,
    pub(crate) shape: [usize; 2],
}

/// Two elements in each byte.
#[derive(Clone, DLPackExport)]
#[dlpack(dtype = FLOAT4_E2M1FN)]
pub(crate) struct Packed {
    pub(crate) data: Arc<[u8]>,
    pub(crate) shape: [usize; 2],
}

/// Elements that are narrower than a byte, with a byte each.
#[derive(Clone, DLPackExport)]
#[dlpack(dtype = FLOAT4_E2M1FN, padded)]
pub(crate) struct Padded {
    pub(crate) data: Arc<[u8]>,
    pub(crate) shape: [usize; 2],
}

/// No elements, in a buffer that has some.
#[derive(Clone, DLPackExport)]
#[dlpack(spare_capacity)]
pub(crate) struct Empty {
    pub(crate) data: Arc<[f32]>,
    pub(crate) shape: [usize; 2],
}

/// Elements of 16 bytes that start at a multiple of 8.
#[derive(Clone, DLPackExport)]
#[dlpack(dtype = COMPLEX128)]
pub(crate) struct Unround {
    pub(crate) data: Arc<[u8]>,
    pub(crate) shape: [usize; 2],
    #[dlpack(offset(bytes))]
    pub(crate) offset: usize,
}

impl Floor for Pitched {
    type Owner = Arc<[f32]>;

    fn owner(&self) -> Arc<[f32]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        let pitch = isize::try_from(self.pitch).ok()?;
        let wide = self.pitch >= self.shape[1];
        wide.then_some(())?;
        strided(lists, &self.shape, &[pitch, 1], 0, first, len, F32)
    }
}

impl Floor for Image {
    type Owner = Arc<[u8]>;

    fn owner(&self) -> Arc<[u8]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        let pitch = isize::try_from(self.pitch).ok()?;
        let wide = self.pitch >= self.shape[1].checked_mul(self.shape[2])?;
        wide.then_some(())?;
        let columns = isize::try_from(self.shape[2]).ok()?;
        strided(lists, &self.shape, &[pitch, columns, 1], 0, first, len, U8)
    }
}

impl Floor for Columns {
    type Owner = Arc<[f32]>;

    fn owner(&self) -> Arc<[f32]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        let rows = isize::try_from(self.shape[0]).ok()?;
        strided(lists, &self.shape, &[1, rows], 0, first, len, F32)
    }
}

impl Floor for ByteStrided {
    type Owner = Arc<[f32]>;

    fn owner(&self) -> Arc<[f32]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        let &[outer, inner] = self.strides.as_slice() else { return None };
        let whole = outer % 4 == 0 && inner % 4 == 0;
        whole.then_some(())?;
        strided(lists, &self.shape, &[outer / 4, inner / 4], 0, first, len, F32)
    }
}

impl Floor for Window {
    type Owner = Arc<[f32]>;

    fn owner(&self) -> Arc<[f32]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let window = self.data.get(self.offset..)?.get(..self.len)?;
        let (first, len) = bytes(window);
        contiguous(lists, &self.shape, first, len, F32)
    }
}

impl Floor for Capacity {
    type Owner = Arc<[f32]>;

    fn owner(&self) -> Arc<[f32]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        contiguous(lists, self.shape.get(..self.ndim)?, first, len, F32)
    }
}

impl Floor for Pixels {
    type Owner = Arc<[Rgb]>;

    fn owner(&self) -> Arc<[Rgb]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        let [height, width] = self.shape;
        contiguous(lists, &[height, width, 3], first, len, F32)
    }
}

impl Floor for Packed {
    type Owner = Arc<[u8]>;

    fn owner(&self) -> Arc<[u8]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        contiguous(lists, &self.shape, first, len.checked_mul(2)?, PACKED)
    }
}

impl Floor for Padded {
    type Owner = Arc<[u8]>;

    fn owner(&self) -> Arc<[u8]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        contiguous(lists, &self.shape, first, len, PACKED)
    }
}

impl Floor for Empty {
    type Owner = Arc<[f32]>;

    fn owner(&self) -> Arc<[f32]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        let [rows, columns] = self.shape;
        let none = rows == 0;
        none.then_some(())?;
        // With one row, so that every number is checked as for other tensors.
        let placed = contiguous(lists, &[1, columns], first, len, F32)?;
        lists.set_first(0);
        Some(placed.at(ptr::null()))
    }
}

impl Floor for Unround {
    type Owner = Arc<[u8]>;

    fn owner(&self) -> Arc<[u8]> {
        Arc::clone(&self.data)
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(self.data.get(self.offset..)?);
        let dtype = DataType::COMPLEX128.to_ffi();
        // Its parts are aligned to 8 bytes.
        contiguous(lists, &self.shape, first, len, element::Element { dtype, size: 16, align: 8 })
    }
}
