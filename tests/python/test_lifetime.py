"""Which owners keep the memory alive, and for how long."""

import gc
import sys
import weakref

import consumers
import dlpack_testing as testing
import pytest
from conftest import check_leaks, nothing_left
from dlpack_testing import Frozen, Growing, Single, Writable

CLASSES = (Frozen, Writable, Single, Growing)
VERSIONED = {"max_version": (1, 0)}


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("name", consumers.ALL)
def test_the_array_outlives_the_object(name, cls):
    """The memory lives as long as the last array."""
    consumer = consumers.get(name)
    # What tests before this one left in cycles would go in the midst of it.
    gc.collect()
    live = testing.live()
    tensor = cls([1.0, 2.0, 3.0])
    array = consumer.take(tensor)
    held = consumer.address(array) == tensor.data_ptr
    del tensor
    gc.collect()
    # A consumer that was given a copy holds none of our memory.
    assert testing.live() == live + held
    raw = consumers.memory(consumer.address(array), 12)
    assert raw == b"\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40"
    del array
    gc.collect()
    assert testing.live() == live


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("name", consumers.ALL)
def test_the_object_outlives_the_array(name, cls):
    """An array that goes leaves the object as it was, and can come again."""
    consumer = consumers.get(name)
    tensor = cls([1.0, 2.0, 3.0])

    def body():
        array = consumer.take(tensor)
        assert consumer.shape(array) == (3,)

    check_leaks(body)
    assert tensor.values() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_a_view_of_the_array_is_enough(name):
    """What consumers derive from an array holds the memory too."""
    consumer = consumers.get(name)
    live = testing.live()
    view = consumer.take(Writable([1.0, 2.0, 3.0]))[1:]
    gc.collect()
    assert testing.live() == live + 1
    assert consumer.values(view) == [2.0, 3.0]
    del view
    gc.collect()
    assert testing.live() == live


@pytest.mark.parametrize("cls", CLASSES)
def test_an_export_holds_the_object_only_if_it_must(cls):
    """Memory with several owners does not hold the Python object."""
    tensor = cls([1.0])
    before = sys.getrefcount(tensor)
    capsules = [tensor.__dlpack__(**VERSIONED) for _ in range(3)]
    must = cls in (Single, Growing)
    assert sys.getrefcount(tensor) == before + 3 * must
    capsules.pop()
    assert sys.getrefcount(tensor) == before + 2 * must
    # A copy holds nothing.
    copies = [tensor.__dlpack__(copy=True), tensor.__dlpack__(copy=True, **VERSIONED)]
    assert sys.getrefcount(tensor) == before + 2 * must
    del capsules, copies
    assert sys.getrefcount(tensor) == before


def test_the_object_dies_with_its_last_export():
    """An object that is its own owner lives exactly as long as its exports."""
    tensor = Single([1.0])
    alive = weakref.ref(tensor)
    capsule, other = tensor.__dlpack__(**VERSIONED), tensor.__dlpack__(**VERSIONED)
    del tensor
    gc.collect()
    assert alive() is not None
    del capsule
    assert alive() is not None
    del other
    assert alive() is None


def test_consumers_of_consumers():
    """NumPy, then PyTorch, then NumPy again: one address, one owner."""
    numpy, torch = consumers.get("numpy"), consumers.get("torch")
    with nothing_left():
        tensor = Writable([1.0, 2.0])
        array = numpy.take(torch.take(numpy.take(tensor)))
        assert numpy.address(array) == tensor.data_ptr
        live = testing.live()
        del tensor
        gc.collect()
        assert testing.live() == live
        assert numpy.values(array) == [1.0, 2.0]
        del array
