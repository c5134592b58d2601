"""Tests that `cargo xtask free-threaded` runs beside the ordinary ones: threads that are
synchronized by this library alone."""

import os
import subprocess
import sys
import threading

import dlpack_testing as testing
import load
import pytest
from conftest import nothing_left
from dlpack_testing import Floats, Single, Writable

THREADS = 8
ROUNDS = 100_000
VERSIONS = pytest.mark.parametrize(
    "max_version", [None, (1, 0)], ids=["legacy", "versioned"]
)


def on_all_threads(run):
    """Runs a function on all threads at once; returns the result of each."""
    start, results, failures = threading.Barrier(THREADS), [], []

    def body():
        try:
            start.wait()
            results.append(run())
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=body) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    return results


def test_there_is_no_gil():
    assert not sys._is_gil_enabled()


def take_each(max_version):
    """Eight threads take each of 100,000 capsules or more; exactly one thread gets each capsule."""
    tensor = Writable([1.0, 2.0])
    released, chunk, winners, made = testing.releases(), 10_000, set(), 0
    # A busy machine may run one thread through whole chunks before it starts the others.
    while made < ROUNDS or len(winners) == 1 and made < 20 * ROUNDS:
        made += chunk
        capsules = [tensor.__dlpack__(max_version=max_version) for _ in range(chunk)]

        def race(capsules=capsules):
            won = []
            for turn, capsule in enumerate(capsules):
                try:
                    held = testing.import_tensor(capsule)
                except ValueError:
                    continue
                assert held.floats() == [1.0, 2.0]
                won.append(turn)
            return won

        won = on_all_threads(race)
        assert sorted(turn for turns in won for turn in turns) == list(range(chunk))
        winners |= {thread for thread, turns in enumerate(won) if turns}
    # Several threads took capsules, so they did race.
    assert len(winners) > 1
    del capsules, race
    assert testing.releases() - released == made


@VERSIONS
def test_eight_threads_want_each_capsule(max_version):
    """Exactly one thread gets each of 100,000 capsules. A rejected request is faster than a
    successful one, so all eight threads soon reach the same capsule. L3."""
    take_each(max_version)


def test_a_gil_that_was_there_for_a_moment():
    """The GIL is enabled while any thread imports an extension module, so this library must
    not cache whether it was enabled at the first check. L3."""
    program = (
        "import sys; sys._is_gil_enabled = lambda: True; "
        "import free_threaded; free_threaded.take_each((1, 0))"
    )
    child = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert child.returncode == 0, child


def test_one_tensor_released_by_all():
    """A handle whose tensor is taken by several threads gives it to one of them."""
    with nothing_left():
        handles = [testing.import_tensor(Single([1.0])) for _ in range(2_000)]

        def race():
            won = 0
            for held in handles:
                try:
                    held.release()
                except RuntimeError:
                    continue
                won += 1
            return won

        assert sum(on_all_threads(race)) == len(handles)
        del handles, race


def test_types_that_all_threads_meet_first():
    """Concurrent first look-ups of a type cache the right result."""

    def run():
        for turn in range(300):

            class Plain:
                def __dlpack__(self, **keywords):
                    return Writable([3.0]).__dlpack__(**keywords)

            class Sub(Writable):
                pass

            assert testing.import_tensor(Plain()).floats() == [3.0]
            assert testing.import_tensor(Sub([float(turn)])).floats() == [float(turn)]
            assert Floats.from_dlpack(Sub([2.0])).values() == [2.0]

    on_all_threads(run)


def test_load():
    """All directions of exchange, on threads that run in parallel."""
    load.load(50_000)
