"""What PyTorch checks of an operator. Run by `cargo xtask example torch-operators`."""

import sys

import pytest
import row_kernels
import torch
from operators import RowNorms, normalize_, norms, norms_backward

LAYOUTS = {
    "contiguous": lambda matrix: matrix,
    "transposed": lambda matrix: matrix.T.contiguous().T,
    "every second row, reversed columns": lambda matrix: torch.cat([matrix.flip(1)] * 2)[::2],
    "expanded": lambda matrix: matrix[:1].expand(4, 3),
    "no columns": lambda matrix: matrix[:, :0],
}
# inductor compiles C++, for which other systems need more than their compiler. `aot_eager` traces
# the same graphs.
BACKENDS = ["aot_eager", "inductor"] if sys.platform == "linux" else ["aot_eager"]

each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
each_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
each_function = pytest.mark.parametrize(
    "function", [norms, RowNorms.apply], ids=["operator", "Function"]
)
each_backend = pytest.mark.parametrize("backend", BACKENDS)


@pytest.fixture(autouse=True)
def same_numbers():
    torch.manual_seed(0)
    torch.compiler.reset()


@each_dtype
@each_layout
def test_values(dtype, layout):
    matrix = layout(torch.randn(4, 3, dtype=dtype))
    expected = torch.linalg.vector_norm(matrix, dim=1)
    torch.testing.assert_close(norms(matrix), expected)
    torch.testing.assert_close(RowNorms.apply(matrix), expected)


@each_function
@pytest.mark.parametrize("layout", list(LAYOUTS.values())[:3], ids=list(LAYOUTS)[:3])
def test_gradient(function, layout):
    """Against finite differences, for which `gradcheck` needs float64 and a separate place for
    each element."""
    matrix = layout(torch.randn(4, 3, dtype=torch.float64)).requires_grad_()
    assert torch.autograd.gradcheck(function, (matrix,))


@each_function
def test_gradient_of_zeros(function):
    matrix = torch.zeros(2, 3, requires_grad=True)
    function(matrix).sum().backward()
    assert matrix.grad.tolist() == [[0, 0, 0]] * 2


@each_function
def test_second_derivatives_raise(function):
    """Also where another part of the loss has one: a missing term would be a wrong result."""
    matrix = torch.randn(4, 3, requires_grad=True)
    loss = function(matrix).sum() + matrix.pow(3).sum()
    (gradient,) = torch.autograd.grad(loss, matrix, create_graph=True)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        gradient.sum().backward()


@each_dtype
@each_layout
def test_operators_are_registered_correctly(dtype, layout):
    """The shapes of `register_fake`, the schema, and the gradient of a traced graph."""
    matrix = layout(torch.randn(4, 3, dtype=dtype))
    rows = torch.rand(matrix.shape[0], dtype=dtype)
    torch.library.opcheck(norms, (matrix.clone().requires_grad_(),))
    torch.library.opcheck(norms, (matrix.detach(),))
    torch.library.opcheck(norms_backward, (matrix, rows, rows))
    torch.library.opcheck(normalize_, (matrix.clone(),))


def loss(norms, matrix):
    """A function with other operators around: inductor compiles them to C++."""
    return (norms(matrix.sin()) * 2).square().sum()


@each_backend
def test_compiled(backend):
    """One graph, without a break, and with the gradient; also for another number of rows."""
    compiled = torch.compile(lambda matrix: loss(norms, matrix), backend=backend, fullgraph=True)
    expected = lambda matrix: torch.linalg.vector_norm(matrix, dim=1)
    for matrix in [torch.randn(4, 3), torch.randn(3, 5).T]:
        ours, theirs = (matrix.detach().requires_grad_() for _ in range(2))
        result, right = compiled(ours), loss(expected, theirs)
        torch.testing.assert_close(result, right)
        result.backward()
        right.backward()
        torch.testing.assert_close(ours.grad, theirs.grad)


@each_backend
def test_compiled_in_place(backend):
    """`mutates_args` orders the reads before and after the change."""

    def function(matrix):
        copy = matrix * 2
        before = copy.sum()
        normalize_(copy)
        return before, copy.sum(), copy

    matrix = torch.randn(4, 3)
    before, after, copy = torch.compile(function, backend=backend, fullgraph=True)(matrix)
    expected = torch.nn.functional.normalize(matrix, dim=1)
    torch.testing.assert_close(copy, expected)
    torch.testing.assert_close((before, after), ((matrix * 2).sum(), expected.sum()))


@each_backend
def test_compiled_function(backend):
    """A `Function` is called outside of the graphs; an operator is a part of them."""
    function = torch.compile(lambda matrix: loss(RowNorms.apply, matrix), backend=backend)
    ours, theirs = (torch.arange(12.0).reshape(4, 3).requires_grad_() for _ in range(2))
    with pytest.warns(UserWarning, match="does not know how to trace the builtin"):
        function(ours).backward()
    loss(norms, theirs).backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("compiled", [False, True])
def test_wrong_arguments_raise(compiled):
    function = torch.compile(norms, backend="aot_eager") if compiled else norms
    with pytest.raises(TypeError, match="argument 'matrix': expected float32 or float64, got int64"):
        function(torch.ones(4, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match="expected 2 dimensions, got 1"):
        function(torch.ones(4))


def test_functions_of_rust_are_invisible_to_autograd():
    matrix = torch.ones(4, 3, requires_grad=True)
    assert not row_kernels.row_norms(matrix).requires_grad
    with pytest.raises(ValueError, match="does not require a gradient"):
        normalize_(matrix)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
