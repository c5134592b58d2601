//! Benchmarks: `cargo xtask bench`.

mod functions;
pub(crate) mod instructions;
pub(crate) mod python;
mod rust;
mod table;

use crate::args::Bench;
use crate::checkout::{Checkout, Outcome};

/// Aligns functions to 64 bytes, and the targets of jumps to 32 bytes, in the programs of the rows,
/// for all contenders.
///
/// Without it a row depends on the address of its code, which changes with any other code in the
/// program (measured: 4.9 and 5.9 ns for the same instructions, and 5.2 and 5.9 with aligned targets
/// only; 4.8 to 4.9, and 5.2, with both).
pub(crate) const ALIGNED: &str =
    "-C llvm-args=-align-all-functions=6 -C llvm-args=-align-all-nofallthru-blocks=5";

/// Runs one benchmark, or all.
pub(crate) fn bench(what: &Bench, checkout: &Checkout) -> Outcome {
    match what {
        Bench::Rust => rust::bench(checkout),
        Bench::Python => python::bench(checkout),
        Bench::Table => table::bench(checkout),
        Bench::Size => python::builds(checkout, "size"),
        Bench::Instructions => instructions::bench(checkout),
        Bench::Compile => python::builds(checkout, "compile"),
        Bench::Functions => functions::bench(checkout),
        Bench::Page => python::page(checkout),
        Bench::All => python::all(checkout),
    }
}
