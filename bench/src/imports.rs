//! Imports of a tensor with its metadata, and exports of it again.
//!
//! The C struct is static and its deleter does nothing, so that the rows show the import
//! alone. The tensor has the strides of a contiguous one in the first rows and those of a
//! transposed one in the last: what an import validates depends on them.

use std::hint::black_box;

use dlpack_traits::ffi::DLManagedTensorVersioned;
use dlpack_traits::{DLPackExport, DLPackImport, ImportError, ImportedStorage, ImportedTensor};

use crate::contender::{LEN, Samples, delete, foreign};
use crate::counting::count;
use crate::floor;
use crate::measure::{BATCH, Subject, timed};
use crate::report::{Entry, OURS, Report};
use crate::shapes::floor as shape_floor;
use crate::shapes::types::Strided;

/// A struct of an imported tensor, as the derive builds it, and the same struct, built by hand.
macro_rules! structs {
    ($derived:ident, $by_hand:ident) => {
        #[derive(DLPackExport, DLPackImport)]
        struct $derived {
            data: ImportedStorage<f32>,
            shape: [usize; 2],
            strides: [isize; 2],
        }

        struct $by_hand {
            #[expect(dead_code, reason = "it is dropped")]
            data: ImportedStorage<f32>,
            #[expect(dead_code, reason = "as above")]
            shape: [usize; 2],
            #[expect(dead_code, reason = "as above")]
            strides: [isize; 2],
        }

        impl DLPackImport for $by_hand {
            fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
                let (&[rows, columns], &[down, right]) = (tensor.shape(), tensor.strides()) else {
                    return Err(ImportError::rejected("a matrix has two dimensions"));
                };
                let size = |dim| usize::try_from(dim).map_err(ImportError::rejected);
                let step = |stride| isize::try_from(stride).map_err(ImportError::rejected);
                let (shape, strides) = ([size(rows)?, size(columns)?], [step(down)?, step(right)?]);
                Ok(Self { data: ImportedStorage::new(tensor)?, shape, strides })
            }
        }
    };
}

// `from_dlpack` of these is called in one place, where the compiler is free to inline it.
structs!(Derived, ByHand);
// `from_dlpack` of these is never inlined: tensor and result are moved through memory.
structs!(DerivedOutlined, ByHandOutlined);

#[inline(never)]
fn by_hand_outlined(tensor: ImportedTensor) -> Result<ByHandOutlined, ImportError> {
    ByHandOutlined::from_dlpack(tensor)
}

#[inline(never)]
fn derived_outlined(tensor: ImportedTensor) -> Result<DerivedOutlined, ImportError> {
    DerivedOutlined::from_dlpack(tensor)
}

/// Something that is done with one C struct again and again.
fn again<O>(
    name: &str,
    managed: *mut DLManagedTensorVersioned,
    run: impl Fn(*mut DLManagedTensorVersioned) -> O + 'static,
) -> Entry {
    let allocations = count(|| drop(black_box(run(black_box(managed)))));
    let batch = move || {
        timed(|| {
            for _ in 0..BATCH {
                drop(black_box(run(black_box(managed))));
            }
        })
    };
    Entry { subject: Subject::new(name, batch), allocations: Some(allocations) }
}

#[inline(always)]
fn import(managed: *mut DLManagedTensorVersioned) -> ImportedTensor {
    // SAFETY: 1. to 5. The struct is static, its deleter does nothing, and no one writes the
    // elements.
    unsafe { ImportedTensor::from_raw(managed) }.expect("a tensor")
}

/// What the imports are compared with: tvm-ffi, if it is built, or else the floor.
fn reference(managed: *mut DLManagedTensorVersioned) -> Vec<Entry> {
    #[cfg(feature = "tvm-ffi")]
    // SAFETY: 1. The struct is static.
    let mut tvm_ffi = again("tvm-ffi 0.1.15", managed, |managed| unsafe {
        crate::peers::tvm_ffi::import(managed)
    });
    #[cfg(feature = "tvm-ffi")]
    {
        tvm_ffi.allocations = None;
    }
    let floor = floor_of::<16>(managed);
    #[cfg(feature = "tvm-ffi")]
    return vec![tvm_ffi, floor];
    #[cfg(not(feature = "tvm-ffi"))]
    vec![floor]
}

/// The import by hand of a tensor with at most half as many dimensions as `NUMBERS`.
fn floor_of<const NUMBERS: usize>(managed: *mut DLManagedTensorVersioned) -> Entry {
    again("floor", managed, |managed| {
        // SAFETY: 1. The struct is static.
        unsafe { floor::import::<NUMBERS>(managed) }
    })
}

/// The rows of a tensor of one layout.
fn rows(report: &mut Report, layout: &str, rounds: usize, managed: *mut DLManagedTensorVersioned) {
    let row = |ours: Entry| {
        let mut entries = reference(managed);
        entries.push(ours);
        entries
    };
    let imported = again(OURS, managed, import);
    report.row(&format!("import + drop, {layout}"), Some(1.0), row(imported), rounds);
    let typed = |managed| ImportedStorage::<f32>::new(import(managed)).expect("floats");
    let typed = again(OURS, managed, typed);
    report.row(
        &format!("import as ImportedStorage<f32> + drop, {layout}"),
        Some(1.05),
        row(typed),
        rounds,
    );
    let by_hand = |managed| ByHand::from_dlpack(import(managed)).expect("a matrix");
    let derived = |managed| Derived::from_dlpack(import(managed)).expect("a matrix");
    let structs =
        vec![again("by hand", managed, by_hand), again("dlpack-traits, derived", managed, derived)];
    report.row(&format!("import as a struct + drop, {layout}"), Some(1.5), structs, rounds);
    let structs = vec![
        again("by hand", managed, |managed| by_hand_outlined(import(managed)).expect("a matrix")),
        again("dlpack-traits, derived", managed, |managed| {
            derived_outlined(import(managed)).expect("a matrix")
        }),
    ];
    let title = format!("import as a struct + drop, {layout}, not inlined");
    report.row(&title, Some(1.5), structs, rounds);
}

/// The rows of an empty tensor and of more dimensions than an import stores inline.
fn empty_and_many_dimensions(report: &mut Report, rounds: usize) {
    let tensor = || foreign(Box::leak(Box::new([1.0; LEN])));
    let empty = tensor();
    // SAFETY: the struct is static, and nothing else uses it yet.
    let shape = unsafe { (*empty).dl_tensor.shape };
    // SAFETY: there are two extents.
    unsafe { shape.write(0) };
    let many = tensor();
    let dims: &'static mut [i64; 18] = Box::leak(Box::new([1; 18]));
    // SAFETY: the struct is static, and nothing else uses it yet.
    let described = unsafe { &mut (*many).dl_tensor };
    (described.ndim, described.shape) = (9, dims.as_mut_ptr());
    described.strides = described.shape.wrapping_add(9);
    let mut entries = reference(empty);
    // The floor stops at an extent of zero.
    entries.retain(|entry| entry.subject.name != "floor");
    entries.push(again(OURS, empty, import));
    report.row("import + drop, no elements", None, entries, rounds);
    let mut entries = vec![floor_of::<18>(many)];
    let others = reference(many).into_iter();
    entries.extend(others.filter(|entry| entry.subject.name != "floor"));
    entries.push(again(OURS, many, import));
    report.row("import + drop, nine dimensions", Some(2.5), entries, rounds);
}

/// Every row.
pub fn all(report: &mut Report, rounds: usize) {
    let managed = foreign(Box::leak(Box::new([1.0; LEN])));
    rows(report, "contiguous", rounds, managed);
    let transposed = foreign(Box::leak(Box::new([1.0; LEN])));
    // SAFETY: the struct is static, and nothing else uses it yet.
    let strides = unsafe { (*transposed).dl_tensor.strides };
    // SAFETY: there are two of them.
    unsafe { strides.cast::<[i64; 2]>().write([1, 16]) };
    rows(report, "transposed", rounds, transposed);
    empty_and_many_dimensions(report, rounds);

    let imported = ImportedStorage::<f32>::new(import(managed)).expect("floats");
    let data = ImportedStorage::new(import(managed)).expect("floats");
    let derived = Derived { data, shape: [16, 16], strides: [16, 1] };
    let Samples { data, .. } = Samples::new();
    let floor = Strided { data: data.into(), shape: vec![16, 16], strides: vec![16, 1] };
    let export = |tensor: Result<dlpack_traits::ManagedTensor, _>| {
        // SAFETY: just exported.
        unsafe { delete(black_box(tensor.expect("a tensor").into_raw())) };
    };
    let entries = vec![
        again("floor", managed, move |_| {
            // SAFETY: just exported.
            unsafe { delete(black_box(shape_floor::shared(&floor))) };
        }),
        again("dlpack-traits, ImportedStorage<f32>", managed, move |_| {
            export(imported.to_dlpack())
        }),
        again("dlpack-traits, derived", managed, move |_| export(derived.to_dlpack())),
    ];
    report.row("export of an import + C deleter", Some(1.25), entries, rounds);
}
