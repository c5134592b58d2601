# pyright: strict
"""Calls that a type checker accepts in strict mode."""

from typing import Any

import array_functions
import numpy as np
from numpy.typing import NDArray


class Tensor:
    """An array of another library."""

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        raise NotImplementedError

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Array:
    """An array of JAX, as its stub declares it."""

    def __dlpack__(self) -> Any:
        raise NotImplementedError


def of_any_dtype(mask: NDArray[np.bool_], array: Array) -> Array:
    selected: NDArray[np.bool_] = array_functions.transposed(mask)
    print(array_functions.largest(array), array_functions.largest(selected))
    return array_functions.transposed(array)


def arrays(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    array_functions.clamp(matrix, 0, 0.5)
    array_functions.clamp(array=matrix[:, ::2], low=0, high=1)
    norms: NDArray[np.float32] = array_functions.row_norms(matrix.T)
    indexes: NDArray[np.int64] = array_functions.transposed(np.zeros((2, 3), np.int64))
    finite: NDArray[np.bool_] = array_functions.is_finite(norms)
    lengths = array_functions.hypot(matrix, 1)
    print(norms.sum(), indexes.shape, finite, lengths)
    return array_functions.normalized(matrix=matrix)


def tensors(tensor: Tensor) -> Tensor:
    array_functions.clamp(tensor, 0, 1)
    norms: Tensor = array_functions.row_norms(array_functions.transposed(tensor))
    sums: Tensor = array_functions.axpy(object(), 2, norms, norms)
    print(sums)
    return array_functions.normalized(norms)
