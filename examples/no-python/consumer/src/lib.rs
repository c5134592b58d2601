//! A library whose values are stored in objects of a C++ program, which provides the
//! functions that create such objects.

#[path = "../../allocator.rs"]
mod allocator;

use core::ffi::{c_char, c_void};
use std::ffi::CString;
use std::sync::OnceLock;

use allocator::Marked;
use dlpack_traits::backend::Cpu;
use dlpack_traits::exchange::{self, Importable, ObjectHost, TableError, Wrap};
use dlpack_traits::ffi::{DLManagedTensorVersioned, DLPackExchangeAPI};
use dlpack_traits::{DLPackExport, DLPackImport, ImportError, ImportedStorage, ImportedTensor};

/// A separate allocator, which detects blocks of the producer's.
#[global_allocator]
static HEAP: Marked = Marked::new(0x0063_6f6e_7375_6d65);

/// A table of numbers from another library.
#[derive(DLPackExport)]
struct Received {
    data: ImportedStorage<f32>,
    shape: [i64; 2],
}

impl DLPackImport for Received {
    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        let &[rows, columns] = tensor.shape() else {
            return Err(ImportError::rejected("a table has two dimensions"));
        };
        if !tensor.is_row_major() {
            return Err(ImportError::rejected("the rows of a table lie one after the other"));
        }
        Ok(Self { data: ImportedStorage::new(tensor)?, shape: [rows, columns] })
    }
}

/// The first fields of every object of the C++ program.
#[repr(C)]
struct Object {
    value: *mut c_void,
    drop: unsafe extern "C" fn(*mut c_void),
}

/// The functions that the C++ program provides.
#[repr(C)]
#[derive(Clone, Copy)]
struct Program {
    /// Creates an object, which drops the value when it is destroyed; or returns NULL.
    make: unsafe extern "C" fn(*mut c_void, unsafe extern "C" fn(*mut c_void)) -> *mut Object,
    /// Records a failure.
    raise: unsafe extern "C" fn(kind: *const c_char, text: *const c_char),
}

static PROGRAM: OnceLock<Program> = OnceLock::new();

/// Registers the program's functions.
///
/// # Safety
///
/// 1. The pointer is not NULL; its functions do what `Program` says.
#[unsafe(no_mangle)]
unsafe extern "C" fn consumer_connect(program: *const Program) {
    // SAFETY: by 1.
    PROGRAM.get_or_init(|| unsafe { *program });
}

/// The objects of the C++ program.
struct Cpp;

// SAFETY: 1. and 2. An object has the value that `wrap` gave it, and nothing
// changes it. 3. The host claims nothing.
unsafe impl ObjectHost<Received> for Cpp {
    type Error = &'static str;

    unsafe fn with<R>(
        object: *mut c_void,
        run: impl FnOnce(&Received) -> Result<R, TableError<&'static str>>,
    ) -> Result<R, TableError<&'static str>> {
        // SAFETY: by 1 it is alive.
        let object = unsafe { &*object.cast::<Object>() };
        // SAFETY: `wrap` gave it this value.
        run(unsafe { &*object.value.cast::<Received>() })
    }

    unsafe fn view<R>(
        object: *mut c_void,
        run: impl FnOnce(&Received) -> Result<R, TableError<&'static str>>,
    ) -> Result<R, TableError<&'static str>> {
        // SAFETY: 1. is 1. of this function.
        unsafe { Self::with(object, run) }
    }

    unsafe fn raise(fault: TableError<&'static str>) {
        let text = CString::new(fault.to_string().replace('\0', " ")).unwrap_or_default();
        if let Some(program) = PROGRAM.get() {
            // SAFETY: both are C strings.
            unsafe { (program.raise)(fault.kind().as_ptr(), text.as_ptr()) }
        }
    }
}

/// Drops a value at the end of its object.
unsafe extern "C" fn drop_value(value: *mut c_void) {
    // SAFETY: `wrap` boxed it, and the object is its only owner.
    drop(unsafe { Box::from_raw(value.cast::<Received>()) });
}

// SAFETY: 1. The program makes an object, whose reference is the caller's.
unsafe impl Wrap<Received> for Cpp {
    unsafe fn wrap(value: Received) -> Result<*mut c_void, TableError<&'static str>> {
        let program = PROGRAM.get().ok_or(TableError::Host("the program is not connected"))?;
        let value = Box::into_raw(Box::new(value)).cast();
        // SAFETY: the object takes the value, and drops it once.
        let object = unsafe { (program.make)(value, drop_value) };
        if object.is_null() {
            // SAFETY: no object was created, so the value has no other owner.
            unsafe { drop_value(value) };
            return Err(TableError::Host("the program could not make an object"));
        }
        Ok(object.cast())
    }
}

/// The exchange table of the C++ program's objects.
#[unsafe(no_mangle)]
extern "C" fn consumer_table() -> *const DLPackExchangeAPI {
    exchange::table::<Received, Cpp, Cpu, Importable>()
}

/// Returns the sum of a tensor of `float`s and releases it; NaN for another type.
///
/// # Safety
///
/// 1. The tensor is valid and owned by the caller; no one writes to it meanwhile.
#[unsafe(no_mangle)]
unsafe extern "C" fn consumer_sum(tensor: *mut DLManagedTensorVersioned) -> f64 {
    // SAFETY: by 1.
    let imported = unsafe { ImportedTensor::from_raw(tensor) };
    match imported.as_ref().map(ImportedTensor::elements::<f32>) {
        Ok(Ok(elements)) => elements.iter().map(f64::from).sum(),
        _ => f64::NAN,
    }
}

/// How many blocks of this library's heap are in use.
#[unsafe(no_mangle)]
extern "C" fn consumer_live() -> isize {
    HEAP.live()
}
