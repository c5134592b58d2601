//! Benchmarks: `cargo xtask bench`. The crates `bench/` and `bench/python` are workspaces of their
//! own.

use std::process::Command;

use clap::Subcommand;

use crate::checkout::{root, target};
use crate::command::{Words as _, answer_of, cargo};
use crate::context::{Context, modules};
use crate::environment::{BASE, MOST, Packages, TORCH};
use crate::modules::{Build, EXAMPLE, FUNCTIONS, Profile, module};
use crate::outcome::Ending;
use crate::tools;

/// Aligns functions to 64 bytes, and the targets of jumps to 32 bytes, in the programs of the rows,
/// for all contenders.
///
/// Without it a row depends on the address of its code, which changes with any other code in the
/// program (measured: 4.9 and 5.9 ns for the same instructions, and 5.2 and 5.9 with aligned targets
/// only; 4.8 to 4.9, and 5.2, with both).
const ALIGNED: &str =
    "-C llvm-args=-align-all-functions=6 -C llvm-args=-align-all-nofallthru-blocks=5";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Bench {
    /// Cost of an exchange, beside other crates and the lower bound
    Rust,
    /// Cost of an exchange from Python, beside NumPy, PyTorch, tvm-ffi and nanobind
    Python,
    /// Exchange tables of our classes and of torch.Tensor, called from C
    Table,
    /// Machine code per exported type, with and without Python
    Size,
    /// Instructions of the hot paths against the record; `DLPACK_BLESS=1` writes the record
    Instructions,
    /// Build time that the derive adds, beside serde's
    Compile,
    /// The functions of examples/functions beside rust-numpy and nanobind
    Functions,
    /// Write docs/generated/benchmarks.md and its picture from the results of earlier runs
    Page,
    /// Run every benchmark and write the page
    All,
}

impl Bench {
    /// The packages that it needs.
    pub(crate) fn packages(self) -> &'static Packages {
        match self {
            // nanobind is among the packages.
            Self::Python | Self::Functions | Self::All => &MOST,
            Self::Table => &TORCH,
            _ => &BASE,
        }
    }

    pub(crate) fn run(self, context: &Context) -> Ending {
        match self {
            Self::Rust => {
                program(context, "rust", "tvm-ffi,pyo3-dlpack,rust-numpy", "dlpack-bench")
            }
            Self::Python => python(context),
            Self::Table => {
                Build { python: context.environment()?.executable(), ..context.build()? }
                    .run(context, &[EXAMPLE])?;
                program(context, "table", "table", "dlpack-bench-table")
            }
            Self::Size => script(context, "bench/python/builds.py size"),
            Self::Compile => script(context, "bench/python/builds.py compile"),
            Self::Instructions => instructions(context),
            Self::Functions => functions(context),
            Self::Page => page(context),
            Self::All => {
                let parts = [Self::Rust, Self::Table, Self::Python, Self::Size, Self::Compile];
                parts.iter().try_for_each(|part| part.run(context))?;
                page(context)
            }
        }
    }
}

/// Builds and runs a program of the crate `bench`, which embeds Python and writes a file in
/// `target/bench`. Its peers need what the environment has: an interpreter, NumPy, a C++ library.
fn program(context: &Context, name: &str, features: &str, binary: &str) -> Ending {
    let environment = context.environment()?;
    let interpreter = environment.interpreter;
    let line = format!("build --release --bin {binary} --features {features}");
    let mut build = cargo(&format!("{line} --manifest-path=bench/Cargo.toml"));
    build
        .builds_in("bench")
        .env("RUSTFLAGS", ALIGNED)
        .env("PYO3_PYTHON", environment.executable())
        .finds_programs_in(&environment.programs());
    context.run(&mut build)?;
    let tvm = answer_of(environment.programs().join("tvm-ffi-config"), &["--libdir"]);
    let libraries = [tvm.as_deref().map_or("", str::trim), &interpreter.libraries].join(":");
    let packages = [environment.packages(), modules()];
    let packages = std::env::join_paths(packages).map_err(|error| error.to_string())?;
    let json = target(format!("bench/{name}.json"));
    let mut command = Command::new(target("bench/release").join(binary));
    command
        .env("BENCH_JSON", &json)
        .env("PYTHONHOME", &interpreter.prefix)
        .env("PYTHONPATH", packages)
        .env("LD_LIBRARY_PATH", libraries);
    context.show(&mut command)?;
    context.note(format!("the same figures: {}", json.display()));
    Ok(())
}

/// Builds the modules of the rows, for the Python at hand and for all of them (`abi3`), and runs the
/// rows.
fn python(context: &Context) -> Ending {
    let environment = context.environment()?;
    let place = target("bench/python");
    for (features, folder) in [("", place.clone()), ("abi3", place.join("abi3"))] {
        let build = Build {
            sources: root().join("bench/python"),
            features,
            modules: folder.clone(),
            ..Build::below(&folder, &environment.executable(), Profile::Release)
        };
        build.run(context, &[module("dlpack-bench-python", "dlpack_bench_python")])?;
    }
    context.build()?.run(context, &[EXAMPLE])?;
    let mut rows = environment.python("bench/python/rows.py");
    Ok(context.show(rows.arg(&place).arg(target("bench/python.json")))?)
}

/// Runs a script on the results in `target/bench`.
fn script(context: &Context, line: &str) -> Ending {
    Ok(context.show(context.environment()?.python(line).arg(target("bench")))?)
}

/// Writes `docs/generated/benchmarks.md` and its picture, from all that is in `target/bench`.
pub(crate) fn page(context: &Context) -> Ending {
    script(context, "bench/python/page.py")
}

/// Counts the instructions of the hot paths, and compares them with the record.
pub(crate) fn instructions(context: &Context) -> Ending {
    tools::valgrind(context)?;
    let mut script = context.environment()?.python("quality/instructions/count.py");
    Ok(context.show(script.arg(target("")))?)
}

/// Compares `examples/functions` with the same module with rust-numpy and with nanobind, in
/// `docs/generated/functions.md`.
fn functions(context: &Context) -> Ending {
    let environment = context.environment()?;
    let twin = module("array-functions-rust-numpy", "array_functions_rust_numpy");
    let place = target("functions");
    let build = Build {
        modules: place.join("modules"),
        target: place.clone(),
        ..Build::below(&place, &environment.executable(), Profile::Release)
    };
    build.run(context, &[FUNCTIONS])?;
    let sources = root().join("examples/functions/twins/rust-numpy");
    Build { sources, ..build.clone() }.run(context, &[twin])?;
    for program in ["nanobind/build.py", "compare.py"] {
        let line = format!("examples/functions/twins/{program}");
        context.run(environment.python(&line).arg(&build.modules))?;
    }
    context.note("docs/generated/functions.md is written");
    Ok(())
}
