#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape = self.0.dims(), strides = &self.0.strides)]
#[dlpack(dtype = self.0.kind.into(), offset(elements) = 12, len(bytes) = self.0.len())]
pub(crate) struct Stated(#[dlpack(data)] pub(crate) Tensor);
#[derive(DLPackImport)]
#[dlpack(crate = ::tensors, shape = Self::SHAPE, pitch(bytes) = 8, order = Self::ORDER)]
pub(crate) struct Constant {
    pub(crate) data: ImportedStorage<u8>,
}
