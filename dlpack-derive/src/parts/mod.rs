//! The derives beside `DLPackExport`, each for one part of a tensor: its
//! element type, at compile time and at run time, its storage, and its layout.
//!
//! Each has a file with its model and its expansion; the rest is shared.

mod as_layout;
mod data_type;
mod element;
mod record;
mod storage;

pub(crate) use as_layout::{as_layout, from_layout};
pub(crate) use data_type::derive as data_type;
pub(crate) use element::derive as element;
pub(crate) use record::derive as record;
pub(crate) use storage::derive as storage;
