"""The end of an import: who calls the deleter, on which thread, and what it raises."""

import subprocess
import sys

import dlpack_structs as structs
import dlpack_testing as testing
import pytest
from conftest import check_leaks
from dlpack_testing import CallsOnDrop, Frozen, Single, Writable


@pytest.mark.parametrize("cls", [Frozen, Writable, Single])
@pytest.mark.parametrize(
    "release", ["release", "release_detached", "release_in_background"]
)
def test_the_deleter_runs_once_wherever_it_is(cls, release):
    """Attached, detached, and on a thread without an interpreter."""

    def body():
        getattr(testing.import_tensor(cls([1.0])), release)()

    check_leaks(body)


@pytest.fixture
def reports(monkeypatch):
    """What Python reports as unraisable."""
    seen = []
    hook = lambda report: seen.append((report.exc_type, str(report.exc_value)))
    monkeypatch.setattr("sys.unraisablehook", hook)
    return seen


def raise_key_error():
    raise KeyError("the deleter's own")


def test_what_a_deleter_raises_is_reported(reports):
    """The exception is unraisable and does not reach the code that drops the tensor. Rule L11."""
    held = testing.import_tensor(CallsOnDrop(raise_key_error))
    assert held.release() is None
    assert [report[0] for report in reports] == [KeyError]


def test_what_the_deleter_of_a_rejected_tensor_raises_is_reported(reports):
    """The caller gets the error of the tensor. Rule L11."""
    capsule = CallsOnDrop(raise_key_error).__dlpack__(max_version=(1, 0))
    structs.of(capsule).dl_tensor.ndim = -1
    with pytest.raises(BufferError, match="-1"):
        testing.import_tensor(capsule)
    assert [report[0] for report in reports] == [KeyError]


def test_an_exception_in_flight_survives_a_deleter(reports):
    """The earlier exception is kept, and the deleter runs without it. Rule L10."""
    seen = []

    def look():
        import sys

        seen.append(sys.exc_info()[0])
        raise KeyError("the deleter's own")

    held = testing.import_tensor(CallsOnDrop(look))
    with pytest.raises(ValueError, match="in flight"):
        held.release_while_raising(ValueError("in flight"))
    assert seen == [None]
    assert [report[0] for report in reports] == [KeyError]


def test_a_deleter_may_import_again():
    """No lock is held while the deleter runs. Rules L9, L14."""
    other = Writable([4.0])
    seen = []

    def again():
        seen.append(testing.import_tensor(other).floats())
        capsule = other.__dlpack__()
        seen.append(testing.import_tensor(capsule).floats())

    testing.import_tensor(CallsOnDrop(again)).release()
    assert seen == [[4.0], [4.0]]


def test_a_thread_that_releases_while_python_ends():
    """It neither aborts nor hangs, wherever the end finds it. Our own deleters, that
    is: what CPython does to NumPy's there ends in an abort now and then."""
    code = """if True:
        import dlpack_testing as testing, threading, time
        held = [testing.import_tensor(testing.Single([1.0])) for _ in range(4_000)]
        held += [testing.import_tensor(testing.Writable([1.0])) for _ in range(4_000)]
        def run():
            for each in held:
                each.release_in_background()
        threading.Thread(target=run, daemon=True).start()
        time.sleep({pause})
    """
    for pause in (0.0, 0.01, 0.05):
        done = subprocess.run(
            [sys.executable, "-c", code.format(pause=pause)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
