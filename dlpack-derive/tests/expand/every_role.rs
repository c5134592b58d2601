#[derive(Debug, DLPackExport)]
#[dlpack(crate = ::tensors, read_only)]
pub(crate) struct Packet {
    #[dlpack(data)]
    pub(crate) bytes: Arc<[u8]>,
    #[dlpack(shape)]
    pub(crate) extents: [u32; 2],
    #[dlpack(strides)]
    pub(crate) steps: [i16; 2],
    pub(crate) byte_offset: usize,
    pub(crate) dtype: DataType,
    pub(crate) device: Device,
    pub(crate) name: &'static str,
}
