//! The trait for types that are built from tensors: [`DLPackImport`].

use super::{
    ImportError, ImportStorage, ImportedElement, ImportedStorage, ImportedTensor, Mismatch,
};

/// A type that can be built from a tensor that another library made.
///
/// Usually `derive(DLPackImport)` generates the implementation. An implementation by hand
/// needs no `unsafe`: the tensor has been validated, and [`ImportedStorage`] owns its memory
/// without a copy.
///
/// ```
/// use dlpack_traits::{DLPackImport, ImportedStorage, ImportError, ImportedTensor};
///
/// struct Samples {
///     data: ImportedStorage<f32>,
///     channels: usize,
/// }
///
/// impl DLPackImport for Samples {
///     fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
///         let &[channels, _] = tensor.shape() else {
///             return Err(ImportError::rejected("samples have two dimensions"));
///         };
///         let channels = usize::try_from(channels).map_err(ImportError::rejected)?;
///         Ok(Self { data: ImportedStorage::new(tensor)?, channels })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be built from a DLPack tensor",
    note = "add `#[derive(DLPackImport)]` to `{Self}`, or implement `dlpack_traits::DLPackImport`",
    note = "if it is another crate's, write `impl DLPackImport` for a struct that holds it, with a copy by `tensor.elements::<T>()?.to_vec()?` and `tensor.shape_usize()`; or hold an `ImportedStorage<T>` in its place, which keeps the shape; an `Array` of `ndarray` needs the feature for its version, such as `ndarray_0_16`"
)]
pub trait DLPackImport: Sized {
    /// Whether [`from_dlpack`](Self::from_dlpack) copies the elements. A Python class
    /// documents this in its help, and raises `BufferError` for `copy=False` if the import
    /// copies.
    ///
    /// An implementation by hand that copies must set it; the derive sets it.
    const COPIES: Copies = Copies::Never;

    /// Whether [`from_dlpack`](Self::from_dlpack) copies the elements of this tensor. If
    /// [`COPIES`](Self::COPIES) is [`Copies::Sometimes`], an implementation must override
    /// this.
    fn copies(tensor: &ImportedTensor) -> bool {
        let _ = tensor;
        matches!(Self::COPIES, Copies::Always)
    }

    /// Checks whether the tensor meets the requirements of this type: element type, device,
    /// rank, fixed dimensions, contiguity, numbers that fit in the fields. A derived
    /// [`from_dlpack`](Self::from_dlpack) of an accepted tensor fails only for invalid elements,
    /// for lack of memory, and in functions of the user. An enum imports into the first variant that
    /// accepts the tensor. By default every tensor is accepted, and only
    /// [`from_dlpack`](Self::from_dlpack) rejects.
    ///
    /// # Errors
    ///
    /// For example [`ImportError::Mismatch`].
    fn accepts(tensor: &ImportedTensor) -> Result<(), ImportError> {
        let _ = tensor;
        Ok(())
    }

    /// Builds the value. This function owns the tensor: unless the value keeps it, it is
    /// released.
    ///
    /// # Errors
    ///
    /// The reason why the tensor cannot become a value of this type. The tensor is
    /// released.
    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError>;
}

/// Whether an import uses the memory of the tensor or a copy of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// The value owns the memory of the tensor (zero-copy).
    Never,
    /// The value owns a copy of the elements.
    Always,
    /// The type is an enum, and some of its variants copy.
    Sometimes,
}

impl DLPackImport for ImportedTensor {
    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        Ok(tensor)
    }
}

impl<T: ImportedElement> DLPackImport for ImportedStorage<T> {
    fn accepts(tensor: &ImportedTensor) -> Result<(), ImportError> {
        let unmet = <Self as ImportStorage>::accepts(tensor);
        unmet.map_err(|unmet| Mismatch::new("ImportedStorage", unmet).into())
    }

    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        Ok(ImportedStorage::new(tensor)?)
    }
}
