"""Rust classes as Python classes: subclasses, borrows, errors, panics."""

import types

import consumers
import dlpack_structs as structs
import dlpack_testing as testing
import pytest
from conftest import check_leaks, require
from dlpack_testing import Faulty, Frozen, Growing, PanicsOnDrop, Single, Writable

VERSIONED = {"max_version": (1, 0)}


# --- subclasses ------------------------------------------------------------


@pytest.mark.parametrize("base", [Frozen, Writable, Single, Growing])
@pytest.mark.parametrize("name", consumers.ALL)
def test_subclasses_are_tensors(name, base):
    """A Python subclass inherits the methods, and consumers accept its instances."""

    class Subclass(base):
        def __init__(self, values):
            self.label = "mine"

    consumer = consumers.get(name)
    tensor = Subclass([1.0, 2.0])
    array = consumer.take(tensor)
    raw = consumers.memory(consumer.address(array), 8)
    assert raw == b"\0\0\x80\x3f\0\0\0\x40"
    assert tensor.label == "mine"


def test_subclasses_may_override():
    """An override is called, and may call what it overrides."""
    calls = []

    class Subclass(Frozen):
        def __dlpack__(self, **keywords):
            calls.append(sorted(keywords))
            return super().__dlpack__(**keywords)

    numpy = require("numpy")
    assert numpy.from_dlpack(Subclass([1.0])).tolist() == [1.0]
    assert calls == [["copy", "dl_device", "max_version"]]


def test_methods_can_be_borrowed_by_other_classes():
    """A Python class that delegates to a tensor is a valid producer."""

    class Wrapper:
        def __init__(self, tensor):
            self.__dlpack_device__ = tensor.__dlpack_device__
            self.tensor = tensor

        def __dlpack__(self, **keywords):
            return Frozen.__dlpack__(self.tensor, **keywords)

    numpy = require("numpy")
    tensor = Frozen([1.0])
    assert numpy.from_dlpack(Wrapper(tensor)).ctypes.data == tensor.data_ptr


# --- borrows ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_a_class_that_is_not_frozen_stays_as_it_is_while_exported(name):
    """`&mut` methods raise until the last export is released."""
    consumer = consumers.get(name)
    tensor = Growing([1.0, 2.0])
    tensor.push(3.0)
    array, capsule = consumer.take(tensor), tensor.__dlpack__(**VERSIONED)
    assert consumer.address(array) == tensor.data_ptr
    with pytest.raises(RuntimeError, match="Already borrowed"):
        tensor.push(4.0)
    assert consumer.values(array) == tensor.values() == [1.0, 2.0, 3.0]
    del capsule
    with pytest.raises(RuntimeError, match="Already borrowed"):
        tensor.push(4.0)
    del array
    tensor.push(4.0)
    assert consumer.values(consumer.take(tensor)) == [1.0, 2.0, 3.0, 4.0]


def test_copies_do_not_borrow():
    """A copy does not keep the object borrowed."""
    tensor = Growing([1.0])
    legacy, copied = tensor.__dlpack__(), tensor.__dlpack__(copy=True, **VERSIONED)
    tensor.push(2.0)
    assert structs.Tensor(legacy).floats() == structs.Tensor(copied).floats() == [1.0]


def test_no_export_while_it_is_being_changed():
    """An object that is mutably borrowed cannot be exported."""
    tensor = Growing([1.0])

    def body():
        with pytest.raises(RuntimeError, match="Already mutably borrowed"):
            tensor.while_borrowed(lambda: tensor.__dlpack__(**VERSIONED))
        with pytest.raises(RuntimeError, match="Already mutably borrowed"):
            tensor.while_borrowed(tensor.__dlpack_device__)

    check_leaks(body)
    assert tensor.__dlpack__(**VERSIONED)


def test_errors_do_not_borrow():
    """A failed export releases everything that it acquired."""
    tensor = Growing([1.0])
    for keywords in (
        {"copy": False},
        {"stream": 1},
        {"dl_device": (2, 0)},
        {"copy": 3},
    ):
        with pytest.raises((BufferError, TypeError, ValueError)):
            tensor.__dlpack__(**keywords)
    tensor.push(2.0)


# --- registration ----------------------------------------------------------


def test_unsendable_classes_are_refused():
    """Thread-bound (`unsendable`) classes are rejected; the message states why."""
    module = types.ModuleType("module")
    with pytest.raises(TypeError) as refusal:
        testing.add_unsendable(module)
    assert str(refusal.value) == (
        "`Unsendable` cannot be `unsendable`: consumers of its tensors use them on any "
        "thread"
    )
    assert not hasattr(module, "Unsendable")


def test_immutable_types_are_refused():
    """Such a class cannot be registered; the message states why."""
    module = types.ModuleType("module")
    with pytest.raises(TypeError) as refusal:
        testing.add_immutable_type(module)
    assert str(refusal.value) == (
        "`__dlpack__` cannot be added to `ImmutableType`: a class of tensors must not "
        "be `immutable_type`"
    )
    assert isinstance(refusal.value.__cause__, TypeError)
    assert not hasattr(module, "ImmutableType")


# --- panics ----------------------------------------------------------------


@pytest.mark.parametrize("fault", [fault for fault in Faulty.all() if "panic" in fault])
def test_panics_are_exceptions(fault, capfd):
    """A panic in user code is a RuntimeError; its message is on stderr."""
    tensor = Faulty(fault)
    with pytest.raises(RuntimeError, match="the Rust code that describes .* panicked"):
        tensor.__dlpack__(**VERSIONED)
    assert "panic" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_a_drop_that_panics_is_no_abort(name, capfd):
    """The drop of an array's memory panics; Python code is not affected."""
    consumer = consumers.get(name)

    def body():
        array = consumer.take(PanicsOnDrop())
        assert consumer.values(array) == [0.0] * 4

    check_leaks(body)
    assert "a drop panics on purpose" in capfd.readouterr().err
