//! The memory of a typed array becomes a managed tensor.
//!
//! The memory is moved: its `ArrayBuffer` is transferred to a new one that JavaScript cannot
//! reach, and the caller's typed array becomes empty. JavaScript can therefore neither write,
//! detach, transfer nor resize the memory while Rust uses it.

use std::ptr;

use dlpack_traits::{DLPackExport, DataMut, DataRef, DataType, Device, ImportedTensor, Storage};
use napi::bindgen_prelude::{
    ArrayBuffer, Env, FromNapiValue, Function, JsObjectValue, JsValue, Object, TypedArrayType,
    Uint8Array, Uint8ArraySlice, Unknown,
};
use napi::{check_status, sys};

use crate::fault::{Checked, Fault};
use crate::loans::Loan;
use crate::typed_array::Shown;

/// The bytes of a hidden `ArrayBuffer`.
///
/// `bytes` refers to the buffer. napi-rs deletes a reference on the thread of its environment:
/// a drop on another thread enqueues the deletion with a threadsafe function.
struct JsMemory {
    bytes: Uint8Array,
    dtype: DataType,
    /// Rejects a second `ArrayBuffer` over this memory.
    _shown: Shown,
    /// Dropped last.
    _loan: Loan,
}

impl Storage for JsMemory {
    fn data(&self) -> DataRef<'_> {
        // SAFETY: 1 (one allocation) and 2 (initialized, aligned elements): `bytes` refers to
        // the elements of a typed array, which ECMAScript zeroes and aligns; the reference and
        // the loan keep them until the end of the borrow. 3 (no one writes): JavaScript cannot
        // reach the hidden buffer, and this storage is borrowed.
        unsafe {
            DataRef::from_raw_parts(self.bytes.as_ptr(), self.bytes.len(), self.dtype, Device::CPU)
        }
    }

    fn data_mut(&mut self) -> DataMut<'_> {
        let len = self.bytes.len();
        // SAFETY: JavaScript cannot reach the hidden buffer, so there is no other access.
        let bytes = unsafe { self.bytes.as_mut() };
        // SAFETY: 1 and 2 as in `data`; any pattern of bits is a number. 3 (no one else reads
        // or writes): as above, and this storage is borrowed mutably.
        unsafe { DataMut::from_raw_parts(bytes.as_mut_ptr(), len, self.dtype, Device::CPU) }
    }
}

/// A typed array whose memory Rust owns.
#[derive(DLPackExport)]
struct JsArray {
    data: JsMemory,
    shape: Vec<i64>,
}

/// What Node-API reports about a typed array.
struct Info<'env> {
    dtype: DataType,
    /// The address of the first element, and the length in bytes.
    data: *const u8,
    bytes: usize,
    buffer: Unknown<'env>,
    /// The offset of the first element in the buffer, in bytes.
    offset: usize,
}

impl<'env> Info<'env> {
    fn of(env: &'env Env, array: &Unknown<'env>) -> Checked<Self> {
        if !array.is_typedarray()? {
            return Err(Fault::Type("expected a typed array, got another value".to_owned()));
        }
        let (mut kind, mut elements, mut offset) = (0, 0, 0);
        let (mut data, mut buffer) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: both handles belong to the current call, the value is a typed array, and the
        // other pointers are to variables of these types.
        check_status!(unsafe {
            sys::napi_get_typedarray_info(
                env.raw(),
                array.raw(),
                &mut kind,
                &mut elements,
                &mut data,
                &mut buffer,
                &mut offset,
            )
        })?;
        let dtype = match TypedArrayType::from(kind) {
            TypedArrayType::Int8 => DataType::I8,
            TypedArrayType::Uint8 | TypedArrayType::Uint8Clamped => DataType::U8,
            TypedArrayType::Int16 => DataType::I16,
            TypedArrayType::Uint16 => DataType::U16,
            TypedArrayType::Int32 => DataType::I32,
            TypedArrayType::Uint32 => DataType::U32,
            TypedArrayType::Float32 => DataType::F32,
            TypedArrayType::Float64 => DataType::F64,
            TypedArrayType::BigInt64 => DataType::I64,
            TypedArrayType::BigUint64 => DataType::U64,
            _ => return Err(Fault::Type("this kind of typed array is not supported".to_owned())),
        };
        // SAFETY: Node-API wrote a handle of the current call.
        let buffer = unsafe { Unknown::from_napi_value(env.raw(), buffer) }?;
        let bytes = elements * usize::from(dtype.bits()) / 8;
        Ok(Self { dtype, data: data.cast_const().cast(), bytes, buffer, offset })
    }
}

/// Transfers a buffer to a new one, which only the caller of this function has.
fn transfer<'env>(env: &'env Env, buffer: Unknown<'env>) -> Checked<ArrayBuffer<'env>> {
    let mut options = Object::new(env)?;
    options.set("transfer", vec![buffer])?;
    let clone: Function<'_, napi::bindgen_prelude::FnArgs<(Unknown<'_>, Object<'_>)>, Unknown<'_>> =
        env.get_global()?.get_named_property("structuredClone")?;
    let moved = clone.call((buffer, options).into())?;
    if !moved.is_arraybuffer()? {
        return Err(Fault::Type("`structuredClone` returned another value".to_owned()));
    }
    // SAFETY: the value is an `ArrayBuffer` of the current call.
    Ok(unsafe { ArrayBuffer::from_napi_value(env.raw(), moved.raw()) }?)
}

/// Moves the memory of a typed array into a managed tensor.
pub(crate) fn from_typed_array<'env>(
    env: &'env Env,
    array: Unknown<'env>,
    dims: Option<Vec<i64>>,
) -> Checked<ImportedTensor> {
    let info = Info::of(env, &array)?;
    if !info.buffer.is_arraybuffer()? {
        return Err(Fault::Type(
            "expected an ArrayBuffer, got a SharedArrayBuffer, which other threads may write; \
             copy it with `array.slice()`"
                .to_owned(),
        ));
    }
    if info.bytes == 0 {
        return Err(Fault::Range(
            "expected at least one element, got an empty or detached array".to_owned(),
        ));
    }
    let elements = info.bytes * 8 / usize::from(info.dtype.bits());
    let shape = dims.unwrap_or_else(|| vec![i64::try_from(elements).unwrap_or(i64::MAX)]);
    let product = shape
        .iter()
        .try_fold(1_i64, |product, &dim| if dim < 0 { None } else { product.checked_mul(dim) });
    if product.and_then(|product| usize::try_from(product).ok()) != Some(elements) {
        return Err(Fault::Range(format!(
            "expected dimensions with a product of {elements}, got {shape:?}"
        )));
    }
    if shape.len() > MAX_RANK {
        return Err(Fault::Range(format!(
            "expected at most {MAX_RANK} dimensions, got {}",
            shape.len()
        )));
    }

    let hidden = transfer(env, info.buffer)?;
    // SAFETY: the value is an `ArrayBuffer` of the current call.
    let left = unsafe { ArrayBuffer::from_napi_value(env.raw(), info.buffer.raw()) }?;
    let is_same = hidden.as_ptr().wrapping_add(info.offset) == info.data;
    if !left.is_detached()? || !is_same {
        return Err(Fault::Type(
            "expected an ArrayBuffer that can be transferred, got one that Node.js or WebAssembly \
             owns (`Buffer.from`, `WebAssembly.Memory`, memory of Rust); copy it with \
             `array.slice()`, or `Uint8Array.from(buffer)` for a Buffer"
                .to_owned(),
        ));
    }
    let view = Uint8ArraySlice::from_arraybuffer(&hidden, info.offset, info.bytes)?;
    // SAFETY: the view is a `Uint8Array` of the current call.
    let bytes = unsafe { Uint8Array::from_napi_value(env.raw(), view.raw()) }?;
    let shown = Shown::new(info.data.addr(), info.bytes)?;
    let memory = JsMemory { bytes, dtype: info.dtype, _shown: shown, _loan: Loan::new() };
    Ok(JsArray { data: memory, shape }.into_dlpack()?.import()?)
}

/// The highest number of dimensions that imports accept.
const MAX_RANK: usize = 64;

/// The address of the first element of a typed array.
pub(crate) fn address<'env>(env: &'env Env, array: &Unknown<'env>) -> Checked<usize> {
    Ok(Info::of(env, array)?.data.addr())
}
