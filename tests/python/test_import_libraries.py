"""`python::from_dlpack` of tensors that other libraries make."""

import dlpack_testing as testing
import pytest
from conftest import require
from dlpack_testing import Writable

READ_ONLY = 1


def test_numpy():
    """Any layout, without a copy; its flag for read-only is kept."""
    np = require("numpy")
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for view in [array, array[::-1], array.T, array[:, 1:, ::2], array[:0], array[1, 1, 1:2]]:
        shape, strides, dtype, device, flags, address = testing.import_tensor(view).facts()
        assert tuple(shape) == view.shape and dtype == "float32" and device == "cpu"
        assert flags == 0
        if view.size:
            assert address == view.ctypes.data
            assert tuple(stride * 4 for stride in strides) == view.strides
        assert testing.import_tensor(view).floats() == view.ravel().tolist()
    array.flags.writeable = False
    assert testing.import_tensor(array).facts()[4] == READ_ONLY


def test_torch():
    """Through its table; a tensor that only `__dlpack__` rejects is rejected."""
    torch = require("torch")
    tensor = torch.arange(6.0).reshape(2, 3).T
    held = testing.import_tensor(tensor)
    assert held.facts()[:2] == ([3, 2], [1, 3])
    assert held.facts()[5] == tensor.data_ptr()
    assert held.floats() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    assert testing.import_tensor(torch.nn.Parameter(tensor)).facts()[0] == [3, 2]
    number = torch.tensor([1 + 2j])
    assert testing.import_tensor(number).facts()[2] == "complex64"
    with pytest.raises(BufferError, match="conjugate"):
        testing.import_tensor(number.conj())
    with pytest.raises(Exception):
        testing.import_tensor(torch.eye(2).to_sparse())


def test_jax():
    """The legacy struct, which needs the second call."""
    jax = require("jax")
    held = testing.import_tensor(jax.numpy.arange(4.0, dtype="float32"))
    assert held.floats() == [0.0, 1.0, 2.0, 3.0]


def test_tvm_ffi():
    """Our class as the producer: a tensor that is exported again has the same address."""
    tvm_ffi = require("tvm_ffi")
    tensor = Writable([1.0, 2.0])
    held = testing.import_tensor(tvm_ffi.from_dlpack(tensor))
    assert held.facts()[5] == tensor.data_ptr
