"""Who may write, and who sees it."""

import consumers
import pytest
from conftest import require
from dlpack_example import Tensor
from dlpack_testing import Writable
from layouts import build


@pytest.mark.parametrize("layout", ["vector", "transposed", "rows reversed"])
def test_numpy_writes_and_rust_sees(layout):
    """NumPy writes through any layout into the memory that Rust reads."""
    numpy = require("numpy")
    tensor = build(layout, read_only=False)
    array = numpy.from_dlpack(tensor)
    assert array.flags.writeable
    array += 1000
    assert tensor.tolist() == array.tolist()
    assert min(array.flat) >= 1000


@pytest.mark.parametrize("layout", ["vector", "transposed", "last plane"])
def test_torch_writes_and_rust_sees(layout):
    """PyTorch writes through any layout into the memory that Rust reads."""
    torch = require("torch")
    tensor = build(layout, read_only=False)
    array = torch.from_dlpack(tensor)
    array.mul_(2).add_(1000)
    assert tensor.tolist() == array.tolist()
    assert array.min().item() >= 1000


def test_numpy_and_torch_see_each_others_writes():
    """Two consumers of one tensor are views of the same memory."""
    numpy, torch = require("numpy"), require("torch")
    tensor = Tensor([[1, 2], [3, 4]], "int32")
    array, other = numpy.from_dlpack(tensor), torch.from_dlpack(tensor)
    array[0, 0] = 10
    other[1, 1] = 40
    assert tensor.tolist() == [[10, 2], [3, 40]]
    assert array.tolist() == other.tolist() == tensor.tolist()


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_rust_writes_and_consumers_see(name):
    """What Rust stores afterwards shows in the consumer's array."""
    consumer = consumers.get(name)
    shared = Writable([1.0, 2.0, 3.0])
    array = consumer.take(shared)
    shared.store(1, 20.0)
    assert consumer.values(array) == [1.0, 20.0, 3.0]


@pytest.mark.parametrize(
    "layout", ["vector", "broadcast rows", "broadcast scalar", "sliding windows"]
)
def test_numpy_is_told_what_it_must_not_write(layout):
    """Frozen memory, and elements that share memory, are read-only."""
    numpy = require("numpy")
    array = numpy.from_dlpack(build(layout, read_only=layout == "vector"))
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 0
