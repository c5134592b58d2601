"""Where the modules under test are loaded from, which consumers are required, and how leaks
are detected. Two environment variables configure the suite: ``DLPACK_PYTHON_MODULES``, a
folder with other builds of the two modules, from which they must then be imported; and
``DLPACK_REQUIRE``, a comma-separated list of consumers whose tests may not be skipped."""

import gc
import importlib
import importlib.util
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

CONSUMERS = (
    *("numpy", "tvm_ffi", "torch", "jax", "paddle", "mlx", "tensorflow"),
    *("array_api_strict", "pyarrow", "onnxruntime", "cuda.core", "warp"),
    *("nanobind", "mpi4py", "dpnp", "dpctl", "pyopencl"),
)
# Libraries that take objects as arrays, or to other processes.
LIBRARIES = (
    *("matplotlib", "PIL", "pandas", "sklearn", "joblib", "distributed", "ray"),
    *("polars", "xarray", "astropy.units", "pint"),
)
# Modules of the examples that only some steps build.
EXAMPLES = ("array_functions",)
# Names that only other steps of the full test suite use.
TOOLS = (
    *("miri", "valgrind", "newest-python", "cuda", "rocm", "oneapi", "opencl"),
    *("vulkan", "webgpu"),
    *("asan", "lsan", "tsan", "cargo-careful", "cargo-fuzz"),
    *("free-threaded", "free-threaded-3.14", "free-threaded-3.15", "free-threaded-tsan"),
    *("no_std", "msrv", "wasm32", "node", "eigen", "cargo-deny", "cargo-hack", "cargo-mutants"),
    *("minimal-versions", "public-api", "semver", "docs-rs", "release"),
)
MODULES = ("dlpack_example", "dlpack_testing")

FOLDER = os.environ.get("DLPACK_PYTHON_MODULES")
if FOLDER:
    sys.path.insert(0, FOLDER)

# Some tests panic on purpose. The panic messages are checked; backtraces only add noise,
# and keep alive what they load.
os.environ["RUST_BACKTRACE"] = "0"

REQUIRED = {name for name in os.environ.get("DLPACK_REQUIRE", "").split(",") if name}


def run_in_a_new_process(code, timeout=None):
    """Runs Python code with the modules under test, and fails unless it exits with 0 within a number
    of seconds. Returns what it wrote to stderr."""
    folders = filter(None, [FOLDER, os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        timeout=timeout,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stderr


def pytest_configure():
    """Stops the run if the modules under test or the required consumers are not the
    expected ones."""
    unknown = REQUIRED.difference(CONSUMERS, LIBRARIES, EXAMPLES, TOOLS)
    if unknown:
        raise pytest.UsageError(f"DLPACK_REQUIRE names unknown consumers: {unknown}")
    for name in MODULES:
        try:
            found = importlib.import_module(name).__file__
        except ImportError as error:
            raise pytest.UsageError(
                f"{name} is not built: run `cargo xtask test`"
            ) from error
        folder = os.path.dirname(os.path.realpath(found))
        if FOLDER and folder != os.path.realpath(FOLDER):
            raise pytest.UsageError(
                f"{name} was imported from {folder}, not from {FOLDER}"
            )


def pytest_report_header():
    """One line with the consumers that are installed."""
    found = [name for name in CONSUMERS if is_there(name)]
    return f"consumers: {', '.join(found) or 'none'}; required: {sorted(REQUIRED)}"


def is_there(name):
    """Whether a module is installed, and the package that it is in."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def require(name):
    """Imports the consumer. If it is not installed, the test is skipped, or fails if
    ``DLPACK_REQUIRE`` names it. If its import raises another error, the test fails."""
    if not is_there(name):
        if name in REQUIRED:
            pytest.fail(f"{name} is not installed, and DLPACK_REQUIRE names it")
        pytest.skip(f"{name} is not installed", allow_module_level=True)
    new = name not in sys.modules
    module = importlib.import_module(name)
    if new and name == "jax":
        module.config.update("jax_platforms", "cpu")
        module.config.update("jax_enable_x64", True)
    if new:
        # Freezes the objects that the import created, so that later collections do not
        # traverse them.
        gc.collect()
        gc.freeze()
    return module


def read_only_class():
    """PyTorch's class of tensors that cannot be written, which 2.12 does not have."""
    found = getattr(require("torch").utils.dlpack, "ReadOnlyTensorWrapper", None)
    return found or pytest.skip("this PyTorch has no read-only tensors")


def missing(runtime, reason):
    """Skips a test that needs a missing runtime, or fails it if ``DLPACK_REQUIRE`` names
    the runtime."""
    if runtime in REQUIRED:
        pytest.fail(f"DLPACK_REQUIRE names {runtime}, but {reason}")
    pytest.skip(reason, allow_module_level=True)


def conformance_tool():
    """The module `dlpack_conformance`. Skips the test module if the system has no guard
    pages, or if another build of the modules under test is tested without the tool."""
    if not sys.platform.startswith("linux"):
        pytest.skip("memory that cannot be read is written for Linux", allow_module_level=True)
    if FOLDER and importlib.util.find_spec("dlpack_conformance") is None:
        pytest.skip("this build has no dlpack_conformance", allow_module_level=True)
    return importlib.import_module("dlpack_conformance")


def counters():
    """The counters of the test module that a leak changes: live storages, exports that are
    not yet released, and allocations that are not yet freed."""
    import dlpack_testing as testing

    gc.collect()
    held = testing.exports() - testing.releases()
    return {"storages": testing.live(), "exports": held, "heap": testing.allocations()}


@contextmanager
def nothing_left():
    """Fails if the body leaves a storage, an export or an allocation behind."""
    before = counters()
    yield
    assert counters() == before


def check_leaks(body, rounds=20):
    """Runs ``body`` until all one-time initialization is done, then checks that further
    rounds leave nothing behind. The rounds are repeated if fewer objects are left, which
    happens when a thread of a library releases what an earlier test gave it."""
    for _ in range(3):
        body()
    for _ in range(3):
        before = counters()
        for _ in range(rounds):
            body()
        after = counters()
        if not any(after[name] < before[name] for name in before):
            break
    assert after == before
