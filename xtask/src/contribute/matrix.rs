//! Who takes which tensors from whom: `cargo xtask matrix`, and its step.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::checkout::{Checkout, Outcome};
use crate::context::Context;
use crate::contribute::develop::{self, Build, EXAMPLE, Module, Profile, TESTING, check_import};
use crate::contribute::python_tests;
use crate::interpreter::Interpreter;
use crate::report::{Ending, Stop, missing};
use crate::run::Stage;
use crate::venv::{self, Environment, Packages};

/// What `DLPACK_REQUIRE` calls the interpreter of the second environment.
const NEWEST_PYTHON: &str = "newest-python";
/// The reason why there is no second environment.
const NO_NEWEST: &str = "there is no Python 3.13 or 3.12 for the newest libraries";

/// `cargo xtask matrix`: measures, prints the table, and writes `docs/generated/interop.md`.
pub(crate) fn matrix(checkout: &Checkout) -> Outcome<ExitCode> {
    let environment = develop::develop(checkout, Packages::MOST)?;
    let newest = match Interpreter::newest(checkout) {
        None => {
            println!("newest libraries\n        SKIPPED: {NO_NEWEST}");
            None
        }
        Some(interpreter) => {
            Some(develop::announced(checkout, "newest libraries", "ready", |stage| {
                build_newest(checkout, interpreter, &[EXAMPLE], stage)
            })?)
        }
    };
    println!();
    let mut command = driver(checkout, &environment, newest.as_ref());
    let status = command.arg("--write").status().map_err(|error| {
        format!("{} does not start ({error}).", environment.executable().display())
    })?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures again: fails where a cell is worse than `docs/generated/interop.md` says.
pub(crate) fn interop_matrix(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.modules(stage)?;
    let newest = newest_of(context, stage)?;
    stage.run(&mut driver(&context.checkout, environment, newest)).map_err(|_| {
        Stop::Failed(format!(
            "the matrix got worse; what did is at the end of {}.",
            stage.log_path().display()
        ))
    })
}

/// The tests of the newest libraries, in an environment of their own.
pub(crate) fn newest_libraries(context: &Context, stage: &mut Stage) -> Ending {
    let Some(environment) = newest_of(context, stage)? else {
        return missing(NEWEST_PYTHON, NO_NEWEST.to_owned());
    };
    python_tests::run(&mut python_tests::pytest_newest(&context.checkout, environment), stage)
}

/// The second environment with its modules, where there is an interpreter for it.
pub(crate) fn newest_of<'a>(
    context: &'a Context,
    stage: &mut Stage,
) -> Outcome<Option<&'a Environment>> {
    if let (None, Some(interpreter)) =
        (context.newest.get(), Interpreter::newest(&context.checkout))
    {
        let made = build_newest(&context.checkout, interpreter, &[EXAMPLE, TESTING], stage)?;
        context.newest.get_or_init(|| made);
    }
    Ok(context.newest.get())
}

/// The second environment, with modules built for its interpreter.
fn build_newest(
    checkout: &Checkout,
    interpreter: Interpreter,
    modules: &[Module],
    stage: &mut Stage,
) -> Outcome<Environment> {
    let environment = venv::NEWEST.ensure(checkout, interpreter, stage)?;
    let place = venv::NEWEST.link(checkout).with_file_name("");
    let build = Build {
        sources: checkout.root().to_path_buf(),
        target: place.join("target"),
        modules: place.join("python"),
        profile: Profile::QuickRelease,
    };
    build.run(checkout, &environment.interpreter, modules, stage)?;
    for module in modules {
        check_import(&mut environment.python(checkout), *module, &build.modules, stage)?;
    }
    Ok(environment)
}

/// The program that measures, without arguments that say what for.
fn driver(checkout: &Checkout, environment: &Environment, newest: Option<&Environment>) -> Command {
    let mut command = environment.python(checkout);
    command.arg(PathBuf::from_iter(["tests", "python", "matrix", "main.py"]));
    if let Some(newest) = newest {
        command.arg("--newest").arg(newest.executable());
    }
    command.env("DLPACK_REQUIRE", environment.required(""));
    command
}
