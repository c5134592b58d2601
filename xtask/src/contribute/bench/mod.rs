//! Benchmarks: `cargo xtask bench`.

mod compile;
mod functions;
pub(crate) mod instructions;
pub(crate) mod python;
mod release;
mod rust;
mod size;
mod table;

use crate::Outcome;
use crate::args::Bench;
use crate::checkout::Checkout;

/// Runs one benchmark, or all.
pub(crate) fn bench(what: &Bench, checkout: &Checkout) -> Outcome {
    match what {
        Bench::Rust => rust::bench(checkout),
        Bench::Python => python::bench(checkout),
        Bench::Table => table::bench(checkout),
        Bench::Size => size::bench(checkout),
        Bench::Instructions => instructions::bench(checkout),
        Bench::Compile => compile::bench(checkout),
        Bench::Functions => functions::bench(checkout),
        Bench::Page => python::page(checkout),
        Bench::All => python::all(checkout),
    }
}
