//! `candle`: the elements of a `Tensor` are behind a lock, which every reader must hold.
//!
//! A view under the lock needs no `unsafe`. An export outlives the guard of the lock, so it
//! needs the promise that no one writes the tensor: `examples/wrapped/src/activations.rs`.
#![forbid(unsafe_code)]

use candle_core::{CpuStorage, Device, Storage, Tensor};
use dlpack_traits::{DLPackExport, Error, ImportedTensor, TensorView};

/// The elements of a tensor, while its lock is held.
#[derive(DLPackExport)]
struct Locked<'a> {
    data: &'a [f32],
    shape: &'a [usize],
    strides: &'a [usize],
    #[dlpack(offset(elements))]
    start: usize,
}

/// Calls `f` with a view of the elements, zero-copy, while the tensor's lock is held.
///
/// # Errors
///
/// [`Error::Custom`] for a tensor that is not on the CPU, or not of `f32`.
pub fn with_view<R>(tensor: &Tensor, f: impl FnOnce(TensorView<'_>) -> R) -> Result<R, Error> {
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cpu(CpuStorage::F32(elements)) = &*storage else {
        return Err(Error::Custom("expected a tensor of F32 on the CPU"));
    };
    let (shape, strides) = (layout.dims(), layout.stride());
    let locked = Locked { data: elements, shape, strides, start: layout.start_offset() };
    Ok(f(locked.tensor()?))
}

/// Copies a tensor: candle's storage is a `Vec`, which no foreign memory can be.
///
/// # Errors
///
/// Those of [`Elements::to_vec`](dlpack_traits::Elements::to_vec), and candle's as text.
pub fn to_candle(tensor: &ImportedTensor) -> Result<Tensor, Box<dyn core::error::Error>> {
    let shape: Vec<usize> =
        tensor.shape().iter().map(|&dim| dim.try_into()).collect::<Result<_, _>>()?;
    Ok(Tensor::from_vec(tensor.elements::<f32>()?.to_vec()?, shape, &Device::Cpu)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlpack_traits::OwnedTensor;

    fn address(tensor: &Tensor) -> *const u8 {
        match &*tensor.storage_and_layout().0 {
            Storage::Cpu(CpuStorage::F32(elements)) => elements.as_ptr().cast(),
            _ => panic!("no elements"),
        }
    }

    #[test]
    fn view_under_the_lock_has_the_address_and_the_strides() {
        let tensor = Tensor::arange(0.0_f32, 6.0, &Device::Cpu).unwrap();
        let turned = tensor.reshape((2, 3)).unwrap().t().unwrap();
        let found = with_view(&turned, |view| {
            (view.data_ptr(), view.shape().to_vec(), view.strides().to_vec())
        });
        assert_eq!(found, Ok((address(&tensor), vec![3, 2], vec![1, 3])));
    }

    #[test]
    fn import_is_a_copy() {
        let array = OwnedTensor::new(vec![1.0_f32, 2.0], &[2, 1]).unwrap();
        let imported = array.into_dlpack().unwrap().import().unwrap();
        let tensor = to_candle(&imported).unwrap();
        assert_ne!(address(&tensor), imported.data_ptr());
        assert_eq!(tensor.to_vec2::<f32>().unwrap(), [[1.0], [2.0]]);
    }

    #[test]
    fn other_elements_are_rejected() {
        let tensor = Tensor::arange(0_u32, 2, &Device::Cpu).unwrap();
        assert!(with_view(&tensor, |_| ()).is_err());
    }
}
