//! `cargo xtask example NAME`: the examples, each by one command.

mod coming_from;
mod crates;
mod node;
mod python;
mod template;
mod tvm_ffi;
mod two_versions;

pub(crate) use coming_from::coming_from;
pub(crate) use crates::crates;
pub(crate) use node::step as node;
use python::{Loading, Place, PythonExample};
pub(crate) use template::{make as template_project, step as template};
pub(crate) use tvm_ffi::step as tvm_ffi;
pub(crate) use two_versions::step as two_versions;

use crate::checkout::{Checkout, Outcome};
use crate::context::Context;
use crate::contribute::develop::{self, Module};
use crate::contribute::no_python;
use crate::report::{Ending, Stop};
use crate::run::Stage;
use crate::venv::Packages;

/// An example that Python imports, in the environment of the tests.
const PLAIN: PythonExample = PythonExample {
    name: "functions",
    module: develop::FUNCTIONS,
    loading: Loading::Import,
    place: Place::Tests(Packages::Base),
    program: "functions/test_functions.py",
    workspace: None,
    launcher: None,
    prepare: None,
};
pub(crate) const FUNCTIONS: PythonExample = PLAIN;
pub(crate) const SAFETENSORS: PythonExample = PythonExample {
    name: "safetensors",
    module: Module { package: "mapped-weights", name: "mapped_weights", sources: None },
    place: Place::Tests(Packages::Torch),
    program: "safetensors/main.py",
    prepare: Some(python::model_file),
    ..PLAIN
};
pub(crate) const NOTEBOOK: PythonExample = PythonExample {
    name: "notebook",
    module: develop::EXAMPLE,
    program: "notebook/tour.py",
    ..PLAIN
};
pub(crate) const WRAPPED: PythonExample = PythonExample {
    name: "wrapped",
    module: Module { package: "dlpack-wrapped", name: "dlpack_wrapped", sources: None },
    program: "wrapped/main.py",
    workspace: Some("wrapped"),
    ..PLAIN
};
const SHARED_MEMORY: PythonExample = PythonExample {
    name: "shared-memory",
    module: Module { package: "dlpack-frames", name: "dlpack_frames", sources: None },
    place: Place::Tests(Packages::Torch),
    program: "shared-memory/main.py",
    workspace: Some("shared-memory"),
    prepare: Some(python::publisher),
    ..PLAIN
};
const MPI: PythonExample = PythonExample {
    name: "mpi",
    module: Module { package: "dlpack-ranks", name: "dlpack_ranks", sources: None },
    place: Place::Engines,
    program: "ranks/mpi.py",
    launcher: Some(&["mpiexec", "-n", "2"]),
    ..PLAIN
};
const GLOO: PythonExample = PythonExample {
    name: "gloo",
    place: Place::Tests(Packages::Torch),
    program: "ranks/gloo.py",
    launcher: None,
    ..MPI
};
const RAY: PythonExample =
    PythonExample { name: "ray", program: "ranks/store.py", launcher: None, ..MPI };
pub(crate) const TORCH_OPERATORS: PythonExample = PythonExample {
    name: "torch-operators",
    module: Module { package: "dlpack-torch-operators", name: "row_kernels", sources: None },
    place: Place::Tests(Packages::Torch),
    program: "torch-operators/test_operators.py",
    ..PLAIN
};
pub(crate) const JAX_FFI: PythonExample = PythonExample {
    name: "jax-ffi",
    module: Module { package: "dlpack-jax-ffi", name: "jax_rows", sources: None },
    loading: Loading::Library,
    place: Place::Tests(Packages::Full),
    program: "jax-ffi/test_handlers.py",
    ..PLAIN
};

/// A name, what it shows, and how it is run.
type Example = (&'static str, &'static str, fn(&Checkout) -> Outcome);

/// Those that `example` runs, and what each shows.
const EXAMPLES: [Example; 15] = [
    ("no-python", "tensors between a C++ program and two Rust libraries", no_python::example),
    ("node", "typed arrays of Node.js over memory of Rust, and the reverse", node::run),
    ("functions", "functions that accept, change and return arrays, and their tests", |at| {
        FUNCTIONS.run(at)
    }),
    ("template", "a project of one's own: its wheel is built and tested", template::run),
    ("safetensors", "a model file of 91 MB, mapped in Rust and used by PyTorch in place", |at| {
        SAFETENSORS.run(at)
    }),
    ("notebook", "windows, drawings and times of one photograph, as a script with cells", |at| {
        NOTEBOOK.run(at)
    }),
    ("wrapped", "types of ndarray, image and candle as Python classes", |at| WRAPPED.run(at)),
    (
        "shared-memory",
        "frames that one process writes and another one uses, in the same pages",
        |at| SHARED_MEMORY.run(at),
    ),
    ("mpi", "two ranks of MPI add up memory of Rust; no NumPy in between", |at| MPI.run(at)),
    ("gloo", "the same with torch.distributed", |at| GLOO.run(at)),
    ("two-versions", "two versions of the crate exchange tensors", two_versions::run),
    ("torch-operators", "operators of PyTorch with gradients, under torch.compile", |at| {
        TORCH_OPERATORS.run(at)
    }),
    ("jax-ffi", "handlers of XLA, which jitted functions of JAX call", |at| JAX_FFI.run(at)),
    ("tvm-ffi", "functions of tvm-ffi in Rust, called by Rust and by Python", tvm_ffi::run),
    ("ray", "memory of Rust into Ray's object store, with one copy", |at| RAY.run(at)),
];

/// Runs the example of that name in this terminal, or says which there are.
pub(crate) fn example(checkout: &Checkout, name: Option<&str>) -> Outcome {
    let Some(name) = name else {
        for (name, shows, _) in EXAMPLES {
            println!("{name:16} {shows}");
        }
        return Ok(());
    };
    let found = EXAMPLES.iter().find(|(known, ..)| *known == name);
    let names: Vec<&str> = EXAMPLES.iter().map(|(name, ..)| *name).collect();
    let (.., run) =
        found.ok_or_else(|| format!("There is no example `{name}`: {}.", names.join(", ")))?;
    run(checkout)
}

/// A publisher and a subscriber, in two processes.
pub(crate) fn shared_memory(context: &Context, stage: &mut Stage) -> Ending {
    if !cfg!(target_os = "linux") {
        return Err(Stop::Skipped("the example compares the files in /proc/PID/maps".to_owned()));
    }
    SHARED_MEMORY.step(context, stage)
}

/// The engines for several processes.
pub(crate) fn ranks(context: &Context, stage: &mut Stage) -> Ending {
    if !cfg!(target_os = "linux") {
        return Err(Stop::Skipped("the wheels of MPICH are for Linux".to_owned()));
    }
    [MPI, GLOO, RAY].iter().try_for_each(|example| example.step(context, stage))
}
