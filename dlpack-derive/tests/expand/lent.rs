#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(self.text.len(), 1))]
pub(crate) struct Letters {
    #[dlpack(data, slice = u8, shared)]
    pub(crate) text: Arc<Vec<u8>>,
    #[dlpack(dtype, with = to_dtype)]
    pub(crate) kind: String,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
pub(crate) struct Row<O, T> {
    #[dlpack(slice = T)]
    pub(crate) values: O,
    pub(crate) shape: [usize; 1],
    pub(crate) element: PhantomData<T>,
}
