"""A hundred thousand exports and drops through each consumer: every one released
exactly once, and no memory left behind."""

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
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def rounds(once, count):
    """Calls `once` that often. JAX keeps a little of each import, whoever made
    the tensor, until a collection, which nothing in these loops would start."""
    for turn in range(count):
        if turn % 10_000 == 0:
            gc.collect()
        once()


def check_rounds(once, exports, mebibytes=1.0):
    """Exports and drops: each released exactly once, and memory stays."""
    rounds(once, WARM_UP)
    gc.collect()
    before, released = resident(), testing.releases()
    with nothing_left():
        rounds(once, ROUNDS)
    gc.collect()
    assert testing.releases() - released == exports * ROUNDS
    grown = (resident() - before) / 2**20
    assert grown < mebibytes, f"{grown:.2f} MiB more after {ROUNDS} rounds"


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux
@pytest.mark.parametrize("name", consumers.ALL)
def test_rounds_of_a_consumer(name):
    """Memory that everyone may write, through each consumer, in a process of its
    own: what other tests left in the heap would show as growth now and then."""
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
    """Capsules that nobody takes anything from."""
    tensor = Writable([1.0, 2.0, 3.0])
    check_rounds(lambda: tensor.__dlpack__(max_version=max_version), exports=1)


@linux
@pytest.mark.parametrize("max_version", [None, (1, 0)], ids=["legacy", "versioned"])
def test_rounds_of_consumed_capsules(max_version):
    """Capsules that are taken and released by the book."""
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
    """Copies, which a legacy request for read-only memory gets."""
    tensor = Frozen([1.0, 2.0, 3.0])
    check_rounds(lambda: tensor.__dlpack__(), exports=0)


@linux
def test_rounds_of_errors():
    """Requests that are refused."""
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
    """What a refusal drops goes at once, and not when somebody calls PyO3 again: the
    loop, and the look at memory after it, call only what Python itself calls. Rule
    L22."""
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
    """One deleter per round that nobody calls is seen by every measure."""
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
