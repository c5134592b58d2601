//! Makes the exchange table of a class: [`table`].
//!
//! C calls the functions of a table without a pointer to Rust data, so everything that they
//! need is in their types. There is one static table per class, host, set of backends and
//! importability, and nothing is registered.

use alloc::boxed::Box;
use core::ffi::{c_int, c_void};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr;

use super::allocator::allocate;
use super::borrowed::borrowed;
use super::host::cleared;
use super::{ObjectHost, TableError, ToObject};
use crate::backend::Backends;
use crate::device::Device;
use crate::export::DLPackExport;
use crate::ffi::{
    DLDataType, DLDataTypeCode, DLDeviceType, DLManagedTensorVersioned, DLPackExchangeAPI,
    DLPackExchangeAPIHeader, DLPackVersion, DLTensor,
};
use crate::managed::RawManaged;
use crate::panic::catch_panic;
use crate::version::Version;

/// Returns the exchange table of objects that hold a `T` in the host `H`, on the devices
/// `B`. `I` selects whether objects can be created from tensors
/// ([`Importable`](super::Importable), [`NotImportable`](super::NotImportable)).
///
/// The table is static and can be passed to any C program.
///
/// All five functions are set. In addition to what the header says:
///
/// - An object must stay alive until the function returns: the caller owns a reference to it.
/// - `managed_tensor_allocator` does not use the host: any thread may call it. `SetError`
///   may be NULL.
/// - The `DLTensor` that `dltensor_from_py_object_no_sync` fills is valid for as long as
///   the object lives. Its arrays must not be written. A shape or strides that the object
///   stores as integers of 64 bits stay there. Computed lists are interned in a table that is
///   never freed; if the table is full, the call fails with `BufferError`. For more than 8
///   dimensions the call also allocates memory, which it frees before it returns.
/// - `current_work_stream` fails for devices that `B` does not support.
///
/// [`ObjectHost`] has an example.
pub fn table<T, H, B, I>() -> &'static DLPackExchangeAPI
where
    T: DLPackExport + 'static,
    H: ObjectHost<T>,
    B: Backends,
    I: ToObject<T, H>,
{
    Table::<T, H, B, I>::ADDRESS
}

/// The type parameters of a table. Each combination has its own table.
struct Table<T, H, B, I>(PhantomData<Words<T, H, B, I>>);

/// The type parameters as a function type, since a table holds no value of them.
type Words<T, H, B, I> = fn() -> (T, H, B, I);

impl<T, H, B, I> Table<T, H, B, I>
where
    T: DLPackExport + 'static,
    H: ObjectHost<T>,
    B: Backends,
    I: ToObject<T, H>,
{
    const VALUE: DLPackExchangeAPI = DLPackExchangeAPI {
        header: DLPackExchangeAPIHeader {
            version: Version::CURRENT.to_ffi(),
            prev_api: ptr::null_mut(),
        },
        managed_tensor_allocator: Some(allocate::<B>),
        managed_tensor_from_py_object_no_sync: Some(from_object::<T, H>),
        managed_tensor_to_py_object_no_sync: Some(to_object::<T, H, I>),
        dltensor_from_py_object_no_sync: Some(view::<T, H>),
        current_work_stream: Some(current_work_stream::<T, H, B>),
    };

    const ADDRESS: &'static DLPackExchangeAPI = {
        let DLPackExchangeAPI { header, .. } = Self::VALUE;
        let DLPackVersion { major, minor } = header.version;
        assert!(major == 1 && minor == 3, "the functions are those of 1.3");
        assert!(header.prev_api.is_null(), "there is no older table");
        assert!(
            Self::VALUE.managed_tensor_allocator.is_some()
                && Self::VALUE.managed_tensor_from_py_object_no_sync.is_some()
                && Self::VALUE.managed_tensor_to_py_object_no_sync.is_some()
                && Self::VALUE.dltensor_from_py_object_no_sync.is_some()
                && Self::VALUE.current_work_stream.is_some(),
            "no function may be NULL"
        );
        &Self::VALUE
    };
}

/// `managed_tensor_from_py_object_no_sync`.
///
/// # Safety
///
/// The header's contract:
/// 1. `py_object` is NULL, or an object of the host that stays alive for the call, and that
///    the calling thread may use.
/// 2. `out` is NULL, or may be written.
unsafe extern "C" fn from_object<T: DLPackExport, H: ObjectHost<T>>(
    py_object: *mut c_void,
    out: *mut *mut DLManagedTensorVersioned,
) -> c_int {
    // SAFETY: 1 and 2 (`py_object` and `out`): guaranteed by our caller's 1 and 2. 3:
    // both functions are those of `H`, whose object it is.
    unsafe { export_to(py_object, out, H::export_raw, H::raise) }
}

/// Implements [`from_object`] for all classes: not generic over `T`, so it is compiled
/// once per host error type.
///
/// # Safety
///
/// 1. and 2. of [`from_object`].
/// 3. `export` and `raise` may be called with such an object, and an error of it.
#[expect(improper_ctypes_definitions, reason = "Rust calls it, last in functions that C calls")]
unsafe extern "C" fn export_to<E>(
    py_object: *mut c_void,
    out: *mut *mut DLManagedTensorVersioned,
    export: Export<E>,
    raise: Raise<E>,
) -> c_int {
    let run = || {
        // SAFETY: by 2 it is NULL, or may be written during the call.
        let out = cleared(unsafe { out.cast::<MaybeUninit<_>>().as_mut() })?;
        present(py_object)?;
        // SAFETY: by 1 the object is alive, and by 3 `export` may be called with it.
        let tensor = unsafe { export(py_object) }.map_err(|fault| *fault)?;
        *out = tensor.into_raw().as_ptr();
        Ok(())
    };
    // SAFETY: 1 (`raise` may be called): guaranteed by our caller's 3.
    unsafe { run_to_status(run, raise) }
}

/// [`ObjectHost::export_raw`].
type Export<E> = unsafe fn(*mut c_void) -> Result<RawManaged, Box<TableError<E>>>;

/// [`ObjectHost::raise`].
type Raise<E> = unsafe fn(TableError<E>);

/// `managed_tensor_to_py_object_no_sync`.
///
/// # Safety
///
/// The header's contract:
/// 1. `tensor` is NULL, or as [`ImportedTensor::from_raw`](crate::ImportedTensor::from_raw)
///    needs it.
/// 2. `out` is NULL, or may be written.
/// 3. The calling thread may use the host.
unsafe extern "C" fn to_object<T: DLPackExport, H: ObjectHost<T>, I: ToObject<T, H>>(
    tensor: *mut DLManagedTensorVersioned,
    out: *mut *mut c_void,
) -> c_int {
    let run = || {
        // SAFETY: by 2 it is NULL, or may be written during the call.
        let out = cleared(unsafe { out.cast::<MaybeUninit<_>>().as_mut() })?;
        // SAFETY: 1 and 2 (`tensor` is valid, this thread may use the host): guaranteed
        // by our caller's 1 and 3.
        let object = unsafe { I::to_object(tensor) }?;
        *out = object;
        Ok(())
    };
    // SAFETY: 1 (`raise` may be called): guaranteed by our caller's 3.
    unsafe { run_to_status(run, H::raise) }
}

/// `dltensor_from_py_object_no_sync`.
///
/// # Safety
///
/// The header's contract:
/// 1. As for 1. of [`from_object`].
/// 2. `out` is NULL, or may be written.
unsafe extern "C" fn view<T: DLPackExport, H: ObjectHost<T>>(
    py_object: *mut c_void,
    out: *mut DLTensor,
) -> c_int {
    let run = || {
        if out.is_null() {
            return Err(TableError::NullArgument { name: "out" });
        }
        present(py_object)?;
        // SAFETY: by 2 it may be written, and nothing else writes to it during the
        // call.
        let out = unsafe { &mut *out.cast::<MaybeUninit<DLTensor>>() };
        let lend = |value: &T| {
            // SAFETY: 1. By 2 of `ObjectHost` the value does not change or move until the object
            // dies, and the header requires that the consumer does not use the view longer.
            unsafe { borrowed(value, H::READ_ONLY_VIEWS, out) }
        };
        // SAFETY: 1 (`py_object` is alive, this thread may use it): guaranteed by our
        // caller's 1.
        unsafe { H::view(py_object, lend) }
    };
    let fault = match catch_panic(run) {
        Some(Ok(())) => return 0,
        Some(Err(fault)) => fault,
        None => TableError::Panicked,
    };
    // SAFETY: 1 (`out`): guaranteed by our caller's 2. 2: `raise` and the error are those of `H`.
    unsafe { no_view(out, fault, H::raise) }
}

/// The failure path of [`view`]: raises the error and clears `out`.
///
/// # Safety
///
/// 1. `out` is NULL, or may be written.
/// 2. `raise` may be called with this error.
#[cold]
#[inline(never)]
unsafe fn no_view<E>(out: *mut DLTensor, fault: TableError<E>, raise: Raise<E>) -> c_int {
    // SAFETY: 1 (`raise` may be called): guaranteed by our caller's 2.
    let code = unsafe { run_to_status(|| Err(fault), raise) };
    if !out.is_null() {
        // A consumer that ignores the return value must not find stale pointers.
        // SAFETY: by 1 it may be written.
        unsafe { out.write(NO_TENSOR) };
    }
    code
}

/// A tensor without memory.
const NO_TENSOR: DLTensor = DLTensor {
    data: ptr::null_mut(),
    device: Device::CPU.to_ffi(),
    ndim: 0,
    dtype: DLDataType { code: DLDataTypeCode(0), bits: 0, lanes: 0 },
    shape: ptr::null_mut(),
    strides: ptr::null_mut(),
    byte_offset: 0,
};

/// `current_work_stream`.
///
/// # Safety
///
/// The header's contract:
/// 1. `out_current_stream` is NULL, or may be written.
/// 2. The calling thread may use the host.
unsafe extern "C" fn current_work_stream<T: DLPackExport, H: ObjectHost<T>, B: Backends>(
    device_type: DLDeviceType,
    device_id: i32,
    out_current_stream: *mut *mut c_void,
) -> c_int {
    let run = || {
        // SAFETY: by 1 it is NULL, or may be written during the call.
        let out = cleared(unsafe { out_current_stream.cast::<MaybeUninit<_>>().as_mut() })?;
        let stream = B::current_work_stream(Device::new(device_type, device_id))?;
        *out = stream;
        Ok(())
    };
    // SAFETY: 1 (`raise` may be called): guaranteed by our caller's 2.
    unsafe { run_to_status(run, H::raise) }
}

/// Runs the body of a table function. Returns 0 on success; on failure calls
/// [`ObjectHost::raise`] once and returns -1.
///
/// # Safety
///
/// 1. `raise` may be called with an error of that body.
#[inline]
unsafe fn run_to_status<E>(
    run: impl FnOnce() -> Result<(), TableError<E>>,
    raise: Raise<E>,
) -> c_int {
    let fault = match catch_panic(run) {
        Some(Ok(())) => return 0,
        Some(Err(fault)) => fault,
        None => TableError::Panicked,
    };
    // If `raise` panics here, no error was raised, and there is no way to report the
    // panic.
    // SAFETY: by 1 `raise` may be called with the fault.
    let _ = catch_panic(move || unsafe { raise(fault) });
    -1
}

/// Checks that an object is not NULL.
#[inline]
fn present<E>(object: *mut c_void) -> Result<(), TableError<E>> {
    if object.is_null() { Err(TableError::NullArgument { name: "py_object" }) } else { Ok(()) }
}
