//! The exchange tables as C code uses them: ours beside that of `torch.Tensor`.
//!
//! `cargo xtask bench table` runs it. Each function is called through its pointer in
//! the table, attached to the interpreter, in a loop.
//!
//! PyTorch's tensor is there twice. One that only Python holds costs PyTorch more to
//! export than one that C++ holds too, and it is the latter that ours is measured by.

#[path = "shapes/element.rs"]
#[allow(dead_code, reason = "the rows of Rust use all of it")]
mod element;
#[path = "../python/src/general.rs"]
mod general;
mod measure;
mod report;
mod table_floor;

use std::ffi::c_void;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use dlpack_traits::ffi::{DLManagedTensorVersioned, DLPackExchangeAPI, DLTensor, kDLCPU};
use dlpack_traits::{DLPackExport, DLPackImport, ExportArc, ImportedStorage, python};
use pyo3::ffi as py;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use general::General;
use measure::{BATCH, Subject, timed};
use report::{Entry, Report};

/// A class whose data, rank and dtype the compiler knows.
#[pyclass(frozen)]
#[derive(DLPackExport)]
struct Samples {
    data: Arc<[f32]>,
    shape: [i64; 2],
}

/// The same of a class that is not frozen, so that each export checks whether the object is
/// mutably borrowed.
#[pyclass]
#[derive(DLPackExport)]
struct MutableSamples {
    data: Arc<[f32]>,
    shape: [i64; 2],
}

/// The same, whose exports need no allocation.
#[pyclass(frozen)]
#[derive(DLPackExport)]
#[dlpack(transparent)]
struct SharedSamples(ExportArc<Matrix>);

#[derive(DLPackExport)]
struct Matrix {
    data: Vec<f32>,
    shape: [i64; 2],
}

/// The same, of tensors of others.
#[pyclass(frozen)]
#[derive(DLPackExport, DLPackImport)]
struct Held {
    data: ImportedStorage<f32>,
    shape: [i64; 2],
}

/// An object and the table of its type.
#[derive(Clone, Copy)]
struct Subjected {
    name: &'static str,
    object: *mut py::PyObject,
    table: &'static DLPackExchangeAPI,
}

fn main() -> PyResult<()> {
    Python::attach(|python| {
        let rows = Rows::new(python)?;
        rows.measure();
        Ok(())
    })
}

struct Rows {
    /// The class of `examples/python` for any dtype, rank and layout, in its own memory.
    general: Subjected,
    /// Its floor, for borrowed tensors.
    general_floor: Subjected,
    /// Such a class without an `ExportArc`.
    general_alone: Subjected,
    /// The class of `examples/python` over imported memory.
    general_held: Subjected,
    ours: Subjected,
    mutable: Subjected,
    shared: Subjected,
    held: Subjected,
    torch: Subjected,
    torch_held: Subjected,
}

impl Rows {
    fn new(python: Python<'_>) -> PyResult<Self> {
        let module = PyModule::new(python, "bench")?;
        // SAFETY: 1. This program does not write the elements.
        unsafe { python::class::<Samples>().read_only_views() }.add(&module)?;
        python::add_class::<MutableSamples>(&module)?;
        // SAFETY: 1. This program does not write the elements.
        unsafe { python::class::<SharedSamples>().read_only_views() }.add(&module)?;
        python::add_class::<General>(&module)?;
        // SAFETY: 1. This program does not write the elements.
        unsafe { python::class::<Held>().importable().read_only_views() }.add(&module)?;
        let data = vec![1.0; 256];
        let samples = Samples { data: data.clone().into(), shape: [16, 16] };
        let samples = Bound::new(python, samples)?.into_any();
        let mutable = MutableSamples { data: data.clone().into(), shape: [16, 16] };
        let mutable = Bound::new(python, mutable)?.into_any();
        let shared = ExportArc::new(Matrix { data, shape: [16, 16] }).expect("memory");
        let shared = Bound::new(python, SharedSamples(shared))?.into_any();
        let torch = PyModule::import(python, "torch")?;
        let only = torch.call_method1("ones", ((16, 16),))?;
        let also = torch.call_method1("ones", ((16, 16),))?;
        // A capsule is a second owner, of C++'s own.
        also.call_method0("__dlpack__")?.into_ptr();
        let held = module.getattr("Held")?.call_method1("from_dlpack", (&also,))?;
        let tensor = PyModule::import(python, "dlpack_example")?.getattr("Tensor")?;
        let general = tensor.call_method1("zeros", ((16, 16), "float32"))?;
        let floor = table_floor::matrix(python, [16, 16])?;
        let general_alone = Bound::new(python, General::new(vec![16, 16])?)?.into_any();
        let general_held = tensor.call_method1("from_dlpack", (&also,))?;
        let general = Subjected::of("dlpack-traits, general Tensor", general)?;
        let table = general.table;
        Ok(Self {
            general,
            general_floor: Subjected {
                name: "floor",
                object: floor.into_ptr(),
                table: Box::leak(Box::new(DLPackExchangeAPI {
                    dltensor_from_py_object_no_sync: Some(table_floor::view),
                    ..*table
                })),
            },
            general_alone: Subjected::of("dlpack-traits, no ExportArc", general_alone)?,
            general_held: Subjected::of("dlpack-traits, general Tensor", general_held)?,
            ours: Subjected::of("dlpack-traits, Arc<[f32]>", samples)?,
            mutable: Subjected::of("dlpack-traits, Arc<[f32]>, not frozen", mutable)?,
            shared: Subjected::of("dlpack-traits, ExportArc", shared)?,
            held: Subjected::of("dlpack-traits, ImportedStorage<f32>", held)?,
            torch: Subjected::of("torch, held by Python alone", only)?,
            torch_held: Subjected::of("torch, held by C++ too", also)?,
        })
    }

    fn measure(&self) {
        let rounds = std::env::var("BENCH_ROUNDS").ok().and_then(|text| text.parse().ok());
        let rounds = rounds.unwrap_or(2000);
        let Self {
            general,
            general_floor,
            general_alone,
            general_held,
            ours,
            mutable,
            shared,
            held,
            torch,
            torch_held,
        } = *self;
        let mut report = Report::new("table");
        let mut row = |title: &str, bar: f64, subjects: Vec<Subject>| {
            let entries =
                subjects.into_iter().map(|subject| Entry { subject, allocations: None }).collect();
            report.row(title, Some(bar), entries, rounds);
        };
        row(
            "table: from object + deleter, general Tensor",
            0.75,
            [torch_held, torch, general, general_alone].map(from_object).into(),
        );
        row(
            "table: from object + deleter, fixed class",
            0.75,
            [torch_held, torch, ours, mutable, shared].map(from_object).into(),
        );
        row(
            "table: borrowed DLTensor, general Tensor",
            0.5,
            [torch_held, torch, general_floor, general, general_alone].map(view).into(),
        );
        row(
            "table: borrowed DLTensor, fixed class",
            0.5,
            [torch_held, torch, ours, shared].map(view).into(),
        );
        row("table: allocator + deleter", 0.3, [torch_held, ours].map(allocator).into());
        row(
            "table: from + to object, general Tensor",
            0.6,
            [torch_held, torch, general_held].map(there_and_back).into(),
        );
        row(
            "table: from + to object, fixed class",
            0.6,
            [torch_held, torch, held].map(there_and_back).into(),
        );
        row("table: current work stream", 0.3, [torch_held, ours].map(stream).into());
        report.finish();
    }
}

impl Subjected {
    fn of(name: &'static str, object: Bound<'_, PyAny>) -> PyResult<Self> {
        let capsule = object.get_type().getattr("__dlpack_c_exchange_api__")?;
        let capsule = capsule.cast_into::<PyCapsule>()?;
        // SAFETY: it is a capsule.
        let table =
            unsafe { py::PyCapsule_GetPointer(capsule.as_ptr(), c"dlpack_exchange_api".as_ptr()) };
        // SAFETY: the standard says that a table lives as long as the process.
        let table = unsafe { table.cast::<DLPackExchangeAPI>().as_ref() }.expect("a table");
        // The object stays until the process ends.
        Ok(Self { name, object: object.into_ptr(), table })
    }

    fn timed(self, run: impl Fn(&Self) + 'static) -> Subject {
        Subject::new(self.name, move || {
            timed(|| {
                for _ in 0..BATCH {
                    run(black_box(&self));
                }
            })
        })
    }

    #[inline(always)]
    fn managed(&self) -> *mut DLManagedTensorVersioned {
        let function = self.table.managed_tensor_from_py_object_no_sync.expect("a function");
        let mut out = ptr::null_mut();
        // SAFETY: the object is alive, and this thread attached.
        let code = unsafe { function(self.object.cast(), &mut out) };
        assert_eq!(code, 0);
        out
    }
}

/// Releases a tensor.
#[inline(always)]
fn delete(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: the tensor is alive, and the caller's.
    let deleter = unsafe { (*managed).deleter }.expect("a deleter");
    // SAFETY: as above.
    unsafe { deleter(managed) }
}

fn from_object(subject: Subjected) -> Subject {
    subject.timed(|subject| delete(subject.managed()))
}

fn view(subject: Subjected) -> Subject {
    subject.timed(|subject| {
        let function = subject.table.dltensor_from_py_object_no_sync.expect("a function");
        let mut out = MaybeUninit::<DLTensor>::uninit();
        // SAFETY: the object is alive, and this thread attached.
        let code = unsafe { function(subject.object.cast(), out.as_mut_ptr()) };
        assert_eq!(code, 0);
        black_box(&out);
    })
}

fn allocator(subject: Subjected) -> Subject {
    subject.timed(|subject| {
        let function = subject.table.managed_tensor_allocator.expect("a function");
        let mut shape = [16_i64, 16];
        let mut prototype = DLTensor {
            data: ptr::null_mut(),
            device: dlpack_traits::Device::CPU.to_ffi(),
            ndim: 2,
            dtype: dlpack_traits::DataType::F32.to_ffi(),
            shape: shape.as_mut_ptr(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let mut out = ptr::null_mut();
        // SAFETY: the prototype is whole.
        let code = unsafe { function(&raw mut prototype, &mut out, ptr::null_mut(), None) };
        assert_eq!(code, 0);
        delete(black_box(out));
    })
}

fn there_and_back(subject: Subjected) -> Subject {
    subject.timed(|subject| {
        let function = subject.table.managed_tensor_to_py_object_no_sync.expect("a function");
        let mut out: *mut c_void = ptr::null_mut();
        // SAFETY: the tensor is alive, and given away; this thread is attached.
        let code = unsafe { function(subject.managed(), &mut out) };
        assert_eq!(code, 0);
        // SAFETY: it is a new object, and its only reference is ours.
        unsafe { py::Py_DECREF(out.cast()) };
    })
}

fn stream(subject: Subjected) -> Subject {
    subject.timed(|subject| {
        let function = subject.table.current_work_stream.expect("a function");
        let mut out: *mut c_void = ptr::null_mut();
        // SAFETY: `out` may be written.
        let code = unsafe { function(kDLCPU, 0, &mut out) };
        assert_eq!(code, 0);
        black_box(out);
    })
}
