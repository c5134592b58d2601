"""The consumers, each with its functions to read an array's address, layout and elements,
and the tables of the expected outcome for each tensor."""

import ctypes

import pytest
from conftest import require


class NumPy:
    def __init__(self):
        self.module = require("numpy")

    def take(self, producer, **keywords):
        return self.module.from_dlpack(producer, **keywords)

    def address(self, array):
        return array.ctypes.data

    def dtype(self, array):
        return str(array.dtype)

    def shape(self, array):
        return array.shape

    def strides(self, array):
        return tuple(stride // array.itemsize for stride in array.strides)

    def values(self, array):
        return array.tolist()


class Torch:
    def __init__(self):
        self.module = require("torch")

    def take(self, producer, **keywords):
        return self.module.from_dlpack(producer, **keywords)

    def address(self, tensor):
        return tensor.data_ptr()

    def dtype(self, tensor):
        return str(tensor.dtype).removeprefix("torch.")

    def shape(self, tensor):
        return tuple(tensor.shape)

    def strides(self, tensor):
        return tensor.stride()

    def values(self, tensor):
        torch = self.module
        if tensor.dtype is torch.float4_e2m1fn_x2:
            return None  # PyTorch cannot convert these types
        if tensor.is_complex():
            return tensor.to(torch.complex128).tolist()
        if tensor.is_floating_point():
            return tensor.to(torch.float64).tolist()
        return tensor.tolist()


class Jax:
    def __init__(self):
        self.module = require("jax")

    def take(self, producer, **keywords):
        return self.module.dlpack.from_dlpack(producer, **keywords)

    def address(self, array):
        return array.unsafe_buffer_pointer()

    def dtype(self, array):
        return str(array.dtype)

    def shape(self, array):
        return array.shape

    def strides(self, array):
        return None  # JAX does not expose strides

    def values(self, array):
        array = require("numpy").asarray(array)
        small_float = array.dtype.kind in "fV"
        return array.astype("float64").tolist() if small_float else array.tolist()


class TvmFfi:
    # Types without a name in `dtype`: reading the attribute raises ValueError.
    NAMELESS = ("complex32", "bcomplex32", "complex64", "complex128")

    def __init__(self):
        self.module = require("tvm_ffi")

    def take(self, producer, **keywords):
        return self.module.from_dlpack(producer, **keywords)

    def address(self, tensor):
        return tensor.data_ptr()

    def dtype(self, tensor):
        return str(tensor.dtype)

    def shape(self, tensor):
        return tuple(tensor.shape)

    def strides(self, tensor):
        return tuple(tensor.strides)

    def values(self, tensor):
        return None  # a container, which does not read elements


ALL = {"numpy": NumPy, "torch": Torch, "jax": Jax, "tvm_ffi": TvmFfi}


def get(name):
    """A consumer by its name; skips or fails the test if it is not installed."""
    return ALL[name]()


def memory(address, length):
    """Bytes at an address that a consumer reports."""
    return ctypes.string_at(address, length) if length else b""


def table(text):
    """The cells of a table as (name of the row, consumer, outcome)."""
    cells = []
    header, *rows = [line.strip() for line in text.strip().splitlines()]
    assert header.split()[1:] == list(ALL)
    for row in rows:
        name, *outcomes = row.rsplit(maxsplit=len(ALL))
        cells += [(name.strip(), *cell) for cell in zip(ALL, outcomes, strict=True)]
    return cells


def copied_if_read_only(consumer, outcome):
    """The expected outcome for a read-only tensor. JAX requests the legacy capsule, which
    has no read-only flag, so it gets a row-major copy, which also normalizes the strides.
    """
    return "copy" if consumer == "jax" and outcome != "none" else outcome


def attempt(consumer, tensor, outcome):
    """Imports the tensor; returns None if the import is rejected as expected."""
    if outcome in ("same", "copy", "none"):
        return consumer.take(tensor)
    tensor.__dlpack__(max_version=(1, 0))  # the export itself must succeed
    with pytest.raises(Exception) as refusal:
        consumer.take(tensor)
    assert type(refusal.value).__name__ == outcome
    return None


def check_place(consumer, array, tensor, outcome):
    """Checks whether the array and the tensor have the same address."""
    if outcome == "same":
        assert consumer.address(array) == tensor.data_ptr
    elif outcome == "copy":
        assert consumer.address(array) != tensor.data_ptr
