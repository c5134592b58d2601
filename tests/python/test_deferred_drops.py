"""Tensors of Python that threads without the GIL drop, while another thread has it and waits for
them. Rule L31."""

import sys
import threading
import time

import dlpack_testing as testing
import pytest
from conftest import check_leaks, require, run_in_a_new_process
from dlpack_testing import CallsOnDrop, Single, arguments

PRODUCERS = {
    "numpy": "import numpy; make = lambda: numpy.ones(3, dtype='f4')",
    "object": "make = lambda: testing.Single([1.0, 1.0, 1.0])",
    "capsule": "make = lambda: testing.Single([1.0, 1.0, 1.0]).__dlpack__()",
    "subclass": "import numpy\n"
    "class Array(numpy.ndarray): pass\n"
    "make = lambda: numpy.ones(3, dtype='f4').view(Array)",
}


@pytest.mark.parametrize("name", PRODUCERS)
def test_threads_drop_tensors_while_the_caller_has_the_gil(name):
    """The call returns, and every reference is released."""
    check_that_threads_drop(PRODUCERS[name], name != "capsule")


def test_threads_drop_tensors_of_torch_while_the_caller_has_the_gil():
    """Whose deleter waits for the GIL."""
    require("torch")
    check_that_threads_drop("import torch; make = lambda: torch.ones(3)", True)


def check_that_threads_drop(make, is_reused):
    code = f"""if True:
        import gc, sys, time
        import dlpack_testing as testing
        {make.replace(chr(10), chr(10) + " " * 8)}

        arrays = [make() for _ in range(4)]
        counts = [sys.getrefcount(array) for array in arrays]
        for _ in range(200):
            given = arrays if {is_reused} else [make() for _ in range(4)]
            assert testing.arguments.sums_on_threads(given) == [3.0] * 4
        del given
        # CPython before 3.13 makes pending calls after the main thread has waited for the GIL.
        time.sleep(0.001)
        testing.live()
        assert [sys.getrefcount(array) for array in arrays] == counts
        del arrays
        gc.collect()
        assert testing.live() == 0
    """
    assert run_in_a_new_process(code, timeout=60) == ""


def test_a_loop_drops_what_threads_leave():
    """The next import does, also if the main thread runs no Python code. Rule L31."""
    array = require("numpy").ones(3, dtype="f4")
    most = []

    def run():
        for _ in range(100):
            arguments.sums_on_threads([array] * 4)
            most.append(sys.getrefcount(array))

    before = sys.getrefcount(array)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert max(most) <= before + 16
    time.sleep(0.001)
    testing.live()
    assert sys.getrefcount(array) <= before


def test_a_loop_of_exports_drops_what_threads_leave():
    """The exports of an object are released by threads of their consumer."""
    tensor = Single([1.0])
    count = sys.getrefcount(tensor)
    most = []

    def run():
        for _ in range(100):
            taken = testing.take(tensor.__dlpack__(max_version=(1, 0)))
            assert taken.delete_in_background().wait(10, holding_gil=True)
            most.append(sys.getrefcount(tensor))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert max(most) <= count + 5
    assert sys.getrefcount(tensor) == count


def test_a_destructor_may_do_anything_when_it_runs_later(monkeypatch):
    """Its exception is reported, and it may leave values again."""
    seen, reports = [], []
    monkeypatch.setattr("sys.unraisablehook", lambda report: reports.append(report.exc_type))

    def again():
        seen.append(arguments.sums_on_threads([Single([2.0])]))
        raise KeyError

    def body():
        held = testing.import_tensor(CallsOnDrop(again))
        held.release_in_background()
        time.sleep(0.001)

    check_leaks(body, rounds=5)
    assert set(map(tuple, seen)) == {(2.0,)} and set(reports) == {KeyError}
    assert len(seen) == len(reports)
