"""Arguments that are converted because their type asks for it, and those that are not."""

import array

import pytest
from conftest import check_leaks, require, run_in_a_new_process
from dlpack_testing import Frozen, arguments

require("numpy")
import numpy as np


class WithArray:
    """An object that only NumPy can convert."""

    def __array__(self, dtype=None, copy=None):
        return np.array([1.5, 2.5], dtype)


@pytest.mark.parametrize(
    "given, expected",
    [
        ([1, 2.5], [1, 2.5]),
        ((1, 2), [1, 2]),
        ([[1.0], [2.0]], [1, 2]),
        ([], []),
        (range(3), [0, 1, 2]),
        (2, [2]),
        (2.5, [2.5]),
        (True, [1]),
        (array.array("d", [1.0]), [1]),
        pytest.param(memoryview(b"ab"), [97, 98], id="memoryview"),
        pytest.param(WithArray(), [1.5, 2.5], id="__array__"),
        (np.float64(2.5), [2.5]),
        (np.arange(4.0)[::2], [0, 2]),
        (np.array([1, 2], ">f4"), [1, 2]),
        (np.array([1, 2], "i8"), [1, 2]),
        (np.array([True]), [1]),
    ],
    ids=str,
)
def test_values_are_converted_to_floats(given, expected):
    values, _ = arguments.convert_floats(given)
    assert values == expected


def test_an_array_that_meets_the_type_is_not_copied():
    for given in [np.ones(3, "f4"), Frozen([1.0])]:
        assert arguments.convert_floats(given)[1] is given
    # A converted array of another dtype stands for the array of the caller.
    given = np.ones(3)
    assert arguments.convert_floats(given)[1] is given
    made = arguments.convert_floats([1.0])[1]
    assert type(made) is np.ndarray and made.dtype == "f4"


def test_integers_keep_their_values():
    assert arguments.convert_bytes([1, 255]) == [1, 255]
    assert arguments.convert_bytes(np.array([0, 255], "i8")) == [0, 255]
    assert arguments.convert_bytes([]) == []
    for given in [[256], [-1], np.array([1, 300], "u2"), [2**63]]:
        with pytest.raises(ValueError, match="expected uint8, got .*int.* does not fit"):
            arguments.convert_bytes(given)


class Exports:
    """A class with the methods of the DLPack protocol only."""

    def __dlpack__(self, **keywords):
        return np.ones(2).__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize(
    "function, given, message",
    [
        ("convert_bytes", [1.5], "expected uint8, got float64, .*values could be lost"),
        ("convert_bytes", np.ones(2), r"\.astype\('uint8'\)"),
        ("convert_bytes", [1.5], r"`numpy\.asarray\(x\)\.astype\('uint8'\)`"),
        ("convert_bytes", Exports(), r"`numpy\.from_dlpack\(x\)\.astype\('uint8'\)`"),
        ("convert_floats", [1j], "expected float32, got complex128"),
        ("convert_floats", "text", "expected float32, got <U4"),
        ("convert_floats", ["1"], "expected float32, got <U1"),
        ("convert_floats", None, "expected float32, got object"),
        ("convert_floats", np.array(["2020"], "M8[Y]"), "datetime64"),
        ("convert_any", object(), "expected an array, got object"),
    ],
)
def test_values_that_could_be_lost_are_not_converted(function, given, message):
    with pytest.raises(TypeError, match=message):
        getattr(arguments, function)(given)


def test_other_requirements_are_not_converted():
    with pytest.raises(ValueError, match="expected 1 dimension, got 2 of shape"):
        arguments.convert_bytes([[1], [2]])
    with pytest.raises(ValueError):
        arguments.convert_floats([[1], [2, 3]])
    with pytest.raises(TypeError, match="expected float32, got float64"):
        arguments.convert_floats(np.ones(2).__dlpack__())
    assert arguments.convert_any([[1.0, 2.0]]) == ("float64", [1, 2])
    assert arguments.convert_any(np.ones(2, "f2")) == ("float16", [2])


def test_nothing_is_converted_without_request():
    """The message names the dtype in the conversion."""
    for given in [[1.0], 1.0, WithArray()]:
        with pytest.raises(TypeError, match=r"is not a tensor.*asarray\(x, 'float32'\)"):
            arguments.floats(given)
    with pytest.raises(TypeError, match=r"`numpy\.asarray\(x\)`"):
        arguments.facts([1.0])


class Refusing:
    """A tensor that raises an error of its own, in a class whose module is not a string."""

    __module__ = 5

    def __dlpack__(self, **keywords):
        raise BufferError("of the producer")

    def __dlpack_device__(self):
        return 1, 0


def test_the_error_of_a_producer_arrives():
    with pytest.raises(BufferError, match="of the producer"):
        arguments.convert_floats(Refusing())


class Twice(WithArray):
    """A tensor that needs a conversion, and that raises when it is exported again."""

    def __init__(self, error):
        self.error, self.calls = error, 0

    def __dlpack__(self, **keywords):
        self.calls += 1
        if self.calls > 1:
            raise self.error
        return np.ones(2).__dlpack__(**keywords)

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, KeyError])
def test_only_a_refusal_leads_to_a_second_attempt(error):
    with pytest.raises(error):
        arguments.convert_floats(Twice(error()))
    for refusal in [TypeError, BufferError, RuntimeError, ValueError]:
        assert arguments.convert_floats(Twice(refusal()))[0] == [1.5, 2.5]


def test_a_failed_second_attempt_names_the_refusal():
    class Failing(Twice):
        def __array__(self, dtype=None, copy=None):
            raise LookupError("of the array")

    refusal = BufferError("of the producer")
    with pytest.raises(LookupError, match="of the array") as raised:
        arguments.convert_floats(Failing(refusal))
    assert raised.value.__cause__ is refusal


def test_each_argument_is_released_once():
    def body():
        assert arguments.convert_bytes([1, 2]) == [1, 2]
        assert arguments.convert_any(Frozen([1.0])) == ("float32", [1])
        with pytest.raises(TypeError):
            arguments.convert_bytes(Frozen([1.0]))

    check_leaks(body)


def test_numpy_is_needed_only_for_a_conversion():
    run_in_a_new_process(
        """
import sys
sys.modules["numpy"] = None
from dlpack_testing import Frozen, arguments
assert arguments.convert_floats(Frozen([1.0]))[0] == [1.0]
try:
    arguments.convert_floats([1.0])
except TypeError as error:
    assert "expected float32, got `list`" in str(error) and "NumPy" in str(error), error
else:
    raise AssertionError
"""
    )


def test_tensors_of_pytorch():
    require("torch")
    import torch

    tensor = torch.arange(3, dtype=torch.float64)
    values, same = arguments.convert_floats(tensor)
    assert values == [0, 1, 2] and same is tensor
    assert arguments.convert_bytes(torch.tensor([1, 2])) == [1, 2]
