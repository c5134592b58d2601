#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(height, self::WIDTH, P::CHANNELS), order = column_major)]
#[dlpack(dtype = BF16, padded)]
pub(crate) struct Frame<P: Pixel> {
    pub(crate) data: Vec<u8>,
    pub(crate) height: u32,
    #[dlpack(pitch(bytes))]
    pub(crate) pitch: usize,
    #[dlpack(offset(elements))]
    pub(crate) start: usize,
    #[dlpack(len(bytes))]
    pub(crate) nbytes: u64,
    #[dlpack(sync)]
    pub(crate) event: P,
}
