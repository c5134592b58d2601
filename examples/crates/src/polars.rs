//! `polars`: a column is a list of chunks, and only one chunk without nulls is a tensor.
#![forbid(unsafe_code)]

use dlpack_traits::{DLPackExport, Error, ImportedTensor};
use polars_arrow::array::{Array, PrimitiveArray};
use polars_buffer::Buffer;
use polars_core::prelude::{ArrowDataType, ChunkedArray, Float32Chunked, PlSmallStr};

/// The values of a column, shared with it.
#[derive(DLPackExport)]
#[dlpack(shape(self.values.len()))]
pub struct Column {
    #[dlpack(data, slice = f32, shared)]
    values: Buffer<f32>,
}

const CHUNKS: Error = Error::Custom("the column has several chunks; call `rechunk` first");
const NULLS: Error = Error::Custom("the column has nulls; fill them before the export");

impl TryFrom<&Float32Chunked> for Column {
    type Error = Error;

    fn try_from(column: &Float32Chunked) -> Result<Self, Error> {
        let mut chunks = column.downcast_iter();
        let (Some(chunk), None) = (chunks.next(), chunks.next()) else { return Err(CHUNKS) };
        if chunk.null_count() > 0 {
            return Err(NULLS);
        }
        Ok(Self { values: chunk.values().clone() })
    }
}

/// Converts a tensor into a column of all its elements, zero-copy.
///
/// # Errors
///
/// Those of [`ImportedTensor::into_owned_slice`].
pub fn to_column(name: PlSmallStr, tensor: ImportedTensor) -> Result<Float32Chunked, Error> {
    let values = Buffer::from_owner(tensor.into_owned_slice::<f32>()?);
    let chunk = PrimitiveArray::new(ArrowDataType::Float32, values, None);
    Ok(ChunkedArray::with_chunk(name, chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[f32]) -> Float32Chunked {
        Float32Chunked::from_vec("x".into(), values.to_vec())
    }

    #[test]
    fn addresses_are_equal_in_both_directions() {
        let source = column(&[1.0, 2.0]);
        let address = source.cont_slice().unwrap().as_ptr();
        let tensor = Column::try_from(&source).unwrap().to_dlpack().unwrap();
        assert_eq!((tensor.data_ptr(), tensor.shape()), (address.cast(), &[2][..]));
        drop(source);
        let imported = to_column("y".into(), tensor.import().unwrap()).unwrap();
        assert_eq!(imported.cont_slice().unwrap().as_ptr(), address);
        assert_eq!(imported.cont_slice().unwrap(), [1.0, 2.0]);
    }

    /// Polars writes in place only memory that it allocated.
    #[test]
    fn writes_copy_the_imported_memory() {
        let tensor = Column::try_from(&column(&[1.0])).unwrap().to_dlpack().unwrap();
        let address = tensor.data_ptr();
        let mut imported = to_column("y".into(), tensor.import().unwrap()).unwrap();
        imported.apply_mut(|value| value + 1.0);
        assert_eq!(imported.cont_slice().unwrap(), [2.0]);
        assert_ne!(imported.cont_slice().unwrap().as_ptr().cast(), address);
    }

    #[test]
    fn chunks_and_nulls_are_rejected_by_name() {
        let mut two = column(&[1.0]);
        two.append(&column(&[2.0])).unwrap();
        assert_eq!(Column::try_from(&two).err(), Some(CHUNKS));
        let chunk = PrimitiveArray::from(vec![Some(1.0_f32), None]);
        let nulls = ChunkedArray::with_chunk("x".into(), chunk);
        assert_eq!(Column::try_from(&nulls).err(), Some(NULLS));
    }
}
