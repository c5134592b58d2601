"""Arrays on the threads of rayon, in a process with a time limit: no thread waits for the GIL for
ever. Rule L31."""

import dlpack_testing as testing
import pytest
from conftest import require, run_in_a_new_process

require("numpy")
import numpy as np

pool = testing.pool
MAKERS = {
    "numpy": "import numpy\ndef make(n): return numpy.full((5, 7), n, dtype='f4')",
    "transposed": "import numpy\ndef make(n): return numpy.full((7, 5), n, dtype='f4').T",
    "torch": "import torch\ndef make(n): return torch.full((5, 7), float(n))",
    "object": "def make(n): return testing.Single([float(n)] * 35)",
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("detached", [True, False])
def test_threads_of_a_pool_read_and_drop_arrays(maker, detached):
    if maker == "torch":
        require("torch")
    code = f"""
import gc, sys, threading, time
import dlpack_testing as testing
{MAKERS[maker]}

arrays = [make(n) for n in range(40)]
counts = [sys.getrefcount(array) for array in arrays]
expected = [35.0 * n for n in range(40)]
# Other Python threads run too, and call the same function.
wrong = []
def work():
    for _ in range(25):
        if testing.pool.sums(arrays, {detached}) != expected:
            wrong.append("sums")
        if testing.pool.borrowed_sums(arrays) != expected:
            wrong.append("borrowed")
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
work()
for thread in threads:
    thread.join()
assert not wrong, wrong
del threads
# CPython before 3.13 makes pending calls after the main thread has waited for the GIL.
time.sleep(0.001)
testing.live()
assert [sys.getrefcount(array) for array in arrays] == counts
del arrays
gc.collect()
assert testing.live() == 0
"""
    run_in_a_new_process(code, timeout=120)


SHAPES = [(64, 33), (1, 100), (100, 1), (7,), (), (0, 4), (3, 0), (4, 5, 6)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_on_the_threads_of_a_pool(shape, order):
    array = np.arange(np.prod(shape), dtype="float32").reshape(shape, order=order)
    if array.size:
        rows = np.atleast_2d(array).reshape(-1, (shape or (1,))[-1])
        assert pool.row_sums(array) == rows.sum(axis=1, dtype="float32").tolist()
    else:
        assert pool.row_sums(array) == [0.0] * int(np.prod(shape[:-1]))
    expected = array - array[..., :1] if array.ndim else np.zeros(())
    pool.from_first(array)
    assert np.array_equal(array, expected)
    if array.ndim:
        roots = np.square(expected).copy(order=order)[..., ::-1]
        pool.roots(roots)
        assert np.array_equal(roots, np.abs(expected)[..., ::-1])
