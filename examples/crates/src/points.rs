//! `glam` and `nalgebra`: vectors of points, whose memory `bytemuck` takes for arrays of floats.
#![forbid(unsafe_code)]

use bytemuck::allocation::cast_vec;
use dlpack_traits::{DLPackExport, Error, ImportedTensor, OwnedTensor};
use glam::Vec3;
use nalgebra::Point3;

/// Moves a `Vec` of points into a tensor of shape (points, 3).
pub fn tensor_of(points: Vec<Vec3>) -> OwnedTensor<[f32; 3]> {
    OwnedTensor::from_vec(cast_vec(points))
}

/// A field of points, exported with an axis for their coordinates.
#[derive(DLPackExport)]
#[dlpack(shape(self.points.len(), 3))]
pub struct Cloud {
    #[dlpack(data, slice = f32, with = coordinates)]
    pub points: Vec<Point3<f32>>,
}

fn coordinates(points: &[Point3<f32>]) -> &[f32] {
    bytemuck::cast_slice(points)
}

/// Copies a tensor of shape (points, 3), whose coordinates of a point are contiguous.
pub fn points_of(tensor: &ImportedTensor) -> Result<Vec<Vec3>, Error> {
    Ok(cast_vec(tensor.elements::<[f32; 3]>()?.to_vec()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_exported_zero_copy() {
        let points = vec![Vec3::new(1.0, 2.0, 3.0), Vec3::new(4.0, 5.0, 6.0)];
        let address = points.as_ptr();
        let tensor = tensor_of(points).into_dlpack().unwrap().import().unwrap();
        assert_eq!(tensor.data_ptr(), address.cast());
        assert_eq!((tensor.shape(), tensor.strides()), (&[2, 3][..], &[3, 1][..]));
        assert_eq!(points_of(&tensor).unwrap()[1], Vec3::new(4.0, 5.0, 6.0));

        let cloud = Cloud { points: vec![Point3::new(1.0, 2.0, 3.0)] };
        let address = cloud.points.as_ptr();
        let tensor = cloud.into_dlpack().unwrap();
        assert_eq!((tensor.data_ptr(), tensor.shape()), (address.cast(), &[1, 3][..]));
    }

    #[test]
    fn points_may_have_any_distance() {
        let values = (0_u8..12).map(f32::from).collect();
        let points = OwnedTensor::new(values, &[4, 3]).unwrap().into_dlpack().unwrap();
        let reversed = points.import().unwrap().reverse(0).unwrap();
        assert_eq!(points_of(&reversed).unwrap()[0], Vec3::new(9.0, 10.0, 11.0));
        assert!(points_of(&reversed.permute(&[1, 0]).unwrap()).is_err());
    }
}
