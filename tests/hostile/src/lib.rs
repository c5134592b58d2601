//! Structs, capsules and exchange tables as hostile or odd producers make them,
//! in memory that cannot be read out of turn.
//!
//! One list for everybody who imports: [`malformed`], [`borderline`], [`on_devices`]
//! and [`other_majors`] are structs, [`tables`] and [`oddities`] what else a Python
//! object may come with, and [`trials`] all of it with what a consumer owes
//! ([`Duty`]) by which [`Clause`] of the standard. Every array ends where reading ends.
//! After the deleter nothing can be read any more. Linux only, but for [`positions`].

#![expect(clippy::missing_panics_doc, reason = "what fails here, fails a test")]

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
