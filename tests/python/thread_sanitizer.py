"""A data race that ThreadSanitizer must report, so that a run without reports says something.
`cargo xtask free-threaded --step sanitizer` runs it beside the tests with threads."""

import os
import subprocess
import sys

RACE = """
import ctypes, threading
import dlpack_testing as testing

tensor = testing.import_tensor(testing.Writable([1.0] * 64))
address, length = tensor.facts()[-1], 256
start, done = threading.Barrier(2), threading.Event()

def write():
    start.wait()
    for _ in range(1_000):
        ctypes.memset(address, 0, length)
    done.set()

thread = threading.Thread(target=write)
thread.start()
start.wait()
while not done.is_set():
    tensor.floats()
thread.join()
"""


def test_a_race_between_c_and_rust_is_reported():
    """C writes elements without synchronization while Rust reads them."""
    child = subprocess.run(
        [sys.executable, "-c", RACE],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert child.returncode == 66, child
    assert "ThreadSanitizer: data race" in child.stderr
    assert "dlpack_testing" in child.stderr and "memset" in child.stderr
