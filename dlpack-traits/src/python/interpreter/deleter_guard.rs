//! Calls foreign deleters with the pending Python exception set aside: [`guarded`].

use crate::python::interpreter::error_state::SavedError;
use crate::python::interpreter::exit::Attaching;
use crate::python::interpreter::symbols::is_attached;

/// Calls the deleter of a tensor that was imported from Python.
///
/// The deleter may release a Python object, and so run any code. A pending exception is
/// therefore set aside during the call, and an exception that the deleter leaves behind
/// is reported as unraisable. A thread that is not attached has no pending exception: a
/// deleter attaches by itself if it needs to.
pub(in crate::python) fn guarded(delete: &mut dyn FnMut()) {
    if !is_attached() {
        // The deleter is called even if the interpreter finalises: it may not need to
        // attach.
        let _attaching = Attaching::begin();
        return delete();
    }
    // SAFETY: 1. This thread is attached.
    let in_flight = unsafe { SavedError::set_aside() };
    delete();
    // SAFETY: 1. This thread is attached: a deleter leaves it attached.
    unsafe { in_flight.restore() };
}
