"""dpnp on a SYCL device that is the processor."""

import os
import sys

import pytest
from conftest import check_leaks, require
from dlpack_example import Tensor, from_dlpack
from dlpack_testing import Writable

os.environ.setdefault(
    "OCL_ICD_FILENAMES", os.path.join(sys.prefix, "lib", "libintelocl.so")
)
dpnp = require("dpnp")
numpy = require("numpy")
ONEAPI = 14


@pytest.fixture
def array():
    """Two rows of three; a view, so that it is exported with a byte offset."""
    return dpnp.arange(9, dtype="float32").reshape(3, 3)[1:]


def test_we_take_its_arrays_where_they_are(array):
    """Metadata, and no look at the elements: they are the device's."""
    ours = from_dlpack(array)
    assert ours.device.startswith("oneapi") and ours.__dlpack_device__() == (ONEAPI, 0)
    assert ours.data_ptr == array.get_array()._pointer + 0
    with pytest.raises(Exception):
        ours.tolist()


def test_we_take_its_arrays_to_the_host(array):
    """It makes the copy, which is ours alone."""
    ours = from_dlpack(array, device="cpu")
    assert ours.__dlpack_device__() == (1, 0)
    assert ours.tolist() == dpnp.asnumpy(array).tolist()


def test_it_takes_ours():
    """What is on the host becomes an array of NumPy."""
    tensor = Tensor([1.0, 2.0, 3.0], "float32").as_strided((2,), (1,), 4)
    taken = dpnp.from_dlpack(tensor)
    assert isinstance(taken, numpy.ndarray) and taken.tolist() == [2.0, 3.0]


def test_nothing_is_left():
    """It calls every deleter."""
    check_leaks(lambda: dpnp.from_dlpack(Writable([1.0, 2.0])))
