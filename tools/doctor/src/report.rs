//! What an examination found, as plain data.

use serde::{Deserialize, Serialize};

/// All that is known of an object.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Name of the object's type, with its module.
    pub type_name: String,
    /// What `__dlpack_device__()` answered.
    pub device: DeviceAnswer,
    /// What `__dlpack__` answered, for each set of keywords that consumers use.
    pub requests: Vec<Request>,
    /// The exchange table of its type.
    pub table: Option<TableFacts>,
    /// What was tried, if it was asked for.
    pub checks: Vec<Check>,
    /// What is wrong, the worst first.
    pub findings: Vec<Finding>,
    /// What consumers make of it.
    pub verdicts: Vec<Verdict>,
}

impl Report {
    /// Whether nothing worse than a note was found.
    pub fn is_healthy(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Note)
    }

    /// The answer to the keywords.
    pub(crate) fn answer(&self, keywords: &str) -> Option<&Answer> {
        self.requests.iter().find(|one| one.keywords == keywords).map(|one| &one.answer)
    }

    /// The first tensor that was got: that of the newest request.
    pub fn tensor(&self) -> Option<&TensorFacts> {
        self.requests.iter().find_map(|one| one.answer.tensor())
    }
}

/// What `__dlpack_device__()` answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum DeviceAnswer {
    /// A pair of numbers.
    Said(DeviceFacts),
    /// Anything else.
    Odd {
        /// Its `repr`.
        found: String,
        /// Whether it has a first part, which is all that some consumers look at.
        has_parts: bool,
    },
    /// An exception.
    Raised {
        /// Its type.
        exception: String,
        /// Its text.
        message: String,
    },
    /// There is no such method.
    Missing,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Kind.
    pub device_type: i32,
    /// Index.
    pub device_id: i32,
    /// Both, in words.
    pub name: String,
}

/// One call of `__dlpack__`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Its arguments, as Python writes them.
    pub keywords: String,
    /// What came of it.
    pub answer: Answer,
}

/// What came of a call of `__dlpack__`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// A capsule.
    Capsule(Box<CapsuleFacts>),
    /// Something else.
    Odd {
        /// Its type.
        found: String,
    },
    /// An exception.
    Raised {
        /// Its type.
        exception: String,
        /// Its text, the first line.
        message: String,
    },
}

impl Answer {
    /// The capsule, if it is one.
    pub fn capsule(&self) -> Option<&CapsuleFacts> {
        if let Self::Capsule(capsule) = self { Some(capsule) } else { None }
    }

    /// The tensor in it, if it can be read.
    pub fn tensor(&self) -> Option<&TensorFacts> {
        self.capsule().and_then(|capsule| capsule.tensor.as_ref())
    }
}

/// A capsule, before anybody took its tensor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CapsuleFacts {
    /// Its name.
    pub name: Option<String>,
    /// Its destructor, which releases a tensor that nobody took.
    pub destructor: Option<Place>,
    /// The struct; `None` where the name is none that we know, or the pointer leads nowhere.
    pub tensor: Option<TensorFacts>,
    /// What the import of `dlpack-traits` says of it: `None` where it was not tried.
    pub accepted: Option<Result<(), String>>,
}

/// A function: where it is, and whose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Its address.
    pub address: u64,
    /// The library that has it, if any has: code made at run time is in none.
    pub library: Option<String>,
    /// Its name, if that is exported.
    pub symbol: Option<String>,
}

/// An array of integers behind a pointer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Array {
    /// The pointer is NULL.
    Null,
    /// The pointer leads nowhere.
    Unreadable,
    /// `ndim` does not say how many there are.
    Uncounted,
    /// What is there.
    Values(Vec<i64>),
}

impl Array {
    /// The numbers, if they could be read.
    pub fn values(&self) -> Option<&[i64]> {
        if let Self::Values(values) = self { Some(values) } else { None }
    }
}

/// The fields of a managed tensor, as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TensorFacts {
    /// The version, major first; `None` in the legacy struct.
    pub version: Option<(u32, u32)>,
    /// The flags; 0 in the legacy struct.
    pub flags: u64,
    /// The producer's own pointer.
    pub manager_ctx: u64,
    /// The deleter; `None` if it is NULL.
    pub deleter: Option<Place>,
    /// Address or handle.
    pub data: u64,
    /// Where it is.
    pub device: DeviceFacts,
    /// Number of dimensions.
    pub ndim: i32,
    /// Code, bits and lanes of the element type.
    pub dtype: (u8, u8, u16),
    /// Its name.
    pub dtype_name: String,
    /// Extents, in elements.
    pub shape: Array,
    /// Strides, in elements.
    pub strides: Array,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
    /// What follows from those, where it can be told.
    pub layout: Option<LayoutFacts>,
}

/// What shape, strides and address amount to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and no state")]
pub struct LayoutFacts {
    /// Number of elements.
    pub numel: i64,
    /// One after the other in row-major (C) order.
    pub row_major: bool,
    /// One after the other in column-major (Fortran) order.
    pub column_major: bool,
    /// One after the other in some order of the axes.
    pub compact: bool,
    /// Some stride that is used is 0.
    pub broadcast: bool,
    /// Some stride that is used is negative.
    pub negative: bool,
    /// Two indices may name one element.
    pub overlap: bool,
    /// The bytes that hold elements, counted from the first element's first byte.
    pub bytes: (i64, i64),
    /// The largest power of two, up to 4096, that divides the address of the first
    /// element; `None` without elements or addresses.
    pub alignment: Option<u64>,
    /// Whether there is memory wherever elements are; `None` where that cannot be told.
    pub mapped: Option<bool>,
}

/// The exchange table of a type.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TableFacts {
    /// The attribute that it was found under.
    pub attribute: String,
    /// Version, major first, of each table from the one published to the oldest.
    pub versions: Vec<(u32, u32)>,
    /// The functions; empty if the version or the address does not let them be read.
    pub slots: Vec<SlotFacts>,
    /// Why it cannot be read, if it cannot.
    pub unreadable: Option<String>,
    /// Whether that is because an address leads nowhere.
    pub dangling: bool,
}

/// One function of an exchange table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SlotFacts {
    /// Its name in the header.
    pub name: String,
    /// Whether the standard wants it.
    pub required: bool,
    /// Where it is; `None` if it is NULL.
    pub place: Option<Place>,
}

/// Something that was tried.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Check {
    /// What was tried.
    pub name: String,
    /// How it ended: [`Severity::Note`] if well.
    pub severity: Severity,
    /// What was seen.
    pub seen: String,
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Breaks the standard so that memory, or the consumer, comes to harm.
    Error,
    /// Breaks the standard, or a consumer that is known.
    Warning,
    /// Allowed, and worth knowing.
    Note,
}

/// Something that is wrong, or worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// A short name that does not change.
    pub rule: String,
    /// What was found, and what the standard says.
    pub message: String,
}

/// What a consumer makes of the object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Its name.
    pub consumer: String,
    /// The version that the verdict was measured with.
    pub version: String,
    /// What becomes of the tensor.
    pub fit: Fit,
    /// Why.
    pub why: String,
}

/// What becomes of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// The same elements at the same address.
    Same,
    /// The same elements elsewhere.
    Copy,
    /// The elements, as another type.
    Converted,
    /// An exception.
    Refused,
    /// It is never released.
    Leaks,
    /// Other elements.
    Wrong,
    /// Taken, and the first operation on it ends the process.
    Unusable,
    /// The process ends.
    Crash,
    /// Nobody measured it.
    Unknown,
}
