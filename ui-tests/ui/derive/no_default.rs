use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
pub struct Named {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    name: String,
}

#[derive(DLPackExport, DLPackImport)]
pub struct Skipped {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    #[dlpack(skip)]
    name: String,
}

#[derive(DLPackImport)]
pub struct SyncImage {
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

#[derive(DLPackImport)]
pub struct Tuple(#[dlpack(data)] ImportedStorage<u8>, #[dlpack(shape)] [usize; 3], String);

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Named::from_dlpack(tensor());
    let _ = Skipped::from_dlpack(tensor());
    let _ = SyncImage::from_dlpack(tensor());
    let _ = Tuple::from_dlpack(tensor());
}
