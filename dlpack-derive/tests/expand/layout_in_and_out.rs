#[derive(AsLayout, FromLayout)]
#[dlpack(crate = ::tensors)]
pub(crate) struct Strided {
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    pub(crate) byte_offset: usize,
}
#[derive(Storage)]
#[dlpack(crate = ::tensors)]
pub(crate) enum Buffer {
    Own(Vec<f32>),
    #[dlpack(import)]
    Foreign(ImportedStorage<f32>),
}
