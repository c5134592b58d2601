#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
pub(crate) struct Image {
    pub(crate) data: Vec<u8>,
    pub(crate) shape: [usize; 3],
}
