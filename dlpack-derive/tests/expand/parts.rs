/// A pixel: one element with an axis of its own.
#[derive(Clone, Copy, Element)]
#[repr(transparent)]
#[dlpack(crate = ::tensors)]
pub(crate) struct Rgb(pub(crate) [u8; 3]);

/// Element types that are known when the program runs.
#[derive(Clone, Copy, Debug, PartialEq, DataType)]
#[dlpack(crate = ::tensors)]
pub(crate) enum Kind {
    F32,
    #[dlpack(dtype = FLOAT8_E4M3FN)]
    F8,
    #[dlpack(skip)]
    Text,
}

/// One buffer for each of them.
#[derive(Storage)]
#[dlpack(crate = ::tensors)]
pub(crate) enum Buffer {
    F32(Vec<f32>),
    #[dlpack(skip)]
    Text(Vec<String>),
}

/// A layout in one piece.
#[derive(AsLayout)]
#[dlpack(crate = ::tensors)]
pub(crate) struct Strided {
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    #[dlpack(offset(elements))]
    pub(crate) start: usize,
}

/// A record: each field is a tensor.
#[derive(Clone, Copy, Record)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(C)]
pub(crate) struct Sample {
    pub(crate) color: [u8; 3],
    #[dlpack(skip)]
    padding: u8,
    depth: f32,
}
