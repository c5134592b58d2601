"""JAX: the legacy protocol (0.10) here, the versioned one (0.12) if installed."""

import numpy
import pytest
from conftest import check_leaks, require, run_in_a_new_process
from dlpack_example import Tensor, from_dlpack
from dlpack_testing import Frozen, Writable

jax = require("jax")
NEW = tuple(map(int, jax.__version__.split(".")[:2])) >= (0, 12)


class Asked:
    """Records the keywords with which our class was called."""

    def __init__(self, tensor):
        self.tensor, self.calls = tensor, []

    def __dlpack__(self, **keywords):
        self.calls.append(keywords)
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_which_protocol_it_speaks():
    """0.10 requests the legacy capsule; 0.12 passes `max_version`."""
    asked = Asked(Tensor([1.0, 2.0], "float32"))
    jax.dlpack.from_dlpack(asked)
    assert ("max_version" in asked.calls[0]) == NEW


def test_arrays_on_each_device_of_the_processor_are_imported():
    """JAX numbers these devices in the struct only."""
    run_in_a_new_process(
        """
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax
import numpy
from dlpack_testing import Floats, arguments, import_tensor

for device in jax.devices():
    x = jax.device_put(jax.numpy.arange(3.0), device)
    assert arguments.floats(x) == [0, 1, 2]
    assert import_tensor(x, device=(1, 0)).facts()[0] == [3]
    if x.device.id == 1:
        assert import_tensor(x, device=(1, 1)).facts()[0] == [3]
        # The copy is ours, and so writable.
        assert numpy.from_dlpack(Floats.from_dlpack(x, copy=True)).flags.writeable
        assert import_tensor(x.__dlpack__(), copy=True).facts()[0] == [3]
"""
    )


def test_it_takes_ours():
    """Aligned memory is not copied, except that the legacy protocol copies read-only
    memory."""
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
    """Its arrays are immutable. 0.12 sets the read-only flag; 0.10 exports the legacy
    struct, which has no flags and is imported as read-only."""
    array = jax.numpy.arange(6.0, dtype="float32").reshape(2, 3)
    ours = from_dlpack(array)
    assert ours.data_ptr == array.unsafe_buffer_pointer()
    assert ours.tolist() == array.tolist()
    assert ours.read_only
    again = numpy.from_dlpack(ours)
    assert again.tolist() == array.tolist() and not again.flags.writeable


def test_bfloat16_both_ways():
    """Types that NumPy does not have."""
    array = jax.numpy.asarray([1.0, 2.5], dtype="bfloat16")
    ours = from_dlpack(array)
    assert ours.dtype == "bfloat16" and ours.tolist() == [1.0, 2.5]
    assert jax.dlpack.from_dlpack(Tensor([1.0], "bfloat16")).dtype == "bfloat16"


def test_its_refusals_are_its_own():
    """Strides that are not a permutation of contiguous ones."""
    view = Tensor([1.0, 2.0, 3.0, 4.0], "float32").as_strided((2,), (2,))
    with pytest.raises(Exception, match="strid"):
        jax.dlpack.from_dlpack(view)


def test_nothing_is_left():
    """Its arrays release our tensors."""

    def rounds():
        jax.dlpack.from_dlpack(Writable([1.0, 2.0])).block_until_ready()
        jax.dlpack.from_dlpack(Frozen([1.0, 2.0])).block_until_ready()

    check_leaks(rounds)
