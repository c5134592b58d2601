//! A consumer receives equal tensors before and after.

use std::sync::Arc;

use coming_from::{by_hand, dlpark, dlpk, pyo3_dlpack};
use dlpack_traits::ffi::DLManagedTensorVersioned;
use dlpack_traits::{DLPackExport, DataType, Flags, ImportedTensor};
use ndarray::Array3;
use pyo3::prelude::*;

/// Everything that a consumer reads of a tensor, which it then releases.
fn seen<C>(managed: *mut C) -> (Vec<i64>, Vec<i64>, DataType, Flags, Vec<u64>) {
    // SAFETY: each caller passes a tensor that has no other consumer; the structs of all
    // crates are that of the standard.
    let tensor = unsafe { ImportedTensor::from_raw(managed.cast::<DLManagedTensorVersioned>()) };
    let tensor = tensor.expect("a tensor");
    let codes = tensor.raw_bits().expect("a tensor of the host");
    (
        tensor.shape().to_vec(),
        tensor.strides().to_vec(),
        tensor.dtype(),
        tensor.flags(),
        codes.iter().collect(),
    )
}

#[test]
fn frames_made_by_hand() {
    let pixels: Arc<[u8]> = (0..48).collect();
    let (width, height, pitch) = (3, 2, 24);
    let before = by_hand::before::Frame { pixels: pixels.clone(), width, height, pitch };
    let after = by_hand::after::Frame { pixels: pixels.clone(), width, height, pitch };
    assert_eq!(seen(before.to_managed()), seen(after.to_dlpack().unwrap().into_raw()));
    drop((before, after));
    assert_eq!(Arc::strong_count(&pixels), 1, "both deleters ran");

    let wrong = by_hand::after::Frame { pixels, width, height: 3, pitch };
    wrong.to_dlpack().expect_err("the last row is not there; by hand it would be read");
}

#[test]
fn tensors_of_dlpark() {
    let data = Arc::new(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let (shape, strides) = ([3, 2], [1, 3]);
    let before = dlpark::before::Tensor { data: data.clone(), shape, strides };
    let after = dlpark::after::Tensor { data, shape, strides };
    assert_eq!(seen(before.to_managed()), seen(after.to_dlpack().unwrap().into_raw()));
}

#[test]
fn volumes_of_dlpk() {
    let voxels = || Array3::from_shape_fn((2, 3, 4), |(x, y, z)| (x * y + z) as f64);
    let before = dlpk::before::Volume { voxels: voxels() }.export_owned();
    let after = dlpk::after::Volume { voxels: voxels() }.into_dlpack().unwrap().into_raw();
    let (before, after) = (seen(before), seen(after));
    assert_eq!((&before.0, &before.1, &before.2), (&after.0, &after.1, &after.2));
    assert_eq!(before.4, after.4);
    // The array was moved, so the derive does not set IS_COPIED.
    assert_eq!((before.3, after.3), (Flags::IS_COPIED, Flags::NONE));

    let before = dlpk::before::Volume { voxels: voxels() }.export_owned();
    // SAFETY: the tensor is new and consumed here; no one writes to it.
    assert_eq!(unsafe { dlpk::before::sum(before) }, 48.0);
    let after = dlpk::after::Volume { voxels: voxels() }.into_dlpack().unwrap().into_raw();
    // SAFETY: the same.
    assert_eq!(unsafe { dlpk::after::sum(after) }, Ok(48.0));
}

#[test]
fn classes_of_pyo3_dlpack() {
    Python::attach(|py| {
        let module = PyModule::new(py, "sound").unwrap();
        pyo3_dlpack::after::sound(&module).unwrap();
        let arguments = (vec![0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0], 2);
        let before = py.get_type::<pyo3_dlpack::before::Spectrum>().call1(arguments.clone());
        let after = module.getattr("Spectrum").unwrap().call1(arguments);
        let sum = |object: Bound<'_, PyAny>| {
            let tensor = dlpack_traits::python::from_dlpack(&object).unwrap();
            assert_eq!((tensor.shape(), tensor.strides()), (&[2, 3][..], &[3, 1][..]));
            assert_eq!(tensor.flags(), Flags::READ_ONLY);
            tensor.elements::<f32>().unwrap().iter().sum::<f32>()
        };
        assert_eq!((sum(before.unwrap()), sum(after.unwrap())), (15.0, 15.0));
    });
}
