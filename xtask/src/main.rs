//! The project's own commands, run as `cargo xtask <command>`.

#![forbid(unsafe_code)]
#![expect(clippy::std_instead_of_core, reason = "a program for a machine that has std")]

mod api;
mod args;
mod asan_python;
mod bench_compile;
mod bench_python;
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

use args::Request;
use checkout::Checkout;

/// What a command answers: nothing, or one sentence that says what to do.
type Outcome<T = ()> = Result<T, String>;

fn main() -> ExitCode {
    let request = match args::parse(std::env::args().skip(1)) {
        Ok(request) => request,
        Err(sentence) => {
            eprintln!("{}", args::refusal(&sentence));
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
        Request::Conformance => conformance::conformance(&Checkout::find()?),
        Request::Matrix => matrix::matrix(&Checkout::find()?),
        Request::Pictures => {
            pictures::pictures(&Checkout::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Publishable => publish::publishable(Checkout::find()?),
        Request::BenchCompile => {
            bench_compile::bench(&Checkout::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::BenchPython => {
            bench_python::bench(&Checkout::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::BenchPage => {
            bench_python::page(&Checkout::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::BenchAll => {
            bench_python::all(&Checkout::find()?)?;
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
        Request::Load => load::load(Checkout::find()?),
        Request::Soak(seconds) => load::soak(Checkout::find()?, seconds),
        Request::Trust => trust::trust(Checkout::find()?),
        Request::FreeThreaded => free_threaded::free_threaded(Checkout::find()?),
        Request::Example(name) => {
            examples::example(&Checkout::find()?, name.as_deref())?;
            Ok(ExitCode::SUCCESS)
        }
        Request::BenchRust => {
            bench_rust::bench(&Checkout::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Wheels => wheels::wheels(Checkout::find()?),
        Request::BenchInstructions => {
            instructions::bench(&Checkout::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::BenchTable => {
            bench_table::bench(&Checkout::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::BenchSize => {
            bench_size::bench(&Checkout::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Test { full } => test::test(Checkout::find()?, full),
    }
}
