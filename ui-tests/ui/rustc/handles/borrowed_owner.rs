use dlpack_traits::{DLPackExport, Error, Layout, ManagedTensor, Storage, TensorView};

pub struct Borrowed<'a>(&'a [f32]);

impl DLPackExport for Borrowed<'_> {
    fn tensor(&self) -> Result<TensorView<'_>, Error> {
        TensorView::new(self.0.data(), Layout::row_major(&[2])?)
    }
}

pub fn export() -> Result<ManagedTensor, Error> {
    let local = [1.0, 2.0];
    Borrowed(&local).into_dlpack()
}

fn main() {}
