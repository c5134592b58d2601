"""Functions that return arrays: the library, the memory, and who frees it."""

import copy
import gc
import importlib

import dlpack_testing as testing
import pytest
from conftest import check_leaks, is_there, require, run_in_a_new_process
from dlpack_testing import Writable, results

require("numpy")
import numpy as np


class Subclass(np.ndarray):
    """A subclass of a NumPy array."""


def address_of(array):
    return array.__array_interface__["data"][0]


def test_a_numpy_array_has_the_memory_of_rust():
    array, address = results.numpy_matrix((2, 3))
    assert type(array) is np.ndarray
    assert address_of(array) == address
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert array.flags.writeable and array.flags.c_contiguous
    array[1, 2] = 7
    assert array[1].tolist() == [3, 4, 7]
    assert results.wrapped_matrix((2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1)])
def test_small_results(shape):
    assert results.numpy_matrix(shape)[0].shape == shape
    assert results.wrapped_matrix(shape).shape == shape


def test_a_vector_with_a_shape():
    assert results.shaped([1, 2, 3, 4], [2, 2]).tolist() == [[1, 2], [3, 4]]
    assert results.shaped([2.5], []).shape == ()
    assert results.shaped([], [0, 3]).shape == (0, 3)
    for shape in [[3], [5], [2, 3]]:
        with pytest.raises(ValueError, match="got 4"):
            results.shaped([1, 2, 3, 4], shape)
    for shape in [[-4], [1 << 62, 1 << 62]]:
        with pytest.raises(ValueError):
            results.shaped([1, 2, 3, 4], shape)


LIKE_NUMPY = {
    "an array": lambda: np.zeros(1),
    "a subclass": lambda: np.zeros(1).view(Subclass),
    "a memory map's class": lambda: np.memmap,
    "the class": lambda: np.ndarray,
    "a capsule": lambda: np.zeros(1).__dlpack__(),
    "an object without a library": object,
    "a list": list,
    "a class of this crate": lambda: Writable([1.0]),
}


@pytest.mark.parametrize("like", LIKE_NUMPY)
def test_numpy_makes_the_results_for_its_arguments(like):
    array, address = results.matrix_like(LIKE_NUMPY[like](), (2, 3))
    assert type(array) is np.ndarray
    assert (address_of(array), array.flags.writeable) == (address, True)
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_array_namespace_makes_the_results():
    made = []

    class Namespace:
        @staticmethod
        def from_dlpack(tensor):
            made.append(np.from_dlpack(tensor))
            return "made"

    class Array:
        def __array_namespace__(self):
            return Namespace

    assert results.matrix_like(Array(), (1, 2))[0] == "made"
    assert made[0].tolist() == [[0, 1]]
    # A cache of types keeps the classes, which must not keep the memory: a class of a later
    # test would release it while that test counts.
    made.clear()


def test_row_norms():
    matrix = np.array([[3, 4], [6, 8], [0, 0]], "f4")
    assert results.row_norms(matrix).tolist() == [5, 10, 0]
    assert results.row_norms(np.asfortranarray(matrix)).tolist() == [5, 10, 0]
    assert results.row_norms(np.zeros((3, 0), "f4")).tolist() == [0, 0, 0]
    assert results.row_norms(np.zeros((0, 3), "f4")).shape == (0,)


def test_an_allocated_output_is_returned_without_a_copy():
    for values in [np.arange(6, dtype="f4").reshape(2, 3), np.float32(3) * np.ones(())]:
        values = np.asarray(values, "f4")
        result, address = results.halved(values)
        assert (type(result), result.shape) == (np.ndarray, values.shape)
        assert (address_of(result), address % 64) == (address, 0)
        assert result.flags.writeable
        assert result.tolist() == (values / 2).tolist()
    assert results.allocated_and_dropped(np.zeros(1), [2, 3]) == [2, 3]
    for shape in [[-1], [1 << 62, 1 << 62]]:
        with pytest.raises(ValueError):
            results.allocated_and_dropped(np.zeros(1), shape)
    with pytest.raises(MemoryError):
        results.allocated_and_dropped(np.zeros(1), [1 << 62])


def test_results_of_bools_are_writable():
    for mask in results.positive(np.array([1, -1, 2], "f4")):
        assert (mask.dtype, mask.tolist()) == (np.bool_, [True, False, True])
        mask[0] = False
        mask &= np.array([True, True, False])
        assert mask.tolist() == [False, False, False]


def test_a_result_without_dimensions():
    result = results.scalar(2.5)
    assert (result.shape, float(result)) == ((), 2.5)


def test_attributes_that_are_shared_tensors_keep_changes():
    mesh = results.Mesh(4)
    assert (mesh.vertices.shape, mesh.faces.tolist()) == ((4, 3), [[0, 1, 2]])
    mesh.vertices[3] = [1, 2, 3]
    mesh.vertices[0, 0] += 0.5
    assert mesh.sum() == 6.5
    vertices = mesh.vertices
    assert np.shares_memory(vertices, mesh.vertices)
    assert address_of(vertices) % 64 == 0
    del mesh
    gc.collect()
    assert vertices[3].tolist() == [1, 2, 3]


def test_memory_is_freed_once_and_with_the_last_array():
    # Tracebacks of tests before this one may hold tensors.
    gc.collect()
    before = testing.live()
    array, _ = results.numpy_matrix((2, 3))
    row = array[1]
    del array
    gc.collect()
    assert testing.live() == before + 1
    assert row.tolist() == [3, 4, 5]
    del row
    gc.collect()
    assert testing.live() == before


def test_nothing_is_left_when_a_library_fails():
    class Broken:
        def __array_namespace__(self):
            raise RuntimeError("no namespace")

    class Refusing:
        class Namespace:
            @staticmethod
            def from_dlpack(tensor):
                raise ValueError("not this one")

        def __array_namespace__(self):
            return self.Namespace

    def body():
        with pytest.raises(RuntimeError, match="no namespace"):
            results.matrix_like(Broken(), (2, 3))
        with pytest.raises(ValueError, match="not this one"):
            results.matrix_like(Refusing(), (2, 3))
        with pytest.raises((BufferError, RuntimeError)):
            results.with_lanes(np.zeros(1))
        results.matrix_like(np.zeros(1), (2, 3))
        results.wrapped_matrix((2, 3))
        results.halved(np.zeros(2, "f4"))
        results.allocated_and_dropped(np.zeros(1), [2])

    check_leaks(body)


def test_the_error_of_a_library_is_raised():
    """Another library does not make the result instead."""
    tvm_ffi = require("tvm_ffi")
    like = tvm_ffi.from_dlpack(np.zeros(1, "f4"))
    assert type(results.matrix_like(like, (2, 3))[0]) is tvm_ffi.Tensor

    class Strict:
        """A class whose table rejects tensors."""

        __dlpack_c_exchange_api__ = testing.scripted_table()

    testing.script(status=-1, raises="BufferError")
    gc.collect()
    before = testing.live()
    for module, expected in [("no_such_module", np.ndarray), ("tvm_ffi", BufferError)]:
        Strict.__module__ = module
        if expected is BufferError:
            with pytest.raises(BufferError, match="of the table"):
                results.matrix_like(Strict, (2, 3))
        else:
            assert type(results.matrix_like(Strict, (2, 3))[0]) is expected
    gc.collect()
    assert testing.live() == before


def test_an_error_of_numpy_has_that_of_the_class_as_its_cause():
    namespace = {"__dlpack_c_exchange_api__": testing.scripted_table()}
    testing.script(status=-1, raises="ValueError")
    with pytest.raises((BufferError, RuntimeError)) as raised:
        results.with_lanes(type("Strict", (), namespace))
    assert isinstance(raised.value.__cause__, ValueError)


def test_without_numpy_the_error_names_it():
    """In a process of its own: the module keeps NumPy from its first use on."""
    run_in_a_new_process(
        "import sys\n"
        "sys.modules['numpy'] = None\n"
        "from dlpack_testing import results\n"
        "for _ in range(2):\n"
        "    try:\n"
        "        results.wrapped_matrix((2, 3))\n"
        "    except ImportError as error:\n"
        "        assert 'numpy' in str(error)\n"
        "    else:\n"
        "        sys.exit(3)\n"
    )


def offered():
    """The object that a `from_dlpack` gets."""

    class Array:
        def __array_namespace__(self):
            return self

        @staticmethod
        def from_dlpack(tensor):
            return tensor

    return results.matrix_like(Array(), (2, 3))


def test_the_object_that_a_library_gets_has_the_protocol_only():
    gc.collect()
    before = testing.live()
    tensor, address = offered()
    assert tensor.__dlpack_device__() == (1, 0)
    arrays = [np.from_dlpack(tensor) for _ in range(2)]
    assert {address_of(array) for array in arrays} == {address}
    copied = np.from_dlpack(tensor, copy=True)
    assert address_of(copied) != address and copied.tolist() == arrays[0].tolist()
    assert "dltensor_versioned" in repr(tensor.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(tensor.__dlpack__(stream=None))
    with pytest.raises(TypeError, match="no positional arguments"):
        tensor.__dlpack__(None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        tensor.__dlpack__(other=1)
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(2, 0))
    del tensor
    assert testing.live() == before + 1
    del arrays
    gc.collect()
    assert testing.live() == before


def test_the_type_of_that_object_makes_no_others():
    tensor, _ = offered()
    kind = type(tensor)
    assert kind is type(offered()[0])
    for make in [kind, lambda: object.__new__(kind), lambda: copy.copy(tensor)]:
        with pytest.raises(TypeError):
            make()
    with pytest.raises(TypeError):
        type("Subclass", (kind,), {})
    for other in [np.zeros(1), object(), kind]:
        with pytest.raises(TypeError):
            kind.__dlpack__(other)
        with pytest.raises(TypeError):
            kind.__dlpack_device__(other)
    with pytest.raises(TypeError):
        type("Slots", (), {"__slots__": "a"})().__class__ = kind

    def body():
        tensor, _ = offered()
        np.from_dlpack(tensor)
        capsule = tensor.__dlpack__(max_version=(1, 0))
        del tensor, capsule

    check_leaks(body)


def test_pytorch_makes_the_results_for_its_arguments():
    require("torch")
    import torch

    class Mine(torch.Tensor):
        """A subclass."""

    for like in [
        torch.zeros(1),
        torch.nn.Parameter(torch.zeros(1)),
        torch.zeros(1).as_subclass(Mine),
        torch.Tensor,
    ]:
        tensor, address = results.matrix_like(like, (2, 3))
        assert (type(tensor), tensor.data_ptr()) == (torch.Tensor, address)
        tensor[1, 2] = 7
        assert tensor.tolist() == [[0, 1, 2], [3, 4, 7]]
    matrix = torch.tensor([[3.0, 4.0], [6.0, 8.0]])
    assert torch.equal(results.row_norms(matrix), torch.tensor([5.0, 10.0]))
    result, address = results.halved(matrix.T)
    assert (type(result), result.data_ptr()) == (torch.Tensor, address)
    assert torch.equal(result, matrix.T / 2)

    def body():
        results.matrix_like(torch.Tensor, (2, 3))
        results.row_norms(matrix)

    check_leaks(body)
    before = testing.live()
    with pytest.raises((BufferError, RuntimeError)):
        results.with_lanes(matrix)
    assert testing.live() == before


def test_tvm_ffi_makes_the_results_for_its_arguments():
    tvm_ffi = require("tvm_ffi")
    array = np.arange(6, dtype="f4").reshape(2, 3)
    result, address = results.halved(tvm_ffi.from_dlpack(array))
    assert type(result) is tvm_ffi.Tensor
    assert address_of(np.from_dlpack(result)) == address
    assert np.from_dlpack(result).tolist() == (array / 2).tolist()


class Changing:
    """An array whose library changes what it takes."""

    def __array_namespace__(self):
        return self

    def from_dlpack(self, x):
        return self.change(np.from_dlpack(x))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda array: array.astype("f2"), "expected a result of float32, got one of float16"),
        (lambda array: array.astype("i4"), "expected a result of float32, got one of int32"),
        (lambda array: array.ravel(), r"shape \[2, 3\], got one of \[6\]"),
    ],
)
def test_a_library_that_changes_a_result_is_an_error(change, message):
    """The values would differ without a word. Rule X19."""
    like = Changing()
    like.change = change
    with pytest.raises(TypeError, match=message):
        results.matrix_like(like, (2, 3))
    for same in (lambda array: array, lambda array: "an object without a dtype"):
        like.change = same
        results.matrix_like(like, (2, 3))


def test_jax_without_64_bits_is_an_error():
    """It makes `int32` of `int64`; the message says how to change that. Rule X19."""
    require("jax")
    run_in_a_new_process(
        """if True:
        import dlpack_testing as testing, jax, jax.numpy as jnp
        try:
            testing.hand_to(jax.Array, "int64")
        except TypeError as error:
            assert "jax_enable_x64" in str(error) and "got one of int32" in str(error), error
        else:
            raise AssertionError
        assert testing.results.matrix_like(jnp.ones(1), (2, 3))[0].shape == (2, 3)
        assert testing.results.matrix_like(jnp, (2, 3))[0].shape == (2, 3)
        assert testing.results.matrix_like(jax, (2, 3))[0].shape == (2, 3)
        """
    )


def test_the_library_may_be_a_module():
    """Of arrays; other modules, `None` and text are errors. Rule X19."""
    assert type(results.matrix_like(np, (2, 3))[0]) is np.ndarray
    tvm_ffi = require("tvm_ffi")
    assert type(results.matrix_like(tvm_ffi, (2, 3))[0]) is tvm_ffi.Tensor
    for wrong in (None, "numpy", gc):
        with pytest.raises(TypeError, match="expected an array, a class of arrays, or a module"):
            results.matrix_like(wrong, (2, 3))


def test_reversed_results_are_copied_for_torch():
    """Which has no negative strides: PyTorch 2.12 ended the process."""
    torch = require("torch")
    array = np.arange(6, dtype="f4").reshape(2, 3)
    for view in (array[::-1], array[:, ::-1], array[::-1, ::-1], array[::-1].T, array[:1, ::-1]):
        for like in (torch.ones(1), torch.Tensor, torch):
            made = results.same_like(like, view)
            assert type(made) is torch.Tensor and made.tolist() == view.tolist()
    assert results.same_like(torch, array).data_ptr() == array.ctypes.data
    assert results.same_like(np, array[::-1]).strides == array[::-1].strides


def test_reversed_results_are_copied_for_other_libraries():
    """Paddle reads other memory for negative strides, JAX and MLX reject them."""
    array = np.arange(6, dtype="f4").reshape(2, 3)
    for name, make in [("jax", "jax.numpy"), ("paddle", "paddle"), ("mlx", "mlx.core")]:
        if not is_there(name):
            continue
        module = importlib.import_module(require(name) and make)
        ones = getattr(module, "ones")([1])
        for view in (array[::-1], array[:, ::-1], array[::-1].T):
            made = results.same_like(ones, view)
            assert type(made).__module__.split(".")[0] in (name, "jaxlib")
            assert np.asarray(made).tolist() == made.tolist() == view.tolist()


def test_results_for_an_array_of_pyarrow():
    """It has an array of one dimension, without `bool`; it raises for others."""
    pyarrow = require("pyarrow")
    like = pyarrow.array([1.0])
    made = results.same_like(like, np.arange(3, dtype="f4")[::-1])
    assert isinstance(made, pyarrow.FloatArray) and made.to_pylist() == [2, 1, 0]
    for refused in [np.ones((2, 2), "f4"), np.array([True]), np.ones(2, "c8")]:
        with pytest.raises(pyarrow.ArrowInvalid):
            results.same_like(like, refused)
