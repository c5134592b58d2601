use dlpack_traits::{DLPackImport, Foreign};

#[derive(DLPackImport)]
#[dlpack(validate = Image::check)]
pub struct Image {
    data: Foreign<u8>,
    shape: [usize; 3],
}

pub struct Bad;

impl Image {
    fn check(&self) -> Result<(), Bad> {
        Ok(())
    }
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::Imported) {
    let _ = Image::from_dlpack(tensor);
}
