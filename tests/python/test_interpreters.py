"""Interpreters beside the main one: classes of tensors refuse to be there, in so
many words, so that no object of one interpreter is ever seen by another."""

import subprocess
import sys

import pytest
from conftest import FOLDER

PROGRAM = """
import sys
sys.path[:0] = {path!r}
import dlpack_testing as testing
tensor = testing.Single([1.0, 2.0])
try:
    import _interpreters as interpreters
    run = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    run = interpreters.run_string
other = interpreters.create()
failed = run(other, '''
import sys
sys.path[:0] = {path!r}
try:
    import dlpack_testing
except ImportError as error:
    print("refused:", "subinterpreters" in str(error))
else:
    print("loaded")
''')
print(failed, testing.live())
del tensor
interpreters.destroy(other)
print(testing.live())
"""


@pytest.mark.skipif(sys.version_info < (3, 10), reason="no module makes interpreters")
def test_a_second_interpreter_is_refused():
    """An ImportError there; here everything is as it was."""
    program = PROGRAM.format(path=[FOLDER] if FOLDER else [])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "refused: True\nNone 1\n0\n"
