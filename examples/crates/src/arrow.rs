//! `arrow`: buffers are shared by reference counts, so an export is a clone.
#![forbid(unsafe_code)]

use arrow_array::types::Float32Type;
use arrow_array::{Array, FixedSizeListArray, Float32Array, PrimitiveArray};
use arrow_buffer::{Buffer, ScalarBuffer};
use bytes::Bytes;
use dlpack_traits::{DLPackExport, Error, ImportedTensor};

/// The values of an array, which may be a slice of a larger one.
#[derive(DLPackExport)]
#[dlpack(shape(self.values.len()))]
pub struct Column {
    #[dlpack(data, slice = f32, shared)]
    values: ScalarBuffer<f32>,
}

/// Vectors of one length, as a matrix.
#[derive(DLPackExport)]
#[dlpack(shape(rows, columns))]
pub struct Vectors {
    #[dlpack(data, slice = f32, shared)]
    values: ScalarBuffer<f32>,
    rows: usize,
    columns: usize,
}

/// DLPack has no missing values.
const NULLS: Error = Error::Custom("the array has nulls; fill them before the export");

impl TryFrom<&Float32Array> for Column {
    type Error = Error;

    fn try_from(array: &Float32Array) -> Result<Self, Error> {
        if array.null_count() > 0 {
            return Err(NULLS);
        }
        Ok(Self { values: array.values().clone() })
    }
}

impl TryFrom<&FixedSizeListArray> for Vectors {
    type Error = Error;

    fn try_from(array: &FixedSizeListArray) -> Result<Self, Error> {
        let values = array.values().as_any().downcast_ref::<PrimitiveArray<Float32Type>>();
        let values = values.ok_or(Error::Custom("expected lists of Float32"))?;
        if array.null_count() > 0 || values.null_count() > 0 {
            return Err(NULLS);
        }
        let columns = usize::try_from(array.value_length()).unwrap_or(0);
        Ok(Self { values: values.values().clone(), rows: array.len(), columns })
    }
}

/// Converts a tensor into an array of all its elements, zero-copy.
///
/// # Errors
///
/// Those of [`ImportedTensor::into_owned_slice`].
pub fn to_array(tensor: ImportedTensor) -> Result<Float32Array, Error> {
    let bytes = Bytes::from_owner(tensor.into_owned_slice::<f32>()?.into_bytes());
    Ok(Float32Array::new(ScalarBuffer::from(Buffer::from(bytes)), None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Float32Type;

    #[test]
    fn addresses_are_equal_in_both_directions() {
        let array = Float32Array::from(vec![1.0, 2.0, 3.0]).slice(1, 2);
        let address = array.values().as_ptr();
        let tensor = Column::try_from(&array).unwrap().to_dlpack().unwrap();
        assert_eq!((tensor.data_ptr(), tensor.shape()), (address.cast(), &[2][..]));
        drop(array);
        let array = to_array(tensor.import().unwrap()).unwrap();
        assert_eq!(array.values().as_ptr(), address);
        assert_eq!(array, Float32Array::from(vec![2.0, 3.0]));
    }

    #[test]
    fn lists_of_one_length_are_a_matrix() {
        let lists = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]].map(|list| Some(list.map(Some)));
        let lists =
            FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(lists, 2).slice(1, 2);
        let tensor = Vectors::try_from(&lists).unwrap().to_dlpack().unwrap().import().unwrap();
        let values = lists.values().as_any().downcast_ref::<Float32Array>().unwrap();
        assert_eq!(
            (tensor.data_ptr(), tensor.shape()),
            (values.values().as_ptr().cast(), &[2, 2][..])
        );
        assert_eq!(tensor.elements::<f32>().unwrap().to_vec().unwrap(), [3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn nulls_are_rejected() {
        let array = Float32Array::from(vec![Some(1.0), None]);
        assert_eq!(Column::try_from(&array).err(), Some(NULLS));
    }
}
