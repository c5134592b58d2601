//! The addresses in some pages that a program reads, in order: [`visits`].
//!
//! The pages are closed. Each access raises a signal; the handler records the
//! address, opens the page, and single-steps the processor over that instruction,
//! after which the page is closed again.

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::faults::{on_signal, report};
use crate::guarded::Guarded;

/// As many accesses as are noted.
const NOTES: usize = 1024;
/// The flag of the processor by which it stops after one instruction.
const TRAP: i64 = 0x100;

/// The pages that are watched; NULL where none are.
static WATCHED: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());

struct Watched {
    pages: *const [Guarded],
    notes: [AtomicUsize; NOTES],
    noted: AtomicUsize,
}

impl Watched {
    fn pages(&self) -> &[Guarded] {
        // SAFETY: `visits` borrows them until it has taken this away again.
        unsafe { &*self.pages }
    }
}

/// An access to one of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Visit {
    /// The index of the page.
    pub page: usize,
    /// The lowest byte that was accessed.
    pub address: usize,
}

/// Runs something, and returns its accesses to the pages, in order.
pub fn visits<R>(pages: &[Guarded], run: impl FnOnce() -> R) -> (R, Vec<Visit>) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let watched = Watched {
        pages: ptr::from_ref(pages),
        notes: [const { AtomicUsize::new(0) }; NOTES],
        noted: AtomicUsize::new(0),
    };
    WATCHED.store(ptr::from_ref(&watched).cast_mut(), Ordering::SeqCst);
    on_signal(libc::SIGSEGV, accessed);
    on_signal(libc::SIGTRAP, stepped);
    pages.iter().for_each(Guarded::close);
    let result = run();
    pages.iter().for_each(Guarded::open);
    on_signal(libc::SIGSEGV, report);
    WATCHED.store(ptr::null_mut(), Ordering::SeqCst);
    drop(turn);
    let noted = watched.noted.load(Ordering::SeqCst).min(NOTES);
    let visit = |note: &AtomicUsize| {
        let address = note.load(Ordering::SeqCst);
        let page = pages.iter().position(|page| page.contains(address));
        page.map(|page| Visit { page, address })
    };
    (result, watched.notes[..noted].iter().filter_map(visit).collect())
}

fn watched<'a>() -> Option<&'a Watched> {
    // SAFETY: `visits` takes it away before it ends, and with it its pages.
    unsafe { WATCHED.load(Ordering::SeqCst).as_ref() }
}

/// The flags of the processor, as they will be when the handler returns.
fn flags(context: *mut c_void) -> *mut i64 {
    let context = context.cast::<libc::ucontext_t>();
    let index = usize::try_from(libc::REG_EFL).unwrap_or(0);
    // SAFETY: the system gives a handler such a context, with all registers.
    unsafe { &raw mut (*context).uc_mcontext.gregs[index] }
}

extern "C" fn accessed(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system gives a handler such information.
    let info_ref = unsafe { &*info };
    // SAFETY: of this signal it has an address.
    let address = unsafe { info_ref.si_addr() }.addr();
    let page = watched()
        .and_then(|watched| watched.pages().iter().position(|page| page.contains(address)));
    let (Some(watched), Some(page)) = (watched(), page) else {
        return report(signal, info, context);
    };
    let note = watched.noted.fetch_add(1, Ordering::SeqCst);
    if let Some(place) = watched.notes.get(note) {
        place.store(address, Ordering::SeqCst);
    }
    watched.pages()[page].open();
    let flags = flags(context);
    // SAFETY: the registers are there until the handler returns.
    unsafe { *flags |= TRAP };
}

extern "C" fn stepped(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    if let Some(watched) = watched() {
        watched.pages().iter().for_each(Guarded::close);
    }
    let flags = flags(context);
    // SAFETY: the registers are there until the handler returns.
    unsafe { *flags &= !TRAP };
}
