//! Every allocation fails in turn, in every operation of this crate: an error, no leak, no abort,
//! but for a block of one large element.

use core::ffi::{CStr, c_char, c_void};
use core::ptr;
use std::process::Command;
use std::sync::Arc;

use dlpack_tests::counted::Owner;
use tensors::backend::Cpu;
use tensors::exchange::{Importable, ObjectHost, TableError, Wrap, table};
use tensors::ffi::{DLManagedTensorVersioned, DLPackExchangeAPI, DLTensor, SetError};
use tensors::{
    DLPackExport, DLPackImport, DataRef, Error, ImportError, ImportedSlice, ImportedStorage,
    ImportedTensor, Layout, ManagedTensor, Readable, SharedBuffer, SharedOwner, Storage,
    TensorView,
};

use super::alarm::{each_fails, in_peace, peak, without_large};

const NINE: [i64; 9] = [2, 1, 1, 1, 1, 1, 1, 1, 3];
const SHAPES: [&[i64]; 3] = [&[6], &[2, 3], &NINE];

/// An error where an allocation failed, and a result where none did.
fn judged<T>(result: Result<T, Error>, failed: bool) {
    match result.map(drop) {
        Ok(()) => assert!(!failed, "an allocation failed without an error"),
        Err(Error::OutOfMemory { .. }) => assert!(failed),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_failed_allocation_of_an_export_leaks_nothing() {
    for shape in SHAPES {
        let owner = || Owner::new(vec![0_f32; 6], shape);
        assert!(each_fails(owner, Owner::into_dlpack, judged) >= 1, "{shape:?}");
        each_fails(owner, Owner::into_dlpack_legacy, judged);
        each_fails(owner, |owner| owner.try_into_dlpack().map_err(|(_, error)| error), judged);
        let strided = || Owner::new(vec![0_f32; 6], shape).strided(&vec![0; shape.len()], 0);
        each_fails(strided, Owner::into_dlpack, judged);
        each_fails(strided, |owner| owner.copy_to_dlpack(), judged);
        each_fails(strided, |owner| owner.tensor().map(drop), judged);
        let shared = || Owner::new(Arc::<[f32]>::from([0.0; 6]), shape);
        assert!(each_fails(shared, |owner| owner.to_dlpack(), judged) >= 1);
    }
}

/// An owner that is larger than a handle is boxed.
#[test]
fn a_failed_allocation_of_a_large_shared_owner_leaks_nothing() {
    struct Large([usize; 9], Arc<[f32]>);

    impl Storage for Large {
        fn data(&self) -> DataRef<'_> {
            self.1.data()
        }

        fn share(&self) -> Option<SharedOwner> {
            SharedOwner::new(Self(self.0, Arc::clone(&self.1)))
        }
    }

    let owner = || Owner::new(Large([0; 9], Arc::from([0.0; 6])), &[6]);
    assert_eq!(
        each_fails(
            owner,
            |owner| owner.to_dlpack(),
            |result, failed| {
                // Without another owner there is no sharing: `share` returns no reason.
                assert_eq!(result.is_err(), failed);
            }
        ),
        2
    );
}

#[test]
fn a_failed_allocation_of_a_buffer_leaks_nothing() {
    assert_eq!(each_fails(|| (), |()| SharedBuffer::<f32>::zeroed(6), judged), 2);
    assert_eq!(each_fails(|| (), |()| SharedBuffer::from_slice(&[1_u8; 9]), judged), 2);
}

fn exported(shape: &[i64]) -> ManagedTensor {
    Owner::new(vec![1_i32; 6], shape).into_dlpack().unwrap()
}

/// As C would give it.
fn in_c(shape: &[i64]) -> *mut DLManagedTensorVersioned {
    exported(shape).into_raw()
}

fn import(raw: *mut DLManagedTensorVersioned) -> Result<ImportedTensor, Error> {
    // SAFETY: 1. to 4. It was just exported, and we own it. 5. It has no other owner.
    unsafe { ImportedTensor::from_raw(raw) }
}

#[test]
fn a_failed_allocation_of_an_import_leaks_nothing() {
    for shape in SHAPES {
        assert_eq!(each_fails(|| in_c(shape), import, judged), 1);
        assert_eq!(each_fails(|| exported(shape), ManagedTensor::import, judged), 1);
        let imported = || import(in_c(shape)).unwrap();
        assert_eq!(each_fails(imported, ImportedStorage::<i32>::new, judged), 0);
        let elements = |tensor: ImportedTensor| tensor.elements::<i32>().unwrap().to_vec();
        assert_eq!(each_fails(imported, elements, judged), 1);
        let foreign = || ImportedStorage::<i32>::new(imported()).unwrap();
        each_fails(foreign, |foreign| foreign.to_dlpack(), judged);
        each_fails(foreign, |foreign| foreign.copy_to_dlpack(), judged);
        each_fails(foreign, ImportedStorage::into_dlpack, judged);
    }
}

/// Only the slow path of a slice allocates.
#[test]
fn a_failed_allocation_of_a_slice_leaks_nothing() {
    fn import<T: Readable>(raw: *mut DLManagedTensorVersioned) -> Result<(), Error> {
        // SAFETY: 1. to 6. As in `import`.
        unsafe { ImportedSlice::<T>::from_raw(raw) }.map(drop)
    }
    for shape in SHAPES {
        let row_major = || {
            let raw = in_c(shape);
            // SAFETY: it was just exported, and nothing else uses it.
            unsafe { (*raw).dl_tensor.strides = ptr::null_mut() };
            raw
        };
        assert_eq!(each_fails(row_major, import::<i32>, judged), 0);
        assert_eq!(each_fails(|| in_c(shape), import::<i32>, judged), 0);
        let bools = || Owner::new(vec![true; 6], shape).into_dlpack().unwrap().into_raw();
        assert_eq!(each_fails(bools, import::<bool>, judged), 1);
    }
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Kept<const N: usize> {
    data: ImportedStorage<i32>,
    shape: [usize; N],
    strides: [i64; N],
    byte_offset: u32,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Copied<const N: usize> {
    #[dlpack(data, copy)]
    data: Vec<i32>,
    shape: [i64; N],
}

fn imported_as<T: DLPackImport>(tensor: ImportedTensor) -> Result<T, Error> {
    T::from_dlpack(tensor).map_err(|error| match error {
        ImportError::Tensor(error) => error,
        other => panic!("{other}"),
    })
}

#[test]
fn a_failed_allocation_of_a_derived_import_leaks_nothing() {
    fn check<const N: usize>(shape: &[i64]) {
        let imported = || import(in_c(shape)).unwrap();
        assert_eq!(each_fails(imported, imported_as::<Kept<N>>, judged), 0);
        assert!(each_fails(imported, imported_as::<Copied<N>>, judged) >= 1);
    }
    check::<1>(&[6]);
    check::<2>(&[2, 3]);
    check::<9>(&NINE);
}

/// The size of both dimensions of a broadcast tensor. Miri interprets the copy of each element.
const SIDE: usize = if cfg!(miri) { 1 << 5 } else { 1 << 8 };
/// The number of its elements, and the size of an allocation that fails.
const MANY: usize = SIDE * SIDE;
const LARGE: usize = MANY / 2;

/// One byte, as `MANY` elements.
fn broadcast() -> ImportedTensor {
    let owner = Owner::new(vec![1_u8], &[i64::try_from(SIDE).unwrap(); 2]).strided(&[0, 0], 0);
    import(owner.into_dlpack().unwrap().into_raw()).unwrap()
}

macro_rules! copied {
    ($($name:ident { $($(#[$role:meta])* $field:ident: $type:ty),+ } $([$order:ident])?)+) => {
        $(
            #[derive(DLPackImport)]
            #[dlpack(crate = ::tensors $(, order = $order)?)]
            #[expect(dead_code, reason = "nothing but whether it can be made matters")]
            struct $name { $($(#[$role])* $field: $type),+ }
        )+

        const COPIES: &[(&str, fn(ImportedTensor) -> Result<(), Error>)] =
            &[$((stringify!($name), |tensor| imported_as::<$name>(tensor).map(drop))),+];
    };
}

copied! {
    InVec { #[dlpack(copy)] data: Vec<u8>, shape: [usize; 2] }
    InColumns { #[dlpack(copy)] data: Vec<u8>, shape: [usize; 2] } [column_major]
    InBox { #[dlpack(copy)] data: Box<[u8]>, shape: [usize; 2] }
    InArc { #[dlpack(copy)] data: Arc<[u8]>, shape: [usize; 2] }
    InArcColumns { #[dlpack(copy)] data: Arc<[u8]>, shape: [usize; 2] } [column_major]
    InBoxedArc { #[dlpack(copy)] data: Box<Arc<[u8]>>, shape: [usize; 2] }
    InShared { #[dlpack(copy)] data: SharedBuffer<u8>, shape: [usize; 2] }
    InArray { #[dlpack(copy)] data: Box<[u8; MANY]>, shape: [usize; 2] }
    InSharedArray { #[dlpack(copy)] data: Arc<[u8; MANY]>, shape: [usize; 2] }
    InArrays { #[dlpack(copy)] data: Arc<[[u8; SIDE]; SIDE]>, shape: [usize; 1] }
    InArraysOfArrays { #[dlpack(copy)] data: Vec<[u8; SIDE]>, shape: [usize; 1] }
    AsBytes { #[dlpack(copy)] data: Vec<u8>, shape: [usize; 2], dtype: tensors::DataType }
    Pixels { #[dlpack(copy)] data: Arc<[Pixel]>, shape: [usize; 1] }
}

#[derive(Clone, Copy, tensors::Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(transparent)]
struct Pixel([u8; SIDE]);

/// No allocation whose size a tensor decides aborts: a tensor of one byte may have any number of
/// elements.
#[test]
fn allocations_of_the_size_of_a_tensor_return_errors() {
    let check = |name: &str, run: &dyn Fn(ImportedTensor) -> Result<(), Error>| {
        let tensor = broadcast();
        let failed = without_large(LARGE, || run(tensor));
        assert!(matches!(failed, Err(Error::OutOfMemory { .. })), "{name}: {failed:?}");
        assert_eq!(run(broadcast()), Ok(()), "{name}");
    };
    for (name, copy) in COPIES {
        check(name, copy);
    }
    check("to_vec", &|tensor| tensor.elements::<u8>()?.to_vec().map(drop));
    check("to_ndarray", &|tensor| tensor.elements::<u8>()?.to_ndarray().map(drop));
    check("to_own_copy", &|tensor| tensor.to_own_copy().map(drop));
    let row = || {
        let row = Owner::new(vec![1_u8], &[1, i64::try_from(MANY).unwrap()]).strided(&[0, 0], 0);
        row.into_dlpack().unwrap().import().unwrap()
    };
    check("for_each_row", &|_| row().elements::<u8>()?.for_each_row(|_| {}));
    let storage = |tensor| ImportedStorage::<u8>::new(tensor);
    check("copy_to_dlpack", &|tensor| storage(tensor)?.copy_to_dlpack().map(drop));
    let buffer = SharedBuffer::<u8>::zeroed(MANY).unwrap();
    check("try_to_vec", &|_| buffer.try_to_vec().map(drop));
}

/// A copy is made in the memory where it stays.
#[test]
#[cfg_attr(miri, ignore = "so short copies are not longer than the other allocations")]
fn copies_need_no_memory_for_a_second_copy() {
    for (name, copy) in COPIES {
        let peak = peak(|| copy(broadcast()));
        // An array is made from a vector.
        let most = if name.contains("Array") { 2 * MANY } else { MANY } + LARGE;
        let peak = usize::try_from(peak).unwrap();
        assert!((MANY..most).contains(&peak), "{name}: {peak}");
    }
}

/// Arrays of imported elements, whose shape and strides are lists.
#[test]
fn a_failed_allocation_of_an_array_view_leaks_nothing() {
    // For more than four axes `ndarray` allocates too, and aborts.
    for shape in &SHAPES[..2] {
        let imported = || import(in_c(shape)).unwrap();
        let count = |tensor: ImportedTensor| {
            // SAFETY: 1. No one writes to the elements.
            let frozen = unsafe { tensor.assume_frozen() };
            frozen.as_ndarray::<i32>().map(|array| array.len())
        };
        assert!(each_fails(imported, count, judged) >= 2);
    }
}

/// Objects that are their values.
struct Pointers;

thread_local! {
    static RAISED: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

// SAFETY: 1. and 2. An object is its value, and no `&mut` to one is ever made. 3.
// Nothing is claimed.
unsafe impl<T: DLPackExport + 'static> ObjectHost<T> for Pointers {
    type Error = ();

    unsafe fn with<R>(
        object: *mut c_void,
        run: impl FnOnce(&T) -> Result<R, TableError<()>>,
    ) -> Result<R, TableError<()>> {
        // SAFETY: by 1 it is a living object.
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
        assert_eq!(fault.kind(), c"MemoryError");
        RAISED.set(RAISED.get() + 1);
    }
}

// SAFETY: 1. It is a new box.
unsafe impl<T: DLPackExport + 'static> Wrap<T> for Pointers {
    unsafe fn wrap(value: T) -> Result<*mut c_void, TableError<()>> {
        Ok(in_peace(|| Box::into_raw(Box::new(value)).cast()))
    }
}

fn kept<const N: usize>() -> &'static DLPackExchangeAPI {
    table::<Kept<N>, Pointers, Cpu, Importable>()
}

/// Zero and nothing raised, or -1 and one thing.
fn coded(code: i32, failed: bool) {
    assert_eq!((code, RAISED.take()), if failed { (-1, 1) } else { (0, 0) });
}

#[test]
fn a_failed_allocation_of_a_table_export_leaks_nothing() {
    fn check<const N: usize>(shape: &[i64]) {
        let export = kept::<N>().managed_tensor_from_py_object_no_sync.unwrap();
        let value = || imported_as::<Kept<N>>(import(in_c(shape)).unwrap()).unwrap();
        let run = |value: Kept<N>| {
            let mut out = ptr::dangling_mut();
            let object: *const Kept<N> = &raw const value;
            // SAFETY: the object is alive; `out` may be written.
            let code = unsafe { export(object.cast_mut().cast(), &raw mut out) };
            if !out.is_null() {
                drop(in_peace(|| import(out)));
            }
            (code, out.is_null())
        };
        let failures = each_fails(value, run, |(code, nothing), failed| {
            assert_eq!(nothing, failed);
            coded(code, failed);
        });
        assert!(failures >= 1);
    }
    check::<1>(&[6]);
    check::<9>(&NINE);
}

/// After a failure the tensor is the caller's still.
#[test]
fn a_failed_allocation_of_a_table_object_leaks_nothing() {
    fn check<const N: usize>(shape: &[i64]) {
        let make = kept::<N>().managed_tensor_to_py_object_no_sync.unwrap();
        let run = |tensor| {
            let mut out = ptr::dangling_mut();
            // SAFETY: the caller owns the tensor; `out` may be written.
            let code = unsafe { make(tensor, &raw mut out) };
            in_peace(|| {
                if out.is_null() {
                    drop(import(tensor).unwrap());
                } else {
                    // SAFETY: `wrap` boxed it.
                    drop(unsafe { Box::from_raw(out.cast::<Kept<N>>()) });
                }
            });
            code
        };
        assert!(each_fails(|| in_c(shape), run, coded) >= 2);
    }
    check::<1>(&[6]);
    check::<9>(&NINE);
}

#[test]
fn a_failed_allocation_of_a_table_view_leaks_nothing() {
    for shape in SHAPES {
        let value = || Owner::new(SharedBuffer::<f32>::zeroed(6).unwrap(), shape);
        let table =
            table::<Owner<SharedBuffer<f32>>, Pointers, Cpu, tensors::exchange::NotImportable>();
        let view = table.dltensor_from_py_object_no_sync.unwrap();
        let run = |value: Owner<SharedBuffer<f32>>| {
            let mut out = core::mem::MaybeUninit::uninit();
            let object: *const Owner<_> = &raw const value;
            // SAFETY: the object is alive; `out` may be written.
            unsafe { view(object.cast_mut().cast(), out.as_mut_ptr()) }
        };
        each_fails(value, run, coded);
    }
}

unsafe extern "C" fn told(calls: *mut c_void, kind: *const c_char, message: *const c_char) {
    // SAFETY: the argument is such a number.
    unsafe { *calls.cast::<usize>() += 1 };
    // SAFETY: the header demands C strings.
    assert_eq!(unsafe { CStr::from_ptr(kind) }, c"MemoryError");
    // SAFETY: as above.
    assert!(!unsafe { CStr::from_ptr(message) }.is_empty());
}

/// X7: SetError is called once, without an allocation.
#[test]
fn a_failed_allocation_of_the_table_allocator_is_reported_once() {
    let allocate = kept::<1>().managed_tensor_allocator.unwrap();
    let set_error: SetError = Some(told);
    for shape in SHAPES {
        let mut dims = shape.to_vec();
        let prototype = DLTensor {
            data: ptr::null_mut(),
            device: tensors::Device::CPU.to_ffi(),
            ndim: i32::try_from(dims.len()).unwrap(),
            dtype: tensors::DataType::F32.to_ffi(),
            shape: dims.as_mut_ptr(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let run = |mut prototype: DLTensor| {
            let (mut out, mut calls) = (ptr::dangling_mut(), 0_usize);
            // SAFETY: 1. It is complete. 2. `out` may be written. 3. `told` takes such a
            // number.
            let code = unsafe {
                allocate(&raw mut prototype, &raw mut out, (&raw mut calls).cast(), set_error)
            };
            if !out.is_null() {
                drop(in_peace(|| import(out)));
            }
            (code, calls)
        };
        let failures = each_fails(
            || prototype,
            run,
            |(code, calls), failed| {
                assert_eq!((code, calls), if failed { (-1, 1) } else { (0, 0) });
            },
        );
        assert!(failures >= 2);
    }
}

/// Printing an error needs no memory either.
#[test]
fn an_error_for_a_long_layout_leaks_nothing() {
    let owner = || Owner::new(vec![0_f32; 6], &[7]);
    each_fails(
        owner,
        |owner| owner.into_dlpack().map(drop),
        |result, failed| {
            assert!(result.is_err() || !failed);
        },
    );
    let view = |owner: Owner<Vec<f32>>| {
        // The list is copied twice: to the layout, and to the slot.
        let layout = Layout::new(owner.shape);
        TensorView::new(owner.data.data(), layout).map(drop)
    };
    each_fails(|| Owner::new(vec![0_f32; 6], &NINE), view, judged);
}

/// As a `Box` of the element does. The methods that return a `Result` return an error.
#[test]
#[cfg_attr(miri, ignore = "it starts a process")]
fn a_block_of_one_large_element_without_memory_ends_the_process() {
    const ASKED: &str = "DLPACK_NO_MEMORY";
    const ROOM: usize = 1 << 14;

    #[derive(Clone, Copy, tensors::Element)]
    #[dlpack(crate = ::tensors, any_bits)]
    #[repr(transparent)]
    struct Frame([u8; ROOM]);

    type Visit = fn(&mut ImportedTensor);
    let visits: [(&str, Visit); 3] = [
        ("blocks", |tensor| tensor.elements::<Frame>().unwrap().for_each_block(|_| ())),
        ("unordered", |tensor| {
            tensor.elements::<Frame>().unwrap().for_each_block_unordered(|_| ());
        }),
        ("update", |tensor| tensor.elements_mut::<Frame>().unwrap().update_blocks(|_| ())),
    ];
    let asked = std::env::var(ASKED);
    for (name, visit) in visits {
        let frames = SharedBuffer::<Frame>::zeroed(2).unwrap();
        let mut tensor = Owner::new(frames, &[2]).into_dlpack().unwrap().import().unwrap();
        if asked.as_deref() == Ok(name) {
            without_large(ROOM, || visit(&mut tensor));
        } else if asked.is_err() {
            visit(&mut tensor);
            let test =
                "faults::memory::a_block_of_one_large_element_without_memory_ends_the_process";
            let mut child = Command::new(std::env::current_exe().unwrap());
            let output = child.args(["--exact", test, "--nocapture"]).env(ASKED, name).output();
            let output = output.unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                !output.status.success() && said.contains("memory allocation"),
                "{name}: {said}"
            );
        }
    }
}
