//! `burn`: a `TensorData` has its own types for bytes, shape and dtype.
#![forbid(unsafe_code)]

use burn_std::{AllocationProperty, BoolStore, Bytes, DType, Shape, TensorData};
use dlpack_traits::{DLPackExport, DataType, Error, ImportedTensor};

/// The parts of a `TensorData`.
#[derive(DLPackExport)]
pub struct Data {
    #[dlpack(data, slice = u8)]
    bytes: Bytes,
    #[dlpack(shape, with = Shape::as_slice)]
    shape: Shape,
    #[dlpack(dtype, with = dtype)]
    kind: DType,
}

impl From<TensorData> for Data {
    fn from(data: TensorData) -> Self {
        let (bytes, shape, kind) = data.into_parts();
        Self { bytes, shape, kind }
    }
}

fn dtype(kind: &DType) -> Result<DataType, Error> {
    Ok(match kind {
        DType::F64 => DataType::F64,
        DType::F32 | DType::Flex32 => DataType::F32,
        DType::F16 => DataType::F16,
        DType::BF16 => DataType::BF16,
        DType::I64 => DataType::I64,
        DType::I32 => DataType::I32,
        DType::I16 => DataType::I16,
        DType::I8 => DataType::I8,
        DType::U64 => DataType::U64,
        DType::U32 => DataType::U32,
        DType::U16 => DataType::U16,
        DType::U8 => DataType::U8,
        DType::Bool(BoolStore::Native | BoolStore::U8) => DataType::BOOL,
        DType::Bool(BoolStore::U32) => return Err(Error::Custom("DLPack has bools of one byte")),
        DType::QFloat(_) => return Err(Error::Custom("DLPack has no quantized types")),
    })
}

/// Converts a tensor of `f32` into a `TensorData`, zero-copy. burn copies it when it writes.
///
/// # Errors
///
/// Those of [`ImportedTensor::into_owned_slice`].
pub fn to_burn(tensor: ImportedTensor) -> Result<TensorData, Error> {
    let shape: Vec<usize> = tensor.shape().iter().map(|&dim| dim.unsigned_abs() as usize).collect();
    let bytes = bytes::Bytes::from_owner(tensor.into_owned_slice::<f32>()?.into_bytes());
    let bytes = Bytes::from_shared(bytes, AllocationProperty::Native);
    TensorData::try_from_bytes(bytes, shape, DType::F32)
        .map_err(|_| Error::Custom("the shape has another number of elements"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_equal_in_both_directions() {
        let data = TensorData::new(vec![1.0_f32, 2.0, 3.0, 4.0], [2, 2]);
        let address = data.as_bytes().as_ptr();
        let tensor = Data::from(data).into_dlpack().unwrap();
        assert_eq!((tensor.data_ptr(), tensor.shape()), (address, &[2, 2][..]));
        assert_eq!(tensor.dtype(), DataType::F32);
        let data = to_burn(tensor.import().unwrap()).unwrap();
        assert_eq!(data.as_bytes().as_ptr(), address);
        assert_eq!(data.as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn writes_copy_the_imported_memory() {
        let tensor = Data::from(TensorData::new(vec![1.0_f32], [1])).into_dlpack().unwrap();
        let address = tensor.data_ptr();
        let mut data = to_burn(tensor.import().unwrap()).unwrap();
        data.as_mut_slice::<f32>().unwrap()[0] = 2.0;
        assert_ne!(data.as_bytes().as_ptr(), address);
    }
}
