"""Two processes of torch.distributed (gloo) add up gradients that Rust owns, in place.

    python gloo.py
"""

import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as processes

from dlpack_ranks import Gradient

LEN = 4 * 2**20
ROUNDS = 15
SIZE = 2


def rank(number: int, meeting: str) -> None:
    # The ranks find each other by a file, and communicate on the loopback interface.
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=number, world_size=SIZE)
    ours = Gradient(LEN)
    ours.fill(number + 1)

    tensor = torch.from_dlpack(ours)
    assert tensor.data_ptr() == ours.data_ptr, "a copy"
    dist.all_reduce(tensor)
    expected = SIZE * (SIZE + 1) / 2
    assert ours.extremes() == (expected, expected), "the memory of Rust did not change"

    times = []
    for _ in range(ROUNDS):
        ours.fill(number + 1)
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(tensor)
        times.append(time.perf_counter() - start)
    assert ours.extremes() == (expected, expected)
    if number == 0:
        print(f"{SIZE} ranks, {ours.nbytes / 2**20:.0f} MiB each, gloo of torch {torch.__version__}")
        print(f"  the sum is {expected:.0f} everywhere, in the memory of Rust ({ours.data_ptr:#x} here)")
        print(f"  all_reduce in place: {statistics.median(times) * 1000:.1f} ms (median of {ROUNDS})")
        sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        processes.spawn(rank, (os.path.join(folder, "meeting"),), nprocs=SIZE)
