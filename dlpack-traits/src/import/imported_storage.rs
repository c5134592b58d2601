//! Imported memory as the `data` field of a struct: [`ImportedStorage`].
//!
//! A clone is another owner, so memory that was lent exclusively is exported as shared;
//! frozen memory stays frozen. Only the last owner gets `&mut ImportedTensor`. No function
//! returns `&mut` to the handle of a storage with other owners, because another tensor
//! could be assigned to it.
//!
//! The producer is responsible for the alignment and the element type with which the memory
//! was imported, so an export does not reject them. A reinterpretation as another type is
//! checked as usual.

use core::fmt;
use core::marker::PhantomData;

use super::cast::{As, Conversion, Number, check_as};
use super::imported_memory::{
    byte_offset_of, layout_of, layout_of_arrays, memory_as, ordinary_memory_as,
};
use super::{Elements, ElementsMut, Exclusive, ImportedTensor};
use crate::alignment::check_imported;
use crate::describe::{AsLayout, Describe, Description, Layout};
use crate::dtype::DataType;
use crate::element::{Element, Readable, RecordType};
use crate::error::Error;
use crate::export::{DLPackExport, export_owned};
use crate::managed::ManagedTensor;
use crate::storage::{DataRef, OwnLayout, SharedOwner, Storage, Strided};
use crate::stream_arg::StreamArg;
use crate::version::Version;

/// Imported memory as a storage: a `data` field that can be exported again, zero-copy.
///
/// `ImportedStorage<T>` owns host memory with elements of type `T`. `ImportedStorage` owns
/// memory of any element type on any device: the type is known at run time only
/// ([`ImportedTensor::dtype`]), and may be one that this crate does not define. Memory is
/// exported again with the type, device and address with which it was imported.
///
/// Access to the memory does not change: other owners may write it, and a consumer may too,
/// unless the import is read-only ([`ImportedTensor::is_read_only`]), as one from a legacy struct
/// is. The new export then sets READ_ONLY.
/// IS_COPIED is not exported again, because the memory now has several owners. Flags that
/// the standard does not define are not exported again, because only their producer defines
/// what they mean. Cloning makes another owner of the same memory; the last owner calls the
/// deleter.
///
/// # Device memory
///
/// To export device memory again for any consumer, import it into a
/// [`DeviceBuffer`](crate::backend::DeviceBuffer), as the `data` of a struct. An `ImportedStorage`
/// has no backend, so it cannot order the work of a consumer's stream after work that a device has
/// not finished, and exports such memory only as follows:
///
/// | memory of | is exported |
/// |---|---|
/// | a device | to a consumer that passes no stream, if it was imported without one |
/// | the host, pinned | to a consumer that passes [`StreamArg::on_host`] or [`StreamArg::work_stream`]; from an `ImportedStorage<T>` also to one that passes no stream |
/// | a device, managed | to none |
///
/// Every other export returns [`Error::NotOrdered`], [`Error::StreamOnHost`], or for a stream of
/// another device [`Error::DeviceMismatch`].
///
/// Device memory that this program exported for a stream or for the host, and
/// [imported](crate::ManagedTensor::import) back, is not exported again: its buffer would
/// free it without waiting for the new consumer. Export the buffer itself for each
/// consumer.
///
/// # Layout
///
/// The storage spans the bytes from the lowest element to the highest, on every device. Offsets,
/// as that of a field `offset`, count from the lowest one, so nothing else is exported of the object
/// behind a handle: an offset of 0 is exported as the `byte_offset` of the lowest element. For a part
/// of the elements, use [`select`](Self::select), [`narrow`](Self::narrow), [`permute`](Self::permute)
/// and [`reverse`](Self::reverse): with a negative stride the lowest element is not the first one.
/// [`layout`](AsLayout::layout) is the layout in which the elements were imported. A description that gives only a shape uses
/// the strides with which the memory was imported, and then must give the shape with which
/// it was imported ([`Error::StridesMissing`]); memory that is contiguous in row-major order
/// can be described in any shape. So a struct that derives
/// [`DLPackImport`](crate::DLPackImport) needs no field for strides. If `T` is an array,
/// such as a pixel, shape and strides count arrays: the axes of an element are not in that
/// layout, and an export adds them, as it does for a `Vec<T>`.
///
/// ```
/// use dlpack_traits::{DLPackExport, Describe, Description, Error, ImportedStorage, Storage};
///
/// struct Samples(Vec<u8>);
///
/// impl DLPackExport for Samples {
///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
///         out.shape(&[2]).strides(&[-1]).byte_offset(1).data(self.0.data())
///     }
/// }
///
/// let any: ImportedStorage = ImportedStorage::new(Samples(vec![1, 2]).into_dlpack()?.import()?)?;
/// let again = any.to_dlpack()?;
/// assert_eq!(again.strides(), [-1]);
/// assert_eq!(again.import()?.elements::<u8>()?.to_vec()?, [2, 1]);
///
/// let bytes: ImportedStorage<u8> = any.clone().typed()?;
/// assert_eq!(bytes.elements()?.to_vec()?, [2, 1]);
/// assert!(any.typed::<f32>().is_err());
/// # Ok::<(), Error>(())
/// ```
pub struct ImportedStorage<T = AnyElement> {
    /// One of several owners, so it is not borrowed mutably while other owners exist.
    tensor: ImportedTensor,
    /// Whether it was made with an element type, and so for use on the host.
    for_host: bool,
    elements: PhantomData<fn() -> T>,
}

/// The element type of an [`ImportedStorage`] whose elements have a type known only at run time.
#[derive(Clone, Copy, Debug)]
pub enum AnyElement {}

/// The element types of an [`ImportedStorage`]: every [`Readable`] type, or [`AnyElement`]. This
/// trait is sealed.
pub trait ImportedElement: sealed::ElementCheck {}

impl<T: sealed::ElementCheck> ImportedElement for T {}

mod sealed {
    use super::ImportedTensor;
    use crate::dtype::DataType;
    use crate::element::RecordType;
    use crate::error::Error;

    /// The requirements that `ImportedStorage::new` checks for a type of elements.
    pub trait ElementCheck: 'static {
        /// The data type that the elements must have; `None` for any.
        const DTYPE: Option<DataType>;
        /// The axes of each element.
        const AXES: &'static [i64];
        /// The data type that messages advise: the same, and for [`As`](super::As) the one that the
        /// elements are converted to.
        const ADVISED: Option<DataType> = Self::DTYPE;
        /// Whether the elements are converted while they are read, so that the memory has others.
        const IS_CONVERTED: bool = false;
        /// The same as a type: [`Stored`](super::Stored) or [`WhileRead`](super::WhileRead).
        type Converted;
        /// The fields, if the elements are records.
        const RECORD: Option<&'static RecordType> = None;

        fn check(tensor: &ImportedTensor) -> Result<(), Error>;
    }
}

impl sealed::ElementCheck for AnyElement {
    type Converted = Stored;
    const DTYPE: Option<DataType> = None;
    const AXES: &'static [i64] = &[];

    fn check(_: &ImportedTensor) -> Result<(), Error> {
        Ok(())
    }
}

impl<T: Number, C: Conversion> sealed::ElementCheck for As<T, C> {
    type Converted = WhileRead;
    const DTYPE: Option<DataType> = None;
    const AXES: &'static [i64] = &[];
    const ADVISED: Option<DataType> = Some(<T as Element>::DTYPE);
    const IS_CONVERTED: bool = true;

    fn check(tensor: &ImportedTensor) -> Result<(), Error> {
        check_as::<T, C>(tensor)
    }
}

impl<T: Readable> sealed::ElementCheck for T {
    type Converted = Stored;
    const DTYPE: Option<DataType> = Some(T::DTYPE);
    const AXES: &'static [i64] = <T as Element>::AXES;
    const RECORD: Option<&'static RecordType> = <T as Element>::RECORD;

    fn check(tensor: &ImportedTensor) -> Result<(), Error> {
        let typed = tensor.typed::<T>()?;
        // The type is checked for memory of the host only, which has addresses.
        check_imported(typed.first, tensor.dtype(), tensor.device())
    }
}

/// The elements are those in memory.
#[derive(Debug)]
pub enum Stored {}

/// The elements are converted while they are read.
#[derive(Debug)]
pub enum WhileRead {}

/// Elements of a type that [`Convert`](crate::python::Convert) can copy to: not [`As`].
#[cfg(feature = "pyo3")]
#[diagnostic::on_unimplemented(
    message = "`Convert` cannot be combined with `As`",
    label = "`As` converts elements while they are read",
    note = "write `Convert<PyTensor<'_, f64>>` in place of `Convert<PyTensor<'_, As<f64>>>`"
)]
pub trait AreStored {}

#[cfg(feature = "pyo3")]
impl AreStored for Stored {}

/// Rejects [`As`] where the memory itself is used.
pub(crate) struct IsStored<T>(PhantomData<T>);

impl<T: ImportedElement> IsStored<T> {
    pub(crate) const OK: () = assert!(
        !T::IS_CONVERTED,
        "`As` is for elements that are read: an argument `PyTensor<'_, As<f32>>`, or `elements_as`; name \
         the type in memory, or use `AnyElement`"
    );
}

impl<T: ImportedElement> ImportedStorage<T> {
    /// Wraps an imported tensor, or an argument of a Python function (`PyTensor`), which is kept.
    ///
    /// # Errors
    ///
    /// For a `T` other than [`AnyElement`]: [`Error::NotOnHost`], [`Error::NotOrdered`] for pinned
    /// memory that was exported for a stream, [`Error::ElementMismatch`],
    /// [`Error::AxesMismatch`] for elements that are arrays, and [`Error::Misaligned`] if an element
    /// is not aligned to the size of one lane, or of one part of a complex number. On an error the
    /// tensor is released.
    #[inline]
    pub fn new(tensor: impl Into<ImportedTensor>) -> Result<Self, Error> {
        let () = IsStored::<T>::OK;
        let tensor = tensor.into();
        T::check(&tensor)?;
        let for_host = T::DTYPE.is_some();
        Ok(Self { tensor, for_host, elements: PhantomData })
    }

    /// A storage of a view of this tensor.
    pub(super) fn with(&self, tensor: ImportedTensor) -> Result<Self, Error> {
        T::check(&tensor)?;
        Ok(Self { tensor, for_host: self.for_host, elements: PhantomData })
    }

    /// The axes of each element that are dimensions of the tensor. There are none if the
    /// array is one element with lanes.
    pub(super) fn axes_in(tensor: &ImportedTensor) -> &'static [i64] {
        if T::DTYPE == Some(tensor.dtype()) { T::AXES } else { &[] }
    }
}

impl<T> ImportedStorage<T> {
    /// Returns another owner without an element type, so that code that takes it is not
    /// generated for each `T`.
    #[inline]
    fn of_any(&self) -> ImportedStorage {
        ImportedStorage {
            tensor: self.tensor.another_owner(),
            for_host: self.for_host,
            elements: PhantomData,
        }
    }

    /// The imported tensor.
    pub fn imported(&self) -> &ImportedTensor {
        &self.tensor
    }

    /// Grants access as `&mut [T]` if this is the only owner: [`ImportedTensor::exclusive`]. A
    /// clone, or an export that is still in use, is another owner.
    ///
    /// # Errors
    ///
    /// [`Error::NotExclusive`] if there is another owner, and those of
    /// [`ImportedTensor::exclusive`].
    pub fn exclusive(&mut self) -> Result<Exclusive<'_>, Error> {
        if self.tensor.is_only_owner() { self.tensor.exclusive() } else { Err(Error::NotExclusive) }
    }

    /// Returns the imported tensor.
    ///
    /// # Errors
    ///
    /// This storage itself, if it is not the only owner.
    pub fn into_tensor(mut self) -> Result<ImportedTensor, Self> {
        if self.tensor.is_only_owner() { Ok(self.tensor) } else { Err(self) }
    }

    /// The elements, read by value, as `T`: [`ImportedTensor::elements`]. Other owners may write
    /// them meanwhile. An `ImportedStorage` without an element type must be converted by
    /// [`typed`](Self::typed) first.
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::elements`]; [`new`](Self::new) has already excluded all of
    /// them.
    pub fn elements(&self) -> Result<Elements<'_, T>, Error>
    where
        T: Readable,
    {
        self.tensor.elements()
    }

    /// The elements, read and written by value, as `T`: [`ImportedTensor::elements_mut`]. Other
    /// owners may read and write them meanwhile.
    ///
    /// This takes `&mut self`, but clones of this storage own the same memory.
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::elements_mut`].
    pub fn elements_mut(&mut self) -> Result<ElementsMut<'_, T>, Error>
    where
        T: Readable,
    {
        self.tensor.elements_mut()
    }

    /// Converts to a storage of the same memory with elements of type `U`.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    pub fn typed<U: ImportedElement>(self) -> Result<ImportedStorage<U>, Error> {
        let () = IsStored::<U>::OK;
        U::check(&self.tensor)?;
        let for_host = self.for_host || U::DTYPE.is_some();
        Ok(ImportedStorage { tensor: self.tensor, for_host, elements: PhantomData })
    }
}

/// Any tensor is a storage of elements whose type is known at run time.
impl From<ImportedTensor> for ImportedStorage {
    fn from(tensor: ImportedTensor) -> Self {
        Self { tensor, for_host: false, elements: PhantomData }
    }
}

impl<T: Readable> From<ImportedStorage<T>> for ImportedStorage {
    fn from(typed: ImportedStorage<T>) -> Self {
        Self { tensor: typed.tensor, for_host: typed.for_host, elements: PhantomData }
    }
}

impl<T: ImportedElement> ImportedStorage<T> {
    /// The element type of the tensor.
    #[inline(always)]
    fn dtype(&self) -> DataType {
        // The check of each constructor compared them. The constant makes the checks of the
        // type constant too (measured: 45 instructions per export).
        match T::DTYPE {
            Some(dtype) if T::AXES.is_empty() => dtype,
            _ => self.tensor.dtype(),
        }
    }

    /// The memory of an [ordinary](ImportedTensor::is_ordinary) tensor of a type that DLPack
    /// defines up to the version of this crate.
    #[inline(always)]
    fn ordinary_memory(&self) -> Option<DataRef<'_>> {
        let is_defined = matches!(T::DTYPE, Some(dtype) if dtype.is_well_formed());
        // The major version is always the current one.
        let minor = self.tensor.version().map_or(0, |version| version.minor);
        if !is_defined && minor > Version::CURRENT.minor {
            return None;
        }
        ordinary_memory_as(&self.tensor, self.dtype())
    }

    /// The memory of any tensor.
    #[cold]
    #[inline(never)]
    fn memory(&self) -> DataRef<'_> {
        let data = memory_as(&self.tensor, self.dtype());
        if self.for_host { data.imported_for_host() } else { data }
    }

    /// [`describe`](DLPackExport::describe), in [`memory`](Self::memory).
    #[cold]
    #[inline(never)]
    fn describe_outlined<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.layout(layout_of(&self.tensor)).data(self.memory())
    }
}

impl<T: ImportedElement> OwnLayout for ImportedStorage<T> {
    fn strided(&self) -> Option<Strided<'_>> {
        let tensor = &self.tensor;
        // A contiguous tensor begins at the first byte of the memory.
        if tensor.is_row_major() {
            return None;
        }
        let rank = tensor.ndim().saturating_sub(Self::axes_in(tensor).len());
        Some(Strided {
            shape: tensor.shape().get(..rank).unwrap_or_default(),
            strides: tensor.strides().get(..rank).unwrap_or_default(),
            byte_offset: byte_offset_of(tensor),
            dtype: tensor.dtype(),
        })
    }
}

impl<T: ImportedElement> Storage for ImportedStorage<T> {
    #[inline(always)]
    fn data(&self) -> DataRef<'_> {
        let data = match self.ordinary_memory() {
            Some(data) => data,
            None => self.memory(),
        };
        let data = data.known_import(self.dtype());
        data.with_axes(Self::axes_in(self.imported())).in_layout_of(self)
    }

    #[inline]
    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(self.of_any())
    }

    #[inline]
    fn record_type(&self) -> Option<&'static RecordType> {
        T::RECORD
    }
}

#[diagnostic::do_not_recommend]
impl<T: ImportedElement> AsLayout for ImportedStorage<T> {
    #[inline(always)]
    fn layout(&self) -> Layout<'_> {
        let axes = Self::axes_in(&self.tensor);
        if axes.is_empty() { layout_of(&self.tensor) } else { layout_of_arrays(&self.tensor, axes) }
    }
}

impl<T: ImportedElement> DLPackExport for ImportedStorage<T> {
    #[inline(always)]
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        if let Some(memory) = self.ordinary_memory() {
            return out.layout(layout_of(&self.tensor)).data(memory);
        }
        // Moved, so that the call does not force the result above into memory.
        let description = self.describe_outlined(out)?;
        Ok(description)
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(self)
    }

    /// Exports another owner of the same memory, which describes it once. The default would
    /// describe it twice, as this tensor and as the memory of its storage (525 instructions instead
    /// of 356).
    #[inline]
    fn to_dlpack_on(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        export_owned(self.clone(), consumer)
    }
}

impl<T> Clone for ImportedStorage<T> {
    /// Returns another owner of the same memory.
    fn clone(&self) -> Self {
        let tensor = self.tensor.another_owner();
        Self { tensor, for_host: self.for_host, elements: PhantomData }
    }
}

impl<T> fmt::Debug for ImportedStorage<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ImportedStorage").field(&self.tensor).finish()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::{Lossy, OwnedTensor};

    /// An argument that is converted while it is read is checked so.
    #[test]
    fn elements_that_are_converted_have_a_type_whose_values_are_kept() {
        fn check<T: ImportedElement>(tensor: &ImportedTensor) -> Result<(), Error> {
            T::check(tensor)
        }
        let tensor = OwnedTensor::from_vec(vec![1_i32]).into_dlpack().unwrap().import().unwrap();
        let (requested, found) = (DataType::F32, DataType::I32);
        let mismatch = Err(Error::ElementMismatch { requested, found });
        assert_eq!(check::<As<f32>>(&tensor), mismatch);
        assert_eq!(check::<f32>(&tensor), mismatch);
        for fits in [check::<As<f64>>, check::<As<f32, Lossy>>, check::<i32>] {
            assert_eq!(fits(&tensor), Ok(()));
        }
    }
}
