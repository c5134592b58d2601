//! Defines the objects that an exchange table exports: [`ObjectHost`].

use alloc::boxed::Box;
use core::ffi::{CStr, c_void};
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr;

use crate::error::Error;
use crate::export::{DLPackExport, export_shared};
use crate::import::ImportError;
use crate::managed::{ManagedTensor, RawManaged, Release};
use crate::stream_arg::StreamArg;

/// The reason why a function of the table fails.
#[derive(Debug)]
#[non_exhaustive]
pub enum TableError<E> {
    /// The tensor is not valid, or cannot be exported.
    Tensor(Error),
    /// The value could not be built from the tensor.
    Import(ImportError),
    /// The host failed: the object is not of the class or is in use, or a new object
    /// could not be allocated.
    Host(E),
    /// The code of the class panicked.
    Panicked,
    /// An argument of the function is NULL.
    NullArgument {
        /// The argument's name in the header.
        name: &'static str,
    },
    /// The class does not support creating objects from tensors.
    NotImportable,
    /// A borrowed tensor of read-only memory was requested; a `DLTensor` has no flag for
    /// it.
    ReadOnlyView,
    /// A borrowed tensor of padded elements narrower than a byte was requested; a
    /// `DLTensor` has no flag for it.
    PaddedView,
    /// A borrowed tensor was requested, but its computed shape or strides cannot be
    /// stored so that they outlive the call.
    NoPlaceForDims,
}

impl<E> TableError<E> {
    /// Returns the name of the corresponding Python exception: `"BufferError"` if a
    /// tensor cannot be exported or imported, `"MemoryError"`, `"ValueError"`,
    /// `"RuntimeError"`. An allocator passes it to `SetError`.
    ///
    /// ```
    /// use dlpack_traits::Error;
    /// use dlpack_traits::exchange::TableError;
    ///
    /// let fault = TableError::<()>::from(Error::OutOfMemory { bytes: 8 });
    /// assert_eq!(fault.kind(), c"MemoryError");
    /// ```
    pub fn kind(&self) -> &'static CStr {
        match self {
            Self::Tensor(Error::OutOfMemory { .. })
            | Self::Import(ImportError::Tensor(Error::OutOfMemory { .. })) => c"MemoryError",
            Self::Tensor(Error::StreamOnHost)
            | Self::Import(ImportError::Rejected(_))
            | Self::NullArgument { .. } => c"ValueError",
            Self::Host(_) | Self::Panicked => c"RuntimeError",
            _ => c"BufferError",
        }
    }
}

/// Sets the result of a table function to NULL, before it is computed.
#[inline]
pub(super) fn cleared<R, E>(
    out: Option<&mut MaybeUninit<*mut R>>,
) -> Result<&mut *mut R, TableError<E>> {
    // Not `ok_or`: it would construct the fault on every call, and dropping it is a
    // function call.
    let Some(out) = out else {
        return Err(TableError::NullArgument { name: "out" });
    };
    Ok(out.write(ptr::null_mut()))
}

impl<E> From<Error> for TableError<E> {
    fn from(error: Error) -> Self {
        Self::Tensor(error)
    }
}

impl<E> From<ImportError> for TableError<E> {
    fn from(error: ImportError) -> Self {
        Self::Import(error)
    }
}

impl<E: fmt::Display> fmt::Display for TableError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(error) => error.fmt(f),
            Self::Import(error) => error.fmt(f),
            Self::Host(error) => error.fmt(f),
            Self::Panicked => f.write_str("the Rust code that describes this tensor panicked"),
            Self::NullArgument { name } => write!(f, "`{name}` is NULL"),
            Self::NotImportable => f.write_str(
                "the class only exports tensors; no object of it can be made of one; add a Python \
                 class with `python::class::<T>().importable()` for that",
            ),
            Self::ReadOnlyView => f.write_str(
                "the tensor is read-only, which a borrowed `DLTensor` cannot express; take a \
                 managed tensor",
            ),
            Self::PaddedView => f.write_str(
                "elements narrower than a byte are padded, which a borrowed `DLTensor` cannot \
                 express; take a managed tensor",
            ),
            Self::NoPlaceForDims => f.write_str(
                "shape or strides are computed, and there is no place left where they would \
                 outlive the call; take a managed tensor, or store both as `i64`, `isize` or \
                 `usize`",
            ),
        }
    }
}

/// A runtime whose objects may hold a `T`: Python, or a C++ program.
///
/// ```
/// use core::ffi::c_void;
/// use dlpack_traits::exchange::{self, TableError, ObjectHost, NotImportable};
/// use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage, backend::Cpu};
///
/// struct Samples(Vec<f32>);
///
/// impl DLPackExport for Samples {
///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
///         out.shape(&[2]).data(self.0.data())
///     }
/// }
///
/// /// Objects are pointers to `Samples`, which are never changed.
/// struct Pointers;
///
/// // SAFETY: 1. and 2. An object is its value, and no `&mut` to one is ever
/// // made. 3. `READ_ONLY_VIEWS` is false.
/// unsafe impl ObjectHost<Samples> for Pointers {
///     type Error = &'static str;
///
///     unsafe fn with<R>(
///         object: *mut c_void,
///         run: impl FnOnce(&Samples) -> Result<R, TableError<&'static str>>,
///     ) -> Result<R, TableError<&'static str>> {
///         // SAFETY: by 1 `object` is a living object of this host.
///         run(unsafe { &*object.cast::<Samples>() })
///     }
///
///     unsafe fn view<R>(
///         object: *mut c_void,
///         run: impl FnOnce(&Samples) -> Result<R, TableError<&'static str>>,
///     ) -> Result<R, TableError<&'static str>> {
///         // SAFETY: 1: guaranteed by our caller's 1.
///         unsafe { Self::with(object, run) }
///     }
///
///     unsafe fn raise(fault: TableError<&'static str>) {
///         eprintln!("{fault}");
///     }
/// }
///
/// let table = exchange::table::<Samples, Pointers, Cpu, NotImportable>();
/// assert_eq!((table.header.version.major, table.header.version.minor), (1, 3));
/// ```
///
/// # Safety
///
/// Implementations promise that
///
/// 1. [`with`](Self::with) calls `run` with the `T` of that very object, or fails; no one
///    has it by `&mut` meanwhile.
/// 2. [`view`](Self::view) calls `run` with the `T` of that very object, or fails; until
///    the object dies, no one has it by `&mut`, and it does not move.
/// 3. If [`READ_ONLY_VIEWS`](Self::READ_ONLY_VIEWS) is true, no one writes to elements
///    through a borrowed tensor of an object whose memory must not be written.
pub unsafe trait ObjectHost<T: DLPackExport>: 'static {
    /// The errors of the host itself.
    type Error;

    /// Whether borrowed tensors of read-only memory are exported. A managed tensor has a
    /// READ_ONLY flag; a `DLTensor` has no flags.
    const READ_ONLY_VIEWS: bool = false;

    /// Calls `run` with the value of an object, borrowed for the call.
    ///
    /// # Errors
    ///
    /// If the object is not of the class, or is in use; and those of `run`.
    ///
    /// # Safety
    ///
    /// 1. The table's contract: `object` is an object of the host that stays alive for the
    ///    call, and the calling thread may use it.
    unsafe fn with<R>(
        object: *mut c_void,
        run: impl FnOnce(&T) -> Result<R, TableError<Self::Error>>,
    ) -> Result<R, TableError<Self::Error>>;

    /// Calls `run` with the value of an object. The value does not move or change for as
    /// long as the object lives.
    ///
    /// # Errors
    ///
    /// As for [`with`](Self::with), and if objects of the class can change.
    ///
    /// # Safety
    ///
    /// 1. As for [`with`](Self::with).
    unsafe fn view<R>(
        object: *mut c_void,
        run: impl FnOnce(&T) -> Result<R, TableError<Self::Error>>,
    ) -> Result<R, TableError<Self::Error>>;

    /// Exports the tensor of an object, which stays usable. The default is
    /// [`to_dlpack`](DLPackExport::to_dlpack), synchronized with the work stream of the
    /// consumer.
    ///
    /// # Errors
    ///
    /// As for [`with`](Self::with), and those of the export.
    ///
    /// # Safety
    ///
    /// 1. As for [`with`](Self::with).
    unsafe fn export(object: *mut c_void) -> Result<ManagedTensor, TableError<Self::Error>> {
        let share = |value: &T| Ok(export_shared(value, StreamArg::work_stream())?);
        // SAFETY: 1 (`object` is alive, this thread may use it): guaranteed by our
        // caller's 1.
        unsafe { Self::with(object, share) }
    }

    /// Exports like [`export`](Self::export). The result is in two registers.
    ///
    /// # Errors
    ///
    /// As for [`export`](Self::export).
    ///
    /// # Safety
    ///
    /// 1. As for [`with`](Self::with).
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn export_raw(object: *mut c_void) -> Result<RawManaged, Box<TableError<Self::Error>>> {
        // SAFETY: 1 (`object` is alive, this thread may use it): guaranteed by our
        // caller's 1.
        unsafe { Self::export(object) }.map(RawManaged::from).map_err(Box::new)
    }

    /// Reports an error to the caller of the table: Python's host sets an exception.
    ///
    /// # Safety
    ///
    /// 1. The calling thread may use the host.
    unsafe fn raise(fault: TableError<Self::Error>);
}

/// An [`ObjectHost`] that can create objects from values.
///
/// # Safety
///
/// Implementations promise that
///
/// 1. [`wrap`](Self::wrap) returns a living object of the host, to which the
///    caller owns one reference.
pub unsafe trait Wrap<T: DLPackExport>: ObjectHost<T> {
    /// The function that receives the deleters of the tensors that objects are made from, if
    /// the host needs one. It may be called on any thread. Python's host sets a pending exception
    /// aside while it drops the [`Release`], or leaves that to a thread that is attached.
    const DELETERS: Option<fn(Release)> = None;

    /// Creates an object from a value.
    ///
    /// # Errors
    ///
    /// If the object cannot be allocated.
    ///
    /// # Safety
    ///
    /// 1. The calling thread may use the host.
    unsafe fn wrap(value: T) -> Result<*mut c_void, TableError<Self::Error>>;
}
