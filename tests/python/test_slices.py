"""Classes over buffers of another crate: `slice = TYPE`, `with = path` and owned slices."""

import consumers
import pytest
from conftest import require
from dlpack_testing import Lent, Samples

CONSUMERS = pytest.mark.parametrize("name", ["numpy", "torch"])


@CONSUMERS
def test_buffer_of_another_crate_is_exported_zero_copy(name):
    consumer = consumers.get(name)
    lent = Lent([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], (2, 3))
    array = consumer.take(lent)
    assert consumer.address(array) == lent.data_ptr
    assert consumer.shape(array) == (2, 3)
    assert consumer.strides(array) == (3, 1)
    del lent
    assert consumer.values(array) == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


@CONSUMERS
def test_owner_without_clones_is_exported_zero_copy(name):
    """Without `shared`, the exports own the Python object."""
    consumer = consumers.get(name)
    samples = Samples([1, 2, 3])
    first, second = consumer.take(samples), consumer.take(samples)
    assert consumer.address(first) == consumer.address(second) == samples.data_ptr
    assert consumer.shape(first) == (3, 1)
    del samples, first
    assert consumer.values(second) == [[1], [2], [3]]


@CONSUMERS
def test_tensor_becomes_a_buffer_of_another_crate_zero_copy(name):
    """An owned slice of an import is the owner in a buffer, and is exported again."""
    consumer = consumers.get(name)
    array = consumer.module.ones((2, 2), dtype=consumer.module.float32)
    address = consumer.address(array)
    lent = Lent.adopt(array)
    assert lent.data_ptr == address
    del array
    again = consumer.take(lent)
    assert consumer.address(again) == address
    del lent
    assert consumer.values(again) == [[1.0, 1.0], [1.0, 1.0]]


def test_array_that_others_may_write_is_rejected():
    np = require("numpy")
    array = np.ones(3, dtype=np.float32)
    with pytest.raises(ValueError):
        Lent.adopt_checked(array)
    array.flags.writeable = False
    with pytest.raises(ValueError):
        Lent.adopt_checked(array)


def test_adopted_array_is_checked():
    np = require("numpy")
    with pytest.raises(TypeError, match="expected float32 elements, got float64"):
        Lent.adopt(np.ones(3))
    with pytest.raises(ValueError, match="not contiguous"):
        Lent.adopt(np.ones((2, 4), dtype=np.float32)[:, ::2])


def test_type_that_cannot_be_converted_is_rejected():
    np = require("numpy")
    with pytest.raises(BufferError, match="a text has no elements"):
        np.from_dlpack(Lent([1.0], (1,), text=True))


def test_shape_beyond_the_slice_is_rejected():
    np = require("numpy")
    with pytest.raises(BufferError):
        np.from_dlpack(Lent([1.0], (2,)))
