"""Interpreters that end while tensors are out: `python exits.py --rounds N`, of which
each holds tensors in another way. Exit code 0, and not a word on stderr.

`cargo xtask load` runs a thousand. What each way is for, `test_exit.py` says; here it
is the number that counts, because a thread that lives on races with the end.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time

import dlpack_testing

PRELUDE = f"""
import sys
sys.path[:0] = {[os.path.dirname(os.path.realpath(dlpack_testing.__file__))]!r}
import dlpack_testing as testing

def exported(cls=testing.CLS):
    return cls([1.0, 2.0]).__dlpack__(max_version=(1, 0))
"""

WAYS = {
    "capsules in globals": """
kept = [exported() for _ in range(100)]
kept.append(kept)
""",
    "arrays in globals": """
import numpy
tensor = testing.CLS([1.0, 2.0])
kept = [numpy.from_dlpack(tensor) for _ in range(100)]
numpy.kept = numpy.from_dlpack(tensor)
held = [testing.import_tensor(array) for array in kept]
""",
    "daemon threads that never stop": """
import threading, time
def go_on(exported=exported):
    while True:
        taken = testing.take(exported())
        exported()
        taken.delete_detached()
for _ in range(4):
    threading.Thread(target=go_on, daemon=True).start()
time.sleep(0.02)
""",
    "a thread of Rust's that releases meanwhile": """
taken = [testing.take(exported()) for _ in range(400)]
testing.Taken.delete_slowly(taken, 50e-6)
""",
    "releases after Python has ended": """
for _ in range(3):
    testing.take(exported()).delete_at_process_exit()
""",
    "exports while modules go": """
class Late:
    def __del__(self, export=exported):
        export()
late, kept = Late(), exported()
""",
}
CLASSES = ("Frozen", "Writable", "Single", "Growing")


def run(turn):
    """One interpreter; what is wrong with how it ended."""
    ways = list(WAYS.items())
    way, code = ways[turn % len(ways)]
    cls = CLASSES[turn // len(ways) % len(CLASSES)]
    program = (PRELUDE + code).replace("CLS", cls)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if (done.returncode, done.stderr) == (0, ""):
        return None
    return f"{way}, {cls}: {done.returncode} {done.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, required=True)
    rounds = parser.parse_args().rounds
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [each for each in pool.map(run, range(rounds)) if each]
    print(f"{rounds} exits in {time.monotonic() - begin:.0f} s, {len(wrong)} wrong")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
