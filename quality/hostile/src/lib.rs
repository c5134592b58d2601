//! Structs, capsules and exchange tables of hostile or unusual producers, in memory
//! in which a forbidden read ends the process.
//!
//! One list for all importers: [`malformed`], [`borderline`], [`on_devices`]
//! and [`other_majors`] are structs, [`tables`] and [`oddities`] the other parts of a
//! Python object, and [`trials`] all of them with what a consumer must do ([`Duty`])
//! by which [`Clause`] of the standard. Every array ends at an inaccessible page. After
//! the deleter nothing is readable. Linux only, except for [`positions`].

#![expect(clippy::missing_panics_doc, reason = "a panic here fails the test")]

#[cfg(target_os = "linux")]
mod borderline;
#[cfg(target_os = "linux")]
mod build;
#[cfg(target_os = "linux")]
mod case;
#[cfg(target_os = "linux")]
mod clause;
#[cfg(target_os = "linux")]
pub mod faults;
#[cfg(target_os = "linux")]
pub mod guarded;
#[cfg(target_os = "linux")]
mod malformed;
#[cfg(target_os = "linux")]
mod oddities;
pub mod positions;
#[cfg(target_os = "linux")]
mod tables;
#[cfg(target_os = "linux")]
mod trials;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod visits;

#[cfg(target_os = "linux")]
pub use crate::{
    borderline::{borderline, on_devices},
    build::{Built, HostileStruct, delete_at},
    case::{Array, Case, Data},
    clause::{Clause, Duty},
    malformed::{malformed, other_majors},
    oddities::{OddCase, Oddity, oddities},
    tables::{Attribute, BuiltTable, Export, Link, TableCase, tables},
    trials::{Given, Trial, trials},
};
