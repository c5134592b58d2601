//! Classes that the derive constructs from tensors.

use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage, python};
use pyo3::prelude::*;

/// Pixels in imported memory, in any layout.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport, DLPackImport)]
#[dlpack(shape(height, width, 3))]
pub(crate) struct Photo {
    data: ImportedStorage<u8>,
    height: u32,
    width: u32,
    #[dlpack(default)]
    title: String,
}

/// Contiguous numbers in imported memory, not empty.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport, DLPackImport)]
#[dlpack(require(device = cpu, rank(1, 2), contiguous), validate = Signal::is_there)]
pub(crate) struct Signal {
    data: ImportedStorage<f32>,
    shape: Vec<usize>,
}

/// A copy of integers in any layout.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport, DLPackImport)]
#[dlpack(construct = Counts::new)]
pub(crate) struct Counts {
    #[dlpack(copy)]
    data: Vec<i64>,
    shape: Vec<usize>,
    #[dlpack(skip)]
    sum: i64,
}

/// Floats in imported memory, or a copy of integers.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport, DLPackImport)]
#[dlpack(transparent)]
pub(crate) struct Series(Numbers);

#[derive(DLPackExport, DLPackImport)]
enum Numbers {
    Floats(Signal),
    Ints(Counts),
}

/// Windows over samples in imported memory, which may overlap.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport, DLPackImport)]
#[dlpack(shape(frames, bins), strides(hop, 1))]
pub(crate) struct Spectrogram {
    data: ImportedStorage<f32>,
    frames: usize,
    bins: usize,
    hop: usize,
}

#[pymethods]
impl Spectrogram {
    #[getter]
    fn layout(&self) -> (usize, usize, usize) {
        (self.frames, self.bins, self.hop)
    }
}

#[pymethods]
impl Photo {
    #[getter]
    fn size(&self) -> (u32, u32, &str) {
        (self.height, self.width, &self.title)
    }
}

impl Signal {
    fn is_there(&self) -> Result<(), &'static str> {
        if self.shape.contains(&0) { Err("a signal has samples") } else { Ok(()) }
    }
}

impl Counts {
    fn new(data: Vec<i64>, shape: Vec<usize>) -> Result<Self, String> {
        match data.iter().find(|&&count| count < 0) {
            Some(count) => Err(format!("{count} is not a count")),
            None => Ok(Self { sum: data.iter().sum(), data, shape }),
        }
    }
}

#[pymethods]
impl Counts {
    #[getter]
    fn sum(&self) -> i64 {
        self.sum
    }
}

/// Adds the classes.
pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    python::class::<Photo>().importable().add(m)?;
    python::class::<Signal>().importable().add(m)?;
    python::class::<Counts>().importable().add(m)?;
    python::class::<Series>().importable().add(m)?;
    python::class::<Spectrogram>().importable().add(m)
}
