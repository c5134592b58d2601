"""What JAX users of the library rely on. Run by `cargo xtask example jax-ffi`."""

import ctypes
import shutil
import subprocess
import sys

import handlers
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from handlers import rms_norm

jax.config.update("jax_enable_x64", True)


def expected(x, eps=1e-5):
    return x / jnp.sqrt(jnp.mean(x.astype("float64") ** 2, axis=-1, keepdims=True) + eps)


def values(shape, dtype="float32"):
    return jnp.arange(1, 1 + np.prod(shape, dtype=int), dtype=dtype).reshape(shape)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5,), (4, 3), (2, 3, 4), (0, 3), (1, 100_000)])
def test_jit(shape, dtype):
    x = values(shape, dtype)
    for function in [rms_norm, jax.jit(rms_norm)]:
        result = function(x)
        assert (result.dtype, result.shape) == (x.dtype, x.shape)
        np.testing.assert_allclose(result, expected(x), rtol=1e-6)


def test_as_a_part_of_a_program():
    """XLA converts the layout of a transposed argument, and fuses the operations around the call."""
    x = values((4, 3))
    result = jax.jit(lambda x, eps=0.5: rms_norm(jnp.sin(x).T, eps).sum(axis=0))(x)
    np.testing.assert_allclose(result, expected(jnp.sin(x).T, 0.5).sum(axis=0), rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_vmap(axis):
    x = values((4, 3, 5))
    result = jax.jit(jax.vmap(rms_norm, in_axes=axis, out_axes=axis))(x)
    np.testing.assert_allclose(result, expected(x), rtol=1e-6)


def test_many_threads():
    """XLA calls the handler on threads of its own, for parts of a program that it runs in parallel."""
    parts = [values((50, 40)) + number for number in range(16)]
    for result, part in zip(jax.jit(lambda parts: [rms_norm(x) for x in parts])(parts), parts):
        np.testing.assert_allclose(result, expected(part), rtol=1e-6)


def call(*arguments, shape=(4, 3), dtype="float32", name="rms_norm", **attributes):
    options = {"input_output_aliases": attributes.pop("aliases", None)}
    function = jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(shape, dtype), **options)
    return jax.block_until_ready(jax.jit(lambda *x: function(*x, **attributes))(*arguments))


EPS = np.float32(0)


@pytest.mark.parametrize(
    "arguments, keywords, message",
    [
        ([values((4, 3), "int32")], {"eps": EPS}, "argument 0: expected float32 or float64, got int32"),
        ([values(())], {"shape": (), "eps": EPS}, "argument 0: expected at least 1 dimension, got 0"),
        ([values((4, 3))], {"dtype": "float64", "eps": EPS}, "result 0: expected float32 elements, got float64"),
        ([values((4, 3))], {"shape": (3, 4), "eps": EPS}, "result 0: .*shape"),
        ([values((4, 3))] * 2, {"eps": EPS}, "expected 1 arguments, got 2"),
        ([jnp.ones((4, 3), "int4")], {"eps": EPS}, "argument 0: XLA's type 21 is not supported"),
        ([values((4, 3))], {}, "attribute `eps`: missing"),
        ([values((4, 3))], {"eps": 1}, "attribute `eps`: expected float32 or float64"),
        ([values((4, 3))], {"eps": EPS, "aliases": {0: 0}}, "result 0 shares memory with a buffer"),
        ([], {"name": "panics"}, "panic in Rust: as intended"),
    ],
)
def test_errors_are_exceptions(arguments, keywords, message):
    with pytest.raises(jax.errors.JaxRuntimeError, match=message):
        call(*arguments, **keywords)
    np.testing.assert_array_equal(rms_norm(jnp.ones(3), 0), [1, 1, 1], "and the next call works")


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_the_header_has_the_same_interface(tmp_path):
    handlers.library.abi_assertions.restype = ctypes.c_char_p
    program = tmp_path / "abi.c"
    program.write_bytes(handlers.library.abi_assertions())
    assert program.read_text().count("_Static_assert") > 100
    command = ["cc", "-fsyntax-only", "-I", jax.ffi.include_dir(), program]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    # pytest imports this file again, and `handlers` once.
    handlers.library = handlers.register(sys.argv[1])
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
