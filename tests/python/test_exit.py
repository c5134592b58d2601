"""Python ends while tensors are out: exit code 0, and not a word on stderr."""

import os
import subprocess
import sys
import textwrap

import dlpack_testing
import pytest
from conftest import require

CLASSES = pytest.mark.parametrize("cls", ["Frozen", "Writable", "Single", "Growing"])
VERSIONS = pytest.mark.parametrize(
    "max_version", [None, (1, 0)], ids=["legacy", "versioned"]
)

# What every program below begins with.
PRELUDE = """
import sys
sys.path[:0] = {path!r}
import dlpack_testing as testing

def exported():
    return testing.{cls}([1.0, 2.0]).__dlpack__(max_version={max_version})
"""


def run(code, cls="Frozen", max_version=(1, 0), output="", environment=None):
    """Runs a program in a Python of its own; what it prints is `output`."""
    path = [
        os.path.dirname(os.path.realpath(dlpack_testing.__file__)),
        os.path.dirname(os.path.realpath(__file__)),
    ]
    prelude = PRELUDE.format(path=path, cls=cls, max_version=max_version)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", prelude + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **(environment or {})},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, output, "")


@CLASSES
@VERSIONS
def test_capsules_in_globals(cls, max_version):
    """Unconsumed capsules, in a module, in a cycle, and in a builtin module."""
    run(
        """
        capsule = exported()
        cycle = [exported()]
        cycle.append(cycle)
        import builtins
        builtins.kept = exported()
        """,
        cls,
        max_version,
    )


@CLASSES
def test_arrays_in_globals(cls):
    """NumPy arrays of every sort of owner."""
    require("numpy")
    run(
        f"""
        import numpy
        array = numpy.from_dlpack(testing.{cls}([1.0, 2.0]))
        tensor = testing.{cls}([1.0, 2.0])
        other = numpy.from_dlpack(tensor)
        numpy.kept = numpy.from_dlpack(tensor)
        print(array.tolist())
        """,
        cls,
        output="[1.0, 2.0]\n",
    )


@pytest.mark.parametrize("name", ["torch", "jax", "tvm_ffi"])
def test_arrays_of_other_consumers_in_globals(name):
    """What PyTorch, JAX and tvm-ffi hold at exit."""
    require(name)
    run(
        f"""
        import consumers
        consumer = consumers.get({name!r})
        classes = testing.Frozen, testing.Writable, testing.Single, testing.Growing
        kept = [consumer.take(cls([1.0, 2.0])) for cls in classes]
        print([consumer.shape(array) for array in kept])
        """,
        output="[(2,), (2,), (2,), (2,)]\n",
        environment={"JAX_PLATFORMS": "cpu"},
    )


@CLASSES
def test_exports_while_python_ends(cls):
    """Exports in `atexit` and in a `__del__` that runs when modules go."""
    run(
        """
        import atexit, dlpack_structs

        def export(read=dlpack_structs.Tensor, exported=exported):
            capsule = exported()
            return read(capsule).shape

        class Late:
            def __del__(self, export=export, print=print):
                print("late", export())

        atexit.register(lambda: print("atexit", export()))
        late = Late()
        """,
        cls,
        output="atexit (2,)\nlate (2,)\n",
    )


@CLASSES
def test_daemon_threads(cls):
    """Daemon threads that hold tensors, and that never stop exporting."""
    run(
        """
        import threading, time
        tensor = testing.Writable([1.0])

        def hold():
            kept = exported()
            time.sleep(60)

        def export():
            while True:
                taken = testing.take(exported())
                exported()
                tensor.__dlpack__()
                taken.delete_detached()

        for target in (hold, export, export, export):
            threading.Thread(target=target, daemon=True).start()
        time.sleep(0.2)
        """,
        cls,
    )


@CLASSES
def test_releases_on_an_unknown_thread_while_python_ends(cls):
    """A thread of Rust's releases tensors before, during and after the end."""
    run(
        """
        import time
        taken = [testing.take(exported()) for _ in range(2_000)]
        testing.Taken.delete_slowly(taken, 50e-6)
        time.sleep(0.02)

        class Late:
            def __del__(self, sleep=time.sleep):
                sleep(0.02)

        late = Late()
        """,
        cls,
    )


@VERSIONS
@CLASSES
def test_releases_after_python_has_ended(cls, max_version):
    """A consumer without Python releases last. Memory with several owners is
    freed, and so are copies; what a Python object owns is left to the end of
    the process."""
    left = 3 if cls in ("Single", "Growing") and max_version else 0
    run(
        """
        for _ in range(3):
            testing.take(exported()).delete_at_process_exit()
        """,
        cls,
        max_version,
        output=f"python 0, deleted 3, live {left}\n",
    )


@CLASSES
def test_releases_after_python_removed_the_function_at_exit(cls):
    """Python code can remove the function that keeps deleters from attaching."""
    run(
        """
        import atexit

        testing.take(exported()).delete_at_process_exit()
        atexit._clear()
        """,
        cls,
        (1, 0),
        output=f"python 0, deleted 1, live {int(cls in ('Single', 'Growing'))}\n",
    )


def test_owners_that_would_run_python_code():
    """A drop that looks for Python, when there is less and less of it."""
    run(
        """
        import atexit

        def export(callable):
            return testing.CallsOnDrop(callable).__dlpack__(max_version=(1, 0))

        capsule = export(print)
        early = [export(lambda: print("called"))]
        atexit.register(early.clear)
        late = testing.take(export(print))
        late.delete_at_process_exit()
        """,
        output="called\npython 0, deleted 1, live 0\n",
    )


def test_run_sees_failures():
    """The helper of these tests does notice a word on stderr or a bad end."""
    for code in (
        "sys.stderr.write('x')",
        "sys.exit(3)",
        "import os; os._exit(4)",
        "print()",
    ):
        with pytest.raises(AssertionError):
            run(code)


@pytest.mark.parametrize("cls", ["Single", "Growing"])
def test_the_end_waits_for_deleters_on_other_threads(cls):
    """A thread that Python does not know runs a finalizer of Python's when Python ends. L28."""
    run(
        """
        import time
        class Slow(testing.{cls}):
            def __del__(self):
                time.sleep(0.3)
                print("released", flush=True)
        taken = testing.take(Slow([1.0]).__dlpack__(max_version=(1, 0)))
        background = taken.delete_in_background()
        time.sleep(0.1)
        """.replace("{cls}", cls),
        cls,
        output="released\n",
    )


def test_the_end_drops_what_threads_have_left():
    """Python makes no pending calls any more. Rule L28."""
    run(
        """
        import atexit
        class Late(testing.Single):
            def __del__(self):
                print("released", flush=True)
        def capsule():
            return Late([1.0]).__dlpack__(max_version=(1, 0))
        testing.arguments.sums_on_threads([testing.Single([1.0])])
        atexit.register(testing.arguments.sums_on_threads, [capsule()])
        """,
        output="released\n",
    )


def test_the_end_waits_for_foreign_deleters():
    """The same of a deleter of NumPy's, which attaches by itself. L28."""
    require("numpy")
    run(
        """
        import threading, time
        import numpy
        class Slow(numpy.ndarray):
            def __del__(self):
                time.sleep(0.3)
                print("released", flush=True)
        held = testing.import_tensor(numpy.ones(3).view(Slow))
        threading.Thread(target=held.release_at_thread_exit, daemon=True).start()
        time.sleep(0.1)
        """,
        output="released\n",
    )
