//! `tract`: an `Arc<Tensor>` has its own bytes, shape, strides and dtype.
#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_traits::{DLPackExport, DataType, Error, ImportedTensor};
use tract_data::prelude::{DatumType, PlainStorage, Tensor, TractResult};

/// A tensor that models share, for example a weight.
#[derive(DLPackExport)]
#[dlpack(shape = self.0.shape(), strides = self.0.strides(), dtype = dtype(&self.0))]
pub struct Shared(#[dlpack(slice = u8, with = bytes, shared)] pub Arc<Tensor>);

/// The elements, or none of a tensor of packed blocks or on a device, whose dtype is an error.
fn bytes(tensor: &Tensor) -> &[u8] {
    tensor.as_plain_ram_storage().map_or(&[], PlainStorage::as_bytes)
}

fn dtype(tensor: &Tensor) -> Result<DataType, Error> {
    if !tensor.is_plain_ram() {
        return Err(Error::Custom(
            "expected elements in plain memory; call `into_plain_ram` first",
        ));
    }
    Ok(match tensor.datum_type() {
        DatumType::Bool => DataType::BOOL,
        DatumType::U8 => DataType::U8,
        DatumType::U16 => DataType::U16,
        DatumType::U32 => DataType::U32,
        DatumType::U64 => DataType::U64,
        DatumType::I8 => DataType::I8,
        DatumType::I16 => DataType::I16,
        DatumType::I32 => DataType::I32,
        DatumType::I64 => DataType::I64,
        DatumType::F16 => DataType::F16,
        DatumType::F32 => DataType::F32,
        DatumType::F64 => DataType::F64,
        DatumType::QI8(_) | DatumType::QU8(_) | DatumType::QI32(_) => {
            return Err(Error::Custom("DLPack has no quantized types; call `cast_to` first"));
        }
        _ => return Err(Error::Custom("DLPack has no symbols, texts and blobs")),
    })
}

/// Copies a tensor: tract allocates its storage itself.
///
/// # Errors
///
/// Those of [`Elements::copy_to_slice`](dlpack_traits::Elements::copy_to_slice), and tract's.
pub fn to_tract(tensor: &ImportedTensor) -> TractResult<Tensor> {
    let shape: Vec<usize> = tensor.shape_usize().collect();
    let mut copy = Tensor::zero::<f32>(&shape)?;
    tensor.elements::<f32>()?.copy_to_slice(copy.try_as_plain_ram_mut()?.as_slice_mut()?)?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlpack_traits::OwnedTensor;
    use std::fmt::{Display, Formatter};
    use std::hash::Hasher;
    use tract_data::internal::{ExoticFact, QParams, TensorStorage};

    #[test]
    fn export_shares_the_memory() {
        let source = Arc::new(Tensor::from_shape(&[2, 3], &[1.0_f32, 2., 3., 4., 5., 6.]).unwrap());
        let address = source.as_bytes().as_ptr();
        let tensor = Shared(source.clone()).to_dlpack().unwrap();
        assert_eq!(Arc::strong_count(&source), 2);
        drop(source);
        assert!(tensor.is_read_only());
        assert_eq!((tensor.data_ptr(), tensor.shape()), (address, &[2, 3][..]));
        assert_eq!((tensor.strides(), tensor.dtype()), (&[3, 1][..], DataType::F32));
    }

    #[test]
    fn import_is_a_copy_in_row_major_order() {
        let array = OwnedTensor::new(vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
        let imported = array.into_dlpack().unwrap().import().unwrap().permute(&[1, 0]).unwrap();
        let tensor = to_tract(&imported).unwrap();
        assert_eq!(tensor, Tensor::from_shape(&[3, 2], &[1.0_f32, 4., 2., 5., 3., 6.]).unwrap());
        assert_ne!(tensor.as_bytes().as_ptr(), imported.data_ptr());
    }

    #[test]
    fn quantized_elements_are_rejected() {
        let kind = DatumType::QU8(QParams::ZpScale { zero_point: 3, scale: 0.5 });
        let quantized = Shared(Arc::new(Tensor::zero_dt(kind, &[2]).unwrap()));
        let message = quantized.to_dlpack().unwrap_err().to_string();
        assert!(message.contains("quantized"), "{message}");
    }

    /// A storage without plain elements, as those of weights in blocks.
    #[derive(Debug, PartialEq, Eq)]
    struct Blocks;

    impl Display for Blocks {
        fn fmt(&self, to: &mut Formatter<'_>) -> core::fmt::Result {
            to.write_str("blocks")
        }
    }

    impl TensorStorage for Blocks {
        fn byte_len(&self) -> usize {
            0
        }
        fn is_empty(&self) -> bool {
            false
        }
        fn deep_clone(&self) -> Box<dyn TensorStorage> {
            Box::new(Self)
        }
        fn as_plain_ram(&self) -> Option<&PlainStorage> {
            None
        }
        fn as_plain_ram_mut(&mut self) -> Option<&mut PlainStorage> {
            None
        }
        fn into_plain_ram(self: Box<Self>) -> Option<PlainStorage> {
            None
        }
        fn dyn_hash(&self, _: &mut dyn Hasher) {}
        fn exotic_fact(&self, _: &[usize]) -> TractResult<Option<Box<dyn ExoticFact>>> {
            Ok(None)
        }
    }

    #[test]
    fn storages_without_plain_elements_are_rejected() {
        let tensor = Tensor::from_storage(DatumType::F32, &[32], Blocks);
        let message = Shared(Arc::new(tensor)).to_dlpack().unwrap_err().to_string();
        assert!(message.contains("into_plain_ram"), "{message}");
    }
}
