//! Exports that fail, each in one way.

use dlpack_traits::ffi::{self, DLDataTypeCode};
use dlpack_traits::{
    DLPackExport, DataType, Describe, Description, Device, Error, SharedOwner, Storage, StreamArg,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::counted::Several;

/// Four `float32`s whose export fails in the way that the constructor's argument selects.
#[pyclass(frozen, module = "dlpack_testing")]
pub(crate) struct Faulty {
    data: Several<Vec<f32>>,
    other: Several<Vec<f32>>,
    fault: Fault,
}

/// Defines the faults and their Python names.
macro_rules! faults {
    ($($fault:ident = $name:literal),+ $(,)?) => {
        #[derive(Clone, Copy)]
        enum Fault { $($fault),+ }

        impl Fault {
            const ALL: &'static [(&'static str, Fault)] = &[$(($name, Fault::$fault)),+];
        }
    };
}

faults! {
    OutOfBounds = "out of bounds",
    BeforeStart = "before the start",
    NegativeDim = "negative dimension",
    RankMismatch = "rank mismatch",
    TooManyDims = "too many dimensions",
    Overflow = "overflow",
    Misaligned = "misaligned",
    UnknownDType = "unknown dtype",
    OtherDType = "other dtype",
    OtherDevice = "other device",
    ByteOrder = "byte order",
    Custom = "custom",
    ShareElsewhere = "share elsewhere",
    HandOff = "hand-off",
    Panic = "panic",
    PanicInShare = "panic in share",
    PanicInHandOff = "panic in hand-off",
    PanicWithPanic = "panic with a payload that panics",
}

/// A payload whose own drop panics.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        panic!("the drop of a payload panics on purpose");
    }
}

impl DLPackExport for Faulty {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        let shaped = match self.fault {
            Fault::OutOfBounds => out.shape(&[5]),
            Fault::BeforeStart => out.shape(&[4]).strides(&[-1]),
            Fault::NegativeDim => out.shape(&[2, -2]),
            Fault::RankMismatch => out.shape(&[2, 2]).strides(&[1]),
            Fault::TooManyDims => out.shape(&[1; 65]),
            Fault::Overflow => out.shape(&[i64::MAX, i64::MAX]),
            Fault::Misaligned => out.shape(&[3]).byte_offset(2),
            Fault::UnknownDType => out.shape(&[4]).dtype(DataType::new(DLDataTypeCode(200), 8, 1)),
            Fault::OtherDType => out.shape(&[4]).dtype(DataType::new(ffi::kDLInt, 32, 1)),
            Fault::OtherDevice => out.shape(&[4]).device(Device::cuda(0)),
            Fault::ByteOrder => return Err(Error::NotNativeEndian),
            Fault::Custom => return Err(Error::Custom("the film is not developed yet")),
            Fault::Panic => panic!("describe() panics on purpose"),
            Fault::PanicWithPanic => std::panic::panic_any(Payload),
            Fault::ShareElsewhere
            | Fault::HandOff
            | Fault::PanicInShare
            | Fault::PanicInHandOff => out.shape(&[4]),
        };
        shaped.data(self.data.data())
    }

    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        match self.fault {
            Fault::HandOff => Err(Error::Custom("the event was never recorded")),
            Fault::PanicInHandOff => panic!("sync_for() panics on purpose"),
            _ => consumer.host(),
        }
    }

    fn share(&self) -> Option<SharedOwner> {
        match self.fault {
            Fault::ShareElsewhere => self.other.share(),
            Fault::PanicInShare => panic!("share() panics on purpose"),
            _ => self.data.share(),
        }
    }
}

#[pymethods]
impl Faulty {
    #[new]
    fn new(fault: &str) -> PyResult<Self> {
        let named = Fault::ALL.iter().find(|(name, _)| *name == fault);
        let &(_, fault) = named.ok_or_else(|| PyValueError::new_err("no such fault"))?;
        Ok(Self { data: Several::new(vec![0.0; 4]), other: Several::new(vec![0.0; 4]), fault })
    }

    /// The names of all faults.
    #[staticmethod]
    fn all() -> Vec<&'static str> {
        Fault::ALL.iter().map(|(name, _)| *name).collect()
    }
}
