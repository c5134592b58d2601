"""100,000 exports and releases through each consumer: each export is released exactly once,
and memory does not grow."""

import gc
import subprocess
import sys
from pathlib import Path

import consumers
import dlpack_testing as testing
import pytest
from conftest import nothing_left
from dlpack_testing import Frozen, Growing, Single, Writable

ROUNDS = 100_000
WARM_UP = 10_000


def resident():
    """The resident memory of this process in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def rounds(once, count):
    """Calls `once` that often. JAX retains a little memory for each import, of any
    producer's tensor, until a garbage collection, which these loops would not trigger."""
    for turn in range(count):
        if turn % 10_000 == 0:
            gc.collect()
        once()


def check_rounds(once, exports, mebibytes=1.0):
    """Exports and drops: each released exactly once, and memory stays. A leak grows in every
    pass; an arena of 1 MiB that Python takes in one of them, for whichever object needed it
    first, does not."""
    rounds(once, WARM_UP)
    grown = []
    for _ in range(3):
        gc.collect()
        before, released = resident(), testing.releases()
        with nothing_left():
            rounds(once, ROUNDS)
        gc.collect()
        assert testing.releases() - released == exports * ROUNDS
        grown.append((resident() - before) / 2**20)
        if grown[-1] < mebibytes:
            return
    raise AssertionError(f"{grown} MiB more after {ROUNDS} rounds each")


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux
@pytest.mark.parametrize("name", consumers.ALL)
def test_rounds_of_a_consumer(name):
    """Writable memory, through each consumer, in a process of its own, because memory that
    other tests left in the heap can look like growth."""
    consumers.get(name)  # skips, or fails, where the consumer is missing
    done = subprocess.run(
        [sys.executable, "-c", f"import test_rounds; test_rounds.of({name!r})"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def of(name):
    """The rounds of one consumer, for the process that it has to itself."""
    consumer = consumers.get(name)
    tensor = Writable([1.0, 2.0, 3.0])
    check_rounds(lambda: consumer.take(tensor), exports=1)


@linux
@pytest.mark.parametrize("max_version", [None, (1, 0)], ids=["legacy", "versioned"])
def test_rounds_of_unconsumed_capsules(max_version):
    """Capsules that are never consumed."""
    tensor = Writable([1.0, 2.0, 3.0])
    check_rounds(lambda: tensor.__dlpack__(max_version=max_version), exports=1)


@linux
@pytest.mark.parametrize("max_version", [None, (1, 0)], ids=["legacy", "versioned"])
def test_rounds_of_consumed_capsules(max_version):
    """Capsules that are consumed and released as the standard requires."""
    tensor = Writable([1.0, 2.0, 3.0])

    def once():
        testing.take(tensor.__dlpack__(max_version=max_version)).delete()

    check_rounds(once, exports=1)


@linux
@pytest.mark.parametrize("cls", [Frozen, Single, Growing])
def test_rounds_of_other_owners(cls):
    """Frozen memory, and memory that the Python object owns."""
    tensor = cls([1.0, 2.0, 3.0])
    count = sys.getrefcount(tensor)
    check_rounds(
        lambda: tensor.__dlpack__(max_version=(1, 0)), exports=int(cls is Frozen)
    )
    assert sys.getrefcount(tensor) == count


@linux
def test_rounds_of_copies():
    """Copies, which a legacy request for read-only memory gets: the export that turns out to
    be read-only is released before the copy is made."""
    tensor = Frozen([1.0, 2.0, 3.0])
    check_rounds(lambda: tensor.__dlpack__(), exports=1)


@linux
def test_rounds_of_errors():
    """Requests that are rejected."""
    tensor = Frozen([1.0, 2.0, 3.0])

    def once():
        try:
            tensor.__dlpack__(copy=False)
        except BufferError:
            return
        raise AssertionError

    check_rounds(once, exports=0)


@linux
def test_refusals_wait_for_nobody():
    """A rejected request releases its objects at once, not at the next call into PyO3: the
    loop, and the memory measurement after it, call only functions that Python itself calls.
    Rule L22."""
    tensor = Frozen([1.0, 2.0, 3.0])

    def once():
        try:
            tensor.__dlpack__(copy=False)
        except BufferError:
            return
        raise AssertionError

    rounds(once, WARM_UP)
    before = resident()
    rounds(once, ROUNDS)
    assert resident() - before < 2**20


@linux
def test_rounds_of_objects():
    """Object, export and array, all new each time, of many dimensions."""
    numpy = consumers.get("numpy")
    check_rounds(lambda: numpy.take(Writable([1.0], [1] * 12)), exports=1)


@linux
def test_the_measure_finds_leaks():
    """A single missing deleter call per round is detected by every measurement."""
    tensor = Writable([1.0])
    before = testing.allocations(), testing.exports() - testing.releases()
    start = resident()
    leaked = [testing.take(tensor.__dlpack__()) for _ in range(ROUNDS)]
    assert resident() - start > 2**20
    assert testing.allocations() - before[0] == ROUNDS
    assert testing.exports() - testing.releases() - before[1] == ROUNDS
    for each in leaked:
        each.delete()
    assert (testing.allocations(), testing.exports() - testing.releases()) == before
