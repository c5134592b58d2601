//! A hook of the user panics, and while that unwinds the owner's `Drop` panics too. Rust
//! aborts a program whose destructor panics during unwinding; the runtime catches the
//! second panic where it drops the owner. Each case runs in its own process.

use core::cell::Cell;
use core::panic::AssertUnwindSafe;
use core::ptr;
use std::panic::{catch_unwind, resume_unwind};
use std::process::Command;
use std::sync::Arc;

use tensors::backend::Cpu;
use tensors::exchange::{NotImportable, table};
use tensors::{
    AsDims, DLPackExport, DLPackImport, DataRef, Describe, Description, DescriptionMut, Error,
    ExportArc, ImportedStorage, SharedOwner, Storage, StreamArg,
};

use super::alarm::alive;
use super::hooks::Pointers;

thread_local! {
    static HOOK: Cell<Hook> = const { Cell::new(Hook::None) };
    static DROPS: Cell<usize> = const { Cell::new(0) };
}

/// Which function panics.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hook {
    None,
    SyncFor,
    Tensor,
    Lend,
    Data,
    Shape,
}

fn trip(hook: Hook) {
    if HOOK.get() == hook {
        resume_unwind(Box::new("a hook"));
    }
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        DROPS.set(DROPS.get() + 1);
        resume_unwind(Box::new("a drop"));
    }
}

/// Elements of an owner whose drop panics.
struct Elements(Vec<u8>, Bomb);

fn elements() -> Elements {
    Elements(vec![1, 2, 3, 4], Bomb)
}

impl Storage for Elements {
    fn data(&self) -> DataRef<'_> {
        trip(Hook::Data);
        let Self(bytes, _) = self;
        bytes.data()
    }
}

/// A tensor that can be moved into an export.
struct Moved(Elements);

impl DLPackExport for Moved {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        trip(Hook::Tensor);
        out.shape(&[4]).data(self.0.data())
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        trip(Hook::Lend);
        self.describe(out).map(DescriptionMut::from)
    }

    fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
        trip(Hook::SyncFor);
        Ok(())
    }
}

/// A tensor with another owner for each export, whose drop panics.
struct Several(Arc<[u8]>);

struct Another(Arc<[u8]>, Bomb);

impl Storage for Another {
    fn data(&self) -> DataRef<'_> {
        trip(Hook::Data);
        let Self(bytes, _) = self;
        bytes.data()
    }
}

impl Storage for Several {
    fn data(&self) -> DataRef<'_> {
        self.0.data()
    }

    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(Another(Arc::clone(&self.0), Bomb))
    }
}

impl DLPackExport for Several {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        trip(Hook::Tensor);
        out.shape(&[4]).data(Storage::data(self))
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(self)
    }

    fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
        trip(Hook::SyncFor);
        Ok(())
    }
}

fn several() -> Several {
    Several(Arc::from([1, 2, 3, 4]))
}

/// Dimensions that panic.
struct Axes([i64; 1]);

impl AsDims for Axes {
    type Dim = i64;

    fn as_dims(&self) -> &[i64] {
        trip(Hook::Shape);
        self.0.as_dims()
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Derived {
    data: Several,
    shape: Axes,
}

fn derived() -> Derived {
    Derived { data: several(), shape: Axes([4]) }
}

/// A value whose last check panics, and then its drop.
#[derive(DLPackImport)]
#[dlpack(crate = ::tensors, validate = Self::check)]
struct Checked {
    data: ImportedStorage<u8>,
    shape: Vec<usize>,
    #[dlpack(skip, default)]
    bomb: Default<Bomb>,
}

/// A bomb that a value gets by itself.
struct Default<T>(T);

impl core::default::Default for Default<Bomb> {
    fn default() -> Self {
        Self(Bomb)
    }
}

impl Checked {
    fn check(&self) -> Result<(), Error> {
        let Self { data, shape, bomb: Default(Bomb) } = self;
        assert_eq!((data.imported().numel(), shape.len()), (4, 1));
        resume_unwind(Box::new("a check"));
    }
}

/// A value whose constructor panics while it owns the tensor.
#[derive(DLPackImport)]
#[dlpack(crate = ::tensors, construct = Self::new)]
struct Constructed {
    data: ImportedStorage<u8>,
    shape: Vec<usize>,
}

impl Constructed {
    fn new(data: ImportedStorage<u8>, shape: Vec<usize>) -> Result<Self, Error> {
        let made = Self { data, shape };
        assert_eq!((made.data.imported().numel(), made.shape.len()), (4, 1));
        resume_unwind(Box::new("a constructor"));
    }
}

/// Imports the export of an owner whose drop panics.
fn import<T: DLPackImport>() {
    let exported = ExportArc::new(Moved(elements())).unwrap().into_dlpack().unwrap();
    drop(T::from_dlpack(exported.import().unwrap()).map(drop));
}

/// An export through a table, whose functions contain the panic.
fn in_table(value: &Derived, tensor: bool) {
    let table = table::<Derived, Pointers, Cpu, NotImportable>();
    let object = (&raw const *value).cast_mut().cast();
    let code = if tensor {
        let function = table.managed_tensor_from_py_object_no_sync.unwrap();
        let mut out = ptr::dangling_mut();
        // SAFETY: the object is alive; `out` may be written.
        let code = unsafe { function(object, &raw mut out) };
        assert!(out.is_null());
        code
    } else {
        let function = table.dltensor_from_py_object_no_sync.unwrap();
        let mut out = core::mem::MaybeUninit::uninit();
        // SAFETY: the object is alive; `out` may be written.
        unsafe { function(object, out.as_mut_ptr()) }
    };
    assert_eq!(code, -1);
    resume_unwind(Box::new("contained"));
}

/// The operation, the hook that panics, and the number of owners that are dropped.
type Case = (&'static str, fn(), Hook, usize);

const CASES: [Case; 22] = [
    ("into, sync_for", || drop(Moved(elements()).into_dlpack()), Hook::SyncFor, 1),
    ("into, lend", || drop(Moved(elements()).into_dlpack()), Hook::Lend, 1),
    ("into, data", || drop(Moved(elements()).into_dlpack()), Hook::Data, 1),
    ("into, legacy", || drop(Moved(elements()).into_dlpack_legacy()), Hook::Lend, 1),
    ("into, boxed", || drop(boxed().into_dlpack()), Hook::Lend, 1),
    ("to, sync_for", || drop(several().to_dlpack()), Hook::SyncFor, 1),
    ("to, tensor", || drop(several().to_dlpack()), Hook::Tensor, 1),
    ("to, data", || drop(several().to_dlpack()), Hook::Data, 1),
    ("to, derived, shape", || drop(derived().to_dlpack()), Hook::Shape, 1),
    ("to, derived, data", || drop(derived().to_dlpack()), Hook::Data, 1),
    ("into, derived, shape", || drop(derived().into_dlpack()), Hook::Shape, 0),
    ("copy, tensor", || drop(several().copy_to_dlpack()), Hook::Tensor, 0),
    ("shared into, tensor", || drop(shared().into_dlpack()), Hook::Tensor, 1),
    ("shared into, sync_for", || drop(shared().into_dlpack()), Hook::SyncFor, 1),
    ("shared into, legacy", || drop(shared().into_dlpack_legacy()), Hook::Tensor, 1),
    ("shared to, tensor", || drop(shared().to_dlpack()), Hook::Tensor, 1),
    ("table, tensor, shape", || in_table(&derived(), true), Hook::Shape, 1),
    ("table, tensor, data", || in_table(&derived(), true), Hook::Data, 1),
    ("table, view, shape", || in_table(&derived(), false), Hook::Shape, 0),
    ("import, validate", import::<Checked>, Hook::None, 2),
    ("import, construct", import::<Constructed>, Hook::None, 1),
    ("deleter", || drop(Moved(elements()).into_dlpack().unwrap()), Hook::None, 1),
];

fn boxed() -> Box<dyn DLPackExport + Send> {
    Box::new(Moved(elements()))
}

/// A handle that is dropped while the panic unwinds.
fn shared() -> ExportArc<Moved> {
    ExportArc::new(Moved(elements())).unwrap()
}

fn run((name, run, hook, owners): Case) {
    let before = alive();
    DROPS.set(0);
    HOOK.set(hook);
    let outcome = catch_unwind(AssertUnwindSafe(run));
    HOOK.set(Hook::None);
    assert_eq!(outcome.is_err(), name != "deleter", "{name}");
    assert_eq!(DROPS.get(), owners, "{name}");
    drop(outcome);
    assert_eq!(alive(), before, "{name}: something was lost");
}

#[test]
fn a_second_panic_does_not_abort() {
    const ASKED: &str = "DLPACK_SECOND_PANIC";
    let asked = std::env::var(ASKED);
    for case in CASES {
        if cfg!(miri) || asked.as_deref() == Ok(case.0) {
            run(case);
        } else if asked.is_err() {
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "faults::second_panic::a_second_panic_does_not_abort"]);
            let output = child.arg("--nocapture").env(ASKED, case.0).output().unwrap();
            assert!(output.status.success(), "{}: {output:?}", case.0);
        }
    }
}
