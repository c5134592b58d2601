"""The process forks while exports are alive: parent and child each own a copy, and each
releases its own."""

import os

import pytest
from test_exit import CLASSES, run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

CHILD = """
import os

def in_child(run):
    child = os.fork()
    if child == 0:
        try:
            code = run()
        except BaseException as error:
            sys.stderr.write(repr(error))
            code = 100
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


@CLASSES
def test_the_child_drops(cls):
    """What was exported before the fork is released in the child, and is still there
    in the parent."""
    run(
        CHILD
        + """
capsules = [exported()]
def drop():
    capsules.clear()
    return testing.live()
print(in_child(drop), testing.live())
print(testing.import_tensor(capsules.pop()).floats(), testing.live())
""",
        cls,
        output="0 1\n[1.0, 2.0] 0\n",
    )


@CLASSES
def test_the_child_uses(cls):
    """The child reads, exports again and imports; the parent sees nothing of it."""
    run(
        CHILD
        + f"""
tensor = testing.{cls}([1.0, 2.0])
held = testing.import_tensor(tensor)
def use():
    again = testing.import_tensor(testing.Floats.from_dlpack(held_by_python(tensor)))
    assert again.floats() == held.floats() == [1.0, 2.0]
    taken = testing.take(tensor.__dlpack__(max_version=(1, 0)))
    taken.delete_in_background().wait(10, holding_gil=False)
    held.release()
    try:
        tensor.__dlpack__(copy=3)
    except (TypeError, ValueError, BufferError):
        return 7
def held_by_python(tensor):
    return tensor
print(in_child(use), held.floats())
held.release()
del tensor
print(testing.live())
""",
        cls,
        output="7 [1.0, 2.0]\n0\n",
    )


@CLASSES
def test_the_child_ends_as_interpreters_do(cls):
    """Not by `os._exit`: the child finalizes with all it has from its parent."""
    run(
        """
        import os
        capsule, taken = exported(), testing.take(exported())
        if os.fork() == 0:
            sys.exit(0)
        print(os.waitstatus_to_exitcode(os.wait()[1]), testing.live())
        taken.delete()
        del capsule
        print(testing.live())
        """,
        cls,
        output="0 2\n0\n",
    )


@CLASSES
def test_a_fork_while_threads_exchange(cls):
    """Other threads of the parent may be inside any function; the child has none of them,
    and must not wait for their locks."""
    run(
        CHILD
        + """
import threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)
stop = False
def go_on():
    while not stop:
        testing.import_tensor(exported())
threads = [threading.Thread(target=go_on) for _ in range(4)]
for thread in threads:
    thread.start()
def use():
    for _ in range(100):
        assert testing.import_tensor(exported()).floats() == [1.0, 2.0]
    return 5
print([in_child(use) for _ in range(20)] == [5] * 20)
stop = True
for thread in threads:
    thread.join()
print(testing.live())
""",
        cls,
        output="True\n0\n",
    )
