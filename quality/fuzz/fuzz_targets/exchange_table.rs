//! The functions of an exchange table, called in any order by a host that owns
//! objects: exports, views, streams, and objects made of tensors that say
//! anything.
#![no_main]

use std::cell::Cell;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use arbitrary::Arbitrary;
use dlpack_fuzz::judge::judge;
use dlpack_fuzz::reading::read;
use dlpack_fuzz::wild::Wild;
use dlpack_traits::backend::Cpu;
use dlpack_traits::exchange::{Importable, ObjectHost, TableError, Wrap, table};
use dlpack_traits::ffi::{DLDeviceType, DLManagedTensorVersioned, DLPackExchangeAPI, kDLCPU};
use dlpack_traits::{
    DLPackExport, DLPackImport, Describe, Description, Error, ImportError, ImportedStorage,
    ImportedTensor, SharedBuffer, SharedOwner, Storage,
};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    calls: Vec<Call>,
}

#[derive(Arbitrary, Debug)]
enum Call {
    New { shared: bool, rank: u8, strided: bool, mood: Mood },
    Export(u8),
    View(u8),
    Free(u8),
    Release(u8),
    Stream(i32, i32, bool),
    ToObject { wild: Wild, mood: Mood, no_room: bool },
    ToObjectOfOurs(u8),
    Null(u8),
}

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
enum Mood {
    Good,
    Fails,
    Lies,
}

thread_local! {
    static MOOD: Cell<Mood> = const { Cell::new(Mood::Good) };
    static NO_ROOM: Cell<bool> = const { Cell::new(false) };
    static RAISED: Cell<usize> = const { Cell::new(0) };
}

/// The value of an object.
enum Value {
    Own { data: Arc<[u16]>, shape: Vec<i64>, strides: Option<Vec<i64>>, mood: Mood },
    Shared { data: SharedBuffer<f32>, shape: Vec<u8>, mood: Mood },
    Taken(ImportedStorage),
}

impl DLPackExport for Value {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        match self {
            Self::Own { mood: Mood::Fails, .. } | Self::Shared { mood: Mood::Fails, .. } => {
                Err(Error::Custom("no tensor today"))
            }
            Self::Own { data, shape, strides, mood } => {
                let shaped = out.shape(shape);
                let shaped = match strides {
                    Some(strides) => shaped.strides(strides),
                    None => shaped,
                };
                let offset = if *mood == Mood::Lies { 2_u64 } else { 0 };
                shaped.byte_offset(offset).data(data.data())
            }
            Self::Shared { data, shape, mood } => {
                let offset = if *mood == Mood::Lies { 1 } else { 0 };
                out.shape(shape).offset(offset).data(data.data())
            }
            Self::Taken(held) => held.describe(out),
        }
    }

    fn share(&self) -> Option<SharedOwner> {
        match self {
            Self::Own { data, .. } => data.share(),
            Self::Shared { data, .. } => data.share(),
            Self::Taken(held) => Storage::share(held),
        }
    }
}

impl DLPackImport for Value {
    fn accepts(_: &ImportedTensor) -> Result<(), ImportError> {
        Ok(())
    }

    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        match MOOD.get() {
            Mood::Good => Ok(Self::Taken(ImportedStorage::new(tensor)?)),
            Mood::Fails => {
                drop(tensor);
                Err(ImportError::rejected("not today"))
            }
            Mood::Lies => Err(ImportError::rejected("and it keeps the tensor until now")),
        }
    }
}

/// Objects are boxes.
struct Boxes;

// SAFETY: 1. and 2. An object is its value, and no `&mut` to one is made while it
// is an object. 3. Nothing is claimed.
unsafe impl ObjectHost<Value> for Boxes {
    type Error = ();

    unsafe fn with<R>(
        object: *mut c_void,
        run: impl FnOnce(&Value) -> Result<R, TableError<()>>,
    ) -> Result<R, TableError<()>> {
        // SAFETY: by 1 it is a living object.
        run(unsafe { &*object.cast::<Value>() })
    }

    unsafe fn view<R>(
        object: *mut c_void,
        run: impl FnOnce(&Value) -> Result<R, TableError<()>>,
    ) -> Result<R, TableError<()>> {
        // SAFETY: 1 (a living object): guaranteed by our caller's 1.
        unsafe { Self::with(object, run) }
    }

    unsafe fn raise(fault: TableError<()>) {
        assert!(!fault.kind().is_empty());
        RAISED.set(RAISED.get() + 1);
    }
}

// SAFETY: 1. It is a new box.
unsafe impl Wrap<Value> for Boxes {
    unsafe fn wrap(value: Value) -> Result<*mut c_void, TableError<()>> {
        if NO_ROOM.get() { Err(TableError::Host(())) } else { Ok(boxed(value)) }
    }
}

fn boxed(value: Value) -> *mut c_void {
    Box::into_raw(Box::new(value)).cast()
}

fn free(object: *mut c_void) {
    // SAFETY: the value was boxed, and the code that frees it has removed it from the list.
    drop(unsafe { Box::from_raw(object.cast::<Value>()) });
}

/// After a call: 0 and nothing raised, or -1 and one thing.
fn judged(code: i32) -> bool {
    assert_eq!((code, RAISED.take()), if code == 0 { (0, 0) } else { (-1, 1) });
    code == 0
}

/// Objects and exported tensors that are alive.
#[derive(Default)]
struct World {
    objects: Vec<*mut c_void>,
    tensors: Vec<*mut DLManagedTensorVersioned>,
}

impl World {
    fn object(&self, which: u8) -> Option<*mut c_void> {
        let len = self.objects.len().max(1);
        self.objects.get(usize::from(which) % len).copied()
    }

    fn call(&mut self, table: &DLPackExchangeAPI, call: &Call) {
        match call {
            Call::New { shared, rank, strided, mood } => {
                let (rank, mood) = (usize::from(rank % 12), *mood);
                self.objects.push(boxed(if *shared {
                    let data = SharedBuffer::zeroed(1).expect("memory");
                    Value::Shared { data, shape: vec![1; rank], mood }
                } else {
                    let strides = strided.then(|| vec![0; rank]);
                    let (data, shape) = (Arc::from([7_u16]), vec![1; rank]);
                    Value::Own { data, shape, strides, mood }
                }));
            }
            Call::Export(which) => {
                let Some(object) = self.object(*which) else { return };
                let export = table.managed_tensor_from_py_object_no_sync.expect("set");
                let mut out = ptr::dangling_mut();
                // SAFETY: the object is alive; `out` may be written.
                if judged(unsafe { export(object, &raw mut out) }) {
                    self.tensors.push(out);
                } else {
                    assert!(out.is_null());
                }
            }
            Call::View(which) => {
                let Some(object) = self.object(*which) else { return };
                let view = table.dltensor_from_py_object_no_sync.expect("set");
                let mut out = MaybeUninit::uninit();
                // SAFETY: the object is alive; `out` may be written.
                let done = judged(unsafe { view(object, out.as_mut_ptr()) });
                // SAFETY: the function writes it, also where it fails.
                let out = unsafe { out.assume_init() };
                if done {
                    let ndim = usize::try_from(out.ndim).expect("a rank");
                    assert!(ndim == 0 || (!out.shape.is_null() && !out.strides.is_null()));
                    for axis in 0..ndim {
                        // SAFETY: the arrays live as long as the object.
                        std::hint::black_box(unsafe {
                            (*out.shape.add(axis), *out.strides.add(axis))
                        });
                    }
                } else {
                    assert!(out.shape.is_null() && out.data.is_null());
                }
            }
            Call::Free(which) => {
                let len = self.objects.len();
                if len > 0 {
                    free(self.objects.swap_remove(usize::from(*which) % len));
                }
            }
            Call::Release(which) => {
                let len = self.tensors.len();
                if len > 0 {
                    let tensor = self.tensors.swap_remove(usize::from(*which) % len);
                    // SAFETY: the table returned the tensor to us, and there is no other
                    // owner.
                    let tensor = unsafe { ImportedTensor::from_raw(tensor) }.expect("ours");
                    if tensor.numel() < 1000 && tensor.version().is_some_and(|v| v.minor <= 3) {
                        std::hint::black_box(format!("{tensor:?}"));
                    }
                }
            }
            Call::Stream(kind, id, host) => {
                let kind = if *host { kDLCPU } else { DLDeviceType(*kind) };
                let current = table.current_work_stream.expect("set");
                let mut out = ptr::dangling_mut();
                // SAFETY: `out` may be written.
                let done = judged(unsafe { current(kind, *id, &raw mut out) });
                assert!(out.is_null() && (!done || kind == kDLCPU));
            }
            Call::ToObject { wild, mood, no_room } => self.to_object(table, wild, *mood, *no_room),
            Call::ToObjectOfOurs(which) => {
                let len = self.tensors.len();
                if len == 0 {
                    return;
                }
                let tensor = self.tensors.swap_remove(usize::from(*which) % len);
                let make = table.managed_tensor_to_py_object_no_sync.expect("set");
                let mut out = ptr::dangling_mut();
                MOOD.set(Mood::Good);
                NO_ROOM.set(false);
                // SAFETY: the tensor is ours; `out` may be written.
                if judged(unsafe { make(tensor, &raw mut out) }) {
                    self.objects.push(out);
                } else {
                    self.tensors.push(tensor);
                }
            }
            Call::Null(which) => null(table, *which),
        }
    }

    fn to_object(&mut self, table: &DLPackExchangeAPI, wild: &Wild, mood: Mood, no_room: bool) {
        let built = wild.build::<DLManagedTensorVersioned>();
        let expected = judge::<DLManagedTensorVersioned>(wild, built.data());
        let make = table.managed_tensor_to_py_object_no_sync.expect("set");
        let mut out = ptr::dangling_mut();
        MOOD.set(mood);
        NO_ROOM.set(no_room);
        // SAFETY: the struct is ours to give away, its arrays as it says.
        if !judged(unsafe { make(built.raw(), &raw mut out) }) {
            assert!(out.is_null());
            // The tensor is the caller's still.
            return built.delete();
        }
        let expected = expected.expect("it should have been refused");
        assert!(mood == Mood::Good && !no_room);
        assert_eq!(built.deletes(), 0);
        // SAFETY: it was just made.
        if let Value::Taken(held) = unsafe { &*out.cast::<Value>() } {
            assert_eq!(held.imported().shape(), expected.shape);
            assert_eq!(held.imported().strides(), expected.strides);
            if expected.honest {
                read(held.imported());
            }
        }
        // Its count is of one struct, so it goes before there is another.
        let export = table.managed_tensor_from_py_object_no_sync.expect("set");
        let mut again = ptr::dangling_mut();
        // SAFETY: the object is alive; `again` may be written.
        let exported = judged(unsafe { export(out, &raw mut again) });
        free(out);
        if exported {
            assert_eq!(built.deletes(), 0);
            // SAFETY: the table gave it away.
            drop(unsafe { ImportedTensor::from_raw(again) });
        }
        built.check();
    }
}

fn null(table: &DLPackExchangeAPI, which: u8) {
    let mut tensor = ptr::dangling_mut();
    let mut object = ptr::dangling_mut();
    let mut view = MaybeUninit::uninit();
    let export = table.managed_tensor_from_py_object_no_sync.expect("set");
    let make = table.managed_tensor_to_py_object_no_sync.expect("set");
    let lend = table.dltensor_from_py_object_no_sync.expect("set");
    let current = table.current_work_stream.expect("set");
    let nothing = ptr::null_mut::<c_void>();
    let code = match which % 6 {
        // SAFETY: the functions say that they take NULL; so below.
        0 => unsafe { export(nothing, &raw mut tensor) },
        // SAFETY: as above.
        1 => unsafe { export(nothing, ptr::null_mut()) },
        // SAFETY: as above.
        2 => unsafe { make(ptr::null_mut(), &raw mut object) },
        // SAFETY: as above.
        3 => unsafe { lend(nothing, view.as_mut_ptr()) },
        // SAFETY: as above.
        4 => unsafe { lend(nothing, ptr::null_mut()) },
        // SAFETY: as above.
        _ => unsafe { current(kDLCPU, 0, ptr::null_mut()) },
    };
    assert!(!judged(code), "NULL is refused");
}

fuzz_target!(|input: Input| {
    let table = table::<Value, Boxes, Cpu, Importable>();
    RAISED.set(0);
    let mut world = World::default();
    for call in input.calls.iter().take(64) {
        world.call(table, call);
    }
    for object in world.objects {
        free(object);
    }
    for tensor in world.tensors {
        // SAFETY: the table returned the tensor to us, and there is no other owner.
        drop(unsafe { ImportedTensor::from_raw(tensor) }.expect("ours"));
    }
});
