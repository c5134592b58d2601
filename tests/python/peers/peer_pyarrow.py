"""pyarrow: tensors of any rank, arrays of one dimension, and arrays with missing values."""

import pytest
from conftest import check_leaks, require
from dlpack_example import Tensor, from_dlpack
from dlpack_testing import Frozen

arrow = require("pyarrow")
numpy = require("numpy")


def test_it_takes_ours():
    """As a tensor with strides, zero-copy, in native and in versioned structs."""
    tensor = Tensor([[1.0, 2.0], [3.0, 4.0]], "float32")
    taken = arrow.Tensor.from_dlpack(tensor)
    assert taken.shape == (2, 2) and taken.type == arrow.float32()
    assert taken.to_numpy().ctypes.data == tensor.data_ptr
    assert taken.to_numpy().tolist() == [[1, 2], [3, 4]]


def test_it_takes_ours_as_an_array():
    """One dimension; more are rejected."""
    tensor = Tensor([1.0, 2.0, 3.0], "float32")
    taken = arrow.Array.from_dlpack(tensor)
    assert taken.to_pylist() == [1, 2, 3]
    assert taken.buffers()[1].address == tensor.data_ptr
    with pytest.raises(arrow.ArrowInvalid):
        arrow.Array.from_dlpack(Tensor([[1.0], [2.0]], "float32"))


def test_we_take_its_tensors():
    """Transposed tensors too."""
    array = numpy.arange(6, dtype="float32").reshape(2, 3)
    for view in (array, array.T):
        tensor = arrow.Tensor.from_numpy(view)
        ours = from_dlpack(tensor)
        assert ours.tolist() == view.tolist()
        assert ours.data_ptr == view.ctypes.data


def test_we_take_its_arrays():
    """A slice begins at its first element."""
    array = arrow.array([1, 2, 3, 4], arrow.int16())
    ours = from_dlpack(array[1:])
    assert ours.tolist() == [2, 3, 4]
    assert ours.data_ptr == array.buffers()[1].address + 2


def test_arrays_with_missing_values_have_no_tensor():
    """A tensor has no place for them; pyarrow rejects the export."""
    with pytest.raises(BufferError, match=r"missing values; pass `x.fill_null\(0\)`"):
        from_dlpack(arrow.array([1, None, 3], arrow.int16()))


def test_read_only_is_kept():
    """Its tensors are immutable, and say so in both directions."""
    assert not arrow.Tensor.from_dlpack(Frozen([1.0, 2.0])).is_mutable
    array = arrow.array([1, 2], arrow.int16())
    with pytest.raises(ValueError, match="read-only"):
        numpy.from_dlpack(from_dlpack(array))[0] = 5


def test_nothing_is_left():
    """Its tensors release ours."""
    check_leaks(lambda: arrow.Tensor.from_dlpack(Frozen([1.0, 2.0])))
    check_leaks(lambda: arrow.Array.from_dlpack(Frozen([1.0, 2.0])))
