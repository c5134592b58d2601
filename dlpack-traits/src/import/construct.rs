//! Values of a type from tensors: [`DLPackImport`].

use super::{Foreign, ForeignElement, ImportError, ImportStorage, Imported, Requirement};

/// A type that can be built from a tensor that another library made.
///
/// Usually the derive of the same name writes the implementation. By hand it
/// takes no `unsafe`: the tensor is checked when it comes, and
/// [`Foreign`] holds its memory without a copy.
///
/// ```
/// use dlpack_traits::{DLPackImport, Foreign, ImportError, Imported};
///
/// struct Samples {
///     data: Foreign<f32>,
///     channels: usize,
/// }
///
/// impl DLPackImport for Samples {
///     fn from_dlpack(tensor: Imported) -> Result<Self, ImportError> {
///         let &[channels, _] = tensor.shape() else {
///             return Err(ImportError::rejected("samples have two dimensions"));
///         };
///         let channels = usize::try_from(channels).map_err(ImportError::rejected)?;
///         Ok(Self { data: Foreign::new(tensor)?, channels })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be built from a DLPack tensor",
    note = "add `#[derive(DLPackImport)]` to `{Self}`, or implement `dlpack_traits::DLPackImport`",
    note = "if it is another crate's, write `impl DLPackImport` for a struct that holds it, with a copy by `tensor.elements::<T>()?.to_vec()?`; or hold a `Foreign<T>` in its place"
)]
pub trait DLPackImport: Sized {
    /// Whether [`from_dlpack`](Self::from_dlpack) copies the elements. A Python class says
    /// so in its help, and raises `BufferError` for `copy=False` where it copies.
    ///
    /// An implementation by hand that copies sets it; the derive knows.
    const COPIES: Copies = Copies::Never;

    /// Whether [`from_dlpack`](Self::from_dlpack) copies the elements of this tensor.
    /// Where [`COPIES`](Self::COPIES) is [`Copies::Sometimes`], an implementation decides.
    fn copies(tensor: &Imported) -> bool {
        let _ = tensor;
        matches!(Self::COPIES, Copies::Always)
    }

    /// Whether the tensor is such as this type needs: element type, device,
    /// rank, fixed dimensions, compactness. An enum imports into the first
    /// variant that accepts. By default every tensor is accepted, and
    /// [`from_dlpack`](Self::from_dlpack) alone decides.
    ///
    /// # Errors
    ///
    /// [`ImportError::Requirement`], for one.
    fn accepts(tensor: &Imported) -> Result<(), ImportError> {
        let _ = tensor;
        Ok(())
    }

    /// Builds the value. It owns the tensor: what it does not keep, it releases.
    ///
    /// # Errors
    ///
    /// Whatever makes the tensor no value of this type. It is then released.
    fn from_dlpack(tensor: Imported) -> Result<Self, ImportError>;
}

/// Whether a type is made of the elements of a tensor or of a copy of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// The value holds the memory of the tensor.
    Never,
    /// The value holds a copy of the elements.
    Always,
    /// An enum, some of whose variants hold a copy.
    Sometimes,
}

impl DLPackImport for Imported {
    fn from_dlpack(tensor: Imported) -> Result<Self, ImportError> {
        Ok(tensor)
    }
}

impl<T: ForeignElement> DLPackImport for Foreign<T> {
    fn accepts(tensor: &Imported) -> Result<(), ImportError> {
        let unmet = <Self as ImportStorage>::accepts(tensor);
        unmet.map_err(|unmet| Requirement::new("Foreign", unmet).into())
    }

    fn from_dlpack(tensor: Imported) -> Result<Self, ImportError> {
        Ok(Foreign::new(tensor)?)
    }
}
