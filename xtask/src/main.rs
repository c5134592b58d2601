//! The project's own commands, run as `cargo xtask <command>`.

#![forbid(unsafe_code)]
#![expect(clippy::std_instead_of_core, reason = "a program for a machine that has std")]

mod api;
mod args;
mod bench_compile;
mod bench_rust;
mod checkout;
mod checks;
mod copy_sources;
mod demo;
mod develop;
mod device_runtimes;
mod fuzz;
mod gpu;
mod gpu_tests;
mod interpreter;
mod matrix;
mod miri;
mod mutants;
mod no_python;
mod pyo3_range;
mod python_tests;
mod report;
mod rules;
mod run;
mod rust_tests;
mod sanitize;
mod test;
mod tools;
mod valgrind;
mod venv;
mod vulkan_tests;

use std::process::ExitCode;

use args::Request;
use checkout::Checkout;

/// What a command answers: nothing, or one sentence that says what to do.
type Outcome<T = ()> = Result<T, String>;

fn main() -> ExitCode {
    let request = match args::parse(std::env::args().skip(1)) {
        Ok(request) => request,
        Err(sentence) => {
            eprintln!("{sentence}\n\n{}", args::HELP);
            return ExitCode::from(2);
        }
    };
    match answer(request) {
        Ok(code) => code,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn answer(request: Request) -> Outcome<ExitCode> {
    match request {
        Request::Help => {
            println!("{}", args::HELP);
            Ok(ExitCode::SUCCESS)
        }
        Request::Develop(packages) => {
            develop::develop(&Checkout::find()?, packages)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Demo(packages) => {
            demo::demo(&Checkout::find()?, packages)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Matrix => matrix::matrix(&Checkout::find()?),
        Request::BenchCompile => {
            bench_compile::bench(&Checkout::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Rules => {
            rules::rules(&Checkout::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Mutants(choice) => {
            mutants::mutants(&Checkout::find()?, &choice)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Score(only) => {
            mutants::score::score(&Checkout::find()?, only.as_deref())?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Api { bless } => {
            api::api(&Checkout::find()?, bless)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Gpu => gpu::evidence(&Checkout::find()?),
        Request::Fuzz(choice) => {
            fuzz::fuzz(&Checkout::find()?, &choice)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Sanitize(step) => sanitize::sanitize(Checkout::find()?, step.as_deref()),
        Request::NoPython => {
            no_python::example(&Checkout::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::BenchRust => {
            bench_rust::bench(&Checkout::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Test { full } => test::test(Checkout::find()?, full),
    }
}
