//! The published functions of kornia-tensor beside the derive.

use std::any::Any;
use std::sync::Arc;

use coming_from::kornia::after::{Imported, Tensor};
use dlpack_traits::{DLPackExport, DLPackImport, Element, Flags, ImportedTensor, OwnedTensor, ffi};
use kornia_tensor::dlpack::{DlpackElem, DlpackError, tensor_from_dlpack_raw, tensor_to_dlpack};

/// The tensor as their functions take it.
fn theirs<T: Element, const N: usize>(tensor: Tensor<T, N>) -> kornia_tensor::Tensor<T, N> {
    let Tensor { storage, shape, strides } = tensor;
    kornia_tensor::Tensor { storage, shape, strides }
}

fn tensor<const N: usize>(shape: [usize; N], strides: [usize; N]) -> Tensor<f32, N> {
    let values = (0..shape.iter().product::<usize>()).map(|value| value as f32).collect();
    let tensor = kornia_tensor::Tensor::from_shape_vec(shape, values).unwrap();
    Tensor { storage: tensor.storage, shape, strides }
}

/// Imports what `tensor_to_dlpack` returned.
fn imported<T: Element + Clone + Send + DlpackElem, const N: usize>(
    tensor: Tensor<T, N>,
) -> ImportedTensor {
    let managed = tensor_to_dlpack(theirs(tensor)).cast::<ffi::DLManagedTensor>();
    // SAFETY: 1. The struct is that of the standard, and has no other consumer.
    unsafe { ImportedTensor::from_raw(managed) }.expect("a tensor")
}

fn values(tensor: &ImportedTensor) -> Vec<f32> {
    tensor.elements::<f32>().unwrap().to_vec().unwrap()
}

/// Imports a tensor by their function, which is told to keep nothing alive.
fn import_theirs<const N: usize>(
    tensor: impl DLPackExport + Send + 'static,
) -> Result<kornia_tensor::Tensor<f32, N>, DlpackError> {
    let managed = tensor.into_dlpack_legacy().unwrap().into_raw();
    let keep: Arc<dyn Any + Send + Sync> = Arc::new(());
    // SAFETY: the struct is not released, so the memory stays valid (this test leaks it).
    unsafe { tensor_from_dlpack_raw::<f32, N>(managed.cast(), keep) }
}

#[test]
fn row_major_tensors_are_equal() {
    let (before, after) = (tensor([2, 3], [3, 1]), tensor([2, 3], [3, 1]));
    let (before, after) = (imported(before), after.into_dlpack().unwrap().import().unwrap());
    assert_eq!((before.shape(), before.strides()), (after.shape(), after.strides()));
    assert_eq!((before.dtype(), before.device()), (after.dtype(), after.device()));
    assert_eq!(values(&before), values(&after));
}

#[test]
fn strides_are_exported() {
    let transposed = || tensor([3, 2], [1, 3]);
    let after = transposed().into_dlpack().unwrap().import().unwrap();
    assert_eq!(values(&after), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    // Their export states row-major strides, so the consumer gets other elements.
    assert_eq!(values(&imported(transposed())), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn a_layout_outside_of_the_storage_is_an_error() {
    let outside = || Tensor { shape: [4, 3], ..tensor([2, 3], [3, 1]) };
    outside().into_dlpack().map(|_| ()).unwrap_err();
    // Their export describes 12 elements over memory of 6.
    assert_eq!(imported(outside()).numel(), 12);
}

#[test]
fn the_derive_writes_the_struct_with_flags() {
    let after = tensor([2, 3], [3, 1]).into_dlpack().unwrap().import().unwrap();
    // `slice` lends the memory as `&[T]`, so consumers must not write it.
    assert!(after.version().is_some() && after.flags().contains(Flags::READ_ONLY));
    // Theirs is the struct before DLPack 1.0, which has no flags.
    assert_eq!(imported(tensor([2, 3], [3, 1])).version(), None);
}

#[derive(DLPackExport)]
struct Row {
    data: Vec<f32>,
    shape: [usize; 2],
    #[dlpack(strides(elements))]
    strides: [usize; 2],
}

#[test]
fn imports_of_every_contiguous_tensor() {
    let one_row = || Row { data: vec![0.0, 1.0, 2.0], shape: [1, 3], strides: [7, 1] };
    let after = one_row().into_dlpack().unwrap().import().unwrap();
    let after = Imported::<f32, 2>::from_dlpack(after).unwrap();
    assert_eq!(after.data.elements().unwrap().to_vec().unwrap(), [0.0, 1.0, 2.0]);
    // The stride of an axis of size 1 has no meaning, and NumPy writes any.
    assert!(matches!(import_theirs::<2>(one_row()), Err(DlpackError::NotContiguous)));

    let empty = || OwnedTensor::<f32>::new(vec![], &[0, 3]).unwrap();
    let after = empty().into_dlpack().unwrap().import().unwrap();
    let after = Imported::<f32, 2>::from_dlpack(after).unwrap();
    assert_eq!(after.shape, [0, 3]);
    import_theirs::<2>(empty()).map(|_| ()).unwrap_err();
}
