"""Checks of the life cycle of a capsule, one per clause."""

import ctypes
import gc
import threading
import weakref

import dlpack_structs as structs
import pytest
from clauses import DLPACK, clause
from subjects import VALUES, producers, subject  # noqa: F401

CAPSULE = "Python specification, implementation"
VERSIONS = [None, (1, 0)]

_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.argtypes = [ctypes.py_object, ctypes.c_char_p]
USED = {
    "dltensor": ctypes.c_char_p(b"used_dltensor"),
    "dltensor_versioned": ctypes.c_char_p(b"used_dltensor_versioned"),
}
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def take(capsule):
    """Takes the struct out of a capsule as a consumer does; returns its deleter, bound to
    the struct."""
    name = structs.name(capsule)
    struct = structs.of(capsule)
    found = structs.Tensor(capsule)
    _set_name(capsule, USED[name])
    deleter = _Deleter(struct.deleter)
    return found, lambda: deleter(ctypes.addressof(struct))


def floats(found):
    """The elements, read from memory."""
    return list((ctypes.c_float * len(VALUES)).from_address(found.data))


@producers()
@clause(DLPACK, CAPSULE, "the capsule has a destructor")
@pytest.mark.parametrize("max_version", VERSIONS)
def test_there_is_a_destructor(subject, max_version):
    assert structs.has_destructor(subject.make().__dlpack__(max_version=max_version))


@producers()
@clause(DLPACK, CAPSULE, "a capsule that no consumer took is deleted with its tensor")
@pytest.mark.parametrize("max_version", VERSIONS)
def test_untaken_capsule_deletes_its_tensor(subject, max_version):
    for _ in range(200):
        subject.make().__dlpack__(max_version=max_version)
    gc.collect()


@producers()
@clause(DLPACK, CAPSULE, "a capsule with a used name leaves its tensor alone")
@pytest.mark.parametrize("max_version", VERSIONS)
def test_a_capsule_that_was_taken(subject, max_version):
    capsule = subject.make().__dlpack__(max_version=max_version)
    found, delete = take(capsule)
    del capsule
    gc.collect()
    assert floats(found) == VALUES
    delete()


@producers()
@clause(DLPACK, CAPSULE, "the producer keeps the memory until the deleter is called")
@pytest.mark.parametrize("max_version", VERSIONS)
def test_the_memory_outlives_the_object(subject, max_version):
    tensor = subject.make()
    found, delete = take(tensor.__dlpack__(max_version=max_version))
    del tensor
    gc.collect()
    others = [subject.make() for _ in range(50)]
    assert floats(found) == VALUES
    del others
    delete()


@producers()
@clause(DLPACK, "deleter", "may be called on any thread, which may not hold the GIL")
@pytest.mark.parametrize("max_version", VERSIONS)
def test_the_deleter_on_another_thread(subject, max_version):
    tensor = subject.make()
    _, delete = take(tensor.__dlpack__(max_version=max_version))
    del tensor
    # A function of `ctypes.CFUNCTYPE` is called without the GIL.
    thread = threading.Thread(target=delete)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


@producers()
@clause(DLPACK, "deleter", "the object is usable after exports, and released after")
def test_the_object_is_released(subject):
    tensor = subject.make()
    try:
        alive = weakref.ref(tensor)
    except TypeError:
        pytest.skip("objects of this class have no weak references")
    _, delete = take(tensor.__dlpack__(max_version=(1, 0)))
    del tensor
    delete()
    gc.collect()
    assert alive() is None


@producers()
@clause(DLPACK, CAPSULE, "each call gives a capsule of its own")
def test_two_exports_are_two_tensors(subject):
    tensor = subject.make()
    first, delete_first = take(tensor.__dlpack__(max_version=(1, 0)))
    second, delete_second = take(tensor.__dlpack__(max_version=(1, 0)))
    delete_first()
    assert floats(second) == VALUES and first.data == second.data
    delete_second()
