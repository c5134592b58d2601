//! Exchange tables in guarded memory: [`tables`], [`TableCase::build`].

use core::ffi::CStr;
use core::ptr;

use tensors::ffi::{DLPackExchangeAPI, DLPackExchangeAPIHeader, DLPackVersion};

use crate::faults::What;
use crate::guarded::{Flush, Guarded};
use crate::{Clause, Duty};

/// The name of a capsule with a table.
const NAME: &CStr = c"dlpack_exchange_api";

/// The value of a type's table attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// Tables, newest first, in a capsule of that name; the last one may lead back
    /// to one of them.
    Chain(Vec<Link>, Option<usize>, &'static CStr),
    /// The same, as an attribute of the object and not of its type.
    OfObject(Vec<Link>),
    /// The address of a table, as before 1.3.
    Address(Vec<Link>),
    /// A number that is none.
    Number(i64),
    /// None.
    None,
    /// A text.
    Text,
}

/// One table of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its version.
    pub version: (u32, u32),
    /// Which functions are there: none of the struct behind the header if `None`;
    /// otherwise those that are NULL, in the order of the struct.
    pub missing: Option<&'static [usize]>,
}

/// What the table's export function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// It makes the tensor.
    Sound,
    /// It raises BufferError.
    Refuses,
    /// It raises ValueError.
    Fails,
    /// It returns that number, and raises nothing.
    FailsSilently(i32),
    /// It returns success without a tensor.
    MakesNothing,
    /// It returns success, makes a tensor and raises ValueError.
    MakesAndRaises,
}

/// A table, or the value instead of one.
#[derive(Clone, Debug)]
pub struct TableCase {
    /// The rule of `docs/soundness.md`, and the unusual property.
    pub words: String,
    /// The clause of the standard.
    pub clause: Clause,
    /// What a consumer must do; `__dlpack__` of the object is valid.
    pub duty: Duty,
    /// The value of the type's table attribute.
    pub attribute: Attribute,
    /// What its function does.
    pub export: Export,
    /// What this project's consumer raises, if it does: the exception and a part of its
    /// text.
    pub ours: Option<[&'static str; 2]>,
}

/// A header without anything behind it.
const fn header(major: u32, minor: u32) -> Link {
    Link { version: (major, minor), missing: None }
}

/// A table of all functions but those.
const fn table(minor: u32, missing: &'static [usize]) -> Link {
    Link { version: (1, minor), missing: Some(missing) }
}

/// All of them.
pub fn tables() -> Vec<TableCase> {
    use Attribute::Chain;
    let case = |words: &str, attribute| TableCase {
        words: words.to_owned(),
        clause: Clause::TableHeader,
        duty: Duty::May,
        attribute,
        export: Export::Sound,
        ours: None,
    };
    let one = |link| Chain(vec![link], None, NAME);
    let good = |words, attribute| TableCase { duty: Duty::Accept, ..case(words, attribute) };
    let mut cases = vec![
        good("X1 table 1.3", one(table(3, &[]))),
        good("X1 table 1.99", one(table(99, &[]))),
        case("X1 table 2.0, a header", one(header(2, 0))),
        case("X1 table 0.3, a header", one(header(0, 3))),
        case("X1 table 4294967295.3, a header", one(header(u32::MAX, 3))),
        case("X3 table 1.0, a header", one(header(1, 0))),
        case("X3 table 1.1, a header", one(header(1, 1))),
        good("X1 table 1.3 behind 2.0", Chain(vec![header(2, 0), table(3, &[])], None, NAME)),
        case("X1 table 2.0 behind itself", Chain(vec![header(2, 0)], Some(0), NAME)),
        case(
            "X1 tables 2.1 and 2.0 in a circle",
            Chain(vec![header(2, 1), header(2, 0)], Some(0), NAME),
        ),
        case(
            "X1 a circle after ten tables",
            Chain((0..10).rev().map(|minor| header(2, minor)).collect(), Some(4), NAME),
        ),
        case(
            "X1 table 1.3 behind a thousand others",
            Chain(
                (0..1000).rev().map(|n| header(2, n)).chain([table(3, &[])]).collect(),
                None,
                NAME,
            ),
        ),
        good(
            "X4 a table of the object, none of the type",
            Attribute::OfObject(vec![table(3, &[])]),
        ),
    ];
    let odd = |words, attribute| TableCase { clause: Clause::Table, ..case(words, attribute) };
    cases.extend([
        odd("X2 all functions are NULL", one(table(3, &[0, 1, 2, 3, 4]))),
        odd("X2 the function that exports is NULL", one(table(3, &[1]))),
        odd("X2 only the function that exports is there", one(table(3, &[0, 2, 3, 4]))),
        odd("X4 a capsule of another name", Chain(vec![table(3, &[])], None, c"dltensor")),
        odd("X4 an address in place of a capsule", Attribute::Address(vec![table(3, &[])])),
        odd("X4 the number 0", Attribute::Number(0)),
        odd("X4 the number 1", Attribute::Number(1)),
        odd("X4 the number -1", Attribute::Number(-1)),
        odd("X4 None", Attribute::None),
        odd("X4 a text", Attribute::Text),
    ]);
    let raises = Some(["ValueError", "the table's own words"]);
    for (export, words, duty, ours) in [
        (Export::Refuses, "X5 export raises BufferError", Duty::May, None),
        (Export::Fails, "X5 export raises ValueError", Duty::May, raises),
        (Export::FailsSilently(-1), "X5 export returns -1, no exception", Duty::May, None),
        (Export::FailsSilently(1), "X5 export returns 1, no exception", Duty::May, None),
        (Export::MakesNothing, "X5 export returns 0 and makes nothing", Duty::May, None),
        // The standard does not define who owns the tensor then.
        (
            Export::MakesAndRaises,
            "X5 export returns 0, a tensor, an exception",
            Duty::Undefined,
            raises,
        ),
    ] {
        let case = odd(words, one(table(3, &[])));
        cases.push(TableCase { duty, export, ours, ..case });
    }
    cases
}

/// The tables of a case, which are never freed: importers cache their addresses.
#[derive(Clone, Copy, Debug)]
pub struct BuiltTable(*mut DLPackExchangeAPIHeader);

impl BuiltTable {
    /// Writes tables, newest first, behind each of which nothing can be read, and
    /// lets the last one lead back to that one.
    pub fn new(links: &[Link], back: Option<usize>, functions: &DLPackExchangeAPI) -> Self {
        let pages: Vec<&'static Guarded> = links
            .iter()
            .map(|link| {
                let api = written(*link, functions);
                let whole = size_of::<DLPackExchangeAPI>();
                let len = link.missing.map_or(size_of::<DLPackExchangeAPIHeader>(), |_| whole);
                let mut bytes = vec![0; len];
                let from = ptr::from_ref(&api).cast::<u8>();
                // SAFETY: the struct has at least that many bytes, and no padding.
                unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(from, len) };
                &*Box::leak(Box::new(Guarded::of(What::Table, &bytes, Flush::End)))
            })
            .collect();
        #[expect(clippy::cast_ptr_alignment, reason = "as aligned as the page's end is")]
        let at = |index: usize| pages[index].start().cast::<DLPackExchangeAPIHeader>();
        for index in 0..pages.len() {
            let next = if index + 1 < pages.len() { Some(index + 1) } else { back };
            if let Some(next) = next {
                // SAFETY: the header was just written there, and there are no readers
                // yet.
                unsafe { (*at(index)).prev_api = at(next) };
            }
        }
        Self(at(0))
    }

    /// The newest table.
    pub fn as_ptr(self) -> *mut DLPackExchangeAPIHeader {
        self.0
    }
}

fn written(link: Link, functions: &DLPackExchangeAPI) -> DLPackExchangeAPI {
    let (major, minor) = link.version;
    let missing = |index: usize| link.missing.is_some_and(|missing| missing.contains(&index));
    let version = DLPackVersion { major, minor };
    DLPackExchangeAPI {
        header: DLPackExchangeAPIHeader { version, prev_api: ptr::null_mut() },
        managed_tensor_allocator: functions.managed_tensor_allocator.filter(|_| !missing(0)),
        managed_tensor_from_py_object_no_sync: functions
            .managed_tensor_from_py_object_no_sync
            .filter(|_| !missing(1)),
        managed_tensor_to_py_object_no_sync: functions
            .managed_tensor_to_py_object_no_sync
            .filter(|_| !missing(2)),
        dltensor_from_py_object_no_sync: functions
            .dltensor_from_py_object_no_sync
            .filter(|_| !missing(3)),
        current_work_stream: functions.current_work_stream.filter(|_| !missing(4)),
    }
}
