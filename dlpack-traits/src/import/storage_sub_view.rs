//! Views of a part of an [`ImportedStorage`], which share its ownership.

use core::ops::RangeBounds;

use super::sub_view::View;
use super::{ImportedElement, ImportedStorage};
use crate::error::Error;

/// Methods that return a view, as those of [`ImportedTensor`](crate::ImportedTensor), and share the ownership: several views
/// of one import can be kept and exported. If `T` is an array, its axes are not counted, and stay.
///
/// ```
/// use dlpack_traits::{DLPackExport, Error, ImportedStorage, OwnedTensor};
///
/// /// Images of one batch, which another library owns.
/// struct Dataset {
///     images: ImportedStorage<f32>,
/// }
///
/// impl Dataset {
///     /// An image without a copy, which can be exported.
///     fn image(&self, index: usize) -> Result<ImportedStorage<f32>, Error> {
///         self.images.select(0, index)
///     }
/// }
///
/// let batch = OwnedTensor::new((0..8).map(|n| n as f32).collect(), &[2, 2, 2])?;
/// let dataset = Dataset { images: ImportedStorage::new(batch.into_dlpack()?.import()?)? };
/// let image = dataset.image(1)?;
/// drop(dataset);
/// assert_eq!(image.elements()?.to_vec()?, [4.0, 5.0, 6.0, 7.0]);
/// assert_eq!(image.to_dlpack()?.shape(), [2, 2]);
/// # Ok::<(), Error>(())
/// ```
impl<T: ImportedElement> ImportedStorage<T> {
    /// The elements at one index of an axis: [`ImportedTensor::select`](crate::ImportedTensor::select).
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::select`](crate::ImportedTensor::select).
    pub fn select(&self, axis: usize, index: usize) -> Result<Self, Error> {
        self.view(View::Select(axis, index))
    }

    /// The elements at a range of indices of an axis: [`ImportedTensor::narrow`](crate::ImportedTensor::narrow).
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::narrow`](crate::ImportedTensor::narrow).
    pub fn narrow(&self, axis: usize, range: impl RangeBounds<usize>) -> Result<Self, Error> {
        self.view(View::Narrow(axis, self.imported().bounds(axis, range)))
    }

    /// The axes in another order: [`ImportedTensor::permute`](crate::ImportedTensor::permute).
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::permute`](crate::ImportedTensor::permute).
    pub fn permute(&self, axes: &[usize]) -> Result<Self, Error> {
        self.view(View::Permute(axes))
    }

    /// The indices of an axis in descending order: [`ImportedTensor::reverse`](crate::ImportedTensor::reverse).
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::reverse`](crate::ImportedTensor::reverse).
    pub fn reverse(&self, axis: usize) -> Result<Self, Error> {
        self.view(View::Reverse(axis))
    }
}
