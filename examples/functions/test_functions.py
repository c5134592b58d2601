"""What Python users of the module rely on. Run by `cargo xtask example functions`."""

import pydoc
import sys

import array_functions
import numpy as np
import pytest


def test_help_shows_dtype_and_shape():
    text = pydoc.plain(pydoc.render_doc(array_functions.row_norms))
    assert "row_norms(matrix: float32[rows, columns]) -> float32[rows]" in text


def test_row_norms():
    matrix = np.array([[3, 4], [6, 8], [0, 0]], np.float32)
    for layout in [matrix, np.asfortranarray(matrix), matrix[::-1][::-1]]:
        norms = array_functions.row_norms(layout)
        assert type(norms) is np.ndarray
        assert norms.tolist() == [5, 10, 0]
    assert array_functions.row_norms(np.zeros((2, 0), np.float32)).tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clamp_changes_the_array_of_the_caller(dtype):
    array = np.arange(12, dtype=dtype).reshape(3, 4)
    array_functions.clamp(array[:, ::2], 2, 8)
    assert array.tolist() == [[2, 1, 2, 3], [4, 5, 6, 7], [8, 9, 8, 11]]


def test_clamp_limits_values_as_numpy_does():
    values = np.array([np.nan, -np.inf, -1, 0.5, 2, np.inf], np.float32)
    for low, high in [(0, 1), (1, 0)]:
        array = values.copy()
        array_functions.clamp(array, low, high)
        np.testing.assert_array_equal(array, np.clip(values, low, high))


def test_normalized_returns_a_new_matrix():
    matrix = np.array([[3, 4], [0, 0]], np.float32)
    result = array_functions.normalized(matrix)
    np.testing.assert_allclose(result, [[0.6, 0.8], [0, 0]], rtol=1e-6)
    assert result.flags.writeable
    assert matrix.tolist() == [[3, 4], [0, 0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 0, 4), (2, 3, 4)])
def test_transposed_is_a_view_of_a_copy(dtype, shape):
    array = np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)
    result = array_functions.transposed(array)
    np.testing.assert_array_equal(result, array.T, strict=True)
    assert result.flags.writeable and not np.shares_memory(result, array)
    assert result.flags.f_contiguous


def test_pytorch_gets_tensors():
    torch = pytest.importorskip("torch")
    matrix = torch.tensor([[3.0, 4.0], [6.0, 8.0]])
    norms = array_functions.row_norms(matrix.T.contiguous().T)
    assert torch.equal(norms, torch.tensor([5.0, 10.0]))
    assert type(array_functions.normalized(matrix)) is torch.Tensor
    assert torch.equal(array_functions.transposed(matrix), matrix.T)
    array_functions.clamp(matrix, 4, 6)
    assert matrix.tolist() == [[4, 4], [6, 6]]


@pytest.mark.parametrize(
    "wrong, exception, message",
    [
        (np.zeros((2, 2)), TypeError, "expected float32, got float64"),
        (np.zeros(2, np.float32), ValueError, "expected 2 dimensions, got 1"),
        ([[1.0]], TypeError, "list"),
    ],
)
def test_other_arguments_raise(wrong, exception, message):
    for function in [array_functions.row_norms, array_functions.normalized]:
        with pytest.raises(exception, match=message):
            function(wrong)


def test_read_only_arrays_are_not_changed():
    array = np.zeros(2)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        array_functions.clamp(array, 1, 2)
    assert array.tolist() == [0, 0]
    with pytest.raises(TypeError) as raised:
        array_functions.clamp(np.zeros(2, np.int64), 1, 2)
    assert str(raised.value).startswith(
        "argument 'array': expected float32 or float64, got int64; the function changes the "
        "tensor in place, so keep the converted copy; convert with `.astype('float64')`"
    )


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
