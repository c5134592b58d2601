//! Messages of rustc, which `docs/reference.md` explains.

use dlpack_traits::DLPackExport;
use dlpack_traits::python::PyTensor;

#[derive(DLPackExport)]
pub struct View<'a> {
    data: &'a [u8],
    shape: [usize; 1],
}

pub fn export_of_a_borrow(bytes: Vec<u8>) {
    let view = View { data: &bytes, shape: [bytes.len()] };
    let _ = view.into_dlpack();
}

pub struct Kept {
    pub x: PyTensor<'static, f32>,
}

pub fn keep(x: PyTensor<'_, f32>) -> Kept {
    Kept { x }
}

fn main() {}
