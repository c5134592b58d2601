//! Elements on the threads of rayon: [`Elements::par_rows`], [`ElementsMut::par_map_in_place`].

use alloc::vec::Vec;

use rayon::prelude::*;

use super::{Elements, ElementsMut};
use crate::element::{AnyBits, Readable};
use crate::error::Error;

/// Parts for each thread, because some run longer than others.
const PARTS: usize = 4;

impl<T: Readable> Elements<'_, T> {
    /// Calls a function with each row along the last dimension, on the threads of rayon's current pool,
    /// and returns its results in row-major order.
    ///
    /// A function that Python calls writes it in `Python::detach`: [`guide::rayon`](crate::guide::rayon)
    /// has the reason.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error, OwnedTensor};
    ///
    /// let matrix = OwnedTensor::new(vec![1_u32, 2, 3, 4], &[2, 2])?.into_dlpack()?.import()?;
    /// let sums = matrix.elements::<u32>()?.par_rows(|row| row.iter().sum::<u32>())?;
    /// assert_eq!(sums, [3, 7]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`for_each_row`](Self::for_each_row).
    pub fn par_rows<R: Send>(&self, f: impl Fn(&[T]) -> R + Sync) -> Result<Vec<R>, Error> {
        let outer = self.shape().split_last().map_or(&[][..], |(_, outer)| outer);
        let axis = outer.iter().position(|&dim| dim > 1).filter(|_| !self.is_empty());
        let Some(axis) = axis else {
            let mut results = Vec::new();
            self.for_each_row(|row| results.push(f(row)))?;
            return Ok(results);
        };
        let parts: Vec<_> = self.split_along(axis, parts())?.collect();
        let results = parts.into_par_iter().map(|part| {
            let mut results = Vec::new();
            part.elements().for_each_row(|row| results.push(f(row)))?;
            Ok(results)
        });
        Ok(results.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().collect())
    }
}

impl<T: AnyBits> ElementsMut<'_, T> {
    /// Replaces each element by a function of it, on the threads of rayon's current pool:
    /// [`map_in_place`](Self::map_in_place).
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error, OwnedTensor};
    ///
    /// let mut tensor = OwnedTensor::from_vec(vec![1.0_f32, 4.0]).into_dlpack()?.import()?;
    /// tensor.elements_mut::<f32>()?.par_map_in_place(f32::sqrt);
    /// assert_eq!(tensor.elements::<f32>()?.to_vec()?, [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// If the function panics, elements of other parts may have been replaced.
    pub fn par_map_in_place(&mut self, f: impl Fn(T) -> T + Sync) {
        let parts: Vec<_> = self.split(parts()).collect();
        parts.into_par_iter().for_each(|mut part| part.elements_mut().map_in_place(&f));
    }
}

fn parts() -> usize {
    rayon::current_num_threads().saturating_mul(PARTS)
}
