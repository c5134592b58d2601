/// Held without a copy, with a look at it.
#[derive(Debug, DLPackImport)]
#[dlpack(crate = ::tensors, require(device = cpu, rank(2, 3), dtype(U8, I8), contiguous))]
#[dlpack(validate = Self::check)]
pub(crate) struct Frame<T: Readable> {
    #[dlpack(data)]
    pub(crate) pixels: ImportedStorage<T>,
    pub(crate) shape: Vec<u32>,
    pub(crate) strides: Vec<i32>,
    #[dlpack(offset(elements))]
    pub(crate) start: usize,
    #[dlpack(default)]
    pub(crate) name: String,
}
/// A copy, made by a function.
#[derive(Debug, DLPackImport)]
#[dlpack(crate = ::tensors, shape(rows, 3), dtype = F32, construct = Table::new)]
pub(crate) struct Table {
    #[dlpack(skip)]
    pub(crate) sum: usize,
    #[dlpack(data, copy)]
    pub(crate) bytes: Vec<u8>,
    pub(crate) rows: usize,
}
/// The first that fits.
#[derive(Debug, DLPackImport)]
#[dlpack(crate = ::tensors)]
pub(crate) enum Source {
    Frame(Frame<u8>),
    Table { inner: Table, #[dlpack(skip, default)] name: String },
    #[dlpack(skip)]
    Text,
}
