"""A deleter that runs while the garbage collector counts references: the
collector must not see any count change."""

import subprocess
import sys

import pytest
from conftest import FOLDER

PROGRAM = """
import sys
sys.path[:0] = {path!r}
import gc, dlpack_testing as testing

class Tracked(testing.{cls}):
    "Objects of Python classes are tracked by the collector."

objects = [Tracked([1.0, 2.0]) for _ in range(50)]
held = [testing.take(each.__dlpack__(max_version=(1, 0))) for each in objects]
held = [each.delete_when_traversed() for each in held]
del objects
gc.collect()
held.clear()
gc.collect()
print(testing.live())
"""


@pytest.mark.parametrize("cls, left", [("Writable", 0), ("Single", 50)])
def test_a_deleter_inside_traverse(cls, left):
    """What has an owner of its own is released; a reference to an object is
    leaked, because it cannot be given back then. Nothing crashes."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(path=[FOLDER] if FOLDER else [], cls=cls)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{left}\n"
