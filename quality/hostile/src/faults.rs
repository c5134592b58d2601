//! Reports of memory that is read when it must not be: [`announce`], [`Watch`].

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// The content of some pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum What {
    /// Something.
    Memory,
    /// A managed tensor.
    Struct,
    /// Its dimensions.
    Shape,
    /// Its strides.
    Strides,
    /// Its elements.
    Elements,
    /// An exchange table.
    Table,
    /// The target of `manager_ctx`, which belongs to the producer.
    Context,
}

impl What {
    const NAMES: [&'static str; 7] = [
        "memory",
        "the struct",
        "the shape",
        "the strides",
        "the elements",
        "the table",
        "what `manager_ctx` points at",
    ];
}

/// Pages that a handler of signals can find.
#[derive(Debug)]
struct Region {
    taken: AtomicBool,
    start: AtomicUsize,
    end: AtomicUsize,
    what: AtomicU8,
    deleted: AtomicBool,
}

/// As many regions as are watched at once; later ones have no name.
static REGIONS: [Region; 8192] = [const {
    Region {
        taken: AtomicBool::new(false),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        what: AtomicU8::new(0),
        deleted: AtomicBool::new(false),
    }
}; 8192];
/// Where to look for a free one first.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Some pages that have a name.
#[derive(Debug)]
pub struct Watch(Option<&'static Region>);

impl Watch {
    /// Names all pages of a map, those around it too.
    pub fn new(what: What, pages: Range<usize>) -> Self {
        let first = NEXT.fetch_add(1, Ordering::Relaxed);
        let free = (0..REGIONS.len())
            .map(|step| &REGIONS[(first + step) % REGIONS.len()])
            .find(|region| !region.taken.swap(true, Ordering::SeqCst));
        if let Some(region) = free {
            region.what.store(what as u8, Ordering::SeqCst);
            region.deleted.store(false, Ordering::SeqCst);
            region.end.store(pages.end, Ordering::SeqCst);
            region.start.store(pages.start, Ordering::SeqCst);
        }
        Self(free)
    }

    /// From now on its deleter has run.
    pub fn deleted(&self) {
        if let Some(region) = self.0 {
            region.deleted.store(true, Ordering::SeqCst);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(region) = self.0 {
            region.start.store(usize::MAX, Ordering::SeqCst);
            region.taken.store(false, Ordering::SeqCst);
        }
    }
}

/// Returns the name of the region that contains an address, and the offset in it.
fn found(address: usize) -> [&'static str; 2] {
    if address < 4096 {
        return ["NULL", ""];
    }
    let region = REGIONS.iter().find(|region| {
        let start = region.start.load(Ordering::SeqCst);
        (start..region.end.load(Ordering::SeqCst)).contains(&address)
    });
    let Some(region) = region else { return ["an address", " that is none of ours"] };
    let what = region.what.load(Ordering::SeqCst);
    let how = if region.deleted.load(Ordering::SeqCst) {
        " after the deleter"
    } else if what == What::Context as u8 {
        ""
    } else {
        " beyond its end"
    };
    [What::NAMES.get(usize::from(what)).unwrap_or(&"memory"), how]
}

thread_local! {
    /// The case that this thread runs.
    static CASE: Cell<&'static str> = const { Cell::new("no case") };
}

/// Records the case that this thread runs next, for the report of a forbidden read.
pub fn announce(case: &str) {
    static HANDLER: Once = Once::new();
    /// Reachable, so that leak checkers do not report them.
    static CASES: Mutex<Vec<&str>> = Mutex::new(Vec::new());
    HANDLER.call_once(|| on_signal(libc::SIGSEGV, report));
    let case: &'static str = String::leak(case.to_owned());
    CASE.set(case);
    CASES.lock().unwrap_or_else(PoisonError::into_inner).push(case);
}

/// A handler of signals, with the place that it happened at and the registers.
pub(crate) type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Puts a handler in place of the one that there is.
pub(crate) fn on_signal(signal: c_int, handler: Handler) {
    // SAFETY: zeros are a `sigaction` without flags and with an empty mask.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    action.sa_sigaction = handler as *const () as usize;
    // SAFETY: the handler has the type that SA_SIGINFO requires, and calls only
    // async-signal-safe functions.
    let failed = unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
    assert_eq!(failed, 0, "a handler can be put in place");
}

/// Installs the handler again, where other code has replaced it.
pub fn rearm() {
    on_signal(libc::SIGSEGV, report);
}

/// Prints the case and the region that was read, and lets the signal end the process.
pub(crate) extern "C" fn report(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the system gives a handler such information.
    let info = unsafe { &*info };
    // SAFETY: of this signal it has an address.
    let [what, how] = found(unsafe { info.si_addr() }.addr());
    for part in [what, how, " was accessed in the case `", CASE.get(), "`\n"] {
        // SAFETY: the part is that long; `write` is allowed in a handler.
        unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
    // SAFETY: the default action, when the access is tried again, ends the process.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}
