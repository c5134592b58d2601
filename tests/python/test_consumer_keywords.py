"""What users may say to the consumers' own `from_dlpack`."""

from conftest import require
from dlpack_example import Tensor


def test_numpy_keywords():
    """`copy` and `device` of numpy.from_dlpack are obeyed."""
    numpy = require("numpy")
    tensor = Tensor([1.0, 2.0], read_only=True)
    assert numpy.from_dlpack(tensor, copy=False).ctypes.data == tensor.data_ptr
    assert numpy.from_dlpack(tensor, device="cpu").ctypes.data == tensor.data_ptr
    copied = numpy.from_dlpack(tensor, copy=True)
    assert copied.ctypes.data != tensor.data_ptr and copied.flags.writeable
    copied[0] = 5
    assert tensor.tolist() == [1.0, 2.0]


def test_torch_keywords():
    """`copy` and `device` of torch.from_dlpack are obeyed."""
    torch = require("torch")
    tensor = Tensor([1.0, 2.0])
    assert torch.from_dlpack(tensor, copy=False).data_ptr() == tensor.data_ptr
    assert torch.from_dlpack(tensor, device="cpu").data_ptr() == tensor.data_ptr
    copied = torch.from_dlpack(tensor, copy=True)
    assert copied.data_ptr() != tensor.data_ptr
    copied[0] = 5
    assert tensor.tolist() == [1.0, 2.0]


def test_torch_takes_a_bare_capsule():
    """PyTorch takes either capsule without its object."""
    torch = require("torch")
    tensor = Tensor([1.0, 2.0])
    for max_version in (None, (1, 0)):
        array = torch.from_dlpack(tensor.__dlpack__(max_version=max_version))
        assert array.data_ptr() == tensor.data_ptr


def test_tvm_ffi_takes_a_bare_capsule():
    """tvm-ffi takes either capsule without its object."""
    tvm_ffi = require("tvm_ffi")
    tensor = Tensor([1.0, 2.0])
    for max_version in (None, (1, 0)):
        array = tvm_ffi.from_dlpack(tensor.__dlpack__(max_version=max_version))
        assert array.data_ptr() == tensor.data_ptr


def test_numpy_keeps_what_the_tensor_was_made_for():
    """Arrays computed from the view are ordinary NumPy arrays."""
    numpy = require("numpy")
    tensor = Tensor([[1.0, 2.0], [3.0, 4.0]], read_only=True)
    view = numpy.asarray(numpy.from_dlpack(tensor))
    assert view.ctypes.data == tensor.data_ptr
    assert (view @ view).tolist() == [[7.0, 10.0], [15.0, 22.0]]
