//! Foreign deleters that meet Python exceptions: [`guarded`].

use super::ending::Attaching;
use super::in_flight::InFlight;
use super::symbols::is_attached;

/// Calls a deleter of a tensor that came from Python.
///
/// It may be that of a Python object, and run any code. So an exception that is
/// on its way up is set aside meanwhile, and what the deleter leaves behind is
/// reported as unraisable. A thread that is not attached has neither: deleters
/// attach by themselves where they must.
pub(super) fn guarded(delete: &mut dyn FnMut()) {
    if !is_attached() {
        // It is called even if the interpreter ends: whether it attaches is not known.
        let _attaching = Attaching::begin();
        return delete();
    }
    // SAFETY: this thread is attached.
    let in_flight = unsafe { InFlight::set_aside() };
    delete();
    // SAFETY: this thread is attached: a deleter leaves that as it was.
    unsafe { in_flight.restore() };
}
