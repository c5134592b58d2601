"""TensorFlow: bare legacy capsules of row-major, aligned tensors."""

import pytest
from conftest import require
from dlpack_example import Tensor, from_dlpack

tf = require("tensorflow")
dlpack = tf.experimental.dlpack


def test_it_takes_our_capsule():
    """It computes in our memory."""
    tensor = Tensor([[1.0, 2.0], [3.0, 4.0]], "float32")
    taken = dlpack.from_dlpack(tensor.__dlpack__())
    assert (taken + 1).numpy().tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert from_dlpack(taken).data_ptr == tensor.data_ptr


def test_we_take_its_tensors():
    """The tensor's method, and the capsule of its function."""
    tensor = tf.constant([[1, 2], [3, 4]], tf.int32)
    ours = from_dlpack(tensor)
    assert ours.tolist() == [[1, 2], [3, 4]] and ours.dtype == "int32"
    again = from_dlpack(dlpack.to_dlpack(tensor))
    assert again.data_ptr == ours.data_ptr


def test_a_capsule_is_taken_once():
    """A capsule that was consumed is rejected by us and by TensorFlow."""
    capsule = Tensor([1.0], "float32").__dlpack__()
    dlpack.from_dlpack(capsule)
    with pytest.raises(Exception):
        dlpack.from_dlpack(capsule)
    with pytest.raises(ValueError):
        from_dlpack(capsule)


def test_strides_are_refused_in_its_words():
    """It has no exchange table."""
    view = Tensor([[1.0, 2.0], [3.0, 4.0]], "float32").as_strided((2, 2), (1, 2))
    with pytest.raises(tf.errors.InvalidArgumentError, match="strides"):
        dlpack.from_dlpack(view.__dlpack__())
