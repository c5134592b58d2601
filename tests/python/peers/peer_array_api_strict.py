"""array-api-strict: an implementation of the standard without extensions."""

import pytest
from conftest import check_leaks, require
from dlpack_example import Tensor, from_dlpack
from dlpack_testing import Frozen

strict = require("array_api_strict")
numpy = require("numpy")


def test_it_takes_ours():
    """With every keyword of its newest revision."""
    strict.set_array_api_strict_flags(api_version="2025.12")
    tensor = Tensor([[1.0, 2.0], [3.0, 4.0]], "float32")
    taken = strict.from_dlpack(tensor)
    assert numpy.from_dlpack(taken).ctypes.data == tensor.data_ptr
    assert strict.sum(taken) == 10
    copied = strict.from_dlpack(tensor, copy=True)
    assert numpy.from_dlpack(copied).ctypes.data != tensor.data_ptr
    cpu = strict.Device("CPU_DEVICE")
    assert strict.from_dlpack(tensor, device=cpu).device == cpu


def test_we_take_its_arrays():
    """Views are imported too."""
    array = strict.reshape(strict.arange(6, dtype=strict.float32), (2, 3))
    for view in (array, array[:, ::-1], strict.permute_dims(array, (1, 0))):
        ours = from_dlpack(view)
        assert ours.tolist() == numpy.from_dlpack(view).tolist()
        assert ours.data_ptr == numpy.from_dlpack(view).ctypes.data


def test_read_only_is_kept():
    """A read-only tensor stays read-only in both directions."""
    taken = strict.from_dlpack(Frozen([1.0, 2.0]))
    with pytest.raises(ValueError, match="read-only"):
        taken[0] = strict.asarray(5.0, dtype=strict.float32)


def test_nothing_is_left():
    """Its arrays release our tensors."""
    check_leaks(lambda: strict.from_dlpack(Frozen([1.0, 2.0])))
