"""JAX: the old protocol (0.10) here, the new one (0.12) where it is installed."""

import numpy
import pytest
from conftest import check_leaks, require
from dlpack_example import Tensor, from_dlpack
from dlpack_testing import Frozen, Writable

jax = require("jax")
NEW = tuple(map(int, jax.__version__.split(".")[:2])) >= (0, 12)


class Asked:
    """Remembers how our class was asked."""

    def __init__(self, tensor):
        self.tensor, self.calls = tensor, []

    def __dlpack__(self, **keywords):
        self.calls.append(keywords)
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_which_protocol_it_speaks():
    """0.10 asks for the legacy capsule, 0.12 says a version."""
    asked = Asked(Tensor([1.0, 2.0], "float32"))
    jax.dlpack.from_dlpack(asked)
    assert ("max_version" in asked.calls[0]) == NEW


def test_it_takes_ours():
    """Aligned memory is not copied; what is read-only, only by the old protocol."""
    tensor = Tensor([[1.0, 2.0], [3.0, 4.0]], "float32")
    taken = jax.dlpack.from_dlpack(tensor)
    assert taken.unsafe_buffer_pointer() == tensor.data_ptr
    assert jax.numpy.sum(taken) == 10
    frozen = Tensor([1.0, 2.0], "float32", read_only=True)
    taken = jax.dlpack.from_dlpack(frozen)
    assert taken.tolist() == [1.0, 2.0]
    if not NEW:
        assert taken.unsafe_buffer_pointer() != frozen.data_ptr


def test_we_take_its_arrays():
    """They are immutable. 0.12 says so; 0.10 exports the legacy struct, which cannot, and
    is read-only for that."""
    array = jax.numpy.arange(6.0, dtype="float32").reshape(2, 3)
    ours = from_dlpack(array)
    assert ours.data_ptr == array.unsafe_buffer_pointer()
    assert ours.tolist() == array.tolist()
    assert ours.read_only
    again = numpy.from_dlpack(ours)
    assert again.tolist() == array.tolist() and not again.flags.writeable


def test_bfloat16_both_ways():
    """Which NumPy could not carry."""
    array = jax.numpy.asarray([1.0, 2.5], dtype="bfloat16")
    ours = from_dlpack(array)
    assert ours.dtype == "bfloat16" and ours.tolist() == [1.0, 2.5]
    assert jax.dlpack.from_dlpack(Tensor([1.0], "bfloat16")).dtype == "bfloat16"


def test_its_refusals_are_its_own():
    """Strides that are no permutation of compact ones."""
    view = Tensor([1.0, 2.0, 3.0, 4.0], "float32").as_strided((2,), (2,))
    with pytest.raises(Exception, match="strid"):
        jax.dlpack.from_dlpack(view)


def test_nothing_is_left():
    """Its arrays let go of ours."""

    def rounds():
        jax.dlpack.from_dlpack(Writable([1.0, 2.0])).block_until_ready()
        jax.dlpack.from_dlpack(Frozen([1.0, 2.0])).block_until_ready()

    check_leaks(rounds)
