"""The class method `from_dlpack` of importable classes."""

import dlpack_testing as testing
import pytest
from conftest import nothing_left, require
from dlpack_testing import Floats, Writable


def test_the_class_method():
    """The signature of the standard, and memory that is not copied."""
    import inspect

    signature = inspect.signature(Floats.from_dlpack)
    assert str(signature) == "(x, /, *, device=None, copy=None)"
    tensor = Writable([1.0, 2.0])
    floats = Floats.from_dlpack(tensor)
    assert type(floats) is Floats and floats.values() == [1.0, 2.0]
    assert testing.import_tensor(floats).facts()[5] == tensor.data_ptr
    assert testing.import_tensor(Floats.from_dlpack(floats)).facts()[5] == tensor.data_ptr


@pytest.mark.parametrize("device", [None, "cpu", "cpu:0", (1, 0)])
@pytest.mark.parametrize("copy", [None, True, False])
def test_the_keywords_of_the_class_method(device, copy):
    """The keywords are passed on to the producer."""
    tensor = Writable([1.0, 2.0])
    floats = Floats.from_dlpack(tensor, device=device, copy=copy)
    same = testing.import_tensor(floats).facts()[5] == tensor.data_ptr
    assert same is (copy is not True)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Floats.from_dlpack(), TypeError, "exactly one positional"),
        (lambda: Floats.from_dlpack(1, 2), TypeError, "exactly one positional"),
        (lambda: Floats.from_dlpack(x=1), TypeError, "exactly one positional"),
        (
            lambda: Floats.from_dlpack(Writable([1.0]), order="C"),
            TypeError,
            "unexpected keyword argument 'order'",
        ),
        (lambda: Floats.from_dlpack(Writable([1.0]), copy=1), TypeError, "`copy` must be"),
        (lambda: Floats.from_dlpack(Writable([1.0]), device="gpu"), TypeError, "'cuda:0'"),
        (lambda: Floats.from_dlpack(Writable([1.0]), device=3), TypeError, "`device` must"),
        (lambda: Floats.from_dlpack(Writable([1.0]), device="cuda"), BufferError, "cuda:0"),
        (lambda: Floats.from_dlpack(Writable([1.0], [])), ValueError, "single number"),
        (lambda: Floats.from_dlpack(1), AttributeError, "__dlpack__"),
    ],
)
def test_what_the_class_method_refuses(call, error, message):
    """With the exceptions of the standard, and without a leak."""
    with nothing_left(), pytest.raises(error, match=message):
        call()


def test_other_elements_are_refused():
    """The error of the field, as a TypeError."""
    np = require("numpy")
    with pytest.raises(TypeError, match="expected float32 elements, got"):
        Floats.from_dlpack(np.zeros(2))


def test_a_subclass_makes_objects_of_the_class():
    """Fields that a subclass adds cannot be initialized from a tensor."""

    class More(Floats):
        pass

    assert type(More.from_dlpack(Writable([1.0]))) is Floats


def test_a_class_with_a_from_dlpack_of_its_own():
    """An existing `from_dlpack` is not overwritten; adding it twice is not an error."""
    import types

    module = types.ModuleType("other")
    with pytest.raises(TypeError, match="already has a `from_dlpack`"):
        testing.add_own_from_dlpack(module)
    assert not hasattr(module, "OwnFromDlpack")
    testing.add_floats(module)
    assert module.Floats is Floats
