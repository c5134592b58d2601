//! A managed tensor becomes a typed array over the same memory.
//!
//! The typed array's `ArrayBuffer` is external: V8 stores the address of the tensor's memory
//! and a finalizer, which calls the tensor's deleter.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dlpack_traits::{DataType, Device, ImportedTensor};
use napi::bindgen_prelude::{
    ArrayBuffer, BigInt64ArraySlice, BigUint64ArraySlice, Env, Float32ArraySlice,
    Float64ArraySlice, Int8ArraySlice, Int16ArraySlice, Int32ArraySlice, JsValue, Uint8ArraySlice,
    Uint16ArraySlice, Uint32ArraySlice, Unknown,
};
use napi::{Error, Status};

use crate::fault::{Checked, Fault};

/// The longest `ArrayBuffer` that is created: the limit of Node.js 20.
const MAX_BYTES: usize = u32::MAX as usize;

/// The dtypes that have a typed array.
pub(crate) const DTYPES: [DataType; 10] = [
    DataType::I8,
    DataType::U8,
    DataType::I16,
    DataType::U16,
    DataType::I32,
    DataType::U32,
    DataType::F32,
    DataType::F64,
    DataType::I64,
    DataType::U64,
];

/// Memory that an `ArrayBuffer` shows, from its first address to the one after the last.
///
/// Two `ArrayBuffer`s over the same bytes end the process in some versions of V8, and give
/// two worker threads of Node.js unsynchronized access to the bytes.
static SHOWN: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

fn shown() -> MutexGuard<'static, BTreeMap<usize, usize>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An entry of [`SHOWN`], removed on drop.
pub(crate) struct Shown(usize);

impl Shown {
    pub(crate) fn new(start: usize, bytes: usize) -> Checked<Self> {
        let end = start + bytes;
        let mut ranges = shown();
        if ranges.range(..end).next_back().is_some_and(|(_, &last)| last > start) {
            return Err(Fault::Range(
                "this memory is already the memory of an ArrayBuffer; use that one, or `copy()`"
                    .to_owned(),
            ));
        }
        ranges.insert(start, end);
        Ok(Self(start))
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        shown().remove(&self.0);
    }
}

/// Rejects a tensor that no typed array can represent.
fn check(tensor: &ImportedTensor) -> Checked<()> {
    let dtype = tensor.dtype();
    if !DTYPES.contains(&dtype) {
        return Err(Fault::Type(format!(
            "expected a dtype that has a typed array (int8 to int64, uint8 to uint64, float32, \
             float64), got {dtype}; convert the elements in Rust"
        )));
    }
    if tensor.is_read_only() {
        return Err(Fault::Type(
            "expected writable memory, got a read-only tensor: JavaScript has no read-only typed \
             array; use `copy()`"
                .to_owned(),
        ));
    }
    if tensor.device() != Device::CPU {
        return Err(Fault::Range(format!(
            "expected memory on the CPU, got {}; copy the tensor to the CPU",
            tensor.device()
        )));
    }
    if !tensor.is_row_major() {
        return Err(Fault::Range(format!(
            "expected contiguous elements in row-major order, got the shape {:?} with the strides \
             {:?}; use `copy()`",
            tensor.shape(),
            tensor.strides()
        )));
    }
    let size = usize::from(dtype.bits()) / 8;
    if !tensor.data_ptr().addr().is_multiple_of(size) {
        return Err(Fault::Range(format!(
            "expected elements at a multiple of {size} bytes, got the address {:p}; use `copy()`",
            tensor.data_ptr()
        )));
    }
    Ok(())
}

/// Returns a typed array over the memory of the tensor in `slot`, and leaves the slot empty.
/// On an error the tensor stays in the slot, unless Node.js reported it.
pub(crate) fn to_typed_array<'env>(
    env: &'env Env,
    slot: &mut Option<ImportedTensor>,
) -> Checked<Unknown<'env>> {
    let tensor = slot.as_ref().ok_or_else(moved)?;
    check(tensor)?;
    let dtype = tensor.dtype();
    let elements = usize::try_from(tensor.numel()).unwrap_or(usize::MAX);
    let bytes = elements.saturating_mul(usize::from(dtype.bits()) / 8);
    if bytes > MAX_BYTES {
        return Err(Fault::Range(format!(
            "expected at most {MAX_BYTES} bytes, got {bytes}; export parts of the tensor"
        )));
    }
    if bytes == 0 {
        *slot = None;
        return view(dtype, &ArrayBuffer::from_data(env, Vec::new())?, 0);
    }
    let data = tensor.data_ptr().cast_mut();
    let entry = Shown::new(data.addr(), bytes)?;
    let Some(tensor) = slot.take() else { return Err(moved()) };
    // SAFETY: 1 (`data` is valid for `bytes` bytes as long as the buffer exists): the import
    // validated the contiguous elements of `tensor`, which the finalizer owns; JavaScript may
    // write, because the tensor is not read-only. 2 (the finalizer releases the data): it drops
    // `tensor`, which calls the deleter, and first the entry, so that a new owner of the
    // memory can be shown.
    let buffer = unsafe {
        ArrayBuffer::from_external(env, data, bytes, (entry, tensor), |_, (entry, tensor)| {
            drop(entry);
            drop(tensor);
        })
    }?;
    if buffer.as_ptr() != data.cast_const() {
        // napi-rs copies where the runtime forbids external memory.
        return Err(Fault::Thrown(Error::new(
            Status::GenericFailure,
            "this runtime copies external memory, as Electron does; zero-copy is not possible",
        )));
    }
    view(dtype, &buffer, elements)
}

/// A typed array of the dtype over a whole buffer.
fn view<'env>(
    dtype: DataType,
    buffer: &ArrayBuffer<'env>,
    elements: usize,
) -> Checked<Unknown<'env>> {
    macro_rules! array {
        ($array:ident) => {
            $array::from_arraybuffer(buffer, 0, elements).map(|array| array.to_unknown())
        };
    }
    let array = match dtype {
        DataType::I8 => array!(Int8ArraySlice),
        DataType::U8 => array!(Uint8ArraySlice),
        DataType::I16 => array!(Int16ArraySlice),
        DataType::U16 => array!(Uint16ArraySlice),
        DataType::I32 => array!(Int32ArraySlice),
        DataType::U32 => array!(Uint32ArraySlice),
        DataType::F32 => array!(Float32ArraySlice),
        DataType::F64 => array!(Float64ArraySlice),
        DataType::I64 => array!(BigInt64ArraySlice),
        _ => array!(BigUint64ArraySlice),
    };
    Ok(array?)
}

/// The error of every use of a tensor after its memory moved.
pub(crate) fn moved() -> Fault {
    Fault::Type("this tensor is empty: its memory was moved by an earlier call".to_owned())
}
