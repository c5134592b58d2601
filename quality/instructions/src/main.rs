//! The hot paths, each a thousand times: `cargo xtask bench instructions` runs this
//! under callgrind and counts the instructions inside of [`measured`].
//!
//! `dlpack-instructions` alone lists the rows; with a row's name it runs that one.
//!
//! Instructions are compared instead of times: with one compiler their number is the
//! same on every machine, if only this program's object is counted, because `malloc`
//! and `memcpy` differ between processors.

#[expect(clippy::pedantic, reason = "it is a part of the benchmarks")]
#[path = "../../../bench/src/shapes/element.rs"]
mod element;
#[expect(
    clippy::pedantic,
    clippy::multiple_unsafe_ops_per_block,
    reason = "it is a part of the benchmarks"
)]
#[path = "../../../bench/src/shapes/floor.rs"]
mod floor;
#[expect(clippy::pedantic, reason = "it is a part of the benchmarks")]
#[path = "../../../bench/src/shapes/odd.rs"]
mod odd;
mod shapes;
#[expect(clippy::struct_field_names, reason = "it is a part of the benchmarks")]
#[path = "../../../bench/src/shapes/types.rs"]
mod types;

use core::ffi::c_void;
use core::hint::black_box;
use core::mem::MaybeUninit;
use core::ptr;
use std::process::ExitCode;
use std::sync::Arc;

use dlpack_traits::backend::Cpu;
use dlpack_traits::exchange::{self, NotImportable, ObjectHost, TableError};
use dlpack_traits::ffi::{DLManagedTensorVersioned, DLPackExchangeAPI, DLTensor};
use dlpack_traits::{
    DLPackExport, DataType, Device, ExportArc, ImportedSlice, ImportedStorage, ImportedTensor,
    ManagedTensor, SharedBuffer, Storage,
};

/// How often each row is done; the counts are divided by it.
const TIMES: usize = 1000;

#[derive(DLPackExport)]
struct Matrix {
    data: Vec<f32>,
    shape: [i64; 2],
}

#[derive(DLPackExport)]
struct ArcMatrix {
    data: Arc<[f32]>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
struct Strided {
    data: Vec<f32>,
    shape: [usize; 2],
    strides: [isize; 2],
}

#[derive(DLPackExport)]
struct Imports {
    data: ImportedStorage<f32>,
    shape: [usize; 2],
    strides: [isize; 2],
}

#[derive(DLPackExport)]
struct BufferMatrix {
    data: SharedBuffer<f32>,
    shape: [i64; 2],
}

/// A tensor of any dtype, rank and layout.
#[derive(DLPackExport)]
struct GeneralBytes {
    data: SharedOrFrozen,
    dtype: DataType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    byte_offset: usize,
}

/// The `Tensor` of `examples/python`.
#[derive(DLPackExport)]
enum OwnOrForeign {
    Own(ExportArc<GeneralBytes>),
    #[expect(dead_code, reason = "the branch that an export has to take or not")]
    Foreign(ImportedStorage),
}

#[derive(Storage)]
enum SharedOrFrozen {
    Shared(SharedBuffer<u8>),
    #[expect(dead_code, reason = "the branch that an export has to take or not")]
    Frozen(Arc<[u8]>),
}

/// Objects are pointers to values, which are never modified.
struct Pointers;

// SAFETY: 1. and 2. An object is its value, and no `&mut` to one is ever made.
// 3. Nothing is claimed.
unsafe impl<T: DLPackExport + 'static> ObjectHost<T> for Pointers {
    type Error = ();

    unsafe fn with<R>(
        object: *mut c_void,
        run: impl FnOnce(&T) -> Result<R, TableError<()>>,
    ) -> Result<R, TableError<()>> {
        // SAFETY: by 1 `object` is a living object of this host.
        run(unsafe { &*object.cast::<T>() })
    }

    unsafe fn view<R>(
        object: *mut c_void,
        run: impl FnOnce(&T) -> Result<R, TableError<()>>,
    ) -> Result<R, TableError<()>> {
        // SAFETY: 1. is 1. of this function.
        unsafe { Self::with(object, run) }
    }

    unsafe fn raise(fault: TableError<()>) {
        panic!("{fault:?}");
    }
}

/// Callgrind counts from the call of this to its return.
#[inline(never)]
fn measured(run: &mut dyn FnMut()) {
    run();
}

/// Does it as often as there are inputs, which were made before.
fn each<I, O>(inputs: impl Iterator<Item = I>, mut run: impl FnMut(I) -> O) {
    let mut inputs: Vec<I> = inputs.collect();
    measured(&mut || {
        for input in inputs.drain(..) {
            black_box(run(black_box(input)));
        }
    });
}

/// Does it a thousand times.
fn again<O>(run: impl FnMut(()) -> O) {
    each((0..TIMES).map(|_| ()), run);
}

fn matrix() -> Matrix {
    Matrix { data: vec![1.0; 256], shape: [16, 16] }
}

fn matrices() -> impl Iterator<Item = Matrix> {
    (0..TIMES).map(|_| matrix())
}

fn exported<T: DLPackExport + Send + 'static>(value: T) -> *mut DLManagedTensorVersioned {
    raw(value.into_dlpack())
}

fn raw<E>(tensor: Result<ManagedTensor, E>) -> *mut DLManagedTensorVersioned {
    black_box(tensor.ok().map_or(ptr::null_mut(), ManagedTensor::into_raw))
}

/// Calls a deleter, as C does.
fn delete(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: the tensor was just exported.
    let deleter = unsafe { (*managed).deleter };
    if let Some(deleter) = deleter {
        // SAFETY: as above, and this function owns it.
        unsafe { deleter(managed) }
    }
}

fn slice(managed: *mut DLManagedTensorVersioned) -> f32 {
    // SAFETY: 1. to 6. The tensor was just exported and has no other owner.
    let slice = unsafe { ImportedSlice::<f32>::from_raw(managed) };
    slice.ok().and_then(|slice| slice.first().copied()).unwrap_or_default()
}

/// A tensor whose strides are NULL.
fn row_major(matrix: Matrix) -> *mut DLManagedTensorVersioned {
    let managed = exported(matrix);
    // SAFETY: it was just exported, and nothing else uses it.
    unsafe { (*managed).dl_tensor.strides = core::ptr::null_mut() };
    managed
}

fn import_of(managed: *mut DLManagedTensorVersioned) -> ImportedStorage<f32> {
    // SAFETY: 1. to 5. The tensor was just exported, and no other code has it.
    let tensor = unsafe { ImportedTensor::from_raw(managed) }.expect("a tensor");
    ImportedStorage::new(tensor).expect("floats")
}

fn imported(managed: *mut DLManagedTensorVersioned) -> usize {
    // SAFETY: 1. to 5. The tensor was just exported and has no other owner.
    let tensor = unsafe { ImportedTensor::from_raw(managed) };
    tensor.map_or(0, |tensor| tensor.ndim())
}

fn table<T: DLPackExport + 'static>() -> &'static DLPackExchangeAPI {
    exchange::table::<T, Pointers, Cpu, NotImportable>()
}

fn address<T>(value: &T) -> *mut c_void {
    ptr::from_ref(value).cast_mut().cast()
}

fn from_object() {
    let value = ArcMatrix { data: vec![1.0; 256].into(), shape: [16, 16] };
    let function = black_box(table::<ArcMatrix>().managed_tensor_from_py_object_no_sync);
    again(|()| {
        let mut out = ptr::null_mut();
        // SAFETY: the object lives, and `out` may be written.
        let code = function.map(|function| unsafe { function(address(&value), &raw mut out) });
        assert_eq!(code, Some(0));
        delete(out);
    });
}

fn borrowed_matrix() {
    let data = SharedBuffer::from_slice(&[1.0; 256]).expect("memory");
    borrowed(&BufferMatrix { data, shape: [16, 16] });
}

fn general() -> GeneralBytes {
    let data = SharedOrFrozen::Shared(SharedBuffer::zeroed(1024).expect("memory"));
    let (shape, strides) = (vec![16, 16], vec![16, 1]);
    GeneralBytes { data, dtype: DataType::F32, shape, strides, byte_offset: 0 }
}

fn borrowed_general() {
    borrowed(&general());
}

fn borrowed_enum() {
    borrowed(&OwnOrForeign::Own(ExportArc::new(general()).expect("memory")));
}

fn borrowed<T: DLPackExport + 'static>(value: &T) {
    let function = black_box(table::<T>().dltensor_from_py_object_no_sync);
    again(|()| {
        let mut out = MaybeUninit::<DLTensor>::uninit();
        // SAFETY: the object lives, and `out` may be written.
        let code = function.map(|function| unsafe { function(address(value), out.as_mut_ptr()) });
        assert_eq!(code, Some(0));
        out
    });
}

fn allocator() {
    let function = black_box(table::<ArcMatrix>().managed_tensor_allocator);
    let mut shape = [16_i64, 16];
    let mut prototype = DLTensor {
        data: ptr::null_mut(),
        device: Device::CPU.to_ffi(),
        ndim: 2,
        dtype: DataType::F32.to_ffi(),
        shape: shape.as_mut_ptr(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    again(|()| {
        let mut out = ptr::null_mut();
        let run = |function: unsafe extern "C" fn(_, _, _, _) -> _| {
            // SAFETY: the prototype is whole, and `out` may be written.
            unsafe { function(&raw mut prototype, &raw mut out, ptr::null_mut(), None) }
        };
        assert_eq!(function.map(run), Some(0));
        delete(out);
    });
}

fn strided() -> Strided {
    Strided { data: vec![1.0; 256], shape: [8, 16], strides: [32, 1] }
}

const ROWS: [(&str, fn()); 17] = [
    ("export + deleter", || each(matrices(), |matrix| delete(exported(matrix)))),
    ("export, strided + deleter", || {
        each((0..TIMES).map(|_| strided()), |strided| delete(exported(strided)));
    }),
    ("export of an Arc + deleter", || {
        let matrix = ArcMatrix { data: vec![1.0; 256].into(), shape: [16, 16] };
        again(|()| delete(raw(matrix.to_dlpack())));
    }),
    ("export of an ExportArc + deleter", || {
        let shared = ExportArc::new(matrix()).expect("memory");
        again(|()| delete(raw(shared.to_dlpack())));
    }),
    ("export of an import + deleter", || {
        let imported = import_of(exported(matrix()));
        again(|()| delete(raw(imported.to_dlpack())));
    }),
    ("export of an import, derived + deleter", || {
        let imported = import_of(exported(matrix()));
        let derived = Imports { data: imported, shape: [16, 16], strides: [16, 1] };
        again(|()| delete(raw(derived.to_dlpack())));
    }),
    ("import to a slice + drop", || each(matrices().map(exported), slice)),
    ("import to a slice, NULL strides + drop", || each(matrices().map(row_major), slice)),
    ("import with metadata + drop", || each(matrices().map(exported), imported)),
    ("import as ImportedStorage + drop", || each(matrices().map(exported), import_of)),
    ("round trip", || each(matrices(), |matrix| slice(exported(matrix)))),
    ("borrowed view", || {
        let matrix = matrix();
        again(|()| matrix.tensor().map(|view| view.data_ptr()).ok());
    }),
    ("table: from object + deleter", from_object),
    ("table: borrowed DLTensor", borrowed_matrix),
    ("table: borrowed DLTensor, bytes with a run-time dtype", borrowed_general),
    ("table: borrowed DLTensor, enum of an ExportArc and an import", borrowed_enum),
    ("table: allocator + deleter", allocator),
];

fn rows() -> impl Iterator<Item = (&'static str, fn())> {
    ROWS.into_iter().chain(shapes::ROWS).chain(shapes::ODD)
}

fn main() -> ExitCode {
    let Some(wanted) = std::env::args().nth(1) else {
        println!("{TIMES}");
        for (name, _) in rows() {
            println!("{name}");
        }
        return ExitCode::SUCCESS;
    };
    let Some((_, run)) = rows().find(|(name, _)| *name == wanted) else {
        eprintln!("there is no row `{wanted}`");
        return ExitCode::FAILURE;
    };
    run();
    ExitCode::SUCCESS
}
