//! Whose objects a table is about: [`Host`].

use core::ffi::c_void;
use core::fmt;

use crate::error::Error;
use crate::import::ImportError;
use crate::managed::ManagedTensor;

/// Why a function of the table fails.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault<E> {
    /// The tensor.
    Tensor(Error),
    /// The value that was to be built from it.
    Import(ImportError),
    /// The host: no object of the class, an object that is in use, no memory
    /// for a new one.
    Host(E),
    /// The code of the class panicked.
    Panicked,
}

impl<E> From<Error> for Fault<E> {
    fn from(error: Error) -> Self {
        Self::Tensor(error)
    }
}

impl<E> From<ImportError> for Fault<E> {
    fn from(error: ImportError) -> Self {
        Self::Import(error)
    }
}

impl<E: fmt::Display> fmt::Display for Fault<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(error) => error.fmt(f),
            Self::Import(error) => error.fmt(f),
            Self::Host(error) => error.fmt(f),
            Self::Panicked => f.write_str("the Rust code that describes this tensor panicked"),
        }
    }
}

/// A world of objects, some of which hold a `T`: Python, or a C++ program.
///
/// # Safety
///
/// Implementations promise that
///
/// 1. [`with`](Self::with) calls `run` with the `T` of that very object, or
///    fails; nobody has it by `&mut` meanwhile.
/// 2. [`view`](Self::view) calls `run` with the `T` of that very object, or
///    fails; until the object dies, nobody has it by `&mut`, and it does not
///    move.
pub unsafe trait Host<T>: 'static {
    /// What the host itself can fail with.
    type Error;

    /// Runs something with the value of an object, borrowed for the call.
    ///
    /// # Errors
    ///
    /// Where it is no object of the class, or one in use; and those of `run`.
    ///
    /// # Safety
    ///
    /// 1. The table's contract: `object` is a living object of the host, and
    ///    the calling thread may use it.
    unsafe fn with<R>(
        object: *mut c_void,
        run: impl FnOnce(&T) -> Result<R, Fault<Self::Error>>,
    ) -> Result<R, Fault<Self::Error>>;

    /// Runs something with the value of an object that stays where it is and as
    /// it is for as long as the object lives.
    ///
    /// # Errors
    ///
    /// As for [`with`](Self::with), and where the class can change.
    ///
    /// # Safety
    ///
    /// 1. As for [`with`](Self::with).
    unsafe fn view<R>(
        object: *mut c_void,
        run: impl FnOnce(&T) -> Result<R, Fault<Self::Error>>,
    ) -> Result<R, Fault<Self::Error>>;

    /// Exports the tensor of an object, which stays usable.
    ///
    /// # Errors
    ///
    /// As for [`with`](Self::with), and those of the export.
    ///
    /// # Safety
    ///
    /// 1. As for [`with`](Self::with).
    unsafe fn export(object: *mut c_void) -> Result<ManagedTensor, Fault<Self::Error>>;

    /// Makes an object of a value. The caller owns one reference to it.
    ///
    /// # Errors
    ///
    /// Where there is no memory for one.
    ///
    /// # Safety
    ///
    /// 1. The calling thread may use the host.
    unsafe fn wrap(value: T) -> Result<*mut c_void, Fault<Self::Error>>;

    /// Leaves an error for the caller of the table to find.
    ///
    /// # Safety
    ///
    /// 1. The calling thread may use the host.
    unsafe fn raise(fault: Fault<Self::Error>);
}
