//! What a Python object says by DLPack, and what is wrong with it.
//!
//! [`examine`] asks an object for its tensor in every way that consumers do, reads
//! the C structs that it answers with, and those of its exchange table, field by
//! field, and says what breaks the standard and which library would make what of it:
//!
//! ```ignore,no_run,standalone_crate
//! use dlpack_doctor::{Options, examine};
//! use pyo3::prelude::*;
//!
//! fn print_report(object: &Bound<'_, PyAny>) -> PyResult<()> {
//!     let report = examine(object, &Options::default())?;
//!     println!("{report}");
//!     assert!(report.is_healthy());
//!     Ok(())
//! }
//! ```
//!
//! The Python package of the same name is the command line of this:
//! `python -m dlpack_doctor 'numpy.zeros(3)'`.
//!
//! # How it reads
//!
//! Structs, arrays and elements are read through the kernel, which says of a bad
//! address that it is one. So a pointer that leads nowhere is a finding and not the
//! end of the process (on systems other than Unix it is the end). No field
//! is trusted: the facts in a [`Report`] are the values of the fields.
//!
//! Code of the producer is called, though: `__dlpack__`, the deleter, and with
//! [`Options::live`] the functions of its table. If that code is not trusted,
//! call this in a process of its own, as the command line does.

mod ask;
mod consumers;
mod dims;
mod findings;
mod live;
mod memory;
mod place;
mod read;
mod report;
mod same;
mod table;
mod text;
mod verdict;

pub use ask::{Options, examine};
pub use consumers::{CONSUMERS, Consumer};
pub use live::CHECKS;
pub use report::{
    Answer, Array, CapsuleFacts, Check, DeviceAnswer, DeviceFacts, Finding, Fit, LayoutFacts,
    Place, Report, Request, Severity, SlotFacts, TableFacts, TensorFacts, Verdict,
};
pub use same::{Comparison, compare};
pub use text::Style;

/// The Rust in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
