"""Functions of Rust as operators of PyTorch."""

import row_kernels
import torch
from torch import Tensor


@torch.library.custom_op("rows::norms", mutates_args=(), device_types="cpu")
def norms(matrix: Tensor) -> Tensor:
    """The Euclidean norm of each row."""
    return row_kernels.row_norms(matrix)


@norms.register_fake
def _(matrix):
    return matrix.new_empty(matrix.shape[:1])


@torch.library.custom_op("rows::norms_backward", mutates_args=(), device_types="cpu")
def norms_backward(matrix: Tensor, norms: Tensor, gradient: Tensor) -> Tensor:
    return row_kernels.row_norms_backward(matrix, norms, gradient)


@norms_backward.register_fake
def _(matrix, norms, gradient):
    # Contiguous, as the result of Rust is; `empty_like` would keep the order of the matrix.
    return matrix.new_empty(matrix.shape)


def save(ctx, inputs, output):
    ctx.save_for_backward(inputs[0], output)


def backward(ctx, gradient):
    return norms_backward(*ctx.saved_tensors, gradient)


norms.register_autograd(backward, setup_context=save)


@torch.library.custom_op("rows::normalize_", mutates_args={"matrix"}, device_types="cpu")
def normalize_(matrix: Tensor) -> None:
    """Divides each row by its norm, in place."""
    row_kernels.normalize_rows(matrix)


class RowNorms(torch.autograd.Function):
    """The same where the function is not an operator, for programs that are not compiled."""

    @staticmethod
    def forward(ctx, matrix):
        result = row_kernels.row_norms(matrix)
        ctx.save_for_backward(matrix, result)
        return result

    @staticmethod
    def backward(ctx, gradient):
        # The operator has no gradient, so a second derivative raises. With the function of Rust it
        # would be 0, also under `once_differentiable`, which does not see the saved tensors.
        return norms_backward(*ctx.saved_tensors, gradient)
