//! The import of a tensor that this crate exported: [`ManagedTensor::import`].

use super::ImportedTensor;
use crate::error::Error;
use crate::ffi;
use crate::managed::{Abi, ManagedTensor};
use crate::stream::ConsumerPlace;

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
    /// Checks that the processor can read the elements, and that they are ready for it:
    /// memory that a device writes may have been synchronized with a stream only.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::NoBackend`].
    #[inline]
    pub(super) fn on_host(&self) -> Result<(), Error> {
        let device = self.device();
        // Nearly all memory. First, so that later tests of the device are known too (measured: 4
        // instructions per `ImportedStorage`).
        if device.device_type() == ffi::kDLCPU {
            return Ok(());
        }
        if !device.is_host() {
            return Err(Error::NotOnHost { device });
        }
        if device.is_read_by_host() && self.synchronized() == ConsumerPlace::Stream {
            return Err(Error::NoBackend { device });
        }
        Ok(())
    }
}
