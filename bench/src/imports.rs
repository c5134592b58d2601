//! Imports of a tensor with its metadata, and exports of it again.
//!
//! The C structs are static and their deleters do nothing, so that the rows show the import
//! alone. The tensor has the strides of a contiguous one in the first rows and those of a
//! transposed one in the last: what an import validates depends on them.
//!
//! A batch imports several structs in turn, as a program does. With one struct a row depends on its
//! address: a load waits for an earlier store whose address has the same 12 low bits (measured: 15.0
//! and 17.1 ns for the same code).

use std::hint::black_box;

use dlpack_traits::ffi::{DLManagedTensorVersioned, DLTensor};
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

/// C structs of equal tensors.
type Structs = [*mut DLManagedTensorVersioned; 16];

/// C structs of tensors that `change` describes.
fn structs_of(change: impl Fn(&mut DLTensor, &mut [i64; 4])) -> Structs {
    [(); 16].map(|()| {
        let managed = foreign(Box::leak(Box::new([1.0; LEN])));
        // SAFETY: the struct is static, and nothing else uses it yet.
        let tensor = unsafe { &mut (*managed).dl_tensor };
        let lists = tensor.shape.cast::<[i64; 4]>();
        // SAFETY: two extents and two strides are in one array, which nothing else uses yet.
        change(tensor, unsafe { &mut *lists });
        managed
    })
}

/// Something that is done with C structs again and again.
fn again<O>(
    name: &str,
    structs: &Structs,
    run: impl Fn(*mut DLManagedTensorVersioned) -> O + 'static,
) -> Entry {
    let structs = *structs;
    let allocations = count(|| drop(black_box(run(black_box(structs[0])))));
    let batch = move || {
        timed(|| {
            for _ in 0..BATCH / structs.len() {
                for managed in structs {
                    drop(black_box(run(black_box(managed))));
                }
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
fn reference(structs: &Structs) -> Vec<Entry> {
    #[cfg(feature = "tvm-ffi")]
    // SAFETY: 1. The struct is static.
    let mut tvm_ffi = again("tvm-ffi 0.1.15", structs, |managed| unsafe {
        crate::peers::tvm_ffi::import(managed)
    });
    #[cfg(feature = "tvm-ffi")]
    {
        tvm_ffi.allocations = None;
    }
    let floor = floor_of::<16>(structs);
    #[cfg(feature = "tvm-ffi")]
    return vec![tvm_ffi, floor];
    #[cfg(not(feature = "tvm-ffi"))]
    vec![floor]
}

/// The import by hand of a tensor with at most half as many dimensions as `NUMBERS`.
fn floor_of<const NUMBERS: usize>(structs: &Structs) -> Entry {
    again("floor", structs, |managed| {
        // SAFETY: 1. The struct is static.
        unsafe { floor::import::<NUMBERS>(managed) }
    })
}

/// The rows of a tensor of one layout.
fn rows(report: &mut Report, layout: &str, rounds: usize, structs: &Structs) {
    let row = |ours: Entry| {
        let mut entries = reference(structs);
        entries.push(ours);
        entries
    };
    let imported = again(OURS, structs, import);
    report.row(&format!("import + drop, {layout}"), Some(1.0), row(imported), rounds);
    let typed = |managed| ImportedStorage::<f32>::new(import(managed)).expect("floats");
    let typed = again(OURS, structs, typed);
    report.row(
        &format!("import as ImportedStorage<f32> + drop, {layout}"),
        Some(1.05),
        row(typed),
        rounds,
    );
    let by_hand = |managed| ByHand::from_dlpack(import(managed)).expect("a matrix");
    let derived = |managed| Derived::from_dlpack(import(managed)).expect("a matrix");
    let entries =
        vec![again("by hand", structs, by_hand), again("dlpack-traits, derived", structs, derived)];
    report.row(&format!("import as a struct + drop, {layout}"), Some(1.5), entries, rounds);
    let entries = vec![
        again("by hand", structs, |managed| by_hand_outlined(import(managed)).expect("a matrix")),
        again("dlpack-traits, derived", structs, |managed| {
            derived_outlined(import(managed)).expect("a matrix")
        }),
    ];
    let title = format!("import as a struct + drop, {layout}, not inlined");
    report.row(&title, Some(1.5), entries, rounds);
}

/// The rows of tensors without dimensions, without elements, without strides, and with many dimensions.
fn odd_shapes(report: &mut Report, rounds: usize) {
    let scalar = structs_of(|tensor, _| tensor.ndim = 0);
    let empty = structs_of(|_, lists| lists[0] = 0);
    let row_major = structs_of(|tensor, _| tensor.strides = std::ptr::null_mut());
    let many = structs_of(|tensor, _| {
        let dims: &'static mut [i64; 18] = Box::leak(Box::new([1; 18]));
        (tensor.ndim, tensor.shape) = (9, dims.as_mut_ptr());
        tensor.strides = tensor.shape.wrapping_add(9);
    });
    let mut entries = reference(&scalar);
    entries.push(again(OURS, &scalar, import));
    report.row("import + drop, no dimensions", None, entries, rounds);
    let mut entries = reference(&empty);
    // The floor stops at an extent of zero.
    entries.retain(|entry| entry.subject.name != "floor");
    entries.push(again(OURS, &empty, import));
    report.row("import + drop, no elements", None, entries, rounds);
    let mut entries = reference(&row_major);
    // The floor reads no NULL strides.
    entries.retain(|entry| entry.subject.name != "floor");
    entries.push(again(OURS, &row_major, import));
    report.row("import + drop, NULL strides", None, entries, rounds);
    let mut entries = vec![floor_of::<18>(&many)];
    let others = reference(&many).into_iter();
    entries.extend(others.filter(|entry| entry.subject.name != "floor"));
    entries.push(again(OURS, &many, import));
    report.row("import + drop, nine dimensions", Some(2.5), entries, rounds);
}

/// The rows of exports of an imported tensor, by itself and in a struct. The floor is the export of a
/// struct with strides.
fn exports(report: &mut Report, rounds: usize, structs: &Structs) {
    let export = |tensor: Result<dlpack_traits::ManagedTensor, _>| {
        // SAFETY: just exported.
        unsafe { delete(black_box(tensor.expect("a tensor").into_raw())) };
    };
    let data = || ImportedStorage::new(import(structs[0])).expect("floats");
    let floor = || {
        let Samples { data, .. } = Samples::new();
        let floor = Strided { data: data.into(), shape: vec![16, 16], strides: vec![16, 1] };
        again("floor", structs, move |_| {
            // SAFETY: just exported.
            unsafe { delete(black_box(shape_floor::shared(&floor))) };
        })
    };
    let imported = data();
    let imported = again(OURS, structs, move |_| export(imported.to_dlpack()));
    let entries = vec![floor(), imported];
    report.row("export of an import + C deleter", Some(1.25), entries, rounds);
    let derived = Derived { data: data(), shape: [16, 16], strides: [16, 1] };
    let derived = again(OURS, structs, move |_| export(derived.to_dlpack()));
    let entries = vec![floor(), derived];
    report.row("export of an import in a struct + C deleter", Some(1.25), entries, rounds);
}

/// Every row.
pub fn all(report: &mut Report, rounds: usize) {
    let contiguous = structs_of(|_, _| ());
    rows(report, "contiguous", rounds, &contiguous);
    rows(report, "transposed", rounds, &structs_of(|_, lists| *lists = [16, 16, 1, 16]));
    odd_shapes(report, rounds);
    exports(report, rounds, &contiguous);
}
