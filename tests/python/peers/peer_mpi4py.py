"""mpi4py sends and receives tensors of our class, by DLPack and not by the
buffer protocol, which the class does not have."""

import os
import subprocess
import sys

import pytest
from conftest import require
from dlpack_example import Tensor

require("mpi4py")
from mpi4py import MPI  # noqa: E402

WORLD = MPI.COMM_WORLD
TYPES = {
    "int8": [1, -2],
    "int32": [1, -2],
    "int64": [1, -2],
    "uint16": [1, 2],
    "float32": [1.5, -2.5],
    "float64": [1.5, -2.5],
    "complex64": [1 + 2j, -3j],
    "bool": [True, False],
}


@pytest.mark.parametrize("dtype", TYPES)
def test_to_itself(dtype):
    """mpi4py derives the message type from the tensor's element type."""
    sent = Tensor(TYPES[dtype], dtype)
    received = Tensor.zeros([2], dtype)
    WORLD.Sendrecv(sent, WORLD.rank, 1, received, WORLD.rank, 1)
    assert received.tolist() == TYPES[dtype]


def test_read_only_tensors_are_sent():
    """A read-only tensor can be sent."""
    sent = Tensor([1.0, 2.0], "float32", read_only=True)
    received = Tensor.zeros([2], "float32")
    WORLD.Sendrecv(sent, WORLD.rank, 1, received, WORLD.rank, 1)
    assert received.tolist() == [1.0, 2.0]


def test_read_only_tensors_are_not_received_into():
    """It requests the versioned capsule, reads the flag, and rejects the tensor."""
    target = Tensor([7.0, 8.0], "float32", read_only=True)
    sent = Tensor([1.0, 2.0], "float32")
    with pytest.raises(BufferError, match="not writable"):
        WORLD.Sendrecv(sent, WORLD.rank, 1, target, WORLD.rank, 1)
    assert target.tolist() == [7.0, 8.0]


def test_strided_tensors_are_refused_in_its_words():
    """It requires contiguous tensors."""
    view = Tensor([1.0, 2.0, 3.0, 4.0], "float32").as_strided((2,), (2,))
    with pytest.raises(BufferError, match="not contiguous"):
        WORLD.Sendrecv(view, WORLD.rank, 1, Tensor.zeros([2], "float32"), WORLD.rank, 1)


TWO = """
from mpi4py import MPI
from dlpack_example import Tensor
world = MPI.COMM_WORLD
assert world.size == 2
tensor = Tensor([[1.0, 2.0], [3.0, 4.0]], "float32")
if world.rank == 0:
    world.Send(tensor, 1)
    back = Tensor.zeros([2, 2], "float32")
    world.Recv(back, 1)
    assert back.tolist() == tensor.tolist(), back
    total = Tensor.zeros([2, 2], "float32")
    world.Reduce(tensor, total)
    assert total.tolist() == [[2.0, 4.0], [6.0, 8.0]], total
    print("done", flush=True)
else:
    got = Tensor.zeros([2, 2], "float32")
    world.Recv(got, 0)
    world.Send(got, 0)
    world.Reduce(got, None)
"""


def test_between_two_processes():
    """Sent, sent back, and summed."""
    mpiexec = os.path.join(sys.prefix, "bin", "mpiexec")
    if not os.path.exists(mpiexec):
        pytest.skip("there is no mpiexec in this environment")
    ended = subprocess.run(
        [mpiexec, "-n", "2", sys.executable, "-c", TWO],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0 and "done" in ended.stdout, ended.stdout + ended.stderr
