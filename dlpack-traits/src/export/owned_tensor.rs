//! Elements with a shape: [`OwnedTensor`].

use alloc::vec::Vec;
use core::fmt;

use crate::copy::{Copied, Zeroed};
use crate::describe::{Describe, Description, DescriptionMut};
use crate::dims::{AsDims, Dims};
use crate::element::{Element, Readable, RecordType};
use crate::error::Error;
use crate::export::{DLPackExport, export_owned, moved_managed};
use crate::ffi::DLManagedTensor;
use crate::managed::ManagedTensor;
use crate::storage::{AlignedBuf, DataMut, DataRef};
use crate::stream_arg::StreamArg;
use crate::strides;

/// Elements with a shape, in row-major order: the result of a function, without a struct of
/// its own.
///
/// ```
/// use dlpack_traits::{DLPackExport, OwnedTensor};
///
/// let matrix = OwnedTensor::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// assert_eq!(matrix.into_dlpack()?.shape(), [2, 3]);
/// assert!(OwnedTensor::new(vec![1.0, 2.0], &[3]).is_err());
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
///
/// The elements have a single owner: export them by [`into_dlpack`](DLPackExport::into_dlpack).
/// [`to_dlpack`](DLPackExport::to_dlpack) fails with [`Error::NotShareable`]. A field of a class
/// that Python reads more than once is a [`SharedTensor`](crate::SharedTensor), and an
/// `OwnedTensor` is not `Clone`.
///
/// Consumers may write, also if not every bit pattern is a value of `T` (`bool`): Rust code does
/// not read the elements again. Only [`try_into_dlpack`](DLPackExport::try_into_dlpack), which returns
/// the tensor if it fails, exports such elements read-only. A vector keeps its memory, which is aligned for `T`;
/// [`zeroed`](Self::zeroed) allocates memory that is aligned to 64 bytes, so that JAX and
/// TensorFlow import it without a copy.
///
/// With the feature `pyo3`, a `#[pyfunction]` can return it: it becomes a NumPy array,
/// zero-copy.
pub struct OwnedTensor<T> {
    values: Values<T>,
    shape: Dims<'static>,
}

/// The elements of an [`OwnedTensor`], as many as the shape has.
enum Values<T> {
    Vec(Vec<T>),
    Zeroed(Zeroed<T>),
}

impl<T: Element> Values<T> {
    fn as_mut_slice(&mut self) -> &mut [T] {
        match self {
            Self::Vec(values) => values,
            Self::Zeroed(values) => values.as_mut_slice(),
        }
    }
}

impl<T: Element> OwnedTensor<T> {
    /// Creates a tensor of this shape from a vector, whose memory it keeps.
    ///
    /// # Errors
    ///
    /// [`Error::LenMismatch`] unless the shape has exactly as many elements as the vector;
    /// those of [`Dims::of`]; [`Error::NegativeDim`] and [`Error::SizeOverflow`].
    pub fn new<D: AsDims + ?Sized>(values: Vec<T>, shape: &D) -> Result<Self, Error> {
        let shape = Dims::of(shape)?.into_owned()?;
        let needed =
            usize::try_from(strides::numel(shape.as_slice())?).map_err(|_| Error::SizeOverflow)?;
        let found = values.len();
        if needed != found {
            return Err(Error::LenMismatch { needed, found });
        }
        Ok(Self { values: Values::Vec(values), shape })
    }

    /// Creates a tensor with one dimension from a vector.
    pub fn from_vec(values: Vec<T>) -> Self {
        // A vector has at most `isize::MAX` bytes, and an element at least one byte.
        let len = i64::try_from(values.len()).unwrap_or(i64::MAX);
        Self { values: Values::Vec(values), shape: Dims::one(len) }
    }

    /// Creates a tensor without dimensions, which has one element.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, OwnedTensor};
    ///
    /// assert_eq!(OwnedTensor::scalar(2.5_f32).into_dlpack()?.ndim(), 0);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    pub fn scalar(value: T) -> Self {
        Self { values: Values::Vec(Vec::from([value])), shape: Dims::borrowed(&[]) }
    }

    /// Creates a tensor whose elements are zero, in memory that is aligned to 64 bytes.
    ///
    /// ```
    /// use dlpack_traits::OwnedTensor;
    ///
    /// let mut identity = OwnedTensor::<f32>::zeroed(&[3, 3])?;
    /// identity.as_mut_slice().iter_mut().step_by(4).for_each(|value| *value = 1.0);
    /// assert_eq!(identity.as_slice().as_ptr().addr() % 64, 0);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Dims::of`]; [`Error::NegativeDim`], [`Error::SizeOverflow`] and
    /// [`Error::OutOfMemory`]; [`Error::InvalidBits`] if zero is not a value of the type.
    pub fn zeroed<D: AsDims + ?Sized>(shape: &D) -> Result<Self, Error>
    where
        T: Readable,
    {
        let shape = Dims::of(shape)?.into_owned()?;
        let values = Values::Zeroed(Zeroed::new(T::DTYPE, shape.as_slice())?);
        Ok(Self { values, shape })
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &[i64] {
        self.shape.as_slice()
    }

    /// The elements, in row-major order.
    pub fn as_slice(&self) -> &[T] {
        match &self.values {
            Values::Vec(values) => values,
            Values::Zeroed(values) => values.as_slice(),
        }
    }

    /// The elements, in row-major order, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.values.as_mut_slice()
    }

    /// Returns the elements as a vector: the one that the tensor was made of, or a copy.
    pub fn into_vec(self) -> Vec<T> {
        match self.values {
            Values::Vec(values) => values,
            Values::Zeroed(values) => values.as_slice().to_vec(),
        }
    }

    /// Exports by value. Elements such as `bool`, which `describe_mut` lends for reading only, are moved,
    /// so that Rust does not read what a consumer writes.
    #[inline(always)]
    fn export(self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        if T::ANY_BITS {
            export_owned(self, consumer)
        } else {
            moved_managed(self.moved()?, consumer)
        }
    }

    /// The tensor as memory that Rust code does not read any more.
    fn moved(self) -> Result<Copied, Error> {
        let shape = self.shape.as_slice();
        match self.values {
            Values::Vec(values) => {
                Copied::moved::<T>(AlignedBuf::from_vec(values), T::DTYPE, shape)
            }
            Values::Zeroed(values) => values.into_copied(T::DTYPE, shape),
        }
    }
}

impl<T: Element> DLPackExport for OwnedTensor<T> {
    #[inline]
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(self.shape.as_slice()).data(DataRef::from_slice(self.as_slice()))
    }

    /// The elements of a tensor that is a field of another exported struct, whose destructor may
    /// read them: those of `bool` are lent for reading only.
    #[inline]
    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        let data = DataMut::from_mut_slice(self.values.as_mut_slice());
        out.shape(self.shape.as_slice()).data_mut(data)
    }

    fn record_type(&self) -> Option<&'static RecordType> {
        T::RECORD
    }

    #[inline]
    fn into_dlpack(self) -> Result<ManagedTensor, Error> {
        self.export(StreamArg::unspecified())
    }

    #[inline]
    fn into_dlpack_on(self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        self.export(consumer)
    }

    fn into_dlpack_legacy(self) -> Result<ManagedTensor<DLManagedTensor>, Error> {
        self.into_dlpack()?.into_legacy()
    }
}

impl<T: Element + PartialEq> PartialEq for OwnedTensor<T> {
    fn eq(&self, other: &Self) -> bool {
        self.shape() == other.shape() && self.as_slice() == other.as_slice()
    }
}

impl<T: Element + Eq> Eq for OwnedTensor<T> {}

impl<T: Element + fmt::Debug> fmt::Debug for OwnedTensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedTensor")
            .field("values", &self.as_slice())
            .field("shape", &self.shape())
            .finish()
    }
}
