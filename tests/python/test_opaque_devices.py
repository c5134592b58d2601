"""Devices that have no runtime here: what a tensor says of itself survives our
import and export, and libraries that take any device.

`data` is a handle there. Nothing is added to it, whatever the offset.
"""

import sys
from pathlib import Path

import pytest
from conftest import nothing_left, require
from dlpack_structs import Tensor
from dlpack_testing import Anything, OnDevice

# The standard's numbers; those from 19 on are of the header's main branch.
KINDS = {
    "vulkan": 7,
    "metal": 8,
    "vpi": 9,
    "webgpu": 15,
    "hexagon": 16,
    "maia": 17,
    "trn": 18,
    "tpu": 19,
    "tpu_host": 20,
    "ascend": 21,
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
offsets = pytest.mark.parametrize("byte_offset", [0, 8])


def facts(tensor):
    """Whatever a consumer goes by."""
    struct = Tensor(tensor.__dlpack__(max_version=(1, 3)))
    return (
        *(struct.device, struct.data, struct.byte_offset, struct.dtype, struct.shape),
        struct.strides,
    )


def expected(kind, device_id, byte_offset, tensor):
    """The exported fields, as the producer reports them."""
    shape = (6 - byte_offset // 4,)
    device = (kind, device_id)
    return (device, tensor.data_ptr, byte_offset, (2, 32, 1), shape, (1,))


@kinds
@offsets
def test_an_import_exports_what_it_took(kind, byte_offset):
    """Device, index, handle and offset are those of the producer."""
    tensor = OnDevice(kind, 3, byte_offset, writable=True)
    assert tensor.__dlpack_device__() == (kind, 3)
    assert facts(tensor) == expected(kind, 3, byte_offset, tensor)
    ours = Anything.from_dlpack(tensor)
    assert ours.__dlpack_device__() == (kind, 3)
    assert facts(ours) == expected(kind, 3, byte_offset, tensor)


@kinds
@offsets
def test_a_round_through_tvm_ffi(kind, byte_offset):
    """From us to tvm-ffi, and from it to us."""
    tvm_ffi = require("tvm_ffi")
    tensor = OnDevice(kind, 1, byte_offset, writable=True)
    peer = tvm_ffi.from_dlpack(Anything.from_dlpack(tensor))
    assert (peer.device.dlpack_device_type(), peer.device.index) == (kind, 1)
    back = Anything.from_dlpack(peer)
    assert facts(back) == expected(kind, 1, byte_offset, tensor)


@kinds
@offsets
def test_a_round_through_nanobind(kind, byte_offset):
    """From us to a function of nanobind that takes any array, and back."""
    require("nanobind")
    sys.path.insert(1, str(Path(__file__).resolve().parent / "matrix"))
    peer = __import__("nanobind_peer").load()
    tensor = OnDevice(kind, 2, byte_offset, writable=True)
    back = Anything.from_dlpack(peer.echo(Anything.from_dlpack(tensor)))
    assert facts(back) == expected(kind, 2, byte_offset, tensor)


@kinds
def test_the_host_reads_nothing(kind):
    """A handle is not an address: access to elements is rejected, and so is a copy."""
    numpy = require("numpy")
    tensor = OnDevice(kind, 0, 8)
    with pytest.raises(ValueError, match="where the processor cannot read it"):
        Anything.from_dlpack(tensor).values()
    with pytest.raises((BufferError, RuntimeError)):
        numpy.from_dlpack(tensor)
    with pytest.raises((BufferError, RuntimeError)):
        numpy.from_dlpack(tensor, device="cpu")


def test_nothing_is_left():
    """Each round calls each deleter."""
    tvm_ffi = require("tvm_ffi")
    with nothing_left():
        for kind in KINDS.values():
            for _ in range(50):
                tensor = OnDevice(kind, writable=True)
                peer = tvm_ffi.from_dlpack(Anything.from_dlpack(tensor))
                Anything.from_dlpack(peer)
            del tensor, peer
