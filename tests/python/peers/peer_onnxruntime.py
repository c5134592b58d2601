"""ONNX Runtime: `OrtValue`, which takes contiguous tensors, as input and output of a session."""

import weakref

import pytest
from conftest import check_leaks, require
from dlpack_example import Tensor, from_dlpack
from dlpack_testing import Frozen

onnxruntime = require("onnxruntime")
numpy = require("numpy")
OrtValue = onnxruntime.OrtValue


def test_it_takes_ours():
    """At the same address."""
    tensor = Tensor([[1.0, 2.0], [3.0, 4.0]], "float32")
    taken = OrtValue.from_dlpack(tensor)
    assert taken.data_ptr() == tensor.data_ptr
    assert taken.numpy().tolist() == [[1, 2], [3, 4]]


def test_strides_are_rejected():
    """It says so, and nothing is left."""
    tensor = from_dlpack(numpy.ones((2, 3), "float32").T)
    with pytest.raises(RuntimeError, match="contiguous"):
        OrtValue.from_dlpack(tensor)


def test_we_take_its_values():
    """Memory of its own, at the same address."""
    value = OrtValue.ortvalue_from_shape_and_type((2, 3), numpy.float32)
    value.update_inplace(numpy.arange(6, dtype="float32").reshape(2, 3))
    ours = from_dlpack(value)
    address = value.data_ptr()
    del value
    assert ours.data_ptr == address
    assert ours.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_array_behind_a_value_is_not_kept_alive():
    """A defect of ONNX Runtime that `docs/reference.md` names."""
    array = numpy.arange(6, dtype="float32")
    alive = weakref.ref(array)
    value = OrtValue.ortvalue_from_numpy(array)
    ours = from_dlpack(value)
    assert ours.data_ptr == array.ctypes.data
    del array, value
    assert alive() is None
    del ours


def test_nothing_is_left():
    """Its values release our tensors."""
    check_leaks(lambda: OrtValue.from_dlpack(Frozen([1.0, 2.0])))
