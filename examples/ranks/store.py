"""Ray's object store copies a gradient that Rust owns once; reads are zero-copy.

    python store.py
"""

import copyreg
import logging
import os
import statistics
import time

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import numpy as np
import ray

from dlpack_ranks import Gradient

LEN = 16 * 2**20
ROUNDS = 7

# This registration lets Ray store the class: the object becomes an array, which Ray copies
# into its store. `ray.get` returns an array over the memory of the store.
copyreg.pickle(Gradient, lambda gradient: (np.asarray, (np.from_dlpack(gradient),)))


@ray.remote
def extremes(array):
    return float(array.min()), float(array.max()), array.ctypes.data


def median(times: list[float]) -> str:
    return f"{statistics.median(times) * 1000:.1f} ms"


def main() -> None:
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        logging_level=logging.ERROR,
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
    )
    try:
        ours = Gradient(LEN)
        ours.fill(1.5)
        put, get = [], []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            reference = ray.put(ours)
            put.append(time.perf_counter() - start)
            start = time.perf_counter()
            stored = ray.get(reference)
            get.append(time.perf_counter() - start)

        assert stored.ctypes.data != ours.data_ptr, "the store has memory of its own"
        assert not stored.flags.writeable
        # Writing to the memory of Rust does not change the copy in the store.
        ours.fill(0.0)
        assert stored.min() == stored.max() == 1.5
        least, most, there = ray.get(extremes.remote(reference))
        assert (least, most) == (1.5, 1.5)

        print(f"{ours.nbytes / 2**20:.0f} MiB, Ray {ray.__version__}")
        print(f"  in Rust at {ours.data_ptr:#x}, in the store at {stored.ctypes.data:#x},")
        print(f"  and in a worker at {there:#x}: an address means nothing in another process")
        print(f"  ray.put, one copy: {median(put)}; ray.get, no copy: {median(get)}")
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
