"""Eight threads exchange tensors in each direction: every export is released once,
and memory stays.

`python load.py --rounds N` makes N exchanges on each thread in each direction, which
`cargo xtask load` asks for; `python load.py --seconds N` goes on in all directions
for as long, which `cargo xtask soak` asks for.
"""

import argparse
import gc
import os
import threading
import time

import dlpack_testing as testing
import numpy
from dlpack_testing import Floats, Frozen, Single, Writable

THREADS = 8
VERSIONED = {"max_version": (1, 0)}
writable, frozen, single = Writable([1.0, 2.0]), Frozen([1.0, 2.0]), Single([1.0, 2.0])
array = numpy.array([1.0, 2.0], dtype="float32")


def refused():
    """A request that must be rejected."""
    try:
        frozen.__dlpack__(copy=False)
    except BufferError:
        return
    raise AssertionError


# The exchanges of each direction, and how many exports of counted memory each makes.
DIRECTIONS = {
    "to NumPy": (lambda: numpy.from_dlpack(writable), 1),
    "to NumPy, read-only": (lambda: numpy.from_dlpack(frozen), 1),
    "from NumPy": (lambda: testing.import_tensor(array), 0),
    "from Rust": (lambda: Floats.from_dlpack(writable), 1),
    "versioned capsules": (lambda: writable.__dlpack__(**VERSIONED), 1),
    "legacy capsules, taken": (lambda: testing.take(writable.__dlpack__()).delete(), 1),
    "memory of an object": (lambda: single.__dlpack__(**VERSIONED), 0),
    "refusals": (refused, 0),
}


def resident():
    """The resident memory of this process in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def on_all_threads(run):
    """Calls a function on every thread; returns the sum of the results."""
    done, failures = [], []

    def body():
        try:
            done.append(run())
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=body) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [], failures
    assert len(done) == THREADS
    return sum(done)


def many(once, rounds):
    for _ in range(rounds):
        once()
    return rounds


def counters():
    gc.collect()
    return testing.live(), testing.allocations(), testing.exports() - testing.releases()


def check(what, run, exports, warm_up):
    """Runs `warm_up`, then `run`, which returns how many exchanges it made."""
    warm_up()
    before, first, released = counters(), resident(), testing.releases()
    begin = time.monotonic()
    rounds = run()
    seconds = time.monotonic() - begin
    assert counters() == before, (what, counters(), before)
    grown = (resident() - first) / 1024
    released = testing.releases() - released
    print(
        f"{what}: {rounds} exchanges on {THREADS} threads, {released} released, "
        f"{seconds:.1f} s, {first // 1024} KiB and {grown:+.0f} KiB",
        flush=True,
    )
    assert released == exports(rounds), (what, released, exports(rounds))
    # A sanitizer retains freed memory, and records each access.
    if "DLPACK_SANITIZED" not in os.environ:
        assert grown < 1024, f"{what}: {grown:.0f} KiB more"


def load(rounds):
    """Each direction for itself."""
    for what, (once, exports) in DIRECTIONS.items():
        check(
            what,
            lambda once=once: on_all_threads(lambda: many(once, rounds)),
            lambda done, exports=exports: done * exports,
            lambda once=once: on_all_threads(lambda: many(once, 20_000)),
        )


def soak(seconds):
    """All of them in turn on every thread; threads end and begin each second."""

    def turns(end):
        made = 0
        while time.monotonic() < end:
            for once, _ in DIRECTIONS.values():
                made += many(once, 100)
        return made

    def run(seconds):
        made, end = 0, time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            made += on_all_threads(lambda now=now: turns(min(end, now + 1)))
            gc.collect()
        return made

    exports = sum(exports for _, exports in DIRECTIONS.values())
    check(
        "all directions",
        lambda: run(seconds - seconds // 10),
        lambda done: done // len(DIRECTIONS) * exports,
        lambda: run(max(1, seconds // 10)),
    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    amount = arguments.add_mutually_exclusive_group(required=True)
    amount.add_argument("--rounds", type=int, help="exchanges of each thread")
    amount.add_argument("--seconds", type=int, help="how long to go on")
    amount = arguments.parse_args()
    load(amount.rounds) if amount.rounds else soak(amount.seconds)
