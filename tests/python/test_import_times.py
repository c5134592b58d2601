"""How long an import takes, beside NumPy's own of the same array. The bounds are
wide: they find a copy, a look-up or a lock that was not there before."""

import time

import dlpack_testing as testing
import pytest
from conftest import require


def nanoseconds(*loops, rounds=40, repeats=5_000):
    """The best time of one pass of each loop, taken in turns."""
    best = [float("inf")] * len(loops)
    for _ in range(rounds):
        for index, loop in enumerate(loops):
            start = time.perf_counter_ns()
            loop(repeats)
            took = (time.perf_counter_ns() - start) / repeats
            best[index] = min(best[index], took)
    return best


@pytest.mark.skipif(not testing.OPTIMIZED, reason="modules without optimization; see `cargo xtask trust`")
@pytest.mark.parametrize("name", ["numpy", "torch", "own"])
def test_an_import_takes_no_longer_than_numpys(name, record_property):
    """Import and release in Rust; `np.from_dlpack` makes an array in addition."""
    np = require("numpy")
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    if name == "torch":
        tensor = require("torch").arange(6.0).reshape(2, 3)
    else:
        tensor = array if name == "numpy" else testing.Floats.from_dlpack(array)

    def numpys(repeats, from_dlpack=np.from_dlpack):
        for _ in range(repeats):
            from_dlpack(array)

    ours, numpys = nanoseconds(lambda repeats: testing.import_often(tensor, repeats), numpys)
    record_property("nanoseconds", round(ours, 1))
    record_property("ratio", round(ours / numpys, 2))
    print(f"{name}: {ours:.0f} ns, {ours / numpys:.2f} of np.from_dlpack's {numpys:.0f} ns")
    assert ours < 1.5 * numpys
