//! A handler of XLA from a safe function over tensors.

use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::panic::AssertUnwindSafe;
use core::{ptr, slice};
use std::ffi::CString;
use std::panic::catch_unwind;

use dlpack_traits::ffi::{
    DLManagedTensorVersioned, DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION, DLPackVersion, DLTensor,
};
use dlpack_traits::{AnyBits, DataType, Device, ElementsMut, Flags, ImportedTensor};

use crate::abi::{
    ARG_BUFFER, ATTR_SCALAR, Api, ApiVersion, Attrs, Buffer, CallFrame, DTYPES, EXTENSION_METADATA,
    Error, ErrorCreateArgs, Extension, INTERNAL, INVALID_ARGUMENT, MAJOR, MINOR, MetadataExtension,
    RET_BUFFER, STAGE_EXECUTE, Scalar,
};

/// Why a call failed: an exception in Python.
pub(crate) struct Fault {
    code: c_int,
    message: String,
}

impl Fault {
    /// An argument, a result or an attribute that is not accepted.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { code: INVALID_ARGUMENT, message: message.into() }
    }
}

/// A tensor that a function fills. It lends the import and does not pass it on: the memory is valid
/// until the call ends.
pub(crate) struct Output(ImportedTensor);

impl Output {
    pub(crate) fn elements_mut<T: AnyBits>(
        &mut self,
    ) -> Result<ElementsMut<'_, T>, dlpack_traits::Error> {
        self.0.elements_mut()
    }
}

/// Calls `run` with the arguments, the results and the attributes of a call. A result contains
/// zeros at first, and shares memory with no other tensor of the call.
///
/// An error is returned to XLA, and so is a panic. When XLA compiles a program, it calls the
/// handler to query the version of the interface, and `run` is not called.
///
/// # Safety
///
/// 1. `frame` is that of a call of a handler by XLA for the platform `cpu`.
pub(crate) unsafe fn handle<const A: usize, const R: usize>(
    frame: *mut CallFrame,
    run: impl FnOnce(&[ImportedTensor; A], &mut [Output; R], &Attributes<'_>) -> Result<(), Fault>,
) -> *mut Error {
    // SAFETY: by 1. An XLA of the same major version has at least these fields.
    let frame = unsafe { &*frame };
    let call = || -> Result<(), Fault> {
        // SAFETY: 1. By 1.
        if unsafe { answers_query(frame.extension_start) } {
            return Ok(());
        }
        if frame.stage != STAGE_EXECUTE {
            return Err(Fault::invalid("the handler is for the stage `execute`"));
        }
        let (args, rets) = (&frame.args, &frame.rets);
        // SAFETY: 1. By 1. 2. The tensors are dropped before this returns.
        let args = unsafe { tensors::<A>(&ARGUMENTS, args.size, args.types, args.args)? };
        // SAFETY: 1. and 2. as before.
        let rets = unsafe { tensors::<R>(&RESULTS, rets.size, rets.types, rets.rets)? };
        for (index, result) in rets.iter().enumerate() {
            if args.iter().chain(&rets[..index]).any(|other| other.overlaps(result)) {
                return Err(Fault::invalid(format!("result {index} shares memory with a buffer")));
            }
            let len = usize::try_from(result.nbytes()).unwrap_or(0);
            // SAFETY: the buffer of a result is for the handler to write, and has this size.
            unsafe { result.data_ptr().cast_mut().write_bytes(0, len) };
        }
        run(&args, &mut rets.map(Output), &Attributes(&frame.attrs))
    };
    let fault = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return ptr::null_mut(),
        Ok(Err(fault)) => fault,
        Err(payload) => {
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or(payload.downcast_ref::<String>().map(String::as_str));
            let message = format!("panic in Rust: {}", text.unwrap_or("without text"));
            Fault { code: INTERNAL, message }
        }
    };
    // SAFETY: by 1 each frame has the functions of XLA.
    raise(unsafe { &*frame.api }, &fault)
}

/// Creates an error of XLA.
fn raise(api: &Api, fault: &Fault) -> *mut Error {
    let message = CString::new(fault.message.replace('\0', " ")).unwrap_or_default();
    let mut args = ErrorCreateArgs {
        struct_size: offset_of!(ErrorCreateArgs, errc) + size_of::<c_int>(),
        extension_start: ptr::null_mut(),
        message: message.as_ptr(),
        errc: fault.code,
    };
    // SAFETY: XLA copies the message.
    unsafe { (api.XLA_FFI_Error_Create)(&raw mut args) }
}

/// States the version of the interface where XLA queries it, and returns whether it does.
///
/// # Safety
///
/// 1. The pointer is NULL or that of a frame of XLA.
unsafe fn answers_query(extension: *mut Extension) -> bool {
    // SAFETY: by 1.
    if unsafe { extension.as_ref() }.is_none_or(|head| head.r#type != EXTENSION_METADATA) {
        return false;
    }
    // SAFETY: by 1 an extension of this type has this field.
    let metadata = unsafe { (*extension.cast::<MetadataExtension>()).metadata };
    // SAFETY: by 1 it is for the handler to write, as long as the call lasts.
    let metadata = unsafe { &mut *metadata };
    metadata.api_version = ApiVersion {
        struct_size: size_of::<ApiVersion>(),
        extension_start: ptr::null_mut(),
        major_version: MAJOR,
        minor_version: MINOR,
    };
    metadata.traits = 0;
    true
}

/// What the buffers of a list are for.
struct Role {
    kind: &'static str,
    r#type: c_int,
    flags: Flags,
}

const ARGUMENTS: Role = Role { kind: "argument", r#type: ARG_BUFFER, flags: Flags::READ_ONLY };
const RESULTS: Role = Role { kind: "result", r#type: RET_BUFFER, flags: Flags::NONE };

/// Imports the buffers of the arguments or of the results, of which there must be `N`.
///
/// # Safety
///
/// 1. The lists are those of a frame of XLA.
/// 2. The tensors are dropped before the call of the handler ends.
unsafe fn tensors<const N: usize>(
    role: &Role,
    size: i64,
    types: *const c_int,
    buffers: *const *const Buffer,
) -> Result<[ImportedTensor; N], Fault> {
    let &Role { kind, r#type, flags } = role;
    if usize::try_from(size) != Ok(N) {
        return Err(Fault::invalid(format!("expected {N} {kind}s, got {size}")));
    }
    // SAFETY: 1. By 1.
    if unsafe { list(types, size) }.iter().any(|&other| other != r#type) {
        return Err(Fault::invalid(format!("expected buffers as {kind}s")));
    }
    // SAFETY: 1. By 1.
    let buffers = unsafe { list(buffers, size) };
    let mut imported = Vec::with_capacity(N);
    for (index, &buffer) in buffers.iter().enumerate() {
        // SAFETY: by 1.
        let buffer = unsafe { &*buffer };
        // SAFETY: 1. and 2. By 1 and 2.
        let tensor = unsafe { import(buffer, flags) };
        imported.push(tensor.map_err(|error| Fault::invalid(format!("{kind} {index}: {error}")))?);
    }
    imported.try_into().map_err(|_| Fault::invalid("a list of XLA has another length"))
}

/// Imports a buffer, which is contiguous in row-major order: XLA converts other layouts.
///
/// # Safety
///
/// 1. The buffer is that of a call by XLA; it is READ_ONLY if it is an argument.
/// 2. The tensor is dropped before the call of the handler ends.
unsafe fn import(buffer: &Buffer, flags: Flags) -> Result<ImportedTensor, String> {
    let found = DTYPES.iter().find(|(_, code, _)| *code == buffer.dtype);
    let (.., dtype) =
        found.ok_or_else(|| format!("XLA's type {} is not supported", buffer.dtype))?;
    let ndim = i32::try_from(buffer.rank).map_err(|error| error.to_string())?;
    let mut managed = DLManagedTensorVersioned {
        version: DLPackVersion { major: DLPACK_MAJOR_VERSION, minor: DLPACK_MINOR_VERSION },
        manager_ctx: ptr::null_mut(),
        // XLA owns the memory.
        deleter: None,
        flags: flags.bits(),
        dl_tensor: DLTensor {
            data: buffer.data,
            device: Device::CPU.into(),
            ndim,
            dtype: DataType::to_ffi(*dtype),
            shape: buffer.dims,
            strides: ptr::null_mut(),
            byte_offset: 0,
        },
    };
    // SAFETY: 1. to 3. The struct is new, has no deleter, and is read now; by 1 the shape is that
    // of the buffer. 4. By 1 and 2 the memory is that of the buffer as long as the tensor lives.
    // That of a result is zeroed before it is read. 5. XLA accesses neither during the call.
    unsafe { ImportedTensor::from_raw(&raw mut managed) }.map_err(|error| error.to_string())
}

/// # Safety
///
/// 1. If `size` is positive, the pointer is that of a list of this length, which lives for `'a`.
unsafe fn list<'a, T>(items: *const T, size: i64) -> &'a [T] {
    match usize::try_from(size) {
        Err(_) | Ok(0) => &[],
        // SAFETY: by 1.
        Ok(size) => unsafe { slice::from_raw_parts(items, size) },
    }
}

/// The attributes of a call: keywords in Python. Invariant: they are those of a frame of XLA.
pub(crate) struct Attributes<'a>(&'a Attrs);

impl Attributes<'_> {
    /// Returns an attribute of type `float32` or `float64`.
    pub(crate) fn float(&self, name: &str) -> Result<f64, Fault> {
        let attrs = self.0;
        // SAFETY: 1. By the invariant.
        let names = unsafe { list(attrs.names, attrs.size) };
        let found = names.iter().position(|&span| {
            // SAFETY: by the invariant.
            let span = unsafe { &*span };
            // SAFETY: by the invariant the name has this length.
            (unsafe { slice::from_raw_parts(span.ptr, span.len) }) == name.as_bytes()
        });
        let index = found.ok_or_else(|| Fault::invalid(format!("attribute `{name}`: missing")))?;
        // SAFETY: 1. By the invariant.
        let r#type = unsafe { list(attrs.types, attrs.size) }[index];
        // SAFETY: 1. By the invariant.
        let value: *const c_void = unsafe { list(attrs.attrs, attrs.size) }[index];
        let other = || Fault::invalid(format!("attribute `{name}`: expected float32 or float64"));
        if r#type != ATTR_SCALAR {
            return Err(other());
        }
        // SAFETY: by the invariant an attribute of this type is a scalar.
        let scalar = unsafe { &*value.cast::<Scalar>() };
        match DTYPES.iter().find(|(_, code, _)| *code == scalar.dtype) {
            // SAFETY: by the invariant the value has this type.
            Some((.., DataType::F32)) => Ok(unsafe { scalar.value.cast::<f32>().read() }.into()),
            // SAFETY: the same.
            Some((.., DataType::F64)) => Ok(unsafe { scalar.value.cast::<f64>().read() }),
            _ => Err(other()),
        }
    }
}
