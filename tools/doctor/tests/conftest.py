"""Which libraries are installed, and which are required (`DLPACK_REQUIRE`, as for the tests
of the library); runs the command line."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# The producer made of ctypes, and the tensors of the matrix.
sys.path[:0] = [str(ROOT / "tests/python"), str(ROOT / "tests/python/matrix")]

REQUIRED = {name for name in os.environ.get("DLPACK_REQUIRE", "").split(",") if name}


def is_there(name):
    """Whether a library is installed; if a required library is not, the test fails."""
    try:
        found = importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the package that it is in
        found = False
    if not found and name in REQUIRED:
        pytest.fail(f"{name} is not installed, and DLPACK_REQUIRE names it")
    return found


def require(name):
    """Skips the test if a library is not installed; the report names it."""
    if not is_there(name):
        pytest.skip(f"{name} is not installed")


def oneapi():
    """The folder of a runtime for dpnp that pip installed, which the loader does not
    search."""
    name, runtime = "OCL_ICD_FILENAMES", Path(sys.prefix, "lib", "libintelocl.so")
    return {name: str(runtime)} if runtime.exists() and name not in os.environ else {}


def python(*arguments, **more):
    """Runs Python in the folder of the tests, whose modules expressions may name."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment.pop("NO_COLOR", None)
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=HERE,
        env={**environment, **more},
    )


def doctor(*arguments, **more):
    """Runs the command line."""
    return python("-m", "dlpack_doctor", *arguments, **more)
