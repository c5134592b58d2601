//! `pyo3-dlpack` 0.3: capsules only. Its exports are measured as capsules
//! that Python frees, and its imports are put into one.

use std::ffi::c_void;
use std::ptr;

use dlpack_traits::ffi::DLManagedTensorVersioned;
use pyo3::ffi as py;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_dlpack::{IntoDLPack, PyTensor, TensorInfo, cpu_device, dtype_f32};

use crate::contender::{Contender, Samples, look};

pub struct Pyo3Dlpack;

struct Matrix {
    data: Vec<f32>,
    shape: Vec<i64>,
}

impl IntoDLPack for Matrix {
    fn tensor_info(&self) -> TensorInfo {
        let first = self.data.as_ptr().cast_mut().cast::<c_void>();
        let strides = vec![self.shape[1], 1];
        TensorInfo::strided(first, cpu_device(), dtype_f32(), self.shape.clone(), strides)
    }
}

const NAME: *const std::ffi::c_char = c"dltensor_versioned".as_ptr();

fn attached<'py>() -> Python<'py> {
    // SAFETY: the benchmark attaches its only thread before it starts.
    unsafe { Python::assume_attached() }
}

impl Contender for Pyo3Dlpack {
    const NAME: &'static str = "pyo3-dlpack 0.3.0 (capsule)";

    /// The capsule, in the type of the pointer that it holds.
    #[inline(always)]
    fn export(samples: Samples) -> *mut DLManagedTensorVersioned {
        let shape = samples.shape.iter().map(|&dim| dim as i64).collect();
        let matrix = Matrix { data: samples.data, shape };
        matrix.into_dlpack_readonly(attached()).expect("a capsule").into_ptr().cast()
    }

    #[inline(always)]
    unsafe fn delete(capsule: *mut DLManagedTensorVersioned) {
        // SAFETY: `export` gave a reference to a capsule.
        unsafe { py::Py_DECREF(capsule.cast()) };
    }

    #[inline(always)]
    unsafe fn import(capsule: *mut DLManagedTensorVersioned) -> f32 {
        // SAFETY: it is a capsule, of which the reference is ours.
        let capsule = unsafe { Bound::from_owned_ptr(attached(), capsule.cast()) };
        let capsule = capsule.cast_into::<PyCapsule>().expect("a capsule");
        let tensor = PyTensor::from_capsule(&capsule).expect("a tensor");
        assert!(tensor.is_contiguous() && tensor.dtype().is_f32() && tensor.device().is_cpu());
        // SAFETY: the elements are there, and are not written.
        look(unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast::<f32>(), tensor.numel()) })
    }

    /// A new capsule each time.
    #[inline(always)]
    fn offer(managed: *mut DLManagedTensorVersioned) -> *mut DLManagedTensorVersioned {
        // SAFETY: this thread is attached; the name is static.
        let capsule = unsafe { py::PyCapsule_New(managed.cast(), NAME, None) };
        assert_ne!(capsule, ptr::null_mut());
        capsule.cast()
    }
}
