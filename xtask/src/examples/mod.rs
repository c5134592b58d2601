//! `cargo xtask example NAME`: the examples, each by one command. Most of them are also steps.

pub(crate) mod apart;
pub(crate) mod no_python;
mod python;
mod template;

use std::process::ExitCode;

use crate::context::Context;
use crate::environment::{BASE, FULL, Packages, TORCH};
use crate::modules::{EXAMPLE, FUNCTIONS, module};
use crate::outcome::{Ending, Outcome};
use crate::step::run_command;
use python::PythonExample;

/// An example, and the packages of its command.
struct Example {
    name: &'static str,
    shows: &'static str,
    packages: &'static Packages,
    work: Work,
}

enum Work {
    /// A program that Python runs, with a module in Rust.
    Python(PythonExample),
    Run(fn(&Context) -> Ending),
}

const fn python(
    name: &'static str,
    shows: &'static str,
    packages: &'static Packages,
    example: PythonExample,
) -> Example {
    Example { name, shows, packages, work: Work::Python(example) }
}

const fn other(name: &'static str, shows: &'static str, run: fn(&Context) -> Ending) -> Example {
    Example { name, shows, packages: &BASE, work: Work::Run(run) }
}

/// The default of the others.
const PLAIN: PythonExample = PythonExample::new(FUNCTIONS, "functions/test_functions.py");
/// Of `examples/ranks`.
const RANKS: PythonExample =
    PythonExample::new(module("dlpack-ranks", "dlpack_ranks"), "ranks/mpi.py");

const EXAMPLES: [Example; 15] = [
    other("no-python", "tensors between a C++ program and two Rust libraries", no_python::example),
    other("node", "typed arrays of Node.js over memory of Rust, and the reverse", apart::node),
    python("functions", "functions that accept, change and return arrays", &BASE, PLAIN),
    other("template", "a project of one's own: its wheel is built and tested", template::run),
    python(
        "safetensors",
        "a model file of 91 MB, mapped in Rust and used by PyTorch in place",
        &TORCH,
        PythonExample {
            arguments: Some(python::model_file),
            ..PythonExample::new(module("mapped-weights", "mapped_weights"), "safetensors/main.py")
        },
    ),
    python(
        "notebook",
        "windows, drawings and times of one photograph, as a script with cells",
        &BASE,
        PythonExample::new(EXAMPLE, "notebook/tour.py"),
    ),
    python(
        "wrapped",
        "types of ndarray, image and candle as Python classes",
        &BASE,
        PythonExample {
            workspace: Some("wrapped"),
            ..PythonExample::new(module("dlpack-wrapped", "dlpack_wrapped"), "wrapped/main.py")
        },
    ),
    python(
        "shared-memory",
        "frames that one process writes and another one uses, in the same pages",
        &TORCH,
        PythonExample {
            workspace: Some("shared-memory"),
            arguments: Some(python::publisher),
            is_for_linux: true,
            ..PythonExample::new(module("dlpack-frames", "dlpack_frames"), "shared-memory/main.py")
        },
    ),
    python(
        "mpi",
        "two ranks of MPI add up memory of Rust; no NumPy in between",
        &BASE,
        PythonExample { engines: true, launcher: "mpiexec -n 2", ..RANKS },
    ),
    python(
        "gloo",
        "the same with torch.distributed",
        &TORCH,
        PythonExample { program: "ranks/gloo.py", ..RANKS },
    ),
    other("two-versions", "two versions of the crate exchange tensors", apart::two_versions),
    python(
        "torch-operators",
        "operators of PyTorch with gradients, under torch.compile",
        &TORCH,
        PythonExample::new(
            module("dlpack-torch-operators", "row_kernels"),
            "torch-operators/test_operators.py",
        ),
    ),
    python(
        "jax-ffi",
        "handlers of XLA, which jitted functions of JAX call",
        &FULL,
        PythonExample {
            is_library: true,
            ..PythonExample::new(module("dlpack-jax-ffi", "jax_rows"), "jax-ffi/test_handlers.py")
        },
    ),
    other("tvm-ffi", "functions of tvm-ffi in Rust, called by Rust and by Python", apart::tvm_ffi),
    python(
        "ray",
        "memory of Rust into Ray's object store, with one copy",
        &BASE,
        PythonExample { engines: true, program: "ranks/store.py", ..RANKS },
    ),
];

/// The command: runs the example of that name in this terminal, or prints which there are.
pub(crate) fn command(name: Option<&str>) -> Outcome<ExitCode> {
    let Some(name) = name else {
        for Example { name, shows, .. } in EXAMPLES {
            println!("{name:16} {shows}");
        }
        return Ok(ExitCode::SUCCESS);
    };
    let example = named(name)?;
    run_command(&format!("example {name}"), example.packages, |context| run(context, name))
}

/// Runs an example as a part of a step.
pub(crate) fn run(context: &Context, name: &str) -> Ending {
    match named(name)?.work {
        Work::Python(example) => example.run(context),
        Work::Run(run) => run(context),
    }
}

/// The engines for several processes. The wheels of MPICH are for Linux.
pub(crate) fn ranks(context: &Context) -> Ending {
    apart::on_linux()?;
    ["mpi", "gloo", "ray"].into_iter().try_for_each(|name| run(context, name))
}

fn named(name: &str) -> Outcome<Example> {
    let names = EXAMPLES.map(|example| example.name).join(", ");
    let found = EXAMPLES.into_iter().find(|example| example.name == name);
    found.ok_or_else(|| format!("there is no example `{name}`: {names}."))
}
