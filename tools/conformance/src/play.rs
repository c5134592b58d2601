//! One case while it goes on: the structs that were made, and their deleters.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dlpack_hostile::guarded::Flush;
use dlpack_hostile::{Built, Case, Given, Trial, delete_at, on_devices};
use dlpack_traits::ffi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use pyo3::prelude::*;

use crate::{capsule, producer, table};

/// How a case is passed to an importer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As an object with `__dlpack__`.
    Object,
    /// As a bare capsule.
    Capsule,
    /// As an object whose type has an exchange table; its `__dlpack__` exports the same
    /// case.
    Table,
    /// The same, with a table that can only borrow a `DLTensor`.
    View,
    /// As the address of a managed tensor, to be wrapped in an object.
    Managed,
    /// As the address of a prototype, to be allocated.
    Prototype,
    /// As a type whose allocator returns the case for every request.
    Allocator,
}

impl Way {
    pub(crate) const ALL: [Self; 7] = [
        Self::Object,
        Self::Capsule,
        Self::Table,
        Self::View,
        Self::Managed,
        Self::Prototype,
        Self::Allocator,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Capsule => "capsule",
            Self::Table => "table",
            Self::View => "view",
            Self::Managed => "managed",
            Self::Prototype => "prototype",
            Self::Allocator => "allocator",
        }
    }

    /// Whether a case can be passed in this way.
    pub(crate) fn fits(self, given: &Given) -> bool {
        match (self, given) {
            (Self::Object, _) | (Self::Capsule, Given::Struct { .. }) => true,
            (Self::Capsule, Given::Object(oddity, _)) => capsule::is_odd(*oddity),
            (Self::Table | Self::Managed | Self::Allocator, Given::Struct { legacy, .. }) => {
                !legacy
            }
            (Self::View | Self::Prototype, Given::Struct { legacy, head, .. }) => !legacy && !head,
            _ => false,
        }
    }
}

/// A struct that was made, and whether it is borrowed instead of owned.
struct Struct {
    made: Made,
    lent: bool,
}

/// A struct of either kind.
enum Made {
    Versioned(Built<DLManagedTensorVersioned>),
    Legacy(Built<DLManagedTensor>),
}

/// A case in progress.
#[pyclass(frozen, module = "dlpack_conformance")]
pub(crate) struct Play {
    pub(crate) trial: Arc<Trial>,
    pub(crate) way: Way,
    made: Mutex<Vec<Struct>>,
    unasked: AtomicBool,
}

impl Play {
    pub(crate) fn new(trial: Arc<Trial>, way: Way) -> Self {
        Self { trial, way, made: Mutex::default(), unasked: AtomicBool::new(false) }
    }

    fn made(&self) -> MutexGuard<'_, Vec<Struct>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the importer requested a struct that the case does not have.
    pub(crate) fn is_not_asked_for(&self) {
        self.unasked.store(true, Ordering::SeqCst);
    }

    /// The struct of the case, whether it has a deleter, and whether only its head is readable.
    fn case(&self) -> (Case, bool, bool) {
        let sound = || Case::new("the tensor of an odd object", &[2, 3]).said();
        match &self.trial.given {
            Given::Struct { case, deleter, head, .. } => (case.clone(), *deleter, *head),
            Given::Object(oddity, _) if oddity.is_on_device() => {
                (on_devices().into_iter().next().unwrap_or_else(sound), true, false)
            }
            Given::Object(..) | Given::Table(_) => (sound(), true, false),
        }
    }

    /// Whether the struct is the legacy one; `None` if the importer's request decides.
    pub(crate) fn is_legacy(&self) -> Option<bool> {
        match &self.trial.given {
            Given::Struct { legacy, .. } | Given::Object(_, legacy) => Some(*legacy),
            Given::Table(_) => None,
        }
    }

    /// The device of the struct, which a truthful `__dlpack_device__` returns.
    pub(crate) fn device(&self) -> (i32, i32) {
        let device = self.case().0.device.to_ffi();
        (device.device_type.0, device.device_id)
    }

    /// A new versioned struct.
    pub(crate) fn versioned(&self) -> *mut DLManagedTensorVersioned {
        let (case, deleter, head) = self.case();
        let built = if head { case.build_head() } else { case.build(deleter, Flush::End) };
        let raw = built.raw();
        self.made().push(Struct { made: Made::Versioned(built), lent: false });
        raw
    }

    /// The same, for a borrowed struct, whose deleter must not be called.
    pub(crate) fn lent(&self) -> *mut DLManagedTensorVersioned {
        let raw = self.versioned();
        if let Some(last) = self.made().last_mut() {
            last.lent = true;
        }
        raw
    }

    /// A new legacy struct.
    pub(crate) fn legacy(&self) -> *mut DLManagedTensor {
        let (case, deleter, _) = self.case();
        let built = case.build(deleter, Flush::End);
        let raw = built.raw();
        self.made().push(Struct { made: Made::Legacy(built), lent: false });
        raw
    }

    /// Whether the deleter, if there is one, must run after an accepted or rejected import.
    fn is_owed(&self, refused: bool) -> bool {
        match self.way {
            Way::Managed => !refused,
            _ => !matches!(&self.trial.given, Given::Object(oddity, _) if oddity.is_taken()),
        }
    }
}

#[pymethods]
impl Play {
    /// The argument for the importer, once.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 passes the object by value")]
    fn give(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let py = this.py();
        let play = this.get();
        match play.way {
            Way::Object => producer::object(&this),
            Way::Capsule => capsule::of(&this, play.is_legacy() == Some(true)),
            Way::Table => table::exporting(&this),
            Way::View => table::lending(&this),
            Way::Allocator => table::allocating(&this),
            Way::Managed => Ok(play.versioned().addr().into_pyobject(py)?.into_any()),
            Way::Prototype => {
                let prototype =
                    play.lent().addr() + core::mem::offset_of!(DLManagedTensorVersioned, dl_tensor);
                debug_assert_eq!(prototype % align_of::<DLTensor>(), 0);
                Ok(prototype.into_pyobject(py)?.into_any())
            }
        }
    }

    /// For each struct, how often its deleter must run, and how often it ran.
    fn deletes(&self, refused: bool) -> Vec<(usize, usize)> {
        let owed = self.is_owed(refused);
        let count = |one: &Struct| {
            let (has, deletes) = match &one.made {
                Made::Versioned(built) => (built.has_deleter(), built.deletes()),
                Made::Legacy(built) => (built.has_deleter(), built.deletes()),
            };
            (usize::from(owed && has && !one.lent), deletes)
        };
        self.made().iter().map(count).collect()
    }

    /// Whether the importer never requested the struct of the case.
    #[getter]
    fn not_asked_for(&self) -> bool {
        self.unasked.load(Ordering::SeqCst) && self.made().is_empty()
    }

    /// Whether the importer never reached the struct that the case concerns.
    #[getter]
    fn ignored(&self) -> bool {
        matches!(self.trial.given, Given::Struct { .. }) && self.made().is_empty()
    }
}

impl Drop for Play {
    /// The importer may still use a struct that it holds at any time.
    fn drop(&mut self) {
        for one in self.made().drain(..) {
            match one.made {
                Made::Versioned(built) => built.leak(),
                Made::Legacy(built) => built.leak(),
            }
        }
    }
}

/// Calls the deleter of a struct without reading the struct.
pub(crate) fn delete(address: usize) {
    delete_at(address);
}
