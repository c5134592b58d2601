"""The importers of the libraries, by name: `importers:numpy` for the tool. Each is
imported when it is asked for, so that a process holds one."""

import importlib
import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def _numpy():
    return importlib.import_module("numpy").from_dlpack


def _torch():
    return importlib.import_module("torch").from_dlpack


def _jax():
    jax = importlib.import_module("jax")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.from_dlpack


def _tvm_ffi():
    return importlib.import_module("tvm_ffi").from_dlpack


def _array_api_strict():
    return importlib.import_module("array_api_strict").from_dlpack


def _nanobind():
    sys.path.append(str(FOLDER.parent / "matrix"))
    return importlib.import_module("nanobind_peer").load().echo


def _mlx():
    return importlib.import_module("mlx.core").array


def _paddle():
    return importlib.import_module("paddle").from_dlpack


def _tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    dlpack = importlib.import_module("tensorflow").experimental.dlpack
    # It takes capsules only.
    return lambda tensor: dlpack.from_dlpack(tensor.__dlpack__())


def _dpnp():
    runtime = os.path.join(sys.prefix, "lib", "libintelocl.so")
    os.environ.setdefault("OCL_ICD_FILENAMES", runtime)
    return importlib.import_module("dpnp").from_dlpack


def _ours():
    return importlib.import_module("dlpack_example").from_dlpack


# The name of each, the package that has its version, and the function in words.
IMPORTERS = {
    "ours": (_ours, None, "`dlpack_example.from_dlpack`"),
    "numpy": (_numpy, "numpy", "`numpy.from_dlpack`"),
    "torch": (_torch, "torch", "`torch.from_dlpack`"),
    "jax": (_jax, "jax", "`jax.numpy.from_dlpack`"),
    "tvm_ffi": (_tvm_ffi, "apache-tvm-ffi", "`tvm_ffi.from_dlpack`"),
    "nanobind": (_nanobind, "nanobind", "an argument `nb::ndarray<>`, returned"),
    "array_api_strict": (
        _array_api_strict,
        "array-api-strict",
        "`array_api_strict.from_dlpack`",
    ),
    "mlx": (_mlx, "mlx", "`mlx.core.array`"),
    "paddle": (_paddle, "paddlepaddle", "`paddle.from_dlpack`"),
    "tensorflow": (
        _tensorflow,
        "tensorflow-cpu",
        "`tf.experimental.dlpack.from_dlpack` of `x.__dlpack__()`",
    ),
    "dpnp": (_dpnp, "dpnp", "`dpnp.from_dlpack`"),
}


def __getattr__(name):
    if name in IMPORTERS:
        return IMPORTERS[name][0]()
    raise AttributeError(name)
