//! A host of objects that is not Python, and its objects.

use core::any::TypeId;
use core::cell::{Cell, RefCell};
use core::ffi::c_void;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tensors::backend::Cpu;
use tensors::exchange::{NotImportable, ObjectHost, TableError, ToObject, Wrap, table};
use tensors::ffi::{DLManagedTensorVersioned, DLPackExchangeAPI};
use tensors::{
    DLPackExport, DLPackImport, Describe, Description, Error, ImportError, ImportedTensor,
    SharedBuffer, SharedOwner, Storage, StreamArg, StreamKind,
};

use dlpack_tests::counted::{Drops, Ticket};
use dlpack_tests::foreign::ImportedStorage;

/// Objects on the heap. The C program that has a pointer to one owns it.
/// `READ_ONLY_VIEWS` as for every host.
pub(crate) struct Heap<const READ_ONLY_VIEWS: bool = false>;

#[repr(C)]
struct Object<T> {
    class: TypeId,
    /// Whether the value can change.
    frozen: bool,
    value: T,
}

thread_local! {
    static RAISED: RefCell<Vec<Raised>> = const { RefCell::new(Vec::new()) };
    /// Whether allocating another object fails.
    pub(crate) static FULL: Cell<bool> = const { Cell::new(false) };
    /// Whether the host itself panics.
    pub(crate) static BROKEN: Cell<bool> = const { Cell::new(false) };
}

/// The arguments of `raise`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Raised {
    pub(crate) kind: String,
    pub(crate) text: String,
}

/// Returns and clears the errors raised on this thread.
pub(crate) fn raised() -> Vec<Raised> {
    RAISED.take()
}

/// The one thing that was raised: its kind and its sentence.
pub(crate) fn only_raised() -> (String, String) {
    let mut all = raised();
    let Raised { kind, text } = all.pop().expect("an error");
    assert!(all.is_empty(), "raised more than once");
    (kind, text)
}

/// An object that holds a value.
pub(crate) fn object<T: 'static>(value: T) -> *mut c_void {
    let class = TypeId::of::<T>();
    Box::into_raw(Box::new(Object { class, frozen: true, value })).cast()
}

/// The same, of a class that can change.
pub(crate) fn changing_object<T: 'static>(value: T) -> *mut c_void {
    let class = TypeId::of::<T>();
    Box::into_raw(Box::new(Object { class, frozen: false, value })).cast()
}

/// The value of an object.
///
/// # Safety
///
/// 1. `object` is alive for `'a`, and holds a `T`.
pub(crate) unsafe fn value<'a, T>(object: *mut c_void) -> &'a T {
    // SAFETY: by 1.
    let object = unsafe { &*object.cast::<Object<T>>() };
    &object.value
}

/// The end of an object.
pub(crate) fn free<T>(object: *mut c_void) {
    // SAFETY: `object` made it, and tests free each object once.
    drop(unsafe { Box::from_raw(object.cast::<Object<T>>()) });
}

/// The object, if it is of the class.
unsafe fn checked<'a, T: 'static>(
    object: *mut c_void,
) -> Result<&'a Object<T>, TableError<&'static str>> {
    assert!(!BROKEN.get(), "the host panics on purpose");
    // SAFETY: every object begins with its class.
    if unsafe { object.cast::<TypeId>().read() } != TypeId::of::<T>() {
        return Err(TableError::Host("no object of this class"));
    }
    // SAFETY: it is alive, and of this type.
    Ok(unsafe { &*object.cast::<Object<T>>() })
}

// SAFETY: 1. and 2. `checked`; no `&mut` to a value is ever made, so the classes that
// "can change" only declare it. 3. These tests do not write through such a view.
unsafe impl<T: DLPackExport + 'static, const READ_ONLY_VIEWS: bool> ObjectHost<T>
    for Heap<READ_ONLY_VIEWS>
{
    type Error = &'static str;

    const READ_ONLY_VIEWS: bool = READ_ONLY_VIEWS;

    unsafe fn with<R>(
        object: *mut c_void,
        run: impl FnOnce(&T) -> Result<R, TableError<&'static str>>,
    ) -> Result<R, TableError<&'static str>> {
        // SAFETY: by 1 it is an object.
        run(&unsafe { checked::<T>(object) }?.value)
    }

    unsafe fn view<R>(
        object: *mut c_void,
        run: impl FnOnce(&T) -> Result<R, TableError<&'static str>>,
    ) -> Result<R, TableError<&'static str>> {
        // SAFETY: by 1 it is an object.
        let object = unsafe { checked::<T>(object) }?;
        if object.frozen { run(&object.value) } else { Err(TableError::Host("it can change")) }
    }

    unsafe fn raise(fault: TableError<&'static str>) {
        let kind = fault.kind().to_str().expect("UTF-8").to_owned();
        RAISED.with_borrow_mut(|all| all.push(Raised { kind, text: fault.to_string() }));
    }
}

// SAFETY: 1. `object` makes one, which the caller owns.
unsafe impl<T: DLPackExport + 'static> Wrap<T> for Heap {
    unsafe fn wrap(value: T) -> Result<*mut c_void, TableError<&'static str>> {
        if FULL.get() {
            Err(TableError::Host("no memory for an object"))
        } else {
            Ok(object(value))
        }
    }
}

/// The table of a class that only exports.
pub(crate) fn exports<T: DLPackExport + 'static>() -> Called {
    Called(table::<T, Heap, Cpu, NotImportable>())
}

/// Returns the table of a class, by its importability.
pub(crate) fn table_of<T: DLPackExport + 'static, I: ToObject<T, Heap>>() -> Called {
    Called(table::<T, Heap, Cpu, I>())
}

/// A table as a C program uses it.
#[derive(Clone, Copy)]
pub(crate) struct Called(pub(crate) &'static DLPackExchangeAPI);

impl Called {
    /// `managed_tensor_from_py_object_no_sync`: its code, and its output.
    pub(crate) fn managed(self, object: *mut c_void) -> (i32, *mut DLManagedTensorVersioned) {
        let function = self.0.managed_tensor_from_py_object_no_sync.expect("set");
        let mut out = core::ptr::dangling_mut();
        // SAFETY: objects of these tests are alive; `out` may be written.
        (unsafe { function(object, &raw mut out) }, out)
    }

    /// The tensor of an object, which must have one.
    pub(crate) fn tensor(self, object: *mut c_void) -> ImportedStorage {
        let (code, tensor) = self.managed(object);
        assert_eq!((code, raised()), (0, vec![]));
        assert!(!tensor.is_null());
        // SAFETY: 1. The table gave it away, alive.
        unsafe { ImportedStorage::from_raw(tensor) }
    }

    /// `managed_tensor_to_py_object_no_sync`: its code, and its output.
    pub(crate) fn to_object(self, tensor: *mut DLManagedTensorVersioned) -> (i32, *mut c_void) {
        let function = self.0.managed_tensor_to_py_object_no_sync.expect("set");
        let mut out = core::ptr::dangling_mut();
        // SAFETY: tensors of these tests are alive and owned; `out` may be written.
        (unsafe { function(tensor, &raw mut out) }, out)
    }
}

/// Read-only pixels with a fixed rank, as most users write them.
#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
pub(crate) struct Picture {
    pub(crate) data: Arc<[u8]>,
    pub(crate) shape: [usize; 3],
}

impl Picture {
    /// Three rows of four pixels of two bytes.
    pub(crate) fn new() -> Self {
        Self { data: (0..24).collect(), shape: [3, 4, 2] }
    }
}

/// The point at which the code of a class fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Nowhere,
    Tensor,
    TensorPanics,
    HandOff,
    HandOffPanics,
    SharePanics,
    NoShare,
}

/// Shared writable numbers, exported by code that fails at one point.
pub(crate) struct Numbers {
    pub(crate) data: SharedBuffer<i32>,
    pub(crate) shape: [usize; 2],
    pub(crate) wrong: Wrong,
    /// Counts the end.
    pub(crate) _ticket: Option<Ticket>,
}

impl Numbers {
    /// Two rows of three.
    pub(crate) fn new(wrong: Wrong) -> Self {
        let data = SharedBuffer::from_slice(&[0, 1, 2, 3, 4, 5]).expect("memory");
        Self { data, shape: [2, 3], wrong, _ticket: None }
    }

    /// The same with a counted drop.
    pub(crate) fn counted(drops: &Drops) -> Self {
        Self { _ticket: Some(drops.ticket()), ..Self::new(Wrong::Nowhere) }
    }
}

impl DLPackExport for Numbers {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        match self.wrong {
            Wrong::Tensor => return Err(Error::Custom("not yet\0")),
            Wrong::TensorPanics => panic!("describe() panics on purpose"),
            _ => {}
        }
        out.shape(&self.shape).data(self.data.data())
    }

    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        assert_eq!(consumer.kind(), StreamKind::WorkStream);
        match self.wrong {
            Wrong::HandOff => Err(Error::Custom("the event was never recorded")),
            Wrong::HandOffPanics => panic!("sync_for() panics on purpose"),
            _ => consumer.host(),
        }
    }

    fn share(&self) -> Option<SharedOwner> {
        match self.wrong {
            Wrong::SharePanics => panic!("share() panics on purpose"),
            Wrong::NoShare => None,
            _ => self.data.share(),
        }
    }
}

/// What the constructor of the class does with a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taking {
    Keeps,
    /// It copies the elements, and releases the tensor.
    Copies,
    Refuses,
    Panics,
    /// It panics when the tensor is gone.
    DropsAndPanics,
    /// It panics with the tensor as the payload.
    PanicsWithIt,
    /// It puts the tensor away, and fails.
    Steals,
    /// Another thread drops the tensor, at any moment from now on.
    HandsOver,
}

thread_local! {
    pub(crate) static TAKING: Cell<Taking> = const { Cell::new(Taking::Keeps) };
    pub(crate) static STOLEN: RefCell<Option<ImportedTensor>> = const { RefCell::new(None) };
    pub(crate) static HELPER: RefCell<Option<JoinHandle<()>>> = const { RefCell::new(None) };
}

/// An object made of a tensor.
pub(crate) struct Taken {
    pub(crate) tensor: Option<ImportedTensor>,
    pub(crate) copy: Vec<i32>,
}

impl DLPackExport for Taken {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[0]).data(self.copy.data())
    }
}

impl DLPackImport for Taken {
    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        match TAKING.get() {
            Taking::Keeps => Ok(Self { tensor: Some(tensor), copy: vec![] }),
            Taking::Copies => Ok(Self { tensor: None, copy: tensor.elements::<i32>()?.to_vec()? }),
            Taking::Refuses => Err(ImportError::rejected("two dimensions are too many")),
            Taking::Panics => panic!("from_dlpack() panics on purpose"),
            Taking::DropsAndPanics => {
                drop(tensor);
                panic!("from_dlpack() panics on purpose")
            }
            Taking::PanicsWithIt => std::panic::panic_any(tensor),
            Taking::Steals => {
                STOLEN.set(Some(tensor));
                Err(ImportError::rejected("it is not valid"))
            }
            Taking::HandsOver => {
                HELPER.set(Some(thread::spawn(move || drop(tensor))));
                Err(ImportError::rejected("another thread has it"))
            }
        }
    }
}
