//! Rust values with tensors, as an application has them, and counters for the tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dlpack_traits::{DLPackExport, DataType, Error, ImportedTensor, SharedBuffer};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static DELETED: AtomicUsize = AtomicUsize::new(0);

/// Counts an owner, whose drop is the work of a deleter.
#[derive(Debug)]
pub(crate) struct Counted(());

impl Counted {
    pub(crate) fn new() -> Self {
        LIVE.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// How many owners exist, and how many were dropped.
    pub(crate) fn counts() -> (usize, usize) {
        (LIVE.load(Ordering::SeqCst), DELETED.load(Ordering::SeqCst))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::SeqCst);
        DELETED.fetch_add(1, Ordering::SeqCst);
    }
}

/// A frame of a camera: rows of pixels that one owner reads and writes.
#[derive(DLPackExport)]
pub(crate) struct Frame {
    data: Vec<f32>,
    shape: [usize; 2],
    #[dlpack(skip)]
    _counted: Counted,
}

impl Frame {
    /// Pixels that count up from 0.
    pub(crate) fn new(rows: usize, columns: usize) -> Self {
        let numbers = core::iter::successors(Some(0.0), |number| Some(number + 1.0));
        let data = numbers.take(rows * columns).collect();
        Self { data, shape: [rows, columns], _counted: Counted::new() }
    }
}

/// A signal that Rust and JavaScript both read and write.
#[derive(Clone, DLPackExport)]
pub(crate) struct Shared {
    pub(crate) data: SharedBuffer<f32>,
    shape: [usize; 1],
}

impl Shared {
    pub(crate) fn new(len: usize) -> Result<Self, Error> {
        Ok(Self { data: SharedBuffer::zeroed(len)?, shape: [len] })
    }
}

/// Bytes with any description, for the tests of rejections.
#[derive(DLPackExport)]
struct Described {
    #[dlpack(data)]
    bytes: Vec<u8>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    dtype: DataType,
    #[dlpack(skip)]
    _counted: Counted,
}

/// Read-only memory.
#[derive(DLPackExport)]
struct Frozen {
    data: Arc<[f32]>,
    shape: [usize; 1],
    #[dlpack(skip)]
    _counted: Counted,
}

/// Returns two by three elements of a dtype, with all bits zero, in column-major order if
/// `transposed`.
pub(crate) fn described(name: &str, transposed: bool) -> Result<ImportedTensor, Error> {
    let dtype = DataType::from_name(name).ok_or(Error::Custom("this is not a dtype of DLPack"))?;
    let bytes = 6 * usize::from(dtype.bits()).div_ceil(8) * usize::from(dtype.lanes());
    let strides = if transposed { vec![1, 2] } else { vec![3, 1] };
    let (bytes, shape) = (vec![0; bytes], vec![2, 3]);
    Described { bytes, shape, strides, dtype, _counted: Counted::new() }.into_dlpack()?.import()
}

/// Returns three read-only elements.
pub(crate) fn frozen() -> Result<ImportedTensor, Error> {
    let data = Arc::from([1.0, 2.0, 3.0]);
    Frozen { data, shape: [3], _counted: Counted::new() }.into_dlpack()?.import()
}

/// Returns two elements, 1 and 2, one byte after an aligned address, as a producer of packed
/// records exports them.
pub(crate) fn unaligned() -> Result<ImportedTensor, Error> {
    let mut bytes = vec![0; 1];
    bytes.extend([1.0_f32, 2.0].into_iter().flat_map(f32::to_ne_bytes));
    let tensor = Described {
        shape: vec![9],
        strides: vec![1],
        dtype: DataType::U8,
        bytes,
        _counted: Counted::new(),
    };
    let managed = tensor.into_dlpack()?.into_raw();
    // SAFETY: this function owns the struct, which has no other reference.
    let described = unsafe { &mut (*managed).dl_tensor };
    described.byte_offset = 1;
    described.dtype = DataType::F32.into();
    // SAFETY: the export wrote one entry.
    unsafe { described.shape.write(2) };
    // SAFETY: 1 to 3: a valid struct of this function. 4: it describes the last eight of nine
    // initialized bytes. 5: they have no other owner.
    unsafe { ImportedTensor::from_raw(managed) }
}
