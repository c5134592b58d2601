//! Gives an imported tensor to a consumer in C: [`ImportedTensor::into_raw`].

use super::ImportedTensor;
#[cfg(feature = "pyo3")]
use super::imported_storage::ImportedStorage;
#[cfg(feature = "pyo3")]
use crate::export::DLPackExport;
use crate::managed::Abi;

impl ImportedTensor {
    /// Returns the C struct, unchanged, to the caller, who then has to call its deleter. If
    /// [`version`](Self::version) is `None`, it is the legacy struct.
    ///
    /// A tensor that was read from an array of NumPy
    /// ([`python::from_dlpack`](crate::python::from_dlpack)) has no struct. It gets a versioned
    /// one, in a new allocation, which is READ_ONLY also if elements share memory, as in every
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
    /// The tensor itself, if its struct is of the other type, or if a new one cannot be
    /// allocated.
    #[must_use = "the tensor leaks unless its deleter is called"]
    #[inline]
    pub fn into_raw<A: Abi>(self) -> Result<*mut A, Self> {
        match A::of(self.release()) {
            Some(managed) => {
                self.forget_release();
                Ok(managed.as_ptr())
            }
            #[cfg(feature = "pyo3")]
            None if self.release().is_of_owner() => self.into_new_struct(),
            None => Err(self),
        }
    }

    /// Exports a tensor that has no struct, if `A` is the versioned one.
    #[cfg(feature = "pyo3")]
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
