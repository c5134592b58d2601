//! A shape written into the packet of the export from inside of which this one is
//! made, and not into its own.

use std::cell::RefCell;

use dlpack_traits::__private::{AsDims, Plain, Room, Tensor, tensor_in};
use dlpack_traits::{DLPackExport, Error, Layout, Storage, TensorView};

struct Inner<'x>(Vec<f32>, RefCell<Option<Room<'x>>>);

struct Here;

impl Tensor<Here> for Inner<'_> {
    type Data = Vec<f32>;
}

impl DLPackExport for Inner<'_> {
    fn tensor(&self) -> Result<TensorView<'_>, Error> {
        TensorView::new(self.0.data(), Layout::row_major(&[6])?)
    }

    fn tensor_in<'a>(&'a self, _: Room<'a>) -> Option<Plain<'a>> {
        let room = self.1.take()?;
        tensor_in::<Here, Self>(&self.0, [6_usize].compact_in(room))
    }
}

fn main() {}
