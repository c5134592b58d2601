//! The tests that Python runs, against modules built before.

use std::process::Command;

use crate::checkout::Checkout;
use crate::context::Context;
use crate::interpreter::Interpreter;
use crate::report::{Ending, Stop};
use crate::run::Stage;
use crate::venv::{self, Apart, Environment};

/// The Python tests against the modules in `target/python`.
pub(crate) fn python_tests(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.modules(stage)?;
    run(&mut pytest(&context.checkout, environment), stage)
}

/// Runs what [`pytest`] made.
pub(crate) fn run(pytest: &mut Command, stage: &mut Stage) -> Ending {
    stage.run(pytest).map_err(|_| {
        Stop::Failed(format!(
            "Python tests failed; all they said is in {}.",
            stage.log_path().display()
        ))
    })
}

/// One process of pytest for each processor, each of which runs whole files.
pub(crate) const PARALLEL: [&str; 3] =
    ["--numprocesses=auto", "--maxprocesses=4", "--dist=loadfile"];

/// pytest, which may skip nothing whose consumer is installed.
pub(crate) fn pytest(checkout: &Checkout, environment: &Environment) -> Command {
    let mut command = pytest_of(checkout, environment);
    command.env("DLPACK_REQUIRE", environment.required("")).args(PARALLEL).arg("tests/python");
    command
}

/// pytest, without the names of tests yet.
pub(crate) fn pytest_of(checkout: &Checkout, environment: &Environment) -> Command {
    let mut command = environment.python(checkout);
    command.args(["-m", "pytest", "-ra", "--color=no"]);
    command
}

/// Tests for the second environment: the newest JAX, and the suite of the newest NumPy,
/// which other steps run with an older one.
pub(crate) fn pytest_newest(checkout: &Checkout, environment: &Environment) -> Command {
    let mut command = pytest_of(checkout, environment);
    command.env("DLPACK_REQUIRE", environment.required_there()).args(PARALLEL).args([
        "tests/python/standard",
        "tests/python/test_array_like.py",
        "tests/python/test_array_methods.py",
        "tests/python/test_buffers.py",
        "tests/python/test_interpreters.py",
        "tests/python/test_pending.py",
        "tests/python/peers/peer_jax.py",
        "tests/python/peers/peer_tvm_ffi.py",
    ]);
    command
}

/// The tests of objects as arrays and in other processes, in an environment with pandas,
/// scikit-learn, joblib, Dask and Ray.
pub(crate) fn objects(context: &Context, stage: &mut Stage) -> Ending {
    apart(
        context,
        stage,
        &venv::OBJECTS,
        &[
            "test_array_like.py",
            "test_pickle.py",
            "test_array_methods.py",
            "test_buffers.py",
            "test_data_frames.py",
        ],
    )
}

/// The tests of arguments, results and array-like classes with the oldest PyTorch and JAX.
pub(crate) fn oldest_libraries(context: &Context, stage: &mut Stage) -> Ending {
    apart(
        context,
        stage,
        &venv::OLDEST,
        &[
            "peers/peer_torch.py",
            "peers/peer_jax.py",
            "test_advice.py",
            "test_array_like.py",
            "test_buffers.py",
            "test_converted_arguments.py",
            "test_function_arguments.py",
            "test_function_results.py",
            "test_lazy_bits.py",
            "test_pending.py",
        ],
    )
}

/// The tests of NumPy's C API with NumPy 1; the other steps have NumPy 2.
pub(crate) fn numpy_1(context: &Context, stage: &mut Stage) -> Ending {
    apart(context, stage, &venv::NUMPY_1, &["test_numpy_arrays.py"])
}

/// Runs tests in an environment of its own, with the modules that were built for the first one.
fn apart(context: &Context, stage: &mut Stage, packages: &Apart, tests: &[&str]) -> Ending {
    context.modules(stage)?;
    let checkout = &context.checkout;
    let environment = packages.ensure(checkout, Interpreter::find(checkout)?, stage)?;
    let mut command = pytest_of(checkout, &environment);
    command
        // Other processes find the modules there too.
        .env("PYTHONPATH", checkout.modules())
        .env("DLPACK_PYTHON_MODULES", checkout.modules())
        .env("DLPACK_REQUIRE", environment.required_there())
        .args(tests.iter().map(|test| format!("tests/python/{test}")));
    run(&mut command, stage)
}
