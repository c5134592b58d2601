"""MLX on the CPU."""

import pytest
from conftest import check_leaks, require
from dlpack_example import Tensor, from_dlpack
from dlpack_testing import Writable

require("mlx")
import mlx.core as mx  # noqa: E402


def test_it_takes_ours():
    """It copies every imported tensor."""
    tensor = Tensor([[1.0, 2.0], [3.0, 4.0]], "float32").as_strided((2, 2), (1, 2))
    taken = mx.from_dlpack(tensor)
    assert taken.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert mx.array(tensor).tolist() == taken.tolist()


def test_we_take_its_arrays():
    """We import its arrays without a copy; bfloat16 too."""
    array = mx.array([[1.0, 2.0], [3.0, 4.0]])
    ours = from_dlpack(array)
    assert ours.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    ours = from_dlpack(array.astype(mx.bfloat16))
    assert (ours.dtype, ours.tolist()) == ("bfloat16", [[1.0, 2.0], [3.0, 4.0]])


def test_its_refusals_are_its_own():
    """Negative strides."""
    view = Tensor([1.0, 2.0], "float32").as_strided((2,), (-1,), 4)
    with pytest.raises(ValueError, match="negative strides"):
        mx.from_dlpack(view)


def test_nothing_is_left():
    """It calls every deleter."""

    def rounds():
        taken = mx.from_dlpack(Writable([1.0, 2.0]))
        mx.eval(taken + 1)
        del taken

    check_leaks(rounds)
