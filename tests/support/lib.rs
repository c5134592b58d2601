//! Tests of `dlpack-traits` and `dlpack-derive` through their public interfaces.
//!
//! The tests are in `tests/`; this library has their helpers: a consumer
//! on the other side of the C ABI, owners whose drops are counted, a source of
//! random numbers. Hostile structs in guarded memory, and the definition of the
//! positions of a tensor's elements, are in `quality/hostile`, which Python uses too.

#![expect(clippy::missing_panics_doc, reason = "a panic here fails the test")]

pub mod counted;
pub mod foreign;
pub mod random;

/// Whether a sanitizer, which reports leaks and keeps freed memory, runs the tests: then `what` is
/// skipped, and named.
#[must_use]
pub fn skips_under_a_sanitizer(what: &str) -> bool {
    let is_sanitized = std::env::var_os("DLPACK_SANITIZED").is_some();
    if is_sanitized {
        eprintln!("SKIPPED under a sanitizer: {what}");
    }
    is_sanitized
}

pub use dlpack_hostile as hostile;
#[cfg(target_os = "linux")]
pub use dlpack_hostile::guarded;
pub use dlpack_hostile::positions;
