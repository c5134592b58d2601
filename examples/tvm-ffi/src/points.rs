//! The type of the arguments, and what is computed.

#![forbid(unsafe_code)]

use dlpack_traits::{DLPackImport, Error, ImportedStorage};

/// Points in space, in memory of any library.
#[derive(DLPackImport)]
#[dlpack(shape(_, 3))]
pub struct Points {
    data: ImportedStorage<f32>,
}

impl Points {
    /// The mean of all points; NaN if there is none.
    pub fn centroid(&self) -> Result<[f32; 3], Error> {
        let (mut sum, mut count) = ([0.0; 3], 0.0);
        self.data.elements()?.for_each_row(|row| {
            count += 1.0;
            for (sum, &value) in sum.iter_mut().zip(row) {
                *sum += f64::from(value);
            }
        })?;
        Ok(sum.map(|sum| (sum / count) as f32))
    }

    /// Multiplies all coordinates.
    pub fn scale(&mut self, factor: f64) -> Result<(), Error> {
        self.data.elements_mut()?.map_in_place(|value| (f64::from(value) * factor) as f32);
        Ok(())
    }

    pub fn into_storage(self) -> ImportedStorage<f32> {
        self.data
    }
}
