//! The project's own commands, run as `cargo xtask <command>`.

#![forbid(unsafe_code)]
#![expect(clippy::std_instead_of_core, reason = "a program for a machine that has std")]

mod api;
mod args;
mod asan_python;
mod bench_compile;
mod bench_python;
mod bench_release;
mod bench_rust;
mod bench_size;
mod bench_table;
mod checkout;
mod checks;
mod conformance;
mod copy_sources;
mod demo;
mod develop;
mod device_runtimes;
mod examples;
mod free_threaded;
mod fuzz;
mod gpu;
mod gpu_tests;
mod instructions;
mod interpreter;
mod load;
mod loom;
mod matrix;
mod miri;
mod mutants;
mod no_python;
mod pictures;
mod publish;
mod pyo3_range;
mod python_tests;
mod report;
mod rules;
mod run;
mod rust_tests;
mod sanitize;
mod system;
mod test;
mod tools;
mod trust;
mod valgrind;
mod venv;
mod vulkan_tests;
mod wheels;

use std::process::ExitCode;

use args::{Bench, Contribute, MutantRun, Quality, Request};
use checkout::Checkout;

/// The result of a command: a value, or a sentence that names what to do.
type Outcome<T = ()> = Result<T, String>;

fn main() -> ExitCode {
    let request = args::parse();
    let outcome = Checkout::find().and_then(|checkout| match request {
        Request::Contribute(request) => contribute(request, checkout),
        Request::Quality(request) => quality(request, checkout),
    });
    outcome.unwrap_or_else(|sentence| {
        eprintln!("error: {sentence}");
        ExitCode::FAILURE
    })
}

fn contribute(request: Contribute, checkout: Checkout) -> Outcome<ExitCode> {
    let outcome = match request {
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
        Contribute::Bench { what } => bench(&what, &checkout),
    };
    outcome.map(|()| ExitCode::SUCCESS)
}

fn bench(what: &Bench, checkout: &Checkout) -> Outcome {
    match what {
        Bench::Rust => bench_rust::bench(checkout),
        Bench::Python => bench_python::bench(checkout),
        Bench::Table => bench_table::bench(checkout),
        Bench::Size => bench_size::bench(checkout),
        Bench::Instructions => instructions::bench(checkout),
        Bench::Compile => bench_compile::bench(checkout),
        Bench::Page => bench_python::page(checkout),
        Bench::All => bench_python::all(checkout),
    }
}

fn quality(request: Quality, checkout: Checkout) -> Outcome<ExitCode> {
    match request {
        Quality::Sanitize { step } => sanitize::sanitize(checkout, step.as_deref()),
        Quality::Fuzz(fuzz) => fuzz::fuzz(&checkout, &fuzz.choice()).map(|()| ExitCode::SUCCESS),
        Quality::Load => load::load(checkout),
        Quality::Soak { seconds } => load::soak(checkout, seconds),
        Quality::FreeThreaded => free_threaded::free_threaded(checkout),
        Quality::Trust => trust::trust(checkout),
        Quality::Gpu => gpu::evidence(&checkout),
        Quality::Wheels => wheels::wheels(checkout),
        Quality::Publishable => publish::publishable(checkout),
    }
}
