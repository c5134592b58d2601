//! Classes whose export runs Python code, or whose base class can change.

use dlpack_traits::{
    DLPackExport, Describe, Description, Error, SharedBuffer, SharedOwner, Storage, StreamArg,
};
use pyo3::prelude::*;

use crate::counted::Several;

/// Four `float32`s, each of whose methods first calls a function with its name.
#[pyclass(frozen, module = "dlpack_testing")]
pub(crate) struct CallsBack {
    data: Several<SharedBuffer<f32>>,
    callback: Py<PyAny>,
}

impl CallsBack {
    fn call(&self, method: &str) -> Result<(), Error> {
        let called = Python::attach(|py| self.callback.call1(py, (method,)).map(drop));
        called.map_err(|_| Error::Custom("the function raised an exception"))
    }
}

impl DLPackExport for CallsBack {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        self.call("describe")?;
        out.shape(&[4]).data(self.data.data())
    }

    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.call("sync_for")?;
        consumer.host()
    }

    fn share(&self) -> Option<SharedOwner> {
        self.call("share").ok()?;
        self.data.share()
    }
}

#[pymethods]
impl CallsBack {
    #[new]
    fn new(callback: Py<PyAny>) -> PyResult<Self> {
        Ok(Self { data: Several::new(SharedBuffer::from_slice(&[1.0; 4])?), callback })
    }
}

/// A class without memory, whose values can change.
#[pyclass(subclass, module = "dlpack_testing")]
pub(crate) struct Labelled {
    #[pyo3(get, set)]
    label: String,
}

#[pymethods]
impl Labelled {
    /// Calls a function while the value is mutably borrowed, which changes the label afterwards.
    fn relabel_while(&mut self, label: String, callable: &Bound<'_, PyAny>) -> PyResult<()> {
        callable.call0()?;
        self.label = label;
        Ok(())
    }
}

/// A frozen class with such a base class.
#[pyclass(frozen, extends = Labelled, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct Extends {
    data: Several<SharedBuffer<f32>>,
    shape: [i64; 1],
}

#[pymethods]
impl Extends {
    #[new]
    fn new(label: String) -> PyResult<PyClassInitializer<Self>> {
        let data = Several::new(SharedBuffer::from_slice(&[1.0; 4])?);
        let base = PyClassInitializer::from(Labelled { label });
        Ok(base.add_subclass(Self { data, shape: [4] }))
    }
}
