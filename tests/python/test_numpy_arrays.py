"""NumPy's arrays are read and made by NumPy's C API, with the result of the protocol.

The tests also run with NumPy 1, whose protocol has no READ_ONLY flag and fewer dtypes.
"""

import gc
import sys
import threading
import time
import weakref

import dlpack_testing as testing
import pytest
from conftest import require, run_in_a_new_process

require("numpy")
import numpy as np


NUMPY_1 = np.__version__.startswith("1.")
not_numpy_1 = pytest.mark.skipif(NUMPY_1, reason="NumPy 1 has another protocol")


class Protocol:
    """An object that exports an array by its `__dlpack__`."""

    def __init__(self, array):
        self.array = array
        self.calls = 0

    def __dlpack__(self, **keywords):
        self.calls += 1
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Counting(np.ndarray):
    """A subclass that exports in its own way."""

    calls = 0

    def __dlpack__(self, **keywords):
        Counting.calls += 1
        return super().__dlpack__(**keywords)


def layouts(dtype="f4"):
    """Arrays of every layout that NumPy exports, by name."""
    block = np.arange(4 * 6 * 2).reshape(4, 6, 2).astype(dtype)
    frozen = block.copy()
    frozen.flags.writeable = False
    record = np.zeros(5, dtype=[("x", "f4"), ("pad", "i1", 4), ("y", "f4")])
    size = block.itemsize
    odd = np.zeros(block.nbytes + 1, dtype="u1")[1:].view(dtype)
    return {
        "row-major": block,
        "column-major": np.asfortranarray(block),
        "transposed": block.transpose(2, 0, 1),
        "reversed": block[::-1, :, ::-1],
        "every second column": block[:, ::2],
        "a part": block[1:3, 2:5],
        "broadcast": np.broadcast_to(block[0], (3, 6, 2)),
        "overlapping": np.lib.stride_tricks.as_strided(block, (3, 3), (size, size)),
        "a scalar": np.array(3).astype(dtype),
        "one element": block[:1, :1, :1],
        "one row of many": block[2:3],
        "no elements": block[:0],
        "no columns": block[:, 3:3],
        "read-only": frozen,
        "a part of a read-only array": frozen[1:, 1],
        "eight dimensions": block.reshape(2, 2, 3, 2, 2, 1, 1, 1),
        "nine dimensions": block.reshape(2, 2, 3, 2, 2, 1, 1, 1, 1),
        "fields of a record": record["y"],
        "not aligned": odd,
        "a view of a memoryview": np.frombuffer(memoryview(bytearray(64)), dtype=dtype),
        "of bytes": np.frombuffer(bytes(64), dtype=dtype),
    } | ({} if NUMPY_1 else imported(block))


def imported(block):
    """Arrays that NumPy imported."""
    array = np.from_dlpack(Protocol(block))
    return {"from another library": array, "a part of that": array[1:]}


DTYPES = "?bBhHiIlLqQefdFD"

READ_ONLY = 1


def facts_of(array):
    """What Rust must read."""
    strides = [stride // array.itemsize for stride in array.strides]
    flags = 0 if array.flags.writeable else READ_ONLY
    address = array.__array_interface__["data"][0] if array.size else 0
    return [list(array.shape), strides, array.dtype.name, "cpu", flags, address]


def check_import(array):
    """Imports an array, and compares what Rust reads with the array and its protocol."""
    direct, expected = testing.import_tensor(array), facts_of(array)
    assert list(direct.facts()) == expected
    assert direct.is_read_only() == (not array.flags.writeable)
    assert direct.version()[0] == 1
    if not NUMPY_1:
        assert direct.facts() == testing.import_tensor(Protocol(array)).facts()
    if array.strides == (array.itemsize, array.itemsize):
        # Exports of this crate are READ_ONLY if elements share memory.
        expected[4] = READ_ONLY
    assert list(direct.through_struct().facts()) == expected


def check_result(array):
    """Makes an array of an imported one, and compares the two."""
    made = testing.import_tensor(array).as_numpy()
    assert type(made) is np.ndarray
    assert made.dtype == array.dtype
    assert made.shape == array.shape
    assert np.array_equal(made, array)
    if array.size:
        assert made.strides == array.strides
        assert made.__array_interface__["data"][0] == array.__array_interface__["data"][0]
        assert not made.flags.owndata
    for flag in ["C_CONTIGUOUS", "F_CONTIGUOUS", "ALIGNED"]:
        assert made.flags[flag] == array.flags[flag], flag


def by_protocol(array):
    """Whether an array is exchanged by the protocol, which NumPy 1 has for fewer arrays."""
    return array.size == 0 or array.ndim > 8


@pytest.mark.parametrize("dtype", DTYPES)
def test_imports_are_those_of_the_protocol(dtype):
    for name, array in layouts(dtype).items():
        if NUMPY_1 and by_protocol(array):
            continue
        try:
            check_import(array)
        except Exception as error:
            raise AssertionError(name) from error


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_are_those_of_the_protocol(dtype):
    for name, array in layouts(dtype).items():
        if NUMPY_1 and by_protocol(array):
            continue
        try:
            check_result(array)
        except Exception as error:
            raise AssertionError(name) from error


def test_writeable_results():
    """A result may be written if the tensor may be, and no two elements share memory."""
    for name, array in layouts().items():
        if NUMPY_1 and by_protocol(array):
            continue
        made = testing.import_tensor(array).as_numpy()
        overlaps = name in ["broadcast", "overlapping"]
        writeable = array.flags.writeable and not overlaps
        if array.size:
            assert made.flags.writeable == writeable, name
        if array.size and not writeable:
            with pytest.raises(ValueError):
                made.flags.writeable = True


REFUSED = {
    "another order of bytes": lambda: np.zeros(3, dtype=np.dtype("f4").newbyteorder()),
    "records": lambda: np.zeros(3, dtype=[("x", "f4")]),
    "objects": lambda: np.array([None, 1]),
    "text": lambda: np.array(["a", "b"]),
    "dates": lambda: np.zeros(3, dtype="M8[s]"),
    "long doubles": lambda: np.zeros(3, dtype=np.longdouble),
    "odd strides": lambda: np.zeros(5, dtype=[("x", "f4"), ("y", "i1")])["x"],
}


@not_numpy_1
@pytest.mark.parametrize("name", REFUSED)
def test_the_protocol_refuses_other_arrays(name):
    """The exception of NumPy is the cause of one with a cure."""
    array = REFUSED[name]()
    with pytest.raises(BufferError) as expected:
        array.__dlpack__(max_version=(1, 0))
    with pytest.raises(BufferError) as raised:
        testing.import_tensor(array)
    assert str(raised.value.__cause__) == str(expected.value)
    assert str(expected.value).rstrip(".") in str(raised.value)


def test_a_subclass_exports_by_its_own_method():
    Counting.calls = 0
    testing.import_tensor(np.zeros(3))
    testing.import_tensor(np.zeros(3).view(Counting))
    # NumPy 1 is called again, without a version.
    assert Counting.calls == 2 if NUMPY_1 else Counting.calls == 1
    mapped = np.zeros(3).view(np.memmap)
    assert testing.import_tensor(mapped).facts()[0] == [3]


@not_numpy_1
def test_memory_of_another_device_keeps_its_device():
    """NumPy uses pinned and managed memory too; only `__dlpack_device__` reports it."""
    tensor = testing.OnDevice(3)
    assert tensor.__dlpack_device__() == (3, 0)
    array = np.from_dlpack(tensor)
    assert array.__dlpack_device__() == (3, 0)
    for part in [array, array[1:], array[1:][:1]]:
        assert testing.import_tensor(part).facts()[3] == testing.import_tensor(tensor).facts()[3]


def collected(check, patience=0):
    """Whether an object is gone, after a collection, or some seconds later."""
    deadline = time.monotonic() + patience
    while True:
        gc.collect()
        if check() is None:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.001)


RELEASES = ["release", "release_detached", "release_in_background", "release_at_thread_exit"]


@pytest.mark.parametrize("release", RELEASES)
def test_a_tensor_keeps_its_array_alive(release):
    def run():
        array = np.arange(6.0)
        alive, held = weakref.ref(array), testing.import_tensor(array)
        del array
        assert not collected(alive)
        getattr(held, release)()
        return alive

    found = []
    thread = threading.Thread(target=lambda: found.append(run()))
    thread.start()
    thread.join()
    # The destructors of a thread may run after `join`.
    assert collected(found[0], patience=10)


def test_an_array_keeps_its_tensor_alive():
    array = np.arange(6.0)
    alive, made = weakref.ref(array), testing.import_tensor(array).as_numpy()
    part = made[1:]
    del array, made
    assert not collected(alive)
    assert part.tolist() == [1, 2, 3, 4, 5]
    del part
    assert collected(alive)


def test_a_tensor_passed_on_in_a_struct_keeps_its_array_alive():
    array = np.arange(6.0)
    alive, held = weakref.ref(array), testing.import_tensor(array).through_struct()
    del array
    assert not collected(alive)
    held.release_in_background()
    assert collected(alive)
    array = np.arange(6.0)
    alive = weakref.ref(array)
    assert not testing.import_tensor(array).has_legacy_struct()
    del array
    assert collected(alive)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_in_flight_survives_the_release():
    class Loud(np.ndarray):
        def __del__(self):
            raise ValueError("the array is gone")

    base = np.arange(3.0).view(Loud)
    held = testing.import_tensor(np.asarray(base))
    del base
    with pytest.raises(KeyError, match="in flight"):
        held.release_while_raising(KeyError("in flight"))


def test_nothing_is_left_after_many_exchanges():
    """Neither references nor tensors, also of arrays that the protocol refuses."""
    array = np.arange(6, dtype="f4").reshape(2, 3)
    swapped = array.astype(array.dtype.newbyteorder())

    def exchange():
        testing.import_tensor(array).through_struct().as_numpy()
        testing.results.numpy_matrix((2, 3))
        with pytest.raises((BufferError, TypeError, ValueError)):
            testing.import_tensor(swapped)

    def counts():
        gc.collect()
        return [sys.getrefcount(of) for of in (array, array.dtype, np.ndarray)], testing.live()

    exchange()
    before = counts()
    for _ in range(1000):
        exchange()
    assert counts() == before


def test_a_result_is_read_and_changed_as_other_arrays_are():
    """The protocol of NumPy 1 reports memory that must not be written."""
    made = testing.results.row_norms(np.ones((4, 9), dtype="f4"))
    testing.arguments.scale(made, 2.0)
    testing.arguments.scale(made[1:], 2.0)
    assert made.tolist() == [6, 12, 12, 12]
    version = testing.import_tensor(np.zeros(3)).version()
    assert testing.import_tensor(made).version() == version
    again = testing.import_tensor(made).as_numpy()
    assert testing.import_tensor(again[::-1]).version() == version


def test_the_base_of_a_result_is_not_a_tensor():
    """Nobody takes the memory from under the array."""
    made = testing.import_tensor(np.arange(3.0)).as_numpy()
    with pytest.raises((AttributeError, BufferError, RuntimeError, TypeError, ValueError)):
        np.from_dlpack(made.base)
    with pytest.raises(ValueError):
        testing.import_tensor(made.base)
    assert made.tolist() == [0, 1, 2]


REPLACED = """
import sys
sys.path[:0] = {path!r}
import numpy as np
module = np._core._multiarray_umath if hasattr(np, "_core") else np.core._multiarray_umath
{replace}
import dlpack_testing as testing
array = np.arange(6.0).reshape(2, 3)
held = testing.import_tensor(array)
assert held.facts()[0] == [2, 3]
assert held.as_numpy().tolist() == array.tolist()
assert type(testing.results.numpy_matrix((2, 3))[0]) is type(array)
"""

REPLACEMENTS = {
    "the table of universal functions": "module._ARRAY_API = module._UFUNC_API",
    "a capsule with a name": "import datetime; module._ARRAY_API = datetime.datetime_CAPI",
    "no capsule": "module._ARRAY_API = 12345",
    "no attribute": "del module._ARRAY_API",
    "another class of arrays": "np.ndarray = type('ndarray', (), dict(__module__='numpy'))",
    "another class of dtypes": "np.dtype = lambda name: 1 / 0",
    "no module": "sys.modules[module.__name__] = None",
}


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_a_replaced_c_api_is_not_called(name):
    """Python code can replace the capsule before the first import."""
    code = REPLACED.format(path=sys.path, replace=REPLACEMENTS[name])
    run_in_a_new_process(code)


REPLACED_ATTRIBUTES = """
import gc, sys
sys.path[:0] = {path!r}
import numpy as np
# The dict of a class that cannot be changed otherwise.
def replace(dtype, **attributes):
    [members] = [found for found in gc.get_referents(type(np.dtype(dtype)).__dict__)
                 if type(found) is dict]
    members.update((name, property(lambda dtype, value=value: value))
                   for name, value in attributes.items())
replace("f4", kind="V", itemsize=4)
replace("c16", kind="f", itemsize=4)
getattr(sys, "_clear_type_cache", lambda: None)()
import dlpack_testing as testing
made, _ = testing.results.numpy_matrix((2, 3))
assert made.dtype is np.dtype("f4")
assert testing.import_tensor(np.zeros((), dtype="c16")).facts()[2] == "complex128"
"""


def test_sizes_are_not_read_from_attributes():
    """Otherwise an array could be longer than its memory."""
    run_in_a_new_process(REPLACED_ATTRIBUTES.format(path=sys.path))


ODD_MODULES = """
import sys
sys.path[:0] = {path!r}
import dlpack_testing as testing
class Odd:
    pass
Odd.__module__ = 5
made, _ = testing.results.matrix_like(Odd(), (2, 3))
assert type(made).__name__ == "ndarray"
"""


def test_the_module_of_a_class_may_be_any_object():
    """Also before NumPy is imported."""
    run_in_a_new_process(ODD_MODULES.format(path=sys.path))
