//! User code panics, wherever it is called: the owner is dropped once, nothing is leaked,
//! and C gets an error.

use core::cell::Cell;
use core::ffi::c_void;
use core::panic::AssertUnwindSafe;
use core::ptr;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::Arc;

use dlpack_tests::counted::{Drops, Owner, Ticket};
use tensors::backend::{Backends, Cpu, Prototype};
use tensors::exchange::{Importable, ObjectHost, TableError, Wrap, table};
use tensors::ffi::{DLManagedTensorVersioned, DLTensor};
use tensors::{
    AsDims, DLPackExport, DLPackImport, DataMut, DataRef, DataType, Device, Error, FromDims,
    ImportedStorage, ImportedTensor, ManagedTensor, MismatchKind, Order, SharedOwner, Storage,
    StreamArg, Synchronize,
};

use super::alarm::alive;

/// Where a user's code is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hook {
    Shape,
    FromShape,
    Data,
    Lend,
    Share,
    SyncFor,
    DataType,
    Clone,
    Order,
    Drop,
    Construct,
    Validate,
    Wrap,
    Raise,
    Allocate,
    Stream,
}

const EXPORTING: [Hook; 9] = [
    Hook::Shape,
    Hook::Data,
    Hook::Lend,
    Hook::Share,
    Hook::SyncFor,
    Hook::DataType,
    Hook::Clone,
    Hook::Order,
    Hook::Drop,
];

thread_local! {
    static ARMED: Cell<Option<Hook>> = const { Cell::new(None) };
    static TRIPPED: Cell<usize> = const { Cell::new(0) };
    static RAISED: Cell<usize> = const { Cell::new(0) };
}

/// Panics if this hook is armed, without a message, which would be printed.
fn trip(hook: Hook) {
    if ARMED.get() == Some(hook) {
        // Once only: a second panic during unwinding would abort the process.
        ARMED.set(None);
        TRIPPED.set(TRIPPED.get() + 1);
        resume_unwind(Box::new(hook));
    }
}

/// Memory whose every function is a hook.
struct Memory {
    bytes: Arc<[u8]>,
    _ticket: Ticket,
}

impl Storage for Memory {
    fn data(&self) -> DataRef<'_> {
        trip(Hook::Data);
        // SAFETY: 1. and 2. No device works on it.
        unsafe { self.bytes.data().synchronized_by(self) }
    }

    fn data_mut(&mut self) -> DataMut<'_> {
        trip(Hook::Lend);
        self.data().into()
    }

    fn share(&self) -> Option<SharedOwner> {
        trip(Hook::Share);
        self.bytes.share()
    }
}

impl Synchronize for Memory {
    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        trip(Hook::SyncFor);
        consumer.host()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        trip(Hook::Drop);
    }
}

struct Kind;

impl Clone for Kind {
    fn clone(&self) -> Self {
        trip(Hook::Clone);
        Self
    }
}

impl From<Kind> for DataType {
    fn from(_: Kind) -> Self {
        trip(Hook::DataType);
        Self::F32
    }
}

#[derive(Clone)]
struct Axes;

impl From<Axes> for Order {
    fn from(_: Axes) -> Self {
        trip(Hook::Order);
        Self::ColumnMajor
    }
}

/// A list of integers whose owner has user-defined code in both conversions.
struct Extents(Vec<i64>);

impl AsDims for Extents {
    type Dim = i64;

    fn as_dims(&self) -> &[i64] {
        trip(Hook::Shape);
        &self.0
    }
}

impl FromDims for Extents {
    fn from_dims(dims: &[i64]) -> Result<Self, MismatchKind> {
        trip(Hook::FromShape);
        Vec::from_dims(dims).map(Self)
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Hooked {
    #[dlpack(data)]
    memory: Memory,
    shape: Extents,
    #[dlpack(dtype)]
    kind: Kind,
    #[dlpack(order)]
    axes: Axes,
}

fn hooked(drops: &Drops, shape: &[i64]) -> Hooked {
    let memory = Memory { bytes: Arc::from([0; 24]), _ticket: drops.ticket() };
    Hooked { memory, shape: Extents(shape.to_vec()), kind: Kind, axes: Axes }
}

/// A use of a value.
type Use = fn(Hooked);

const USES: [(&str, Use); 8] = [
    ("tensor", |value| assert!(value.tensor().is_ok())),
    ("into_dlpack", |value| drop(value.into_dlpack())),
    ("into_dlpack_legacy", |value| drop(value.into_dlpack_legacy())),
    ("to_dlpack", |value| drop(value.to_dlpack())),
    ("copy_to_dlpack", |value| drop(value.copy_to_dlpack())),
    ("import", |value| drop(value.into_dlpack().map(ManagedTensor::import))),
    ("table, export", |value| export(&value)),
    ("table, view", |value| view(&value)),
];

#[test]
fn panics_in_an_export_drop_the_owner_once() {
    let mut panics = 0;
    for hook in EXPORTING {
        for (name, run) in USES {
            for shape in [&[2, 3][..], &[2, 1, 1, 1, 1, 1, 1, 1, 3]] {
                let (before, drops) = (alive(), Drops::new());
                let value = hooked(&drops, shape);
                ARMED.set(Some(hook));
                TRIPPED.set(0);
                let outcome = catch_unwind(AssertUnwindSafe(|| run(value)));
                ARMED.set(None);
                panics += TRIPPED.get();
                drop(outcome);
                assert_eq!(drops.count(), 1, "{hook:?} in {name}");
                drop(drops);
                assert_eq!(alive(), before, "{hook:?} in {name}: something was lost");
            }
        }
    }
    assert!(panics > 70, "only {panics}");
}

/// Objects are their values.
pub(crate) struct Pointers;

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

    unsafe fn raise(_: TableError<()>) {
        RAISED.set(RAISED.get() + 1);
        trip(Hook::Raise);
    }
}

// SAFETY: 1. It is a new box.
unsafe impl<T: DLPackExport + 'static> Wrap<T> for Pointers {
    unsafe fn wrap(value: T) -> Result<*mut c_void, TableError<()>> {
        trip(Hook::Wrap);
        Ok(Box::into_raw(Box::new(value)).cast())
    }
}

/// Nothing unwinds out of a C function; a failure is reported once.
fn coded(code: i32) {
    assert_eq!(RAISED.take(), usize::from(code != 0));
    assert!(code == 0 || code == -1);
    assert!(TRIPPED.get() == 0 || code == -1, "a panic, and no failure");
}

fn export(value: &Hooked) {
    let table = table::<Hooked, Pointers, Cpu, tensors::exchange::NotImportable>();
    let function = table.managed_tensor_from_py_object_no_sync.unwrap();
    let object: *const Hooked = &raw const *value;
    let mut out = ptr::dangling_mut();
    // SAFETY: the object is alive; `out` may be written.
    let code = unsafe { function(object.cast_mut().cast(), &raw mut out) };
    coded(code);
    assert_eq!(out.is_null(), code != 0);
    if !out.is_null() {
        // SAFETY: it was just exported.
        drop(unsafe { ImportedTensor::from_raw(out) });
    }
}

fn view(value: &Hooked) {
    let table = table::<Hooked, Pointers, Cpu, tensors::exchange::NotImportable>();
    let function = table.dltensor_from_py_object_no_sync.unwrap();
    let object: *const Hooked = &raw const *value;
    let mut out = core::mem::MaybeUninit::uninit();
    // SAFETY: the object is alive; `out` may be written.
    coded(unsafe { function(object.cast_mut().cast(), out.as_mut_ptr()) });
}

/// A host that panics where it should raise cannot report the error.
#[test]
fn a_panicking_host_does_not_unwind_into_c() {
    let drops = Drops::new();
    let value = hooked(&drops, &[999]);
    ARMED.set(Some(Hook::Raise));
    TRIPPED.set(0);
    export(&value);
    assert_eq!((ARMED.get(), TRIPPED.get()), (None, 1));
    drop(value);
    assert_eq!(drops.count(), 1);
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, construct = Self::new, validate = Self::check)]
struct Made {
    data: ImportedStorage<i32>,
    shape: Extents,
}

impl Made {
    fn new(data: ImportedStorage<i32>, shape: Extents) -> Result<Self, Error> {
        trip(Hook::Construct);
        if data.imported().numel() == 6 {
            Ok(Self { data, shape })
        } else {
            Err(Error::NotContiguous)
        }
    }

    fn check(&self) -> Result<(), Error> {
        trip(Hook::Validate);
        if self.shape.0.len() == self.data.imported().ndim() {
            Ok(())
        } else {
            Err(Error::NotContiguous)
        }
    }
}

fn tensor(drops: &Drops) -> *mut DLManagedTensorVersioned {
    Owner::new(vec![0_i32; 6], &[2, 3]).counted(drops).into_dlpack().unwrap().into_raw()
}

#[test]
fn panics_in_an_import_drop_the_owner_once() {
    for hook in [Hook::FromShape, Hook::Construct, Hook::Validate] {
        let (before, drops) = (alive(), Drops::new());
        // SAFETY: it was just exported.
        let imported = unsafe { ImportedTensor::from_raw(tensor(&drops)) }.unwrap();
        ARMED.set(Some(hook));
        let outcome = catch_unwind(AssertUnwindSafe(|| Made::from_dlpack(imported).map(drop)));
        assert!(outcome.is_err() && ARMED.get().is_none(), "{hook:?}");
        drop(outcome);
        assert_eq!(drops.count(), 1, "{hook:?}");
        drop(drops);
        assert_eq!(alive(), before, "{hook:?}");
    }
}

/// The tensor stays the caller's.
#[test]
fn panics_in_a_constructor_of_the_table_leave_the_tensor() {
    let make = table::<Made, Pointers, Cpu, Importable>();
    let make = make.managed_tensor_to_py_object_no_sync.unwrap();
    for hook in [Hook::FromShape, Hook::Construct, Hook::Validate, Hook::Wrap] {
        let (before, drops) = (alive(), Drops::new());
        let tensor = tensor(&drops);
        ARMED.set(Some(hook));
        TRIPPED.set(0);
        let mut out = ptr::dangling_mut();
        // SAFETY: the caller owns the tensor; `out` may be written.
        coded(unsafe { make(tensor, &raw mut out) });
        assert!(out.is_null() && ARMED.get().is_none(), "{hook:?}");
        assert_eq!(drops.count(), 0, "{hook:?}");
        // SAFETY: the call failed, so the caller still owns it.
        drop(unsafe { ImportedTensor::from_raw(tensor) }.unwrap());
        assert_eq!(drops.count(), 1, "{hook:?}");
        drop(drops);
        assert_eq!(alive(), before, "{hook:?}");
    }
}

/// A device whose functions are hooks.
struct Broken;

// SAFETY: 1. It returns memory of the CPU. 2. and 4. are the defaults. 3. NULL.
unsafe impl Backends for Broken {
    fn allocate(prototype: &Prototype<'_>) -> Result<ManagedTensor, Error> {
        trip(Hook::Allocate);
        Cpu::allocate(prototype)
    }

    fn current_work_stream(_: Device) -> Result<*mut c_void, Error> {
        trip(Hook::Stream);
        Ok(ptr::null_mut())
    }
}

#[test]
fn panics_in_a_backend_drop_the_owner_once() {
    let table = table::<Made, Pointers, Broken, Importable>();
    let allocate = table.managed_tensor_allocator.unwrap();
    let before = alive();
    let mut shape = [2, 3];
    let mut prototype = DLTensor {
        data: ptr::null_mut(),
        device: Device::CPU.to_ffi(),
        ndim: 2,
        dtype: DataType::F32.to_ffi(),
        shape: shape.as_mut_ptr(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    ARMED.set(Some(Hook::Allocate));
    let mut out = ptr::dangling_mut();
    // SAFETY: the prototype is complete; `out` may be written; SetError may be NULL.
    let code = unsafe { allocate(&raw mut prototype, &raw mut out, ptr::null_mut(), None) };
    assert_eq!((code, out), (-1, ptr::null_mut()));
    assert_eq!(alive(), before);
    TRIPPED.set(0);
    ARMED.set(Some(Hook::Stream));
    let mut stream = ptr::dangling_mut();
    let current = table.current_work_stream.unwrap();
    // SAFETY: it may be written.
    coded(unsafe { current(tensors::ffi::kDLCPU, 0, &raw mut stream) });
    assert!(stream.is_null() && ARMED.get().is_none());
}
