//! The floor of a borrowed tensor of the general class: [`view`].
//!
//! It checks the class, and that all elements are inside of the memory. Shape and strides are not
//! copied: the struct of C points to those of the object.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use dlpack_traits::ffi::{self, DLDevice, DLTensor};
use dlpack_traits::{DataType, ImportedStorage};
use pyo3::ffi as py;
use pyo3::prelude::*;

use crate::element::Element;

/// The fields of the `Tensor` of `examples/python`, in an `Arc` instead of an `ExportArc`.
#[pyclass(frozen)]
pub(crate) struct Tensor(Elements);

enum Elements {
    Own(Arc<Own>),
    #[expect(dead_code, reason = "never constructed: the variant is tested at run time")]
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
    #[expect(dead_code, reason = "never constructed: the variant is tested at run time")]
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

/// Returns the tensor; `None` unless it is writable, its dtype exists, and all elements are aligned
/// and inside of the memory.
#[inline(always)]
fn place(own: &Own) -> Option<DLTensor> {
    let Bytes::Shared(data) = &own.data else { return None };
    let element = Element::new(own.dtype.to_ffi())?;
    let Element { dtype, size, .. } = element;
    if own.strides.len() != own.shape.len() {
        return None;
    }
    let (mut below, mut above) = (0_usize, 1_usize);
    for (&dim, &stride) in own.shape.iter().zip(&own.strides) {
        if dim < 1 {
            return None;
        }
        let last = (dim - 1).checked_mul(stride)?;
        // A branch: strides are rarely negative.
        if last < 0 {
            below = below.checked_add(last.unsigned_abs() as usize)?;
        } else {
            above = above.checked_add(last as usize)?;
        }
    }
    let start = own.byte_offset;
    let first = data.as_ptr().cast::<u8>().wrapping_add(start);
    let fits = above.checked_mul(size)? <= data.len().checked_sub(start)?
        && (below == 0 || below.checked_mul(size)? <= start);
    if !fits || !element.is_aligned(first) {
        return None;
    }
    Some(DLTensor {
        data: first.cast_mut().cast(),
        device: DLDevice { device_type: ffi::kDLCPU, device_id: 0 },
        ndim: own.shape.len() as i32,
        dtype,
        shape: own.shape.as_ptr().cast_mut(),
        strides: own.strides.as_ptr().cast_mut(),
        byte_offset: 0,
    })
}
