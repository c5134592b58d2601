//! The same tensors twice: by hand or with another crate, and with the derive.
//! `docs/coming-from.md` shows both; the tests check that a consumer receives equal
//! tensors.

pub mod by_hand;
pub mod dlpark;
pub mod dlpk;
pub mod kornia;
pub mod pyo3_dlpack;
