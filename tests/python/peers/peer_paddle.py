"""Paddle's own table, driven from Rust, and its `from_dlpack`."""

import dlpack_testing as testing
import pytest
from conftest import check_leaks, require
from dlpack_example import Tensor, from_dlpack

paddle = require("paddle")


def test_import_through_its_table():
    """Without a copy, with any strides."""
    tensor = paddle.arange(6, dtype="float32").reshape([2, 3])
    ours = from_dlpack(tensor)
    assert ours.data_ptr == tensor.data_ptr()
    assert ours.tolist() == tensor.tolist()


def test_export_into_its_class():
    """`python::to_object(paddle.Tensor)` makes one of its tensors over Rust's memory."""
    made = testing.hand_to(paddle.Tensor, "float32")
    assert isinstance(made, paddle.Tensor) and made.shape == [2]


def test_a_kernel_between_its_tensors():
    """A kernel takes three tensors and returns one that Paddle allocated."""
    a, b, c = (paddle.full([2, 3], value, "float32") for value in (2.0, 3.0, 4.0))
    out = testing.fused(a, b, c)
    assert isinstance(out, paddle.Tensor) and out.tolist() == [[10.0] * 3] * 2


def test_its_from_dlpack_takes_our_views():
    """It ignores `byte_offset`, so views must be exported with offset 0."""
    view = Tensor([float(i) for i in range(8)], "float32").as_strided((2, 2), (2, 1), 8)
    taken = paddle.from_dlpack(view)
    assert taken.tolist() == view.tolist() and taken.data_ptr() == view.data_ptr


def test_nothing_is_left():
    """It calls every deleter."""

    def rounds():
        testing.hand_to(paddle.Tensor, "float32")
        paddle.from_dlpack(testing.Writable([1.0, 2.0]))

    check_leaks(rounds)


def test_refusals_are_its_own():
    """It rejects a type that it does not support with its own error."""
    with pytest.raises(Exception, match="DLDataType"):
        paddle.from_dlpack(Tensor([1.0, 2.0], "float6_e2m3fn"))
