"""Measures which consumers accept tensors of which producers, through our class.

    main.py [--newest PYTHON] [--write]

Prints a table, and compares every cell with what `docs/generated/interop.md` says of it;
with `--write` it replaces that file. Each job runs in a process of its own, as
some of these libraries end theirs."""

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent))

import nanobind_peer  # noqa: E402
import page  # noqa: E402
import verdicts  # noqa: E402

ROOT = HERE.parents[2]
PAGE = ROOT / "docs" / "generated" / "interop.md"
OURS = "dlpack_example"
# dpnp brings versions of its libraries with which most others do not load.
TOGETHER = (
    *("reference", "numpy", "torch", "jax", "tvm_ffi", "nanobind"),
    *("array_api_strict", "mlx", "paddle", "tensorflow", "pyarrow", "onnxruntime"),
    *("cuda.core", "warp"),
)
ALONE = "dpnp"
READ_ONLY_PRODUCER = "torch ro"
READ_ONLY_CONSUMER = "nanobind ro"
NEWEST = ("reference", "numpy", "jax", "tvm_ffi")
# More crashes than this in one job mean that something else is broken.
CRASHES = 40
# How many of the cells that got worse are named.
SHOWN = 60


class Job:
    """Tensors of some producers, to one consumer, in one environment."""

    def __init__(self, python, suffix, consumer, producers):
        self.python, self.suffix = python, suffix
        self.consumer, self.producers = consumer, producers
        self.cells, self.versions, self.failed, self.words = {}, {}, {}, []
        self.crashes = 0

    def run(self):
        """Runs to the end, once more after each crash."""
        after = None
        started = time.monotonic()
        while True:
            begun, finished = self.process(after=after)
            if finished:
                break
            if begun is None:
                failed = ", ".join(self.producers)
                self.failed.setdefault(failed, "the process ends at its import")
                break
            self.crashes += 1
            self.process(only=begun)
            if begun not in self.cells:
                self.cells[begun] = ("CRASH", "the process ends", "CRASH")
            if self.crashes > CRASHES:
                self.failed[self.consumer] = f"more than {CRASHES} crashes"
                break
            after = begun
        self.seconds = time.monotonic() - started
        return self

    def process(self, **more):
        """One process: the cell that it was in when it ended, and whether it
        ended well."""
        reading, writing = os.pipe()
        job = {
            "consumer": self.consumer,
            "producers": self.producers,
            "answers": writing,
            **more,
        }
        process = subprocess.Popen(
            [self.python, str(HERE / "cells.py"), json.dumps(job)],
            pass_fds=[writing],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(writing)
        begun, finished, ready = None, False, False
        noise = ThreadPoolExecutor(1).submit(process.stderr.read)
        with os.fdopen(reading) as answers:
            for line in answers:
                answer = json.loads(line)
                if "versions" in answer:
                    self.versions, ready = answer["versions"], True
                    self.failed |= answer["failed"]
                elif "begin" in answer:
                    begun = answer["begin"]
                elif "cell" in answer:
                    cell = (answer["verdict"], answer["why"], answer["reference"])
                    self.cells[answer["cell"]] = cell
                elif "finished" in answer:
                    finished = True
        code = process.wait()
        if not finished:
            finished = ready and bool({self.consumer, OURS} & {*self.failed})
            tail = noise.result().strip().splitlines()[-3:]
            self.words.append(f"{begun}: ended with {code}: {' / '.join(tail)}")
        return begun, finished


def jobs(newest):
    """All jobs, the longest first."""
    here = sys.executable
    consumers = [name for name in TOGETHER if name != "reference"]
    for consumer in (OURS, *reversed(consumers), READ_ONLY_CONSUMER):
        yield Job(here, "", consumer, [*TOGETHER, READ_ONLY_PRODUCER])
    for name in (OURS, *consumers, READ_ONLY_CONSUMER):
        yield Job(here, "", name, [ALONE])
    for name in (*TOGETHER, READ_ONLY_PRODUCER, ALONE):
        yield Job(here, "", ALONE, [name])
    if newest:
        for consumer in (OURS, "numpy", "jax"):
            yield Job(newest, " (newest)", consumer, list(NEWEST))


def measure(newest):
    """All cells, the versions of the libraries, and what did not load."""
    required = set(os.environ.get("DLPACK_REQUIRE", "").split(","))
    try:
        nanobind_peer.load()
    except ImportError as error:
        print(f"SKIPPED nanobind: {error}")
    found = verdicts.Measured()
    todo = list(jobs(newest))
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
        for done, job in enumerate(pool.map(Job.run, todo), 1):
            into = job.consumer + job.suffix
            print(
                f"[{done:>2}/{len(todo)}] {', '.join(job.producers)} -> {into}: "
                f"{len(job.cells)} cells, {job.crashes} crashes, {job.seconds:.1f} s",
                flush=True,
            )
            for words in job.words:
                print(f"        {words}")
            found.add(job)
    for name, why in sorted(found.missing.items()):
        print(f"SKIPPED {name}: {why}")
        if name in required or name.startswith(OURS):
            found.failures.append(f"DLPACK_REQUIRE names {name}: {why}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--newest")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()

    started = time.monotonic()
    found = measure(arguments.newest)
    text = page.render(found)
    print()
    print(page.summary(found))
    failures = found.failures + found.judge()
    if PAGE.exists():
        failures += verdicts.worse(page.parse(PAGE.read_text()), found)
    elif not arguments.write:
        failures.append("docs/generated/interop.md is missing: run `cargo xtask matrix`")
    written = PAGE if arguments.write else ROOT / "target" / "interop.md"
    written.write_text(text)
    seconds = time.monotonic() - started
    print(f"\n{found.count()} cells in {seconds:.0f} s; {written.relative_to(ROOT)}")
    for failure in failures[:SHOWN]:
        print(f"WORSE: {failure}")
    if len(failures) > SHOWN:
        print(f"WORSE: and {len(failures) - SHOWN} cells more")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
