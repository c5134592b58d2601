//! The same tensors twice: as other crates, or nobody, help to make them, and by
//! the derive. `docs/coming-from.md` shows both side by side; the tests compare
//! what a consumer gets.

pub mod by_hand;
pub mod dlpark;
pub mod dlpk;
pub mod pyo3_dlpack;
