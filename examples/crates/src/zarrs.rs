//! `zarrs`: a chunk is decoded into any type that is `FromArrayBytes`.
//!
//! The feature `dlpack` of zarrs, which exports its own `Tensor` by the crate `dlpark`, is not needed.
#![forbid(unsafe_code)]

use std::borrow::Cow;

use dlpack_traits::{DLPackExport, DataType, Error, ImportedTensor};
use zarrs::array::{Array, ArrayBytes, ArrayError, DataType as Kind, FromArrayBytes};
use zarrs::plugin::ExtensionName as _;
use zarrs::storage::WritableStorageTraits;

/// A decoded chunk, or another region of an array.
#[derive(DLPackExport)]
pub struct Chunk {
    data: Cow<'static, [u8]>,
    shape: Vec<u64>,
    #[dlpack(dtype, with = dtype)]
    kind: Kind,
}

impl FromArrayBytes for Chunk {
    fn from_array_bytes(
        bytes: ArrayBytes<'static>,
        shape: &[u64],
        kind: &Kind,
    ) -> Result<Self, ArrayError> {
        Ok(Self { data: bytes.into_fixed()?, shape: shape.to_vec(), kind: kind.clone() })
    }
}

/// Zarr and DLPack have one name for a type. zarrs decodes `int4` and `float6_e2m3fn` into bytes.
fn dtype(kind: &Kind) -> Result<DataType, Error> {
    let dtype = kind.name_v3().and_then(|name| DataType::from_name(&name));
    let whole = dtype.filter(|dtype| dtype.bits() >= 8);
    whole.ok_or(Error::Custom("the data type of the array is not exported here"))
}

/// Encodes a tensor of `f32` as a chunk, from its memory.
///
/// # Errors
///
/// Those of [`ImportedTensor::into_owned_slice`], and zarrs'; [`Error::Custom`] for another shape.
pub fn store<S: WritableStorageTraits + ?Sized + 'static>(
    array: &Array<S>,
    chunk: &[u64],
    tensor: ImportedTensor,
) -> Result<(), Box<dyn core::error::Error>> {
    let expected = array.chunk_shape(chunk)?;
    if !tensor.shape_usize().eq(expected.iter().map(|size| size.get() as usize)) {
        return Err(Error::Custom("expected a tensor of the shape of the chunk").into());
    }
    let elements = tensor.into_owned_slice::<f32>()?;
    Ok(array.store_chunk(chunk, &elements[..])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlpack_traits::OwnedTensor;
    use std::sync::Arc;
    use zarrs::array::{ArrayBuilder, data_type};
    use zarrs::storage::store::MemoryStore;

    fn array(kind: Kind) -> Array<MemoryStore> {
        ArrayBuilder::new(vec![4, 3], vec![2, 3], kind, 0)
            .build(Arc::new(MemoryStore::new()), "/")
            .unwrap()
    }

    fn tensor(shape: &[usize]) -> ImportedTensor {
        let values = OwnedTensor::new((0..6).map(|n| n as f32).collect(), shape).unwrap();
        values.into_dlpack().unwrap().import().unwrap()
    }

    #[test]
    fn chunk_is_stored_and_retrieved_as_a_tensor() {
        let array = array(data_type::float32());
        store(&array, &[1, 0], tensor(&[2, 3])).unwrap();
        let chunk = array.retrieve_chunk::<Chunk>(&[1, 0]).unwrap();
        let address = chunk.data.as_ptr();
        let exported = chunk.into_dlpack().unwrap().import().unwrap();
        assert_eq!((exported.data_ptr(), exported.shape()), (address, &[2, 3][..]));
        let values = exported.elements::<f32>().unwrap().to_vec().unwrap();
        assert_eq!(values, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn other_shapes_and_data_types_are_rejected() {
        let message = |result: Result<_, Box<dyn core::error::Error>>| match result {
            Ok(()) => panic!("the chunk is stored"),
            Err(error) => error.to_string(),
        };
        let floats = array(data_type::float32());
        let wrong = message(store(&floats, &[0, 0], tensor(&[3, 2])));
        assert_eq!(wrong, "expected a tensor of the shape of the chunk");
        let wrong = message(store(&array(data_type::int32()), &[0, 0], tensor(&[2, 3])));
        assert!(wrong.contains("type"), "{wrong}");
        let narrow = array(data_type::int4()).retrieve_chunk::<Chunk>(&[0, 0]).unwrap();
        let wrong = narrow.into_dlpack().unwrap_err().to_string();
        assert_eq!(wrong, "the data type of the array is not exported here");
    }
}
