//! The floor of a borrowed tensor of the general class: [`view`].
//!
//! It reads the class and the struct of `examples/python` by hand, with each check without which
//! the `DLTensor` could reach outside of the memory. Shape and strides are not copied: the struct
//! of C points to those of the object.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use dlpack_traits::ffi::{self, DLDevice, DLTensor};
use dlpack_traits::{DataType, ImportedStorage};
use pyo3::ffi as py;
use pyo3::prelude::*;

/// The fields of the `Tensor` of `examples/python`, in an `Arc` instead of an `ExportArc`.
#[pyclass(frozen)]
pub(crate) struct Tensor(Elements);

enum Elements {
    Own(Arc<Own>),
    #[expect(dead_code, reason = "the branch that an export has to take or not")]
    Foreign(ImportedStorage),
}

struct Own {
    data: Bytes,
    dtype: DataType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    byte_offset: usize,
}

enum Bytes {
    Shared(Arc<[AtomicU8]>),
    #[expect(dead_code, reason = "the branch that an export has to take or not")]
    Frozen(Arc<[u8]>),
}

/// The class, which C code would have in a static.
static CLASS: AtomicPtr<py::PyTypeObject> = AtomicPtr::new(std::ptr::null_mut());

/// A matrix of zeros of type `f32`.
pub(crate) fn matrix(python: Python<'_>, shape: [i64; 2]) -> PyResult<Bound<'_, PyAny>> {
    let bytes = (0..shape[0] * shape[1] * 4).map(|_| AtomicU8::new(0));
    let data = Bytes::Shared(bytes.collect());
    let (strides, shape) = (vec![shape[1], 1], shape.to_vec());
    let own = Own { data, dtype: DataType::F32, shape, strides, byte_offset: 0 };
    let object = Bound::new(python, Tensor(Elements::Own(Arc::new(own))))?.into_any();
    CLASS.store(object.get_type_ptr(), Ordering::Relaxed);
    Ok(object)
}

/// `dltensor_from_py_object_no_sync`, for exact objects of the class that own their memory.
pub(crate) unsafe extern "C" fn view(object: *mut c_void, out: *mut DLTensor) -> c_int {
    if object.is_null() || out.is_null() {
        return -1;
    }
    // SAFETY: the object is alive.
    if unsafe { py::Py_TYPE(object.cast()) } != CLASS.load(Ordering::Relaxed) {
        return -1;
    }
    // SAFETY: this thread is attached while it calls functions of a table.
    let python = unsafe { Python::assume_attached() };
    // SAFETY: the object is alive.
    let object = unsafe { Borrowed::from_ptr(python, object.cast()) };
    // SAFETY: of this class, as checked above.
    let object = unsafe { object.cast_unchecked::<Tensor>() };
    let Elements::Own(own) = &object.get().0 else { return -1 };
    match place(own) {
        Some(tensor) => {
            // SAFETY: the caller gives room for a tensor.
            unsafe { out.write(tensor) };
            0
        }
        None => -1,
    }
}

/// The tensor: nothing unless it is writable, and all elements lie inside of the memory.
#[inline(always)]
fn place(own: &Own) -> Option<DLTensor> {
    let Bytes::Shared(data) = &own.data else { return None };
    let dtype = own.dtype;
    let (handle, bool) = (ffi::kDLOpaqueHandle, DataType::BOOL);
    if !dtype.is_well_formed() || dtype.code() == handle || dtype == bool {
        return None;
    }
    let size = i64::try_from(dtype.byte_size()?).ok()?;
    if own.strides.len() != own.shape.len() {
        return None;
    }
    let (mut low, mut high) = (0_i64, 0_i64);
    for (&dim, &stride) in own.shape.iter().zip(&own.strides) {
        if dim < 1 {
            return None;
        }
        let last = (dim - 1).checked_mul(stride)?;
        let end = if last < 0 { &mut low } else { &mut high };
        *end = end.checked_add(last)?;
    }
    let offset = i64::try_from(own.byte_offset).ok()?;
    let start = low.checked_mul(size)?.checked_add(offset)?;
    let end = high.checked_add(1)?.checked_mul(size)?.checked_add(offset)?;
    let first = data.as_ptr().cast::<u8>().wrapping_add(own.byte_offset);
    if start < 0
        || end as u64 > data.len() as u64
        || first.addr() & (usize::from(dtype.bits() / 8) - 1) != 0
    {
        return None;
    }
    Some(DLTensor {
        data: first.cast_mut().cast(),
        device: DLDevice { device_type: ffi::kDLCPU, device_id: 0 },
        ndim: i32::try_from(own.shape.len()).ok()?,
        dtype: dtype.to_ffi(),
        shape: own.shape.as_ptr().cast_mut(),
        strides: own.strides.as_ptr().cast_mut(),
        byte_offset: 0,
    })
}
