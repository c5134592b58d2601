//! The commands that a contributor runs, and the steps of `cargo xtask test`.

pub(crate) mod api;
pub(crate) mod bench;
pub(crate) mod checks;
pub(crate) mod conformance;
pub(crate) mod demo;
pub(crate) mod develop;
pub(crate) mod device_runtimes;
pub(crate) mod examples;
pub(crate) mod gpu_tests;
pub(crate) mod matrix;
pub(crate) mod mutants;
pub(crate) mod no_python;
pub(crate) mod oldest_rust;
pub(crate) mod pictures;
pub(crate) mod pyo3_range;
pub(crate) mod python_tests;
pub(crate) mod rules;
pub(crate) mod rust_tests;
pub(crate) mod test;
pub(crate) mod vulkan_tests;

use std::process::ExitCode;

use crate::args::{Contribute, MutantRun};
use crate::checkout::{Checkout, Outcome};

/// Runs one command.
pub(crate) fn run(request: Contribute, checkout: Checkout) -> Outcome<ExitCode> {
    let outcome = match request {
        Contribute::Check => return test::check(checkout),
        Contribute::Test(test) => return test::test(checkout, test.full, test.step.as_deref()),
        Contribute::Matrix => return matrix::matrix(&checkout),
        Contribute::Conformance => return conformance::conformance(&checkout),
        Contribute::Demo(with) => demo::demo(&checkout, with.packages()),
        Contribute::Develop(with) => develop::develop(&checkout, with.packages()).map(drop),
        Contribute::Example { name } => examples::example(&checkout, name.as_deref()),
        Contribute::Rules => rules::rules(&checkout),
        Contribute::Mutants(mutants) => match mutants.run() {
            MutantRun::Kept(choice) => mutants::mutants(&checkout, &choice),
            MutantRun::Score(path) => mutants::score::score(&checkout, path.as_deref()),
        },
        Contribute::Api { bless } => api::api(&checkout, bless),
        Contribute::Pictures => pictures::pictures(&checkout),
        Contribute::Bench { what } => bench::bench(&what, &checkout),
    };
    outcome.map(|()| ExitCode::SUCCESS)
}
