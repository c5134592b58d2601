//! `las`: the records of a `PointData` are rows of bytes, and a column has any stride.
#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_traits::{DLPackExport, DataType, Error, ImportedTensor};
use las::{Point, PointData, PointDataBuilder};

/// One field of all records, shared with them.
#[derive(DLPackExport)]
pub struct Column {
    #[dlpack(data, slice = u8, with = PointData::raw_bytes, shared)]
    records: Arc<PointData>,
    #[dlpack(offset(bytes))]
    start: usize,
    dtype: DataType,
    shape: Vec<usize>,
    #[dlpack(strides(bytes))]
    steps: Vec<usize>,
}

impl Column {
    /// The field of this type at a position in the record: `(12, DataType::U16)` is the intensity.
    ///
    /// If the position and the length of a record are not multiples of the size, as for an `i32` in
    /// 26 bytes, the column has a last axis of `u8`.
    ///
    /// # Errors
    ///
    /// [`Error::Custom`] for a field outside of the record.
    pub fn new(records: &Arc<PointData>, start: usize, dtype: DataType) -> Result<Self, Error> {
        let (records, pitch, len) = (records.clone(), records.record_len(), records.len());
        let size = dtype.byte_size().filter(|size| *size <= pitch.saturating_sub(start));
        let size = size.ok_or(Error::Custom("the record ends before the end of the field"))?;
        let whole = start.is_multiple_of(size) && pitch.is_multiple_of(size);
        Ok(if whole && cfg!(target_endian = "little") {
            Self { records, start, dtype, shape: vec![len], steps: vec![pitch] }
        } else {
            let (dtype, shape, steps) = (DataType::U8, vec![len, size], vec![pitch, 1]);
            Self { records, start, dtype, shape, steps }
        })
    }
}

/// Encodes a tensor of shape (points, 3) as records, with the format and transforms of a builder.
///
/// # Errors
///
/// Those of [`ImportedTensor::elements`], and those of las.
pub fn to_records(
    tensor: &ImportedTensor,
    builder: PointDataBuilder,
) -> Result<PointData, Box<dyn core::error::Error>> {
    let coordinates = tensor.elements::<[f64; 3]>()?;
    let points = coordinates.iter().map(|[x, y, z]| Point { x, y, z, ..Point::default() });
    Ok(builder.build_from_points(points)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlpack_traits::OwnedTensor;
    use las::Color;
    use las::point::Format;

    fn records(format: u8) -> Arc<PointData> {
        let format = Format::new(format).unwrap();
        let color = format.has_color.then(Color::default);
        let points = [(0.001, 7), (0.002, 8)].map(|(x, intensity)| Point {
            x,
            intensity,
            color,
            ..Point::default()
        });
        Arc::new(PointDataBuilder::new().with_format(format).build_from_points(points).unwrap())
    }

    #[test]
    fn columns_are_exported_zero_copy() {
        let records = records(0);
        let address = records.raw_bytes()[12..].as_ptr();
        let column = Column::new(&records, 12, DataType::U16).unwrap();
        let tensor = column.to_dlpack().unwrap().import().unwrap();
        assert_eq!((tensor.data_ptr(), tensor.strides()), (address, &[10][..]));
        drop((records, column));
        assert_eq!(tensor.elements::<u16>().unwrap().to_vec().unwrap(), [7, 8]);
    }

    /// Records of 26 bytes have no whole number of `i32`s.
    #[test]
    fn columns_of_other_records_are_bytes() {
        let records = records(2);
        let column = Column::new(&records, 0, DataType::I32).unwrap();
        let tensor = column.into_dlpack().unwrap().import().unwrap();
        assert_eq!(tensor.data_ptr(), records.raw_bytes().as_ptr());
        assert_eq!((tensor.shape(), tensor.strides()), (&[2, 4][..], &[26, 1][..]));
        let bytes = tensor.elements::<[u8; 4]>().unwrap();
        assert!(bytes.iter().map(i32::from_le_bytes).eq(records.x_raw()));
    }

    #[test]
    fn field_outside_of_the_record_is_rejected() {
        let message = Column::new(&records(0), 18, DataType::F64).err().unwrap().to_string();
        assert_eq!(message, "the record ends before the end of the field");
    }

    #[test]
    fn import_encodes_coordinates() {
        let array = OwnedTensor::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
        let tensor = array.into_dlpack().unwrap().import().unwrap();
        let points = to_records(&tensor, PointDataBuilder::new()).unwrap();
        assert!(points.y().eq([2.0, 5.0]));
        assert!(to_records(&tensor.permute(&[1, 0]).unwrap(), PointDataBuilder::new()).is_err());
    }
}
