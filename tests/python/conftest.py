"""Where the modules under test come from, which consumers must be there, and
how leaks are found.

Two environment variables steer the suite:

- ``DLPACK_PYTHON_MODULES``: a folder with other builds of the two modules;
  they must then really be imported from there.
- ``DLPACK_REQUIRE``: consumers, with commas between, that may not be skipped.
"""

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
    *("array_api_strict", "nanobind", "mpi4py", "dpnp"),
    *("dpctl", "pyopencl"),
)
# What other steps of the whole suite know, and the Python tests do not.
TOOLS = (
    *("miri", "valgrind", "newest-python", "cuda", "rocm", "oneapi", "opencl"),
    *("vulkan", "webgpu"),
    *("asan", "lsan", "tsan", "cargo-careful", "cargo-fuzz", "free-threaded"),
)
MODULES = ("dlpack_example", "dlpack_testing")

FOLDER = os.environ.get("DLPACK_PYTHON_MODULES")
if FOLDER:
    sys.path.insert(0, FOLDER)

# Panics are part of the tests. Their messages are; backtraces only make noise,
# and keep what they load.
os.environ["RUST_BACKTRACE"] = "0"

REQUIRED = {name for name in os.environ.get("DLPACK_REQUIRE", "").split(",") if name}


def run_in_a_new_process(code):
    """Runs Python code with the modules under test, and fails unless it exits with 0."""
    folders = filter(None, [FOLDER, os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, (done.returncode, done.stderr)


def pytest_configure():
    """Refuses to start with modules or demands that are not what they seem."""
    unknown = REQUIRED - set(CONSUMERS) - set(TOOLS)
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
    found = [name for name in CONSUMERS if importlib.util.find_spec(name)]
    return f"consumers: {', '.join(found) or 'none'}; required: {sorted(REQUIRED)}"


def require(name):
    """The consumer, imported. Absent, it skips the test, or fails it where
    ``DLPACK_REQUIRE`` names it. A consumer that is broken always fails."""
    if importlib.util.find_spec(name) is None:
        if name in REQUIRED:
            pytest.fail(f"{name} is not installed, and DLPACK_REQUIRE names it")
        pytest.skip(f"{name} is not installed", allow_module_level=True)
    new = name not in sys.modules
    module = importlib.import_module(name)
    if new and name == "jax":
        module.config.update("jax_platforms", "cpu")
        module.config.update("jax_enable_x64", True)
    if new:
        # What an import leaves behind need not be looked at by every later
        # collection.
        gc.collect()
        gc.freeze()
    return module


def missing(runtime, reason):
    """Skips what cannot run without a runtime, or fails it where ``DLPACK_REQUIRE``
    names that."""
    if runtime in REQUIRED:
        pytest.fail(f"DLPACK_REQUIRE names {runtime}, but {reason}")
    pytest.skip(reason, allow_module_level=True)


def conformance_tool():
    """`dlpack_conformance`. Skips the module where the system has no such memory, or
    where another build of the modules under test is looked at without it."""
    if not sys.platform.startswith("linux"):
        pytest.skip("memory that cannot be read is written for Linux", allow_module_level=True)
    if FOLDER and importlib.util.find_spec("dlpack_conformance") is None:
        pytest.skip("this build has no dlpack_conformance", allow_module_level=True)
    return importlib.import_module("dlpack_conformance")


def counters():
    """Everything of the test module that a leak would change: storages alive,
    exports not yet released, allocations not yet freed."""
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
    """Runs ``body`` until everything that is made once is made, and then
    checks that further rounds leave nothing behind."""
    for _ in range(3):
        body()
    with nothing_left():
        for _ in range(rounds):
            body()
