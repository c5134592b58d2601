//! Elements that are converted while they are read: [`ElementsAs`].

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use super::sources::{Reader, read_by};
use super::values::{CHUNK, Narrow, Value};
use super::{is_allowed, is_inexact, keeps_values};
use crate::dtype::DataType;
use crate::element::{AnyBits, Element, Readable, zero};
use crate::error::Error;
use crate::import::ImportedTensor;
use crate::import::elements::iter::each_empty;
use crate::storage::try_vec;

/// A type to which elements are converted while they are read: `i8` to `i64`, `u8` to `u64`, `f32`
/// and `f64`, and [`Complex`](crate::Complex) of these floats. This trait is sealed.
pub trait Number: Narrow<Stored = Self> + AnyBits {}

impl<T: Narrow<Stored = T> + AnyBits> Number for T {}

/// The element type of an argument whose numbers are converted to `T` while they are read:
/// `PyTensor<'_, As<f32>, 2>`. It accepts every dtype of which each value is one of `T`;
/// `As<f32, Lossy>` also accepts numbers that are rounded. See
/// [`elements_as`](ImportedTensor::elements_as).
#[derive(Clone, Copy, Debug)]
pub struct As<T, C = Lossless>(PhantomData<fn() -> (T, C)>);

/// Each value is kept: `uint8` and `float16` as `f32`, but neither `int32` nor `float64`. The
/// default of [`As`].
#[derive(Clone, Copy, Debug)]
pub enum Lossless {}

/// Numbers are rounded to the nearest float or complex number: `int64` and `float64` as `f32`; a number
/// beyond its range becomes infinite. To an integer it is as [`Lossless`].
#[derive(Clone, Copy, Debug)]
pub enum Lossy {}

/// What a conversion may lose: [`Lossless`], [`Lossy`]. This trait is sealed.
pub trait Conversion: sealed::Rule {}

impl<C: sealed::Rule> Conversion for C {}

mod sealed {
    use crate::dtype::DataType;

    pub trait Rule: 'static {
        fn allows(from: DataType, to: DataType) -> bool;
    }
}

impl sealed::Rule for Lossless {
    fn allows(from: DataType, to: DataType) -> bool {
        keeps_values(from, to)
    }
}

impl sealed::Rule for Lossy {
    fn allows(from: DataType, to: DataType) -> bool {
        keeps_values(from, to) || (is_inexact(to) && is_allowed(from, to))
    }
}

/// Checks that elements of a tensor are converted to `T`.
pub(in crate::import) fn check_as<T: Number, C: Conversion>(
    tensor: &ImportedTensor,
) -> Result<(), Error> {
    tensor.on_host()?;
    let (requested, found) = (<T as Element>::DTYPE, tensor.dtype());
    if C::allows(found, requested) {
        return Ok(());
    }
    Err(Error::ElementMismatch { requested, found })
}

/// The elements of a tensor, read by value and converted to `T`: [`ImportedTensor::elements_as`].
///
/// They are read in blocks, as [`Elements`](crate::Elements) reads them, and converted in private
/// memory: there is no copy of the whole. A `bool` that is neither 0 nor 1 is an error.
#[derive(Clone, Copy)]
pub struct ElementsAs<'a, T> {
    tensor: &'a ImportedTensor,
    read_as: PhantomData<fn() -> T>,
}

impl ImportedTensor {
    /// The elements, converted to `T` while they are read, from every numeric type of which each
    /// value is one of `T`: `bool`, integers, and floats of 4 to 64 bits. To `f32` these are `bool`,
    /// integers of at most 16 bits, and floats of at most 32.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error, OwnedTensor};
    ///
    /// let bytes = OwnedTensor::new(vec![1_u8, 2, 3, 4], &[2, 2])?.into_dlpack()?.import()?;
    /// let mut sums = vec![];
    /// bytes.elements_as::<f32>()?.for_each_row(|row| sums.push(row.iter().sum::<f32>()))?;
    /// assert_eq!(sums, [3.0, 7.0]);
    ///
    /// let wide = OwnedTensor::from_vec(vec![0.1_f64]).into_dlpack()?.import()?;
    /// assert!(wide.elements_as::<f32>().is_err());
    /// assert_eq!(wide.elements_as_lossy::<f32>()?.to_vec()?, [0.1]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ElementMismatch`] for another type; [`Error::NotOnHost`], and [`Error::NoBackend`] for
    /// pinned memory that was exported for a stream.
    pub fn elements_as<T: Number>(&self) -> Result<ElementsAs<'_, T>, Error> {
        check_as::<T, Lossless>(self)?;
        Ok(ElementsAs::new(self))
    }

    /// As [`elements_as`](Self::elements_as), and from every number to the nearest float or complex
    /// number. A number beyond its range becomes infinite.
    ///
    /// # Errors
    ///
    /// Those of [`elements_as`](Self::elements_as).
    pub fn elements_as_lossy<T: Number>(&self) -> Result<ElementsAs<'_, T>, Error> {
        check_as::<T, Lossy>(self)?;
        Ok(ElementsAs::new(self))
    }
}

impl<'a, T: Number> ElementsAs<'a, T> {
    /// The elements of a tensor that [`check_as`] accepts.
    pub(crate) fn new(tensor: &'a ImportedTensor) -> Self {
        Self { tensor, read_as: PhantomData }
    }

    /// Shape.
    pub fn shape(&self) -> &'a [i64] {
        self.tensor.shape()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        usize::try_from(self.tensor.numel()).unwrap_or(usize::MAX)
    }

    /// Whether the tensor is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls a function with blocks of converted elements, in row-major order of their indices.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidBits`] for a `bool` that is neither 0 nor 1.
    pub fn for_each_block(&self, mut f: impl FnMut(&[T])) -> Result<(), Error> {
        read_by(self.tensor.dtype(), Blocks { tensor: self.tensor, f: &mut f })
    }

    /// Calls a function with each row along the last dimension, as
    /// [`Elements::for_each_row`](crate::Elements::for_each_row) does.
    ///
    /// # Errors
    ///
    /// Those of [`Elements::for_each_row`](crate::Elements::for_each_row).
    pub fn for_each_row(&self, mut f: impl FnMut(&[T])) -> Result<(), Error> {
        let row = self.shape().last().map_or(1, |&dim| usize::try_from(dim).unwrap_or(usize::MAX));
        if row == 0 {
            return each_empty(self.shape(), || {
                f(&[]);
                Ok(())
            });
        }
        if self.is_empty() {
            return Ok(());
        }
        let mut whole = try_vec::<T>(row)?;
        self.for_each_block(|mut block| {
            // The rest of a row that a block before began, then whole rows where they are, then the
            // start of the next one.
            while !block.is_empty() {
                let missing = row.wrapping_sub(whole.len()).min(block.len());
                let (first, rest) = block.split_at(missing);
                block = rest;
                if first.len() == row {
                    f(first);
                    continue;
                }
                whole.extend_from_slice(first);
                if whole.len() == row {
                    f(&whole);
                    whole.clear();
                }
            }
        })
    }

    /// Copies all converted elements in row-major order.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::InvalidBits`].
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let mut copy = try_vec::<T>(self.len())?;
        self.for_each_block(|block| copy.extend_from_slice(block))?;
        Ok(copy)
    }
}

impl<T> fmt::Debug for ElementsAs<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ElementsAs").field(&self.tensor).finish()
    }
}

/// Calls a function with blocks of elements in row-major order, converted to `T`s.
struct Blocks<'a, T> {
    tensor: &'a ImportedTensor,
    /// Not a type parameter: there would be a copy of it for each type.
    f: &'a mut dyn FnMut(&[T]),
}

impl<T: Number> Reader for Blocks<'_, T> {
    fn stored<S: Readable, W: Value>(self, value: impl Fn(S) -> W) -> Result<(), Error> {
        let mut values = [zero::<T>(); CHUNK];
        self.tensor.stored_as::<S>()?.try_for_each_block(|block| {
            for chunk in block.chunks(CHUNK) {
                let values = values.get_mut(..chunk.len()).unwrap_or_default();
                for (to, &element) in values.iter_mut().zip(chunk) {
                    (*to, _) = value(element).narrow::<T>();
                }
                (self.f)(values);
            }
        })
    }

    fn packed<W: Value>(self, value: impl Fn(u64) -> W) -> Result<(), Error> {
        let mut bits = self.tensor.raw_bits()?.iter();
        let mut values = [zero::<T>(); CHUNK];
        loop {
            let mut len = 0_usize;
            for (to, bits) in values.iter_mut().zip(&mut bits) {
                (*to, _) = value(bits).narrow::<T>();
                len = len.wrapping_add(1);
            }
            if len == 0 {
                return Ok(());
            }
            (self.f)(values.get(..len).unwrap_or_default());
        }
    }
}
