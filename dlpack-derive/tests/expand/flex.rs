#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
pub(crate) struct Flex<L>(#[dlpack(data)] pub(crate) Arc<[f32]>, #[dlpack(layout)] pub(crate) L);
