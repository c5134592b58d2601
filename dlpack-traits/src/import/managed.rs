//! Imported tensors from and to managed tensors, which are C structs with a deleter:
//! [`ManagedTensor::import`], [`ImportedTensor::into_raw`].

use super::ImportedTensor;
use super::imported_storage::ImportedStorage;
use crate::error::Error;
use crate::export::DLPackExport;
use crate::managed::{Abi, ManagedTensor};

impl<A: Abi> ManagedTensor<A> {
    /// Imports the tensor, as a consumer does: the elements can be read, written if they
    /// were lent for writing, and exported again.
    ///
    /// The tensor has not left this crate, so this crate stores how its memory was lent and
    /// who else may access it: no one writes memory that was lent from a `&[T]`
    /// ([`ImportedTensor::frozen`]), no one else accesses memory that was lent from a `&mut [T]`
    /// ([`ImportedTensor::exclusive`]), and all owners of a [`SharedBuffer`](crate::SharedBuffer)
    /// may write it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
    ///
    /// struct Samples(Arc<[f32]>);
    ///
    /// impl DLPackExport for Samples {
    ///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    ///         out.shape(&[2]).data(self.0.data())
    ///     }
    ///
    ///     fn storage(&self) -> Option<&dyn Storage> {
    ///         Some(&self.0)
    ///     }
    /// }
    ///
    /// let samples = Samples(Arc::from([1.5, 2.5]));
    /// let tensor = samples.to_dlpack()?.import()?;
    /// assert_eq!(tensor.frozen()?.as_slice::<f32>()?, [1.5, 2.5]);
    ///
    /// // A copy has one owner.
    /// let mut copy = samples.copy_to_dlpack()?.import()?;
    /// copy.exclusive()?.as_mut_slice::<f32>()?[0] = 0.5;
    /// assert_eq!(copy.elements::<f32>()?.to_vec()?, [0.5, 2.5]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn import(self) -> Result<ImportedTensor, Error> {
        let (access, synchronized) = (self.access(), self.synchronized());
        // SAFETY:
        // 1. to 3. By 1 and 2 of the private `from_raw` this crate wrote the struct, and
        //    `self` owned it.
        // 4. The struct describes checked memory, which its owner lends until the deleter
        //    is called. Host storages lend memory that is ready, unless a device writes it;
        //    for that memory `synchronized` stores the consumer.
        // 5. Guaranteed by 3 of the private `from_raw`.
        // 6. Guaranteed by 5 of the private `from_raw`.
        unsafe { ImportedTensor::from_own(self.into_raw(), access, synchronized) }
    }
}

impl ImportedTensor {
    /// Returns the C struct, unchanged, to the caller, who then has to call its deleter. If
    /// [`version`](Self::version) is `None`, it is the legacy struct.
    ///
    /// A tensor that was read from an array of NumPy
    /// ([`python::from_dlpack`](crate::python::from_dlpack)), and a view
    /// ([`select`](Self::select)), have no struct. They get a versioned one, in a new allocation, which is READ_ONLY also if elements share memory, as in every
    /// export of this crate.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
    /// # struct Samples(Vec<f32>);
    /// # impl DLPackExport for Samples {
    /// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    /// #         out.shape(&[2]).data(self.0.data())
    /// #     }
    /// # }
    /// use dlpack_traits::{ImportedTensor, ffi};
    ///
    /// let tensor = Samples(vec![1.0, 2.0]).into_dlpack()?.import()?;
    /// let tensor = tensor.into_raw::<ffi::DLManagedTensor>().unwrap_err();
    /// let managed = tensor.into_raw::<ffi::DLManagedTensorVersioned>().unwrap();
    /// # // SAFETY: the struct is valid, and ours.
    /// # drop(unsafe { ImportedTensor::from_raw(managed)? });
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The tensor itself, if its struct is of the other type, or if a new one cannot be made: without
    /// memory, or for device memory that an [`ImportedStorage`] does not export.
    #[must_use = "the tensor leaks unless its deleter is called"]
    #[inline]
    pub fn into_raw<A: Abi>(self) -> Result<*mut A, Self> {
        match self.release().and_then(A::of) {
            Some(managed) => {
                self.forget_release();
                Ok(managed.as_ptr())
            }
            None if self.has_no_struct() => self.into_new_struct(),
            None => Err(self),
        }
    }

    /// Whether the tensor is a view, or was read from an object without a struct.
    #[inline]
    fn has_no_struct(&self) -> bool {
        match self.release() {
            None => true,
            #[cfg(feature = "pyo3")]
            Some(release) => release.is_of_owner(),
            #[cfg(not(feature = "pyo3"))]
            Some(_) => false,
        }
    }

    /// Exports a tensor that has no struct, if `A` is the versioned one.
    #[cold]
    fn into_new_struct<A: Abi>(self) -> Result<*mut A, Self> {
        if A::VERSION.is_none() {
            return Err(self);
        }
        let storage: Result<ImportedStorage, _> = ImportedStorage::new(self.another_owner());
        match storage.and_then(DLPackExport::into_dlpack) {
            Ok(managed) => Ok(managed.into_raw().cast()),
            Err(_) => Err(self),
        }
    }
}
