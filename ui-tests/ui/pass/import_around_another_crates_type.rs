//! What is advised where the field of an imported newtype is another crate's type.

use std::collections::VecDeque;

use dlpack_traits::{DLPackExport, DLPackImport, Error, ImportedStorage, ImportError, ImportedTensor};

pub struct Samples(VecDeque<f32>);

impl DLPackImport for Samples {
    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        Ok(Self(tensor.elements::<f32>()?.to_vec()?.into()))
    }
}

#[derive(DLPackImport)]
#[dlpack(transparent)]
pub struct Held(ImportedStorage<f32>);

#[derive(DLPackExport)]
struct Source {
    data: Vec<f32>,
    shape: [usize; 1],
}

fn main() -> Result<(), ImportError> {
    let tensor = || -> Result<ImportedTensor, Error> {
        Source { data: vec![1.0, 2.0], shape: [2] }.into_dlpack()?.import()
    };
    assert_eq!(Samples::from_dlpack(tensor()?)?.0, [1.0, 2.0]);
    assert_eq!(Held::from_dlpack(tensor()?)?.0.elements()?.to_vec()?, [1.0, 2.0]);
    // What is advised for an `ImportedStorage` without a type.
    let any: ImportedStorage = ImportedStorage::new(tensor()?)?;
    assert_eq!(any.imported().elements::<f32>()?.to_vec()?, [1.0, 2.0]);
    assert_eq!(any.typed::<f32>()?.elements()?.to_vec()?, [1.0, 2.0]);
    Ok(())
}
