"""tvm-ffi as an intermediary: functions that take our objects and return them."""

import pytest
from conftest import nothing_left, require
from dlpack_example import Tensor, from_dlpack

tvm_ffi = require("tvm_ffi")


@pytest.fixture
def echo():
    """A tvm-ffi function that returns its argument."""
    return tvm_ffi.get_global_func("testing.echo")


def test_a_call_gives_back_our_class(echo):
    """Import and export through the table of the class keep the address."""
    tensor = Tensor([[1.0, 2.0], [3.0, 4.0]], "float32")
    back = echo(tensor)
    assert type(back) is Tensor
    assert back.data_ptr == tensor.data_ptr and back.tolist() == tensor.tolist()


def test_a_function_of_python_gets_its_tensor():
    """A function registered in Python receives a tvm-ffi tensor."""
    seen = []

    def look(tensor):
        seen.append((tuple(tensor.shape), str(tensor.dtype), tensor.data_ptr()))

    tensor = Tensor([1, 2, 3], "int32")
    tvm_ffi.convert(look)(tensor)
    assert seen == [((3,), "int32", tensor.data_ptr)]


def test_nothing_is_left(echo):
    """A thousand calls leave nothing behind."""
    tensor = Tensor([1.0, 2.0], "float32")
    with nothing_left():
        for _ in range(1000):
            echo(tensor)


def test_from_and_to():
    """Its own tensors are exchanged without a copy."""
    tensor = tvm_ffi.from_dlpack(Tensor([1.0, 2.0], "float32"))
    ours = from_dlpack(tensor)
    assert ours.data_ptr == tensor.data_ptr() and ours.tolist() == [1.0, 2.0]
