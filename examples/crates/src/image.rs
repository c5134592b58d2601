//! `image`: an `ImageBuffer` lends a slice, and owns any container that does.
#![forbid(unsafe_code)]

use dlpack_traits::{DLPackExport, Error, ImportedTensor, OwnedSlice};
use image::{ImageBuffer, Rgb, RgbImage};

/// An image as a tensor of height, width and channels.
#[derive(DLPackExport)]
#[dlpack(shape(self.0.height(), self.0.width(), 3))]
pub struct Photo(#[dlpack(data, slice = u8)] pub RgbImage);

/// Converts a tensor of height, width and three channels into an image, zero-copy.
///
/// # Errors
///
/// Those of [`ImportedTensor::into_owned_slice`], and [`Error::Custom`] for another shape.
pub fn to_image(tensor: ImportedTensor) -> Result<ImageBuffer<Rgb<u8>, OwnedSlice<u8>>, Error> {
    let &[height, width, 3] = tensor.shape() else {
        return Err(Error::Custom("expected an array of height, width and 3 channels"));
    };
    let too_large = |_| Error::Custom("expected at most 2^32 - 1 rows and columns");
    let (width, height) =
        (width.try_into().map_err(too_large)?, height.try_into().map_err(too_large)?);
    let pixels = tensor.into_owned_slice()?;
    ImageBuffer::from_raw(width, height, pixels).ok_or(Error::Custom("too few pixels"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_equal_in_both_directions() {
        let image = RgbImage::from_fn(4, 2, |x, y| Rgb([x as u8, y as u8, 7]));
        let address = image.as_raw().as_ptr();
        let tensor = Photo(image).into_dlpack().unwrap().import().unwrap();
        assert_eq!((tensor.data_ptr(), tensor.shape()), (address, &[2, 4, 3][..]));
        let image = to_image(tensor).unwrap();
        assert_eq!((image.as_raw().as_ptr(), image.dimensions()), (address, (4, 2)));
        assert_eq!(image.get_pixel(3, 1), &Rgb([3, 1, 7]));
    }

    #[test]
    fn other_shapes_are_rejected() {
        let gray = dlpack_traits::OwnedTensor::from_vec(vec![1_u8]);
        assert!(to_image(gray.into_dlpack().unwrap().import().unwrap()).is_err());
    }
}
