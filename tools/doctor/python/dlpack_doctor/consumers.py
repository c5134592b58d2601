"""Libraries that are called on request, each as its users call it."""

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

Take = Callable[[Any], Any]


def _numpy() -> tuple[Any, Take]:
    module = importlib.import_module("numpy")
    return module, module.from_dlpack


def _torch() -> tuple[Any, Take]:
    module = importlib.import_module("torch")
    return module, module.from_dlpack


def _jax() -> tuple[Any, Take]:
    module = importlib.import_module("jax")
    module.config.update("jax_platforms", "cpu")
    module.config.update("jax_enable_x64", True)
    return module, module.dlpack.from_dlpack


def _tvm_ffi() -> tuple[Any, Take]:
    module = importlib.import_module("tvm_ffi")
    return module, module.from_dlpack


def _array_api_strict() -> tuple[Any, Take]:
    module = importlib.import_module("array_api_strict")
    return module, module.from_dlpack


def _pyarrow() -> tuple[Any, Take]:
    module = importlib.import_module("pyarrow")
    return module, module.Tensor.from_dlpack


def _onnxruntime() -> tuple[Any, Take]:
    module = importlib.import_module("onnxruntime")
    return module, module.OrtValue.from_dlpack


def _cuda_core() -> tuple[Any, Take]:
    module = importlib.import_module("cuda.core.utils")

    def take(tensor: Any) -> Any:
        view = module.StridedMemoryView.from_dlpack(tensor, stream_ptr=-1)
        # It rejects an element type when this is read first.
        view.dtype  # noqa: B018
        return view

    return module, take


def _warp() -> tuple[Any, Take]:
    module = importlib.import_module("warp")
    module.config.quiet = True
    module.init()
    return module, module.from_dlpack


def _mlx() -> tuple[Any, Take]:
    module = importlib.import_module("mlx.core")
    return module, module.from_dlpack


def _paddle() -> tuple[Any, Take]:
    module = importlib.import_module("paddle")
    return module, module.from_dlpack


def _tensorflow() -> tuple[Any, Take]:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    module = importlib.import_module("tensorflow")
    # It accepts bare capsules only.
    take = module.experimental.dlpack.from_dlpack
    return module, lambda tensor: take(tensor.__dlpack__())


def _dpnp() -> tuple[Any, Take]:
    # The loader does not find a runtime that pip installed.
    runtime = os.path.join(sys.prefix, "lib", "libintelocl.so")
    if os.path.exists(runtime):
        os.environ.setdefault("OCL_ICD_FILENAMES", runtime)
    module = importlib.import_module("dpnp")
    return module, module.from_dlpack


def is_there(name: str) -> bool:
    """Whether a library is installed, and the package that it is in."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


TAKES: dict[str, Callable[[], tuple[Any, Take]]] = {
    "numpy": _numpy,
    "torch": _torch,
    "jax": _jax,
    "tvm_ffi": _tvm_ffi,
    "array_api_strict": _array_api_strict,
    "pyarrow": _pyarrow,
    "onnxruntime": _onnxruntime,
    "cuda.core": _cuda_core,
    "warp": _warp,
    "mlx": _mlx,
    "paddle": _paddle,
    "tensorflow": _tensorflow,
    "dpnp": _dpnp,
}


def use(name: str, module: Any, made: Any) -> None:
    """Computes with the imported tensor, for consumers in which that may end the process.
    """
    if name == "tensorflow":
        module.equal(made, made).numpy()
