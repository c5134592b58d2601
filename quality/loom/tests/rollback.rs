//! An object is made from a tensor, or that fails, while another thread already shares
//! the tensor: it is released once, after its last user.
#![cfg(loom)]

mod producer;

use core::cell::RefCell;
use core::ffi::c_void;
use core::ptr;
use std::sync::Arc;

use dlpack_traits::backend::Cpu;
use dlpack_traits::exchange::{Importable, ObjectHost, TableError, Wrap, table};
use dlpack_traits::{
    DLPackExport, DLPackImport, Describe, Description, Error, ImportError, ImportedTensor, Storage,
};
use loom::thread;
use producer::{Memory, Producer};

std::thread_local! {
    /// What the constructor does with the tensor, and the thread that it started.
    static PLAN: RefCell<Option<(Plan, Arc<Memory>)>> = const { RefCell::new(None) };
    static THREAD: RefCell<Option<thread::JoinHandle<()>>> = const { RefCell::new(None) };
}

#[derive(Clone, Copy)]
enum Plan {
    /// Gives the tensor to a thread that drops it, and fails.
    PutAwayAndFail,
    /// The same, but the object is made, of nothing.
    PutAwayAndSucceed,
    /// Drops it and fails.
    Fail,
    /// Keeps it.
    Keep,
}

struct Made(#[expect(dead_code, reason = "it is dropped")] Option<ImportedTensor>);

impl DLPackExport for Made {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[0]).data([0_u8; 0].data())
    }
}

impl DLPackImport for Made {
    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        let (plan, memory) = PLAN.with(|plan| plan.borrow_mut().take()).unwrap();
        let elsewhere = |tensor: ImportedTensor| {
            let thread = thread::spawn(move || {
                memory.read();
                drop(tensor);
            });
            THREAD.with(|place| *place.borrow_mut() = Some(thread));
        };
        match plan {
            Plan::PutAwayAndFail => {
                elsewhere(tensor);
                Err(Error::NotContiguous.into())
            }
            Plan::PutAwayAndSucceed => {
                elsewhere(tensor);
                Ok(Self(None))
            }
            Plan::Fail => Err(Error::NotContiguous.into()),
            Plan::Keep => Ok(Self(Some(tensor))),
        }
    }
}

/// Objects are their values.
struct Pointers;

// SAFETY: 1. and 2. An object is its value, and no `&mut` to one is ever made. 3.
// Nothing is claimed.
unsafe impl ObjectHost<Made> for Pointers {
    type Error = ();

    unsafe fn with<R>(
        object: *mut c_void,
        run: impl FnOnce(&Made) -> Result<R, TableError<()>>,
    ) -> Result<R, TableError<()>> {
        // SAFETY: by 1 it is a living object.
        run(unsafe { &*object.cast::<Made>() })
    }

    unsafe fn view<R>(
        object: *mut c_void,
        run: impl FnOnce(&Made) -> Result<R, TableError<()>>,
    ) -> Result<R, TableError<()>> {
        // SAFETY: 1. is 1. of this function.
        unsafe { Self::with(object, run) }
    }

    unsafe fn raise(_: TableError<()>) {}
}

// SAFETY: 1. It is a new box.
unsafe impl Wrap<Made> for Pointers {
    unsafe fn wrap(value: Made) -> Result<*mut c_void, TableError<()>> {
        Ok(Box::into_raw(Box::new(value)).cast())
    }
}

/// Makes an object as planned; on a failure the caller still has the tensor, uses it,
/// and releases it.
fn object(plan: Plan) {
    loom::model(move || {
        let producer = Producer::new();
        let tensor = producer.tensor(0);
        PLAN.with(|place| *place.borrow_mut() = Some((plan, producer.memory())));
        let make = table::<Made, Pointers, Cpu, Importable>();
        let make = make.managed_tensor_to_py_object_no_sync.unwrap();
        let mut out = ptr::null_mut();
        // SAFETY: the caller owns the tensor; `out` may be written.
        let code = unsafe { make(tensor, &raw mut out) };
        let thread = THREAD.with(|place| place.borrow_mut().take());
        if code == 0 {
            // SAFETY: `wrap` made it of a box.
            drop(unsafe { Box::from_raw(out.cast::<Made>()) });
        } else {
            producer.memory().read();
            // SAFETY: the call failed, so the caller still owns it.
            drop(unsafe { ImportedTensor::from_raw(tensor) }.unwrap());
        }
        if let Some(thread) = thread {
            thread.join().unwrap();
        }
        assert_eq!(producer.deleted(), 1);
    });
}

#[test]
fn a_constructor_that_shared_the_tensor_fails() {
    object(Plan::PutAwayAndFail);
}

#[test]
fn a_constructor_that_shared_the_tensor_succeeds() {
    object(Plan::PutAwayAndSucceed);
}

#[test]
fn a_constructor_fails() {
    object(Plan::Fail);
}

#[test]
fn a_constructor_succeeds() {
    object(Plan::Keep);
}
