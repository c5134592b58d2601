//! `safetensors`: the tensors are parts of one file, in types that a function converts.
#![forbid(unsafe_code)]

use bytes::Bytes;
use dlpack_traits::{DLPackExport, DataType, Error};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

/// A tensor of a file in memory, or in a map of it (`examples/safetensors`).
#[derive(DLPackExport)]
pub struct Weight {
    #[dlpack(data)]
    file: Bytes,
    #[dlpack(offset(bytes))]
    start: usize,
    #[dlpack(len(bytes))]
    len: usize,
    #[dlpack(dtype, with = dtype)]
    kind: Dtype,
    shape: Vec<usize>,
}

fn dtype(kind: &Dtype) -> Result<DataType, Error> {
    Ok(match kind {
        Dtype::BOOL => DataType::BOOL,
        Dtype::U8 => DataType::U8,
        Dtype::I64 => DataType::I64,
        Dtype::F16 => DataType::F16,
        Dtype::BF16 => DataType::BF16,
        Dtype::F32 => DataType::F32,
        Dtype::F64 => DataType::F64,
        _ => return Err(Error::Custom("the type of the weight is not exported here")),
    })
}

/// Finds a tensor in a file.
///
/// # Errors
///
/// The file is not valid, or has no tensor with this name.
pub fn weight(file: &Bytes, name: &str) -> Result<Weight, safetensors::SafeTensorError> {
    let (kind, shape, start, len) = {
        let tensors = SafeTensors::deserialize(file)?;
        let tensor = tensors.tensor(name)?;
        let start = tensor.data().as_ptr().addr() - file.as_ptr().addr();
        (tensor.dtype(), tensor.shape().to_vec(), start, tensor.data().len())
    };
    Ok(Weight { file: file.clone(), start, len, kind, shape })
}

/// Lends bytes to safetensors as a tensor of `f32`, zero-copy, for `safetensors::serialize`.
///
/// # Errors
///
/// The shape does not fit the number of bytes.
pub fn to_safetensors(
    bytes: &[u8],
    shape: Vec<usize>,
) -> Result<TensorView<'_>, safetensors::SafeTensorError> {
    TensorView::new(Dtype::F32, shape, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlpack_traits::OwnedTensor;

    #[test]
    fn addresses_are_equal_in_both_directions() {
        let array = OwnedTensor::new(vec![1.0_f32, 2.0], &[2]).unwrap();
        let tensor = array.into_dlpack().unwrap().import().unwrap();
        let address = tensor.data_ptr();
        let bytes = tensor.into_owned_slice::<f32>().unwrap().into_bytes();
        let view = to_safetensors(&bytes, vec![2]).unwrap();
        assert_eq!(view.data().as_ptr(), address);

        let file = Bytes::from(safetensors::serialize([("w", view)], None).unwrap());
        let weight = weight(&file, "w").unwrap();
        let address = file[weight.start..].as_ptr();
        let tensor = weight.to_dlpack().unwrap();
        drop(file);
        assert_eq!((tensor.data_ptr(), tensor.dtype()), (address, DataType::F32));
        assert_eq!(
            tensor.import().unwrap().elements::<f32>().unwrap().to_vec().unwrap(),
            [1.0, 2.0]
        );
    }
}
