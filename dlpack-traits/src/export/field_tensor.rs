//! A field of all records of a storage, as a tensor: [`Records::field`], [`FieldTensor`].

use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;

use crate::describe::{Describe, Description, DescriptionMut, Layout};
use crate::dims::Dims;
use crate::element::{AnyBits, Element, Field, FieldType, RecordType};
use crate::error::Error;
use crate::export::{DLPackExport, SharedTensor};
use crate::storage::{SharedBuffer, Storage};
use crate::strides::row_major_strides;

/// Records in memory, whose fields are exported one by one: `[R]`, `Arc<[R]>`, [`SharedBuffer<R>`]
/// and [`SharedTensor<R, 1>`](SharedTensor). This trait is sealed.
pub trait Records: sealed::Sealed {
    /// The type of the records.
    type Record: Element;

    /// The owner of the memory: a reference to a slice, or another owner of shared memory.
    type Owner<'a>: Storage
    where
        Self: 'a;

    /// Returns the owner of the memory.
    #[doc(hidden)]
    fn owner(&self) -> Self::Owner<'_>;

    /// The field of all records as a tensor over the same memory, with a stride of one record. Arrays
    /// add their axes.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use dlpack_traits::{DLPackExport, Record, Records};
    /// use std::sync::Arc;
    ///
    /// #[derive(Clone, Copy, Record)]
    /// #[repr(C)]
    /// struct Particle {
    ///     position: [f32; 3],
    ///     mass: f32,
    /// }
    ///
    /// let particles: Arc<[_]> = Arc::from([Particle { position: [0.0; 3], mass: 1.5 }; 2]);
    /// let mass = particles.field(Particle::MASS).to_dlpack()?;
    /// assert_eq!((mass.shape(), mass.strides()), (&[2][..], &[4][..]));
    /// let position = particles.field(Particle::POSITION).to_dlpack()?;
    /// assert_eq!((position.shape(), position.strides()), (&[2, 3][..], &[4, 1][..]));
    /// # }
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    ///
    /// DLPack counts strides in elements. The export is [`Error::StrideNotWhole`] if the size of a
    /// record is not a multiple of that of the field's dtype, as for a `Complex<f32>` beside a `u32`.
    fn field<F: Element>(&self, field: Field<Self::Record, F>) -> FieldTensor<Self::Owner<'_>, F> {
        let size = size_of::<Self::Record>();
        FieldTensor { records: self.owner(), field: field.ty(), size, element: PhantomData }
    }
}

mod sealed {
    pub trait Sealed {}
}

impl<R: Element> sealed::Sealed for [R] {}

impl<R: Element> Records for [R] {
    type Record = R;
    type Owner<'a> = &'a [R];

    fn owner(&self) -> &[R] {
        self
    }
}

impl<R: Element> sealed::Sealed for Arc<[R]> {}

impl<R: Element> Records for Arc<[R]> {
    type Record = R;
    type Owner<'a> = Self;

    fn owner(&self) -> Self {
        Self::clone(self)
    }
}

impl<R: AnyBits> sealed::Sealed for SharedBuffer<R> {}

impl<R: AnyBits> Records for SharedBuffer<R> {
    type Record = R;
    type Owner<'a> = Self;

    fn owner(&self) -> Self {
        self.clone()
    }
}

impl<R: AnyBits> sealed::Sealed for SharedTensor<R, 1> {}

impl<R: AnyBits> Records for SharedTensor<R, 1> {
    type Record = R;
    type Owner<'a> = SharedBuffer<R>;

    fn owner(&self) -> SharedBuffer<R> {
        self.buffer().clone()
    }
}

/// A field of type `F` of all records of a storage: [`Records::field`]. Consumers may write it if they
/// may write the storage.
///
/// With the feature `pyo3`, a `#[pyfunction]` returns it as a NumPy array, or as an object of another
/// library by `into_object_like`.
pub struct FieldTensor<S, F> {
    records: S,
    field: FieldType,
    /// The size of a record.
    size: usize,
    element: PhantomData<fn() -> F>,
}

impl<S: Storage, F> FieldTensor<S, F> {
    /// The layout of the field in memory of a number of bytes, from the field of the first record on.
    fn layout(&self, byte_len: usize) -> Result<Layout<'static>, Error> {
        let axes = self.field.axes();
        let number = |number: usize| i64::try_from(number).map_err(|_| Error::SizeOverflow);
        let len = number(byte_len.checked_div(self.size).unwrap_or(0))?;
        let (size, part) = (number(self.size)?, self.field.dtype().byte_size().unwrap_or(1));
        let ndim = axes.len().saturating_add(1);
        let shape = Dims::filled(ndim, |dims| {
            dims.iter_mut().zip([&len].into_iter().chain(axes)).for_each(|(to, &dim)| *to = dim);
            Ok(())
        })?;
        let strides = Dims::filled(ndim, |dims| {
            row_major_strides(shape.as_slice(), dims);
            for stride in dims.iter_mut() {
                *stride = stride.saturating_mul(number(part)?);
            }
            dims.iter_mut().take(1).for_each(|first| *first = size);
            Ok(())
        })?;
        Ok(Layout::new(shape).byte_strides(strides))
    }
}

impl<S: Storage, F> DLPackExport for FieldTensor<S, F> {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        let data = self.records.data();
        out.layout(self.layout(data.byte_len())?).data(data.of_field(self.field))
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        let layout = self.layout(self.records.data().byte_len())?;
        let (field, data) = (self.field, self.records.data_mut());
        out.layout(layout).data_mut(data.map(|data| data.of_field(field)))
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.records)
    }

    fn record_type(&self) -> Option<&'static RecordType> {
        self.field.record()
    }
}

impl<S, F> fmt::Debug for FieldTensor<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FieldTensor").field(&self.field).finish()
    }
}
