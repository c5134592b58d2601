"""Bare capsules as arguments of `python::from_dlpack`, and capsules that several
threads want."""

import sys
import threading
from pathlib import Path

import dlpack_structs as structs
import dlpack_testing as testing
import pytest
from conftest import check_leaks, nothing_left, require, run_in_a_new_process
from dlpack_testing import Writable

VERSIONS = pytest.mark.parametrize(
    "max_version", [None, (1, 0)], ids=["legacy", "versioned"]
)


@VERSIONS
def test_a_capsule_is_taken_once(max_version):
    """The capsule is renamed as the standard requires, and cannot be used again. Rules L2,
    L21."""

    def body():
        capsule = Writable([1.0, 2.0]).__dlpack__(max_version=max_version)
        name = structs.name(capsule)
        held = testing.import_tensor(capsule)
        assert held.floats() == [1.0, 2.0]
        assert structs.name(capsule) == "used_" + name
        with pytest.raises(ValueError, match="was taken before"):
            testing.import_tensor(capsule)

    check_leaks(body)


def test_other_capsules():
    """The names show that the capsules hold no tensor."""
    import datetime

    with pytest.raises(ValueError, match="datetime.*holds no tensor"):
        testing.import_tensor(datetime.datetime_CAPI)


def test_what_a_capsule_cannot_be_asked():
    """The capsule already exists, so no keyword can apply to it."""
    capsule = Writable([1.0]).__dlpack__()
    assert testing.import_tensor(capsule, copy=False, device=(1, 0)).floats() == [1.0]
    with nothing_left():
        capsule = Writable([1.0]).__dlpack__()
        with pytest.raises(BufferError, match="requested a tensor on cuda:0, got one on cpu"):
            testing.import_tensor(capsule, device=(2, 0))
        del capsule


@VERSIONS
@pytest.mark.parametrize(
    ("field", "value"), [("ndim", -1), ("ndim", 65), ("shape", None), ("data", None)]
)
def test_a_hostile_struct_is_released_once(max_version, field, value):
    """The struct is taken out of its capsule first, so it is released only once. Rule L4.
    """

    def body():
        capsule = Writable([1.0, 2.0]).__dlpack__(max_version=max_version)
        setattr(structs.of(capsule).dl_tensor, field, value)
        with pytest.raises(BufferError):
            testing.import_tensor(capsule)
        assert structs.name(capsule).startswith("used_")

    check_leaks(body)


def test_a_foreign_major_version_is_only_released():
    """The fields after `flags` are not read. Rule F1."""

    def body():
        capsule = Writable([1.0]).__dlpack__(max_version=(1, 0))
        managed = structs.of(capsule)
        managed.version.major = 2
        managed.dl_tensor.ndim = 2**31 - 1
        with pytest.raises(BufferError, match="DLPack 2.3"):
            testing.import_tensor(capsule)

    check_leaks(body)


@VERSIONS
def test_eight_threads_want_one_capsule(max_version):
    """Exactly one thread gets the tensor. Rule L3."""
    race(max_version)


def race(max_version):
    """Eight threads take from the same capsules, one capsule at a time."""
    tensor = Writable([1.0, 2.0])
    turns, threads = 300, 8
    capsules = [tensor.__dlpack__(max_version=max_version) for _ in range(turns)]
    got, failures = [0] * turns, []
    start = threading.Barrier(threads)

    def run():
        try:
            for turn in range(turns):
                start.wait()
                try:
                    held = testing.import_tensor(capsules[turn])
                except ValueError:
                    continue
                got[turn] += 1
                assert held.floats() == [1.0, 2.0]
        except BaseException as failure:
            failures.append(failure)
            start.abort()

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    released = testing.releases()
    try:
        workers = [threading.Thread(target=run) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(switch)
    assert failures == [] and got == [1] * turns
    assert testing.releases() - released == turns


def test_python_cannot_switch_the_lock_off():
    """`sys` and `sysconfig`, which Python code can replace, do not decide whether to lock.
    Rule L3."""
    run_in_a_new_process(
        f"""if True:
        import sys, sysconfig

        sys._is_gil_enabled = lambda: True
        sysconfig.get_config_var = lambda name: 0
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_import_capsules import race

        race(None)
        race((1, 0))
    """
    )


def counts(*objects):
    return [sys.getrefcount(each) for each in objects]


@pytest.mark.parametrize("name", ["own", "numpy", "torch", "capsule"])
def test_references_after_many_imports(name):
    """100,000 imports leave every count where it was."""
    if name == "own":
        objects = [Writable([1.0])]
    elif name == "numpy":
        objects = [require("numpy").zeros(3, dtype="float32")]
    elif name == "torch":
        objects = [require("torch").zeros(3)]
    else:
        objects = []
    objects += [type(each) for each in objects]
    testing.import_often(objects[0] if objects else Writable([1.0]), 10)
    before = counts(*objects)
    held = testing.allocations(), testing.live()
    if name == "capsule":
        tensor = Writable([1.0])
        for _ in range(100_000):
            testing.import_tensor(tensor.__dlpack__())
        del tensor
    else:
        testing.import_often(objects[0], 100_000)
    assert counts(*objects) == before
    assert (testing.allocations(), testing.live()) == held
