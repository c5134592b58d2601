"""Which layouts each consumer takes.

The table is the claim. In its cells:

- ``same``: the array lies at the tensor's own address;
- ``copy``: it lies elsewhere;
- ``none``: there are no elements, so there is nothing to compare;
- an exception: the consumer refuses with it.

Observed with NumPy 2.4, PyTorch 2.15, JAX 0.10 and tvm-ffi 0.1.15.
"""

import math

import consumers
import pytest
from conftest import require
from dlpack_example import Tensor
from layouts import build

# Layouts of float32 in writable memory aligned to 64 bytes.
LAYOUTS = """
    layout              numpy         torch         jax              tvm_ffi
    0-d                 same          same          same             same
    vector              same          same          same             same
    row-major           same          same          same             same
    transposed          same          same          same             same
    axes permuted       same          same          same             same
    every other column  same          same          JaxRuntimeError  same
    offset 4 bytes      same          same          copy             same
    offset 64 bytes     same          same          same             same
    last plane          same          same          copy             same
    reversed            same          RuntimeError  JaxRuntimeError  same
    rows reversed       same          RuntimeError  JaxRuntimeError  same
    broadcast rows      same          same          copy             same
    broadcast scalar    same          same          copy             same
    sliding windows     same          same          copy             same
    odd stride, size 1  same          same          same             same
    empty               none          none          none             none
    empty (2, 0, 3)     none          none          none             none
    empty, odd strides  none          none          none             none
    8 dimensions        same          same          same             same
    9 dimensions        same          same          same             same
    33 dimensions       same          same          same             same
    64 dimensions       same          same          same             same
"""

# Not aligned to 64 bytes, though their storage is: they begin further on.
UNALIGNED = ("offset 4 bytes", "last plane", "reversed", "rows reversed")


def compact(shape):
    """Row-major strides."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def expected_strides(consumer, tensor, outcome):
    """The strides that the consumer shows."""
    if isinstance(consumer, consumers.Jax):
        return None  # it has none to show
    if outcome == "same":
        return tensor.strides
    if outcome == "copy":
        return compact(tensor.shape)
    # Without elements NumPy computes its own, PyTorch mends negative ones.
    return None


@pytest.mark.parametrize("read_only", [False, True], ids=["writable", "read-only"])
@pytest.mark.parametrize(("layout", "name", "outcome"), consumers.table(LAYOUTS))
def test_layout(layout, name, outcome, read_only):
    """Each consumer takes each layout as the table says, element by element."""
    consumer = consumers.get(name)
    tensor = build(layout, read_only)
    if read_only:
        outcome = consumers.copied_if_read_only(name, outcome)
    else:
        assert (tensor.data_ptr % 64 == 0) == (layout not in UNALIGNED)

    array = consumers.attempt(consumer, tensor, outcome)
    if array is None:
        return
    consumers.check_place(consumer, array, tensor, outcome)
    assert consumer.shape(array) == tuple(tensor.shape)
    assert consumer.dtype(array) == "float32"
    strides = expected_strides(consumer, tensor, outcome)
    if strides is not None:
        assert consumer.strides(array) == strides
    values = consumer.values(array)
    if values is None:
        values = require("numpy").from_dlpack(array).tolist()
    assert values == tensor.tolist()


def test_more_than_64_dimensions_is_refused_before_any_consumer_sees_it():
    """NumPy does not support them, so the export rejects them for every consumer."""
    with pytest.raises(ValueError, match="65 dimensions, more than the 64"):
        Tensor.zeros([1] * 65, "float32")
