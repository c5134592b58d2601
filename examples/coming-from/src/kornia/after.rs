use dlpack_traits::{DLPackExport, DLPackImport, Element, ImportedStorage, Readable};
use kornia_tensor::storage::TensorStorage;

#[derive(DLPackExport)]
pub struct Tensor<T: Element, const N: usize> {
    #[dlpack(data, slice = T, with = TensorStorage::as_slice)]
    pub storage: TensorStorage<T>,
    pub shape: [usize; N],
    #[dlpack(strides(elements))]
    pub strides: [usize; N],
}

#[derive(DLPackImport)]
pub struct Imported<T: Readable, const N: usize> {
    pub data: ImportedStorage<T>,
    pub shape: [usize; N],
}
