"""`dlpack_example.from_dlpack` and `Tensor.from_dlpack` take the tensors of others,
of any type and layout, and hand them on."""

import dlpack_example
import dlpack_testing as testing
import pytest
from conftest import check_leaks, require
from dlpack_example import Tensor

NUMPY = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
NUMPY += ["float16", "float32", "float64", "complex64", "complex128"]
TORCH = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float8_e4m3fnuz"]

BOTH = pytest.mark.parametrize("take", [dlpack_example.from_dlpack, Tensor.from_dlpack])


@BOTH
@pytest.mark.parametrize("dtype", NUMPY)
def test_types_of_numpy(take, dtype):
    """The same values at the same address, in both directions."""
    np = require("numpy")
    array = np.arange(6).reshape(2, 3).astype(dtype)
    tensor = take(array)
    assert type(tensor) is Tensor and tensor.dtype == dtype
    assert tensor.shape == (2, 3) and tensor.tolist() == array.tolist()
    again = np.from_dlpack(tensor)
    assert again.ctypes.data == array.ctypes.data and (again == array).all()
    assert again.flags.writeable


@pytest.mark.parametrize("dtype", TORCH)
def test_types_that_only_torch_has(dtype):
    """Floating-point types that NumPy does not have."""
    torch = require("torch")
    source = torch.tensor([1.0, 2.0, 0.5]).to(getattr(torch, dtype))
    tensor = Tensor.from_dlpack(source)
    assert tensor.dtype == dtype and tensor.tolist() == [1.0, 2.0, 0.5]
    assert torch.from_dlpack(tensor).data_ptr() == source.data_ptr()


@pytest.mark.parametrize("layout", ["C", "F", "reversed", "strided", "broadcast", "empty", "rank 0"])
def test_layouts(layout):
    """Layouts of NumPy, including negative strides."""
    np = require("numpy")
    cube = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    array = {
        "C": cube,
        "F": cube.T,
        "reversed": cube[::-1, :, ::-1],
        "strided": cube[:, 1:, ::2],
        "broadcast": np.broadcast_to(cube[0, 0], (3, 4)),
        "empty": cube[:, :0],
        "rank 0": cube[1, 2, 3:4].reshape(()),
    }[layout]
    tensor = Tensor.from_dlpack(array)
    assert tensor.shape == array.shape and tensor.tolist() == array.tolist()
    again = np.from_dlpack(tensor)
    assert again.tolist() == array.tolist() and again.shape == array.shape
    assert again.strides == array.strides or layout == "empty"


def test_the_flag_for_read_only_is_kept():
    """The flag is kept through any number of exports and imports."""
    np = require("numpy")
    array = np.arange(3)
    array.flags.writeable = False
    tensor = Tensor.from_dlpack(Tensor.from_dlpack(array))
    assert tensor.read_only and not np.from_dlpack(tensor).flags.writeable


def test_packed_elements():
    """Types that no Python library has."""
    own = Tensor([1, 0, 1, 1, 0, 1, 0], "bool")
    assert Tensor.from_dlpack(own).tolist() == own.tolist()
    for dtype in ["float4_e2m1fn", "float6_e2m3fn"]:
        own = Tensor([1, 2, 3], dtype)
        tensor = Tensor.from_dlpack(own)
        assert (tensor.dtype, tensor.tolist()) == (dtype, own.tolist())


def test_memory_is_released():
    """The last owner releases the memory."""
    own = testing.Writable([1.0, 2.0])

    def body():
        first = Tensor.from_dlpack(own)
        second = Tensor.from_dlpack(first)
        del first
        assert second.tolist() == [1.0, 2.0]

    check_leaks(body)


def test_copies():
    """Requested with `copy=True`."""
    np = require("numpy")
    array = np.arange(3)
    tensor = Tensor.from_dlpack(array, copy=True)
    assert tensor.data_ptr != array.ctypes.data and tensor.tolist() == [0, 1, 2]


def test_what_has_no_other_layout():
    """An imported tensor cannot be given other strides."""
    with pytest.raises(ValueError, match="its own memory"):
        Tensor.from_dlpack(testing.Writable([1.0])).as_strided([1], [1])
