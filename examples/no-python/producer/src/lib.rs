//! A library whose objects are Rust values behind opaque pointers, and whose
//! exchange table needs no Python.

#[path = "../../allocator.rs"]
mod allocator;

use core::cell::RefCell;
use core::ffi::{c_char, c_void};
use core::ptr;
use std::ffi::CString;
use std::sync::Arc;

use allocator::Marked;
use dlpack_traits::backend::Cpu;
use dlpack_traits::exchange::{self, NotImportable, ObjectHost, TableError};
use dlpack_traits::ffi::{DLManagedTensorVersioned, DLPackExchangeAPI};
use dlpack_traits::{DLPackExport, Error, SharedBuffer};

/// A separate allocator, which detects blocks of the consumer's.
#[global_allocator]
static HEAP: Marked = Marked::new(0x0070_726f_6475_6365);

/// A table of numbers that all owners may write.
#[derive(DLPackExport)]
struct Samples {
    data: SharedBuffer<f32>,
    shape: [usize; 2],
}

impl Samples {
    /// Counts up from 0.
    fn new(rows: usize, columns: usize) -> Result<Self, Error> {
        let len = rows.checked_mul(columns).ok_or(Error::SizeOverflow)?;
        let mut numbers = Vec::new();
        numbers.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes: len })?;
        numbers.extend(core::iter::successors(Some(0.0), |number| Some(number + 1.0)).take(len));
        Ok(Self { data: SharedBuffer::from_slice(&numbers)?, shape: [rows, columns] })
    }
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

fn remember(error: &dyn core::fmt::Display) {
    let text = error.to_string().replace('\0', " ");
    LAST_ERROR.set(CString::new(text).unwrap_or_default());
}

/// Objects are pointers to `Samples` in an `Arc`.
struct Pointers;

// SAFETY: 1. and 2. An object is its value. A value in an `Arc` is never lent by `&mut`
// and does not move. 3. The host claims nothing.
unsafe impl ObjectHost<Samples> for Pointers {
    type Error = &'static str;

    unsafe fn with<R>(
        object: *mut c_void,
        run: impl FnOnce(&Samples) -> Result<R, TableError<&'static str>>,
    ) -> Result<R, TableError<&'static str>> {
        // SAFETY: by 1 it is alive.
        run(unsafe { &*object.cast::<Samples>() })
    }

    unsafe fn view<R>(
        object: *mut c_void,
        run: impl FnOnce(&Samples) -> Result<R, TableError<&'static str>>,
    ) -> Result<R, TableError<&'static str>> {
        // SAFETY: 1. is 1. of this function.
        unsafe { Self::with(object, run) }
    }

    unsafe fn raise(fault: TableError<&'static str>) {
        remember(&fault);
    }
}

/// The exchange table of the objects of this library.
#[unsafe(no_mangle)]
extern "C" fn producer_table() -> *const DLPackExchangeAPI {
    exchange::table::<Samples, Pointers, Cpu, NotImportable>()
}

/// A new object, or NULL.
#[unsafe(no_mangle)]
extern "C" fn producer_new(rows: usize, columns: usize) -> *const c_void {
    match Samples::new(rows, columns) {
        Ok(samples) => Arc::into_raw(Arc::new(samples)).cast(),
        Err(error) => {
            remember(&error);
            ptr::null()
        }
    }
}

/// Releases an object.
///
/// # Safety
///
/// 1. It came from `producer_new`, and is not used again.
#[unsafe(no_mangle)]
unsafe extern "C" fn producer_free(object: *const c_void) {
    // SAFETY: by 1 it is such a pointer, and the last use of it.
    drop(unsafe { Arc::from_raw(object.cast::<Samples>()) });
}

/// Returns a tensor with a single owner, without a table: any C interface can pass it on.
#[unsafe(no_mangle)]
extern "C" fn producer_give(rows: usize, columns: usize) -> *mut DLManagedTensorVersioned {
    match Samples::new(rows, columns).and_then(DLPackExport::into_dlpack) {
        Ok(tensor) => tensor.into_raw(),
        Err(error) => {
            remember(&error);
            ptr::null_mut()
        }
    }
}

/// The message of the last failure on this thread.
#[unsafe(no_mangle)]
extern "C" fn producer_error() -> *const c_char {
    LAST_ERROR.with_borrow(|text| text.as_ptr())
}

/// How many blocks of this library's heap are in use.
#[unsafe(no_mangle)]
extern "C" fn producer_live() -> isize {
    HEAP.live()
}
