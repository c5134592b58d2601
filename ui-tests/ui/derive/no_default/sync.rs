use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
pub struct Image {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    #[dlpack(sync)]
    event: Event,
}

pub struct Event;

impl dlpack_traits::Synchronize for Event {
    fn sync_for(&self, _: dlpack_traits::StreamArg<'_>) -> Result<(), dlpack_traits::Error> {
        Ok(())
    }
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor);
}
