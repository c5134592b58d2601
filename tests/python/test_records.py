"""Records: structured arrays of NumPy over the memory of Rust, and as arguments."""

import copy
import gc
import pickle
import re
import sys

import dlpack_testing as testing
import pytest
from conftest import check_leaks, require
from dlpack_testing import FrozenEvents, KeptEvents, OwnedEvents, SharedEvents

np = require("numpy")

CLASSES = [SharedEvents, FrozenEvents, OwnedEvents]
needs_buffers = pytest.mark.skipif(
    sys.implementation.name != "cpython", reason="the buffer protocol of classes needs CPython"
)

INNER = np.dtype({"names": ["level"], "formats": ["i2"], "offsets": [2], "itemsize": 4})
EVENT = np.dtype(
    {
        "names": ["type", "matrix", "inner", "größe", "flags"],
        "formats": ["i8", ("f4", (3, 2)), (INNER, (2,)), "c16", "u1"],
        "offsets": [0, 8, 32, 40, 56],
        "itemsize": 64,
    }
)


def check(array, first=0):
    numbers = range(first, first + array.size)
    flat = array.reshape(-1)
    assert array.dtype == EVENT
    assert flat["type"].tolist() == [-n - (1 << 40) for n in numbers]
    assert flat["matrix"][:, 2, 1].tolist() == [n + 0.5 for n in numbers]
    assert flat["inner"]["level"].tolist() == [[n, -1] for n in numbers]
    assert flat["größe"].tolist() == [complex(n, -1) for n in numbers]
    assert flat["flags"].tolist() == list(numbers)


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("shape", [(3,), (), (2, 3), (0,), (2, 0)])
def test_array_is_a_view_of_records(cls, shape):
    owner = cls(shape)
    array = np.asarray(owner)
    assert array.shape == shape
    check(array)
    assert array.flags.writeable == (cls is SharedEvents) or array.size == 0
    assert np.shares_memory(array, owner.__array__(copy=False)) or array.size == 0
    if cls is SharedEvents and array.size:
        array["flags"] = 200
        assert np.asarray(owner)["flags"].flat[0] == 200
    if cls is not OwnedEvents:
        assert (owner.shape, owner.ndim, owner.dtype) == (shape, len(shape), EVENT)
        assert (owner.size, owner.nbytes) == (array.size, array.nbytes)
    del owner
    gc.collect()
    assert array["flags"].size == array.size


def test_attributes_are_those_of_records():
    events = SharedEvents([3])
    assert len(events) == 3
    assert events["type"][0] == -(1 << 40)
    events["flags"] = 9
    assert events[1]["flags"] == 9
    assert repr(events).startswith("SharedEvents(shape=(3,), dtype={type: int64, matrix: float32[3][2], ")
    with pytest.raises(TypeError, match="len"):
        len(SharedEvents([]))


@needs_buffers
@pytest.mark.parametrize("shape", [(3,), (), (2, 3), (0,)])
def test_buffer_has_the_format_of_records(shape):
    owner = FrozenEvents(shape)
    view = memoryview(owner)
    assert (view.shape, view.itemsize, view.readonly) == (shape, 64, True)
    assert view.format == "T{=q:type:(3,2)=f:matrix:(2)T{2x=h:level:}:inner:=Zd:größe:=B:flags:7x}"
    assert view.c_contiguous
    check(np.asarray(view))
    check(np.frombuffer(owner, EVENT))
    interface = owner.__array_interface__
    assert (interface["shape"], interface["typestr"]) == (shape, "|V64")
    assert interface["descr"] == EVENT.descr


@pytest.mark.parametrize("cls", CLASSES)
def test_dlpack_has_the_bytes(cls):
    data = np.from_dlpack(cls([3]))
    assert (data.dtype, data.shape) == (np.uint8, (3, 64))
    check(data.view(EVENT)[:, 0])


@pytest.mark.parametrize("cls", CLASSES)
def test_releases(cls):
    def use():
        array = np.asarray(cls([2]))
        assert testing.levels(array) == [(0, -1), (1, -1)]

    check_leaks(use)


def test_fields_of_read_only_records():
    events = FrozenEvents([3])
    flags = events.flags(np)
    assert (flags.tolist(), flags.strides, flags.flags.writeable) == ([0, 1, 2], (64,), False)
    inner = events.inner()
    assert (inner.dtype, inner.shape, inner.strides) == (INNER, (3, 2), (64, 4))
    assert inner["level"].tolist() == [[0, -1], [1, -1], [2, -1]]
    torch = pytest.importorskip("torch")
    assert events.flags(torch).tolist() == [0, 1, 2]


@needs_buffers
def test_a_description_of_other_elements_is_not_of_records():
    flags = testing.Flags(3)
    assert (flags.shape, flags.dtype) == ((3,), np.uint8)
    assert np.asarray(flags).tolist() == list(memoryview(flags)) == [0, 1, 2]
    assert memoryview(flags).strides == (64,)


def test_arguments():
    events = np.asarray(SharedEvents([6]))
    assert testing.levels(events[::-2]) == [(5, -1), (3, -1), (1, -1)]
    assert testing.count_events([events, events[:0], events[2:]]) == 10
    grid = events.reshape(2, 3).T
    returned = testing.shift(grid, 1 << 40)
    assert returned is grid
    assert events["type"].tolist() == [0, -1, -2, -3, -4, -5]
    none = testing.no_events(events, 2)
    assert (none.dtype, none.shape, none["flags"].tolist()) == (EVENT, (2,), [0, 0])
    with pytest.raises(TypeError, match="in `inner`, `level` is at byte 0 and not 2"):
        other = np.dtype({"names": ["level"], "formats": ["i2"], "offsets": [0], "itemsize": 4})
        fields = {name: EVENT.fields[name] for name in EVENT.names}
        fields["inner"] = ((other, (2,)), 32)
        names = list(EVENT.names)
        formats, offsets = zip(*(fields[name][:2] for name in names), strict=True)
        dtype = {"names": names, "formats": formats, "offsets": offsets, "itemsize": 64}
        testing.levels(np.zeros(1, dtype))


def advised(function, x):
    """The message, and what its expression makes."""
    with pytest.raises(TypeError) as raised:
        function(x)
    message, *_ = str(raised.value).split("\n")
    [advice] = re.findall("`((?:x|numpy)[.].*)`", message.split("; ", 1)[1])
    return message, eval(advice, {"numpy": np, "x": x})


def test_advice_makes_records():
    events = np.asarray(SharedEvents([2]))
    levels = testing.levels(events)
    # One record, a list of tuples and a tuple of them.
    for given in [events[1], events.tolist(), tuple(events.tolist())]:
        _, made = advised(testing.levels, given)
        assert testing.levels(made) == (levels if len(made) == 2 else levels[1:])
    changed = {"i8": ">i4", "u1": "i8", "c16": "c8"}
    fields = [(name, EVENT[name].base, EVENT[name].shape) for name in EVENT.names]
    others = [(name, changed.get(base.str[1:], base), shape) for name, base, shape in fields]
    for dtype in [fields, others]:
        message, made = advised(testing.levels, events.astype(dtype))
        assert testing.levels(made) == levels and "; convert with `x.astype({" in message
    message, _ = advised(lambda x: testing.shift(x, 1), np.zeros((1, 1), fields))
    assert message.endswith("; the function changes the tensor in place, so keep the converted copy")


@pytest.mark.parametrize("index, change", [(4, "f4"), (0, "S8"), (1, ("f4", (2, 2))), (2, "i2")])
def test_no_conversion_is_advised_for_other_fields(index, change):
    """Of floats to integers, of text, and to another shape."""
    fields = [(name, EVENT[name]) for name in EVENT.names]
    fields[index] = (fields[index][0], change)
    with pytest.raises(TypeError, match="got one where [^;]*$"):
        testing.levels(np.zeros(1, fields))


def test_kept_records_are_the_memory_of_the_caller():
    events = np.asarray(SharedEvents([4]))
    kept = KeptEvents(events[1:])
    check(np.asarray(kept), 1)
    assert np.shares_memory(np.asarray(kept), events)
    for copied in [copy.copy(kept), pickle.loads(pickle.dumps(kept, protocol=5))]:
        check(np.asarray(copied), 1)
    assert len(KeptEvents.from_dlpack(np.zeros((2, 64), np.uint8))) == 2
