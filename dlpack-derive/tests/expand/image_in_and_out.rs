#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
pub(crate) struct Image {
    pub(crate) data: ImportedStorage<u8>,
    pub(crate) shape: [usize; 3],
}
