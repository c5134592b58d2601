#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(2))]
pub(crate) struct Pointer {
    #[dlpack(unsafe(ptr, len(elements) = size))]
    pub(crate) pixels: *const f32,
    pub(crate) size: usize,
    #[dlpack(owner, shared)]
    pub(crate) file: Arc<[f32]>,
}
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(self.0.len()))]
pub(crate) struct Handle(
    #[dlpack(unsafe(mut ptr, len(elements) = self.0.len()), with = Memory::data, shared)] pub(crate) Memory,
);
