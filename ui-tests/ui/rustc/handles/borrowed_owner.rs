use dlpack_traits::{DLPackExport, Describe, Description, Error, ManagedTensor, Storage};

pub struct Borrowed<'a>(&'a [f32]);

impl DLPackExport for Borrowed<'_> {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[2]).data(self.0.data())
    }
}

pub fn export() -> Result<ManagedTensor, Error> {
    let local = [1.0, 2.0];
    Borrowed(&local).into_dlpack()
}

fn main() {}
