"""Exports and releases on threads of Python's, on threads that Python does not
know, and on several at once."""

import os
import sys
import threading
import time

import consumers
import dlpack_structs as structs
import dlpack_testing as testing
import pytest
from conftest import check_leaks, nothing_left, require
from dlpack_testing import Frozen, Growing, Single, Writable

CLASSES = (Frozen, Writable, Single, Growing)
VERSIONED = {"max_version": (1, 0)}


def in_thread(body):
    """Runs `body` on another Python thread, and passes its failure on."""
    failures = []

    def run():
        try:
            body()
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("name", consumers.ALL)
def test_an_array_dropped_on_another_python_thread(name, cls):
    """The last reference to an array is dropped on another thread."""
    consumer = consumers.get(name)

    def body():
        arrays = [consumer.take(cls([1.0, 2.0]))]
        in_thread(arrays.clear)
        assert arrays == []

    check_leaks(body, rounds=5)


@pytest.mark.parametrize("max_version", [None, (1, 0)], ids=["legacy", "versioned"])
@pytest.mark.parametrize("cls", CLASSES)
def test_the_deleter_without_the_gil(cls, max_version):
    """The thread of the deleter has a Python state but does not hold the GIL."""

    def body():
        testing.take(cls([1.0]).__dlpack__(max_version=max_version)).delete_detached()

    check_leaks(body)


@pytest.mark.parametrize("max_version", [None, (1, 0)], ids=["legacy", "versioned"])
@pytest.mark.parametrize("cls", CLASSES)
def test_the_deleter_on_a_thread_python_does_not_know(cls, max_version):
    """The thread of the deleter has never attached to Python."""

    def body():
        taken = testing.take(cls([1.0]).__dlpack__(max_version=max_version))
        assert taken.delete_in_background().wait(10, holding_gil=False)

    check_leaks(body)


@pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no GIL to hold"
)
@pytest.mark.parametrize("cls", CLASSES)
def test_the_deleter_while_another_thread_holds_the_gil(cls):
    """It returns although the GIL is never let go. Memory with several owners is freed there,
    and an object by this thread. Rule L31."""

    def body():
        taken = testing.take(cls([1.0]).__dlpack__(**VERSIONED))
        assert taken.delete_in_background().wait(10, holding_gil=True)
        # CPython before 3.13 makes pending calls after the main thread has waited for the GIL.
        time.sleep(0.001)

    # Otherwise the interpreter may pass the GIL on between two statements.
    switch = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        check_leaks(body, rounds=5)
    finally:
        sys.setswitchinterval(switch)


@pytest.mark.parametrize("cls", CLASSES)
def test_four_threads_export_one_object(cls):
    """Exports and releases of one object on four threads at once."""
    numpy = consumers.get("numpy")
    tensor = cls([1.0, 2.0, 3.0])
    failures, start = [], threading.Barrier(4)

    def run():
        try:
            start.wait()
            for turn in range(2_000):
                array = numpy.take(tensor)
                capsule = tensor.__dlpack__(max_version=(1, 0) if turn % 2 else None)
                assert numpy.address(array) == tensor.data_ptr
                assert structs.Tensor(capsule).floats() == [1.0, 2.0, 3.0]
        except BaseException as failure:
            failures.append(failure)

    count = sys.getrefcount(tensor)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with nothing_left():
            threads = [threading.Thread(target=run) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failures == []
            del threads, thread
    finally:
        sys.setswitchinterval(switch)
    assert sys.getrefcount(tensor) == count


def test_releases_on_many_threads_at_once():
    """One object, released by eight threads that Python does not know."""
    tensor = Single([1.0])
    count = sys.getrefcount(tensor)

    def body():
        taken = [testing.take(tensor.__dlpack__(**VERSIONED)) for _ in range(8)]
        waits = [each.delete_in_background() for each in taken]
        assert all(each.wait(10, holding_gil=False) for each in waits)

    check_leaks(body)
    assert sys.getrefcount(tensor) == count


def as_a_tensor(array):
    """A copy, because PyTorch has no negative strides."""
    return testing.results.same_like(require("torch"), array[::-1])


LONG_COPIES = {
    "import": lambda array: testing.import_tensor(array, copy=True),
    "method": lambda array: testing.Floats.from_dlpack(array, copy=True),
    "class": testing.Counts.from_dlpack,
    "result": as_a_tensor,
}


@pytest.mark.parametrize("copy", LONG_COPIES.values(), ids=LONG_COPIES)
def test_other_threads_run_during_a_long_copy(copy):
    """Of `copy=True`, of a class that copies, and of a result for another library."""
    numpy = consumers.get("numpy").module
    array = numpy.ones(1 << 23, dtype="f4")
    array = array.astype("i8") if copy is LONG_COPIES["class"] else array
    # An import of a module lets other threads run, too.
    copy(array[:2])
    ran, go = [], threading.Lock()
    go.acquire()

    def run():
        with go:
            ran.append(True)

    thread = threading.Thread(target=run)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        thread.start()
        go.release()
        # Here the thread waits for the GIL, unless it ran before.
        copied = copy(array)
        assert ran
    finally:
        sys.setswitchinterval(switch)
        thread.join()
    del copied


def in_ended_thread(body):
    """Runs `body` on another Python thread, and returns when the system has ended it.
    `join` returns when Python has forgotten it, before thread-local values are dropped."""
    thread = threading.Thread(target=body)
    thread.start()
    task = f"/proc/self/task/{thread.native_id}"
    thread.join()
    deadline = time.monotonic() + 10
    while os.path.exists(task) and time.monotonic() < deadline:
        time.sleep(0.001)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc")
@pytest.mark.parametrize("max_version", [None, (1, 0)], ids=["legacy", "versioned"])
@pytest.mark.parametrize("cls", CLASSES)
def test_the_deleter_when_its_thread_ends(cls, max_version):
    """In the destructor of a thread-local value, when Python has forgotten the thread. L7."""

    def body():
        taken = testing.take(cls([1.0]).__dlpack__(max_version=max_version))
        in_ended_thread(taken.delete_at_thread_exit)

    check_leaks(body)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc")
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_a_foreign_deleter_when_its_thread_ends(name):
    """The same of a tensor of another library, whose deleter attaches. L11."""
    consumer = consumers.get(name)

    def body():
        held = testing.import_tensor(consumer.take(Writable([1.0, 2.0])))
        in_ended_thread(held.release_at_thread_exit)

    check_leaks(body)
