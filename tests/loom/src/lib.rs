//! Models, for loom, of what threads share in `dlpack-traits`.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release --manifest-path tests/loom/Cargo.toml`
