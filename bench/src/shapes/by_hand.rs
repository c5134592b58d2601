//! An implementation without the derive, in safe code, of the shape of [`Offset`]. With `#[inline]`
//! instead of `#[inline(always)]` its shared export takes 1.36 of the floor instead of 1.10.

#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};

use super::floor::{Floor, Lists, Placed};
use super::types::Offset;

/// Strides and an offset.
#[derive(Clone)]
pub(crate) struct ByHand(pub(crate) Offset);

impl DLPackExport for ByHand {
    #[inline(always)]
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        let Offset { data, shape, strides, offset } = &self.0;
        out.shape(shape).strides(strides).offset(*offset).data(data.data())
    }

    #[inline]
    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.0.data)
    }
}

impl Floor for ByHand {
    type Owner = Arc<[f32]>;

    #[inline(always)]
    fn owner(&self) -> Arc<[f32]> {
        self.0.owner()
    }

    #[inline(always)]
    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        self.0.place(lists)
    }
}
