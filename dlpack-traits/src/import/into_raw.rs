//! Gives an imported tensor to a consumer in C: [`ImportedTensor::into_raw`].

use super::ImportedTensor;
use super::imported_storage::ImportedStorage;
use crate::export::DLPackExport;
use crate::managed::Abi;

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
    /// memory, or for device memory that an [`ImportedStorage`](crate::ImportedStorage) does not export.
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
