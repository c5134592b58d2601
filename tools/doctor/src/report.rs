//! What an examination found, as plain data.

use serde::{Deserialize, Serialize};

/// All facts about an object.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Name of the object's type, with its module.
    pub type_name: String,
    /// The result of `__dlpack_device__()`.
    pub device: DeviceAnswer,
    /// The result of `__dlpack__`, for each set of keywords that consumers use.
    pub requests: Vec<Request>,
    /// The exchange table of its type.
    pub table: Option<TableFacts>,
    /// The live checks that were run, if requested.
    pub checks: Vec<Check>,
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
    /// The verdict for each consumer.
    pub verdicts: Vec<Verdict>,
}

impl Report {
    /// Whether nothing worse than a note was found.
    pub fn is_healthy(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Note)
    }

    /// The result for a set of keywords.
    pub(crate) fn answer(&self, keywords: &str) -> Option<&Answer> {
        self.requests.iter().find(|one| one.keywords == keywords).map(|one| &one.answer)
    }

    /// The first tensor that was returned: that of the newest request.
    pub fn tensor(&self) -> Option<&TensorFacts> {
        self.requests.iter().find_map(|one| one.answer.tensor())
    }
}

/// The result of `__dlpack_device__()`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum DeviceAnswer {
    /// A pair of numbers.
    Said(DeviceFacts),
    /// Any other value.
    Odd {
        /// Its `repr`.
        found: String,
        /// The number of its items, if it has any: some consumers read the first only, some
        /// unpack two without a look at their types.
        items: usize,
    },
    /// An exception.
    Raised {
        /// Its type.
        exception: String,
        /// Its text.
        message: String,
    },
    /// The method does not exist.
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
    /// The outcome.
    pub answer: Answer,
}

/// The outcome of a call of `__dlpack__`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// A capsule.
    Capsule(Box<CapsuleFacts>),
    /// Any other value.
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

/// An unconsumed capsule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CapsuleFacts {
    /// Its name.
    pub name: Option<String>,
    /// Its destructor, which releases a tensor that was never consumed.
    pub destructor: Option<Place>,
    /// The struct; `None` if the name is unknown, or the pointer is invalid.
    pub tensor: Option<TensorFacts>,
    /// The error of the import of `dlpack-traits`; `None` if it was not tried.
    pub accepted: Option<Result<(), String>>,
}

/// A function: its address and its library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Its address.
    pub address: u64,
    /// The library that contains it; `None` for code that was generated at run time.
    pub library: Option<String>,
    /// Its name, if the symbol is exported.
    pub symbol: Option<String>,
}

/// An array of integers behind a pointer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Array {
    /// The pointer is NULL.
    Null,
    /// The pointer is invalid.
    Unreadable,
    /// The length is unknown, because `ndim` is invalid.
    Uncounted,
    /// The integers.
    Values(Vec<i64>),
}

impl Array {
    /// The numbers, if they could be read.
    pub fn values(&self) -> Option<&[i64]> {
        if let Self::Values(values) = self { Some(values) } else { None }
    }
}

/// The fields of a managed tensor, unvalidated.
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
    /// Its device.
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
    /// Derived facts, if the fields are valid.
    pub layout: Option<LayoutFacts>,
}

/// Facts that follow from shape, strides and address.
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
    /// A stride of a dimension with several elements is 0.
    pub broadcast: bool,
    /// A stride of a dimension with several elements is negative.
    pub negative: bool,
    /// Two indices may name one element.
    pub overlap: bool,
    /// The bytes that hold elements, counted from the first element's first byte.
    pub bytes: (i64, i64),
    /// The largest power of two, up to 4096, that divides the address of the first
    /// element; `None` without elements or addresses.
    pub alignment: Option<u64>,
    /// Whether all elements lie in mapped memory; `None` if that is unknown.
    pub mapped: Option<bool>,
}

/// The exchange table of a type.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TableFacts {
    /// The attribute in which it was found.
    pub attribute: String,
    /// Version, major first, of each table from the one published to the oldest.
    pub versions: Vec<(u32, u32)>,
    /// The functions; empty if the version or the address does not let them be read.
    pub slots: Vec<SlotFacts>,
    /// Why it is unreadable, if it is.
    pub unreadable: Option<String>,
    /// Whether an invalid address is the reason.
    pub dangling: bool,
}

/// One function of an exchange table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SlotFacts {
    /// Its name in the header.
    pub name: String,
    /// Whether the standard requires it.
    pub required: bool,
    /// Its address; `None` if it is NULL.
    pub place: Option<Place>,
}

/// A live check.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Check {
    /// The name of the check.
    pub name: String,
    /// The result: [`Severity::Note`] if the check passed.
    pub severity: Severity,
    /// The observation.
    pub seen: String,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Violates the standard in a way that corrupts memory or crashes a consumer.
    Error,
    /// Violates the standard, or breaks a known consumer.
    Warning,
    /// Allowed by the standard, with consequences for consumers.
    Note,
}

/// A defect or a remark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// A short name that is stable between releases.
    pub rule: String,
    /// What was found, and what the standard requires.
    pub message: String,
}

/// The verdict for one consumer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Its name.
    pub consumer: String,
    /// The version that the verdict was measured with.
    pub version: String,
    /// The outcome for the tensor.
    pub fit: Fit,
    /// Why.
    pub why: String,
}

/// The outcome of an import by a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// The same elements at the same address.
    Same,
    /// The same elements at another address.
    Copy,
    /// The elements, converted to another type.
    Converted,
    /// An exception.
    Refused,
    /// It is never released.
    Leaks,
    /// Wrong elements.
    Wrong,
    /// Accepted, and the first operation on it ends the process.
    Unusable,
    /// The process ends.
    Crash,
    /// Not measured.
    Unknown,
}
