"""The functions as Python's `tvm_ffi` calls them. Run by `cargo xtask example tvm-ffi`."""

import sys

import numpy as np
import pytest
import tvm_ffi

LIBRARIES = {"tvm_ffi": tvm_ffi.from_dlpack, "numpy": lambda array: array}
try:
    import torch
except ImportError:
    pass  # the example's own environment has no PyTorch
else:
    LIBRARIES["torch"] = torch.from_dlpack

each_library = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)


@pytest.fixture(scope="session")
def module():
    return tvm_ffi.load_module(sys.argv[1])


def array(count=4, dtype="float32"):
    return np.arange(3 * count, dtype=dtype).reshape(count, 3)


@each_library
def test_an_argument_of_any_library_in_any_layout(module, library):
    for points in [array(), np.asfortranarray(array()), array(8)[::2]]:
        result = module.centroid(library(points))
        np.testing.assert_array_equal(np.from_dlpack(result), points.mean(axis=0))


@each_library
def test_in_place(module, library):
    points = array(8)
    module.scale(library(points[::2]), 0.5)
    expected = array(8)
    expected[::2] /= 2
    np.testing.assert_array_equal(points, expected)


@each_library
def test_a_part_of_the_argument_is_the_same_memory(module, library):
    points = array()
    part = np.from_dlpack(module.rows(library(points), 1, 3))
    assert part.shape == (2, 3) and np.shares_memory(part, points)
    points[1, 0] = 100
    expected = points[1:3].copy()
    del points
    np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize(
    "points, error, message",
    [
        (array(dtype="float64"), TypeError, "`Points`: expected float32, got float64"),
        (array().reshape(6, 2), ValueError, "`Points`: expected dimension 1 to be 3, got 2"),
        (array().ravel(), ValueError, "`Points`: expected 2 dimensions, got 1"),
        ("text", TypeError, "Cannot convert from type .* to `ffi.Tensor`"),
    ],
)
def test_errors_are_exceptions(module, points, error, message):
    with pytest.raises(error, match=message):
        module.centroid(points)


def test_other_errors_are_exceptions(module):
    with pytest.raises(ValueError, match="5"):
        module.rows(array(), 1, 5)
    with pytest.raises(ValueError, match="expected an index"):
        module.rows(array(), -1, 5)
    with pytest.raises(RuntimeError, match="panicked: as intended"):
        module.panics()


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
