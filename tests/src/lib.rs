//! Tests of `dlpack-traits` and `dlpack-derive` as their users see them.
//!
//! The tests are in `tests/`; here is what several of them share: a consumer
//! on the other side of the C ABI, owners whose drops are counted, a source of
//! random numbers; hostile structs in guarded memory, and the definition of where a
//! tensor's elements are, come from `tests/hostile`, which serves Python too.

#![expect(clippy::missing_panics_doc, reason = "what fails here, fails a test")]

pub mod counted;
pub mod foreign;
pub mod random;

pub use dlpack_hostile as hostile;
#[cfg(target_os = "linux")]
pub use dlpack_hostile::guarded;
pub use dlpack_hostile::positions;
