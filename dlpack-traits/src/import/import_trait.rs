//! The trait for types that are built from tensors ([`DLPackImport`]), and those for the types of their
//! `data` field: foreign memory ([`ImportStorage`]), or a copy of the elements ([`FromElements`]).
//!
//! Two traits for `data`, because one trait for foreign memory and for copies would copy where the
//! user did not request it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::{
    ElementCopy, ImportError, ImportedElement, ImportedStorage, ImportedTensor, Mismatch,
    MismatchKind,
};
use crate::dtype::DataType;
use crate::element::{AnyBits, Readable};
use crate::error::Error;
use crate::storage::{SharedBuffer, try_arc, try_arc_from, try_arc_slice, try_box};

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

/// A `data` field that can own the memory of another library, zero-copy: [`ImportedStorage`], with
/// or without an element type, and `Arc` and `Box` of such types.
///
/// For an enum of storages with a variant for imported memory, `derive(Storage)` generates
/// the implementation from `#[dlpack(import)]` on that variant.
///
/// ```
/// use dlpack_traits::{Error, ImportedStorage, ImportStorage, ImportedTensor, MismatchKind};
///
/// /// Samples in our own memory or in foreign memory.
/// enum Samples {
///     Own(Vec<f32>),
///     Foreign(ImportedStorage<f32>),
/// }
///
/// impl ImportStorage for Samples {
///     fn accepts(tensor: &ImportedTensor) -> Result<(), MismatchKind> {
///         ImportedStorage::<f32>::accepts(tensor)
///     }
///
///     fn from_imported(tensor: ImportedTensor) -> Result<Self, Error> {
///         Ok(Self::Foreign(ImportedStorage::new(tensor)?))
///     }
/// }
/// # let _ = Samples::Own(Vec::new());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the memory of an imported tensor",
    label = "not an `ImportStorage`",
    note = "use `ImportedStorage<T>`, which holds it without a copy, or add `#[dlpack(copy)]` above the field to copy the elements",
    note = "an enum of storages with a variant for imported memory derives `Storage` with `#[dlpack(import)]` on that variant"
)]
pub trait ImportStorage: Sized {
    /// Checks whether this type can hold the elements. The tensor is only read.
    ///
    /// # Errors
    ///
    /// The requirement that the tensor does not meet.
    fn accepts(tensor: &ImportedTensor) -> Result<(), MismatchKind>;

    /// The axes of each element, if the elements of an accepted tensor are held as arrays:
    /// for an `ImportedStorage<T>`, [`Element::AXES`](crate::Element::AXES). They are the last
    /// dimensions of the tensor, and a struct with this `data` does not count them in its
    /// shape, just as with a `Vec<T>`.
    ///
    /// A type that contains an `ImportedStorage<T>` forwards this. By default there are none.
    fn axes(tensor: &ImportedTensor) -> &'static [i64] {
        let _ = tensor;
        &[]
    }

    /// Whether [`Storage::data`](crate::Storage::data) lends the memory of an accepted tensor
    /// with its strides, as an [`ImportedStorage`] does. A struct without a field for strides
    /// then accepts tensors that are not contiguous.
    ///
    /// A type that contains an `ImportedStorage<T>` and returns its `data()` forwards this. By
    /// default it is `false`.
    fn keeps_strides(tensor: &ImportedTensor) -> bool {
        let _ = tensor;
        false
    }

    /// Takes ownership of an accepted tensor.
    ///
    /// # Errors
    ///
    /// The reason why this type cannot hold the tensor, which is then released.
    fn from_imported(tensor: ImportedTensor) -> Result<Self, Error>;
}

impl<T: ImportedElement> ImportStorage for ImportedStorage<T> {
    fn accepts(tensor: &ImportedTensor) -> Result<(), MismatchKind> {
        match T::DTYPE {
            Some(dtype) => elements_are(tensor, dtype),
            None => Ok(()),
        }
    }

    fn axes(tensor: &ImportedTensor) -> &'static [i64] {
        ImportedStorage::<T>::axes_in(tensor)
    }

    fn keeps_strides(_: &ImportedTensor) -> bool {
        true
    }

    fn from_imported(tensor: ImportedTensor) -> Result<Self, Error> {
        ImportedStorage::new(tensor)
    }
}

/// A pointer to a type that can hold the memory, or a copy of the elements, can hold it.
macro_rules! through_pointers {
    ($($pointer:ident: $try_new:ident),+) => {$(
        impl<S: ImportStorage> ImportStorage for $pointer<S> {
            fn accepts(tensor: &ImportedTensor) -> Result<(), MismatchKind> {
                S::accepts(tensor)
            }

            fn axes(tensor: &ImportedTensor) -> &'static [i64] {
                S::axes(tensor)
            }

            fn keeps_strides(tensor: &ImportedTensor) -> bool {
                S::keeps_strides(tensor)
            }

            fn from_imported(tensor: ImportedTensor) -> Result<Self, Error> {
                S::from_imported(tensor).map($pointer::new)
            }
        }

        impl<S: FromElements> FromElements for $pointer<S> {
            type Element = S::Element;

            const LEN: Option<usize> = S::LEN;

            fn from_elements(elements: Vec<S::Element>) -> Result<Self, Error> {
                $try_new(S::from_elements(elements)?)
            }

            fn from_copy(copy: &ElementCopy<'_, S::Element>) -> Result<Self, Error> {
                $try_new(S::from_copy(copy)?)
            }
        }
    )+};
}

through_pointers!(Arc: try_arc, Box: try_box);

/// A `data` field that can be filled with a copy of the elements, for `#[dlpack(copy)]`.
///
/// ```
/// use dlpack_traits::{Error, FromElements};
///
/// struct Samples(std::collections::VecDeque<f32>);
///
/// impl FromElements for Samples {
///     type Element = f32;
///
///     fn from_elements(elements: Vec<f32>) -> Result<Self, Error> {
///         Ok(Self(elements.into()))
///     }
/// }
/// # let _ = Samples::from_elements(Vec::new()).map(|samples| samples.0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be filled with a copy of elements",
    label = "not a `FromElements`",
    note = "use `Vec<T>`, `Box<[T]>`, `Arc<[T]>`, `[T; N]` or `SharedBuffer<T>`, or implement `dlpack_traits::FromElements`",
    note = "`ImportedStorage<T>` needs no copy: remove `copy`"
)]
pub trait FromElements: Sized {
    /// The type of the elements.
    type Element: Readable;

    /// The number of elements, if the type fixes it.
    const LEN: Option<usize> = None;

    /// Takes these elements. There are [`LEN`](Self::LEN) of them, if `LEN` is not `None`.
    ///
    /// # Errors
    ///
    /// For example [`Error::OutOfMemory`].
    fn from_elements(elements: Vec<Self::Element>) -> Result<Self, Error>;

    /// Copies elements to the memory of the value, in place of a vector that `from_elements` copies
    /// again.
    #[doc(hidden)]
    fn from_copy(copy: &ElementCopy<'_, Self::Element>) -> Result<Self, Error> {
        Self::from_elements(copy.to_vec()?)
    }
}

impl<T: Readable> FromElements for Vec<T> {
    type Element = T;

    fn from_elements(elements: Vec<T>) -> Result<Self, Error> {
        Ok(elements)
    }
}

impl<T: Readable> FromElements for Box<[T]> {
    type Element = T;

    fn from_elements(elements: Vec<T>) -> Result<Self, Error> {
        Ok(elements.into_boxed_slice())
    }
}

impl<T: Readable> FromElements for Arc<[T]> {
    type Element = T;

    fn from_elements(elements: Vec<T>) -> Result<Self, Error> {
        try_arc_from(elements)
    }

    fn from_copy(copy: &ElementCopy<'_, T>) -> Result<Self, Error> {
        let mut place = try_arc_slice(copy.len())?;
        let to = Arc::get_mut(&mut place).unwrap_or_default();
        let found = copy.write(to)?;
        if found != place.len() {
            return Err(Error::LenMismatch { needed: place.len(), found });
        }
        // SAFETY: `write` wrote that many elements to the new memory: all of it.
        Ok(unsafe { place.assume_init() })
    }
}

impl<T: AnyBits> FromElements for SharedBuffer<T> {
    type Element = T;

    fn from_elements(elements: Vec<T>) -> Result<Self, Error> {
        SharedBuffer::from_slice(&elements)
    }

    fn from_copy(copy: &ElementCopy<'_, T>) -> Result<Self, Error> {
        SharedBuffer::filled(copy.byte_len(), |to| copy.write_bytes(to))
    }
}

impl<T: Readable, const N: usize> FromElements for [T; N] {
    type Element = T;

    const LEN: Option<usize> = Some(N);

    fn from_elements(elements: Vec<T>) -> Result<Self, Error> {
        elements.try_into().map_err(|_| WRONG_LEN)
    }
}

/// The error of an array that receives another number of elements.
const WRONG_LEN: Error = Error::Custom("an array holds as many elements as it has room for");

/// Checks that the elements are of that type, in memory that the processor can read.
#[inline]
pub(crate) fn elements_are(tensor: &ImportedTensor, dtype: DataType) -> Result<(), MismatchKind> {
    on_host(tensor)?;
    let found = tensor.dtype();
    if found == dtype { Ok(()) } else { Err(MismatchKind::DType { needed: vec![dtype], found }) }
}

/// Checks that the processor can read the memory.
#[inline]
pub(crate) fn on_host(tensor: &ImportedTensor) -> Result<(), MismatchKind> {
    let found = tensor.device();
    if found.is_host() { Ok(()) } else { Err(MismatchKind::Device { needed: Vec::new(), found }) }
}
