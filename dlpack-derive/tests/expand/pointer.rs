#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(2))]
pub(crate) struct Pointer {
    #[dlpack(unsafe(ptr, len(elements) = size))]
    pub(crate) pixels: *const f32,
    pub(crate) size: usize,
    #[dlpack(owner)]
    pub(crate) file: Arc<[f32]>,
}
