"""No call leaks: every function and every method of the test module runs 10,000 times, with
objects that it accepts and objects that it rejects."""

import gc
import inspect
import os
import subprocess
import sys

import dlpack_testing as testing
import pytest
from conftest import is_there, require
from dlpack_testing import arguments, results

np = require("numpy")
CALLS = 10_000
# They change classes or the state of the tests, or take other arguments.
LEFT_OUT = {
    *("script", "scripted_table", "scripted_table_address", "overwrite_viewed"),
    *("add_floats", "add_own_from_dlpack", "add_unsendable", "add_immutable_type"),
    *("call_while_raising", "live", "exports", "releases", "allocations", "dtypes"),
    *("publish_on", "load_opencl", "set_name", "import_often", "copy_held_while"),
}


@pytest.fixture(autouse=True)
def fresh_script():
    testing.script()


class Scripted:
    """Objects with a table of another library."""

    __dlpack_c_exchange_api__ = testing.scripted_table()


class Raising:
    """Objects whose methods raise."""

    def __dlpack__(self, **keywords):
        raise BufferError("no")

    def __dlpack_device__(self):
        return (1, 0)


class Below(testing.Floats):
    """A subclass of a class of Rust."""


def read_only(array):
    array.flags.writeable = False
    return array


OBJECTS = {
    "vector": np.ones(3, dtype="f4"),
    "matrix": np.ones((2, 3), dtype="f4"),
    "reversed": np.ones(6, dtype="f4")[::-2],
    "doubles": np.ones((2, 3)),
    "pixels": np.ones((2, 2, 3), dtype="u1"),
    "flags": np.ones(3, dtype="?"),
    "times": np.ones(3, dtype="M8[s]"),
    "read-only": read_only(np.ones(3, dtype="f4")),
    "frozen": testing.Frozen([1.0, 2.0, 3.0]),
    "writable": testing.Writable([1.0, 2.0, 3.0]),
    "single": testing.Single([1.0, 2.0, 3.0]),
    "growing": testing.Growing([1.0, 2.0, 3.0]),
    "floats": testing.Floats.from_dlpack(np.ones(3, dtype="f4")),
    "below": Below.from_dlpack(np.ones(3, dtype="f4")),
    "none": None,
    "scripted": Scripted(),
    "raising": Raising(),
    "list": [1.0, 2.0],
    "arrays": [np.ones(3, dtype="f4")] * 2,
    "mixed": [np.ones(3, dtype="f4"), 1],
    "number": 1.5,
    "text": "text",
    "class": testing.Floats,
    "array class": np.ndarray,
}
IMPORTABLE = [
    cls for cls in vars(testing).values() if isinstance(cls, type) and hasattr(cls, "from_dlpack")
]
EXPORTS = ({}, {"max_version": (1, 0)}, {"copy": True}, {"copy": False}, {"dl_device": (2, 0)})
METHODS = {
    **{f"__dlpack__({keys})": lambda x, keys=keys: x.__dlpack__(**keys) for keys in EXPORTS},
    "__dlpack__(wrong)": lambda x: x.__dlpack__(stream=1, wrong=2),
    "__dlpack_device__": lambda x: x.__dlpack_device__(),
    "numpy": np.from_dlpack,
    "memoryview": memoryview,
    "array": np.asarray,
    "taken": lambda x: testing.take(x.__dlpack__(max_version=(1, 0))).delete(),
    **{f"{cls.__name__}": cls.from_dlpack for cls in IMPORTABLE},
    **{f"{cls.__name__} copy": lambda x, f=cls.from_dlpack: f(x, copy=True) for cls in IMPORTABLE},
    **{f"{cls.__name__} device": lambda x, f=cls.from_dlpack: f(x, device="gpu") for cls in IMPORTABLE},
}
FUNCTIONS = {
    **{
        name: value
        for module in (testing, arguments, results)
        for name, value in vars(module).items()
        if inspect.isbuiltin(value) and name not in LEFT_OUT
    },
    **METHODS,
}


def call(function, given):
    """Calls a function with as many arguments as it takes."""
    for more in ((), (given,), ((2, 3),), ("float32",), (2.0,), (given, given)):
        try:
            return function(given, *more)
        except TypeError as error:
            if "missing" not in str(error):
                return None
        except Exception:
            return None


def sizes():
    gc.collect()
    return testing.allocations(), sys.getallocatedblocks()


def frees_references_to_classes():
    """PyO3 0.29.0 and older keep a reference to the class of each freed object; 0.29.3 does not."""
    before = sys.getrefcount(testing.Frozen)
    for _ in range(100):
        testing.Frozen([1.0])
    return sys.getrefcount(testing.Frozen) < before + 50


def check(function):
    """In memory of Rust, in objects of Python, and in references to the arguments."""
    given = dict(OBJECTS)
    if is_there("torch"):
        torch = require("torch")
        given["torch"], given["torch class"] = torch.ones(3), torch.Tensor
    counted = [name for name in given if name != "class" or frees_references_to_classes()]
    rounds = CALLS // len(given)
    for _ in range(6):
        references = [sys.getrefcount(given[name]) for name in counted]
        before = sizes()
        for one in given.values():
            for _ in range(rounds):
                call(function, one)
        grown = [now - size for now, size in zip(sizes(), before)]
        grown += [sys.getrefcount(given[name]) - was for name, was in zip(counted, references)]
        # The first rounds fill caches of Python and of libraries.
        if max(grown) < rounds // 2:
            return
    names = ("allocations of Rust", "blocks of Python", *counted)
    assert not {name: count for name, count in zip(names, grown) if count >= rounds // 2}


# In a process of its own: drivers that other tests loaded would be called too.
if "DLPACK_LEAKS" in os.environ:

    @pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
    def test_no_call_leaks(function):
        check(function)

else:

    def test_no_call_leaks():
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--color=no", "-p", "no:xdist", __file__],
            env={**os.environ, "DLPACK_LEAKS": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
