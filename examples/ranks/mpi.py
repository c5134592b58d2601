"""Two ranks of MPI add up gradients that Rust owns; NumPy is not imported.

    mpiexec -n 2 python mpi.py

mpi4py takes the objects themselves as buffers: it asks them for a DLPack capsule.
"""

import statistics
import sys
import time

from mpi4py import MPI

from dlpack_ranks import Gradient

LEN = 4 * 2**20
ROUNDS = 15


def main() -> None:
    world = MPI.COMM_WORLD
    ours, total = Gradient(LEN), Gradient(LEN)
    ours.fill(world.rank + 1)
    address = total.data_ptr

    world.Allreduce(ours, total)
    expected = world.size * (world.size + 1) / 2
    assert total.extremes() == (expected, expected), total.extremes()
    assert total.data_ptr == address

    # In place: each rank's own memory receives the sum.
    world.Allreduce(MPI.IN_PLACE, ours)
    assert ours.extremes() == (expected, expected)

    times = []
    for _ in range(ROUNDS):
        world.Barrier()
        start = time.perf_counter()
        world.Allreduce(ours, total)
        times.append(time.perf_counter() - start)
    assert "numpy" not in sys.modules
    if world.rank == 0:
        print(f"{world.size} ranks, {ours.nbytes / 2**20:.0f} MiB each, {MPI.get_vendor()[0]}")
        print(f"  the sum is {expected:.0f} everywhere, in the memory of Rust ({address:#x} here)")
        print(f"  Allreduce: {statistics.median(times) * 1000:.1f} ms (median of {ROUNDS})")


main()
