//! Reads and validates the exchange table of another library: [`ForeignTable`].

use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};

use crate::ffi::{
    DLDeviceType, DLManagedTensorVersioned, DLPackExchangeAPI, DLPackExchangeAPIHeader, DLTensor,
    SetError,
};
use crate::version::Version;

type Allocate = unsafe extern "C" fn(
    *mut DLTensor,
    *mut *mut DLManagedTensorVersioned,
    *mut c_void,
    SetError,
) -> c_int;
type Export = unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int;
type Wrap = unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int;
type View = unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int;
type Stream = unsafe extern "C" fn(DLDeviceType, i32, *mut *mut c_void) -> c_int;

/// A function of a table that [`ForeignTable::read`] read. The library that made the table is
/// trusted that the function does what the standard says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableFunction<F>(F);

impl<F: Copy> TableFunction<F> {
    /// The function, for the one place that calls it.
    #[cfg(feature = "pyo3")]
    #[inline(always)]
    pub(crate) fn get(self) -> F {
        self.0
    }
}

/// Allocates a tensor like a prototype.
pub(crate) type AllocateFunction = TableFunction<Allocate>;
/// Exports an object.
pub(crate) type ExportFunction = TableFunction<Export>;
/// Creates an object from a tensor.
pub(crate) type WrapFunction = TableFunction<Wrap>;
/// Fills a `DLTensor` of an object, without ownership.
pub(crate) type ViewFunction = TableFunction<View>;
/// Returns the stream on which work is launched.
pub(crate) type StreamFunction = TableFunction<Stream>;

/// The functions of a table, `None` for those that are NULL. The standard requires all
/// except `view`, but tables without some of them exist.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForeignTable {
    pub(crate) allocate: Option<AllocateFunction>,
    pub(crate) export: Option<ExportFunction>,
    pub(crate) wrap: Option<WrapFunction>,
    pub(crate) view: Option<ViewFunction>,
    pub(crate) stream: Option<StreamFunction>,
}

/// The maximum number of tables that are read: a chain of more older versions is assumed
/// to be a cycle.
const STEPS: usize = 16;

/// The version that introduced the table. No later version added a function.
const FIRST: Version = Version::new(1, 2);

impl ForeignTable {
    /// Reads the newest table of a chain whose major version this crate supports. Of
    /// tables of other major versions only the header is read.
    ///
    /// # Safety
    ///
    /// 1. `header` is NULL, or the header of a table as the standard describes
    ///    it, and so are those that its `prev_api` leads to. None changes while
    ///    this reads it.
    #[inline]
    pub(crate) unsafe fn read(header: *mut DLPackExchangeAPIHeader) -> Option<Self> {
        let mut next = NonNull::new(header)?;
        for _ in 0..STEPS {
            // SAFETY: by 1 it is the header of a table.
            let header = unsafe { next.read() };
            let version = Version::from(header.version);
            if version.major == FIRST.major && version >= FIRST {
                // SAFETY: by 1, and by its version, this is a complete table.
                let table = unsafe { next.cast::<DLPackExchangeAPI>().read() };
                return Some(Self::of(table));
            }
            if ptr::eq(header.prev_api, next.as_ptr()) {
                return None;
            }
            next = NonNull::new(header.prev_api)?;
        }
        None
    }

    /// The functions of a table that [`read`](Self::read) read.
    fn of(table: DLPackExchangeAPI) -> Self {
        Self {
            allocate: table.managed_tensor_allocator.map(TableFunction),
            export: table.managed_tensor_from_py_object_no_sync.map(TableFunction),
            wrap: table.managed_tensor_to_py_object_no_sync.map(TableFunction),
            view: table.dltensor_from_py_object_no_sync.map(TableFunction),
            stream: table.current_work_stream.map(TableFunction),
        }
    }
}

/// The outcome of a call of a table's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There is a result.
    Done,
    /// There is an exception, and a result that must be released.
    RaisedWithResult,
    /// There is an exception.
    Raised,
    /// It failed without an exception.
    FailedSilently,
    /// It returned success, but there is no result.
    NothingMade,
}

impl Outcome {
    /// Classifies a call: `status` is its return value, `made` is whether the result is
    /// no longer NULL, and `raised` is whether an exception is set that was not set
    /// before.
    pub(crate) const fn of(status: c_int, made: bool, raised: bool) -> Self {
        match (status, raised) {
            (0, false) if made => Self::Done,
            (0, true) if made => Self::RaisedWithResult,
            (0, false) => Self::NothingMade,
            // The standard does not say that a failed call transfers ownership of a
            // result, so it is not released.
            (_, true) => Self::Raised,
            (_, false) => Self::FailedSilently,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::ffi::DLPackVersion;

    unsafe extern "C" fn export(_: *mut c_void, _: *mut *mut DLManagedTensorVersioned) -> c_int {
        -1
    }

    fn table(major: u32, minor: u32, prev: *mut DLPackExchangeAPIHeader) -> DLPackExchangeAPI {
        DLPackExchangeAPI {
            header: DLPackExchangeAPIHeader {
                version: DLPackVersion { major, minor },
                prev_api: prev,
            },
            managed_tensor_allocator: None,
            managed_tensor_from_py_object_no_sync: Some(export),
            managed_tensor_to_py_object_no_sync: None,
            dltensor_from_py_object_no_sync: None,
            current_work_stream: None,
        }
    }

    fn header(major: u32, minor: u32) -> DLPackExchangeAPIHeader {
        DLPackExchangeAPIHeader {
            version: DLPackVersion { major, minor },
            prev_api: ptr::null_mut(),
        }
    }

    fn read(header: *mut DLPackExchangeAPIHeader) -> Option<ForeignTable> {
        // SAFETY: 1. Every pointer in these tests is a header, and a complete table if
        // its version is that of a table.
        unsafe { ForeignTable::read(header) }
    }

    #[test]
    fn versions() {
        for minor in [2, 3, 4, u32::MAX] {
            let mut table = table(1, minor, ptr::null_mut());
            let found = read((&raw mut table).cast()).unwrap();
            assert!(found.export.is_some() && found.allocate.is_none() && found.view.is_none());
            assert!(found.wrap.is_none() && found.stream.is_none());
        }
        // The allocation is a header only: Miri would report a read beyond it.
        for (major, minor) in [(0, 3), (2, 0), (2, 3), (u32::MAX, 3), (1, 0), (1, 1)] {
            let mut header = header(major, minor);
            assert!(read(&raw mut header).is_none(), "{major}.{minor}");
        }
        assert!(read(ptr::null_mut()).is_none());
    }

    #[test]
    fn the_newest_that_we_know_is_found() {
        let mut old = table(1, 2, ptr::null_mut());
        let mut known = table(1, 3, (&raw mut old).cast());
        known.current_work_stream = None;
        let mut chain = Vec::from([header(2, 0); 15]);
        let mut next = (&raw mut known).cast::<DLPackExchangeAPIHeader>();
        for header in &mut chain {
            header.prev_api = next;
            next = header;
        }
        assert!(read(next).is_some());
        let mut one_more = header(3, 0);
        one_more.prev_api = next;
        assert!(read(&raw mut one_more).is_none(), "the seventeenth is not looked at");
    }

    #[test]
    fn circles_end() {
        let mut itself = header(2, 0);
        let at = &raw mut itself;
        // SAFETY: `at` points to a local header.
        unsafe { (*at).prev_api = at };
        assert!(read(at).is_none());
        let (mut one, mut other) = (header(2, 0), header(2, 1));
        let (at, other) = (&raw mut one, &raw mut other);
        // SAFETY: as above.
        unsafe { (*at).prev_api = other };
        // SAFETY: as above.
        unsafe { (*other).prev_api = at };
        assert!(read(at).is_none());
    }

    #[test]
    fn outcomes() {
        use Outcome::*;
        for (status, made, raised, outcome) in [
            (0, true, false, Done),
            (0, true, true, RaisedWithResult),
            (0, false, false, NothingMade),
            (0, false, true, Raised),
            (-1, false, true, Raised),
            (-1, true, true, Raised),
            (-1, false, false, FailedSilently),
            (-1, true, false, FailedSilently),
            (1, true, false, FailedSilently),
            (1, true, true, Raised),
        ] {
            assert_eq!(Outcome::of(status, made, raised), outcome, "{status} {made} {raised}");
        }
    }
}
