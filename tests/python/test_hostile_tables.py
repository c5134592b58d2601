"""Exchange tables as hostile or old libraries publish them, and capsules that
several want: the consumer believes neither.

What must not be read lies on a page that cannot be read, where the system has
such pages: a read there ends the process.
"""

import ctypes
import mmap
import sys
import threading
from ctypes import c_int, c_void_p, py_object, pythonapi

import pytest
from conftest import check_leaks
from dlpack_testing import CallsOnDrop, Writable, import_tensor
from exchange_table import ATTRIBUTE, CAPSULE, Functions, Header, address

OLD_ATTRIBUTE = "__c_dlpack_exchange_api__"
FROM_OBJECT = dict(Functions._fields_)["from_object"]

_new_capsule = pythonapi.PyCapsule_New
_new_capsule.restype = py_object
_new_capsule.argtypes = c_void_p, ctypes.c_char_p, c_void_p

# What tables are made of lives on: importers remember where a table was.
KEPT = []


def capsule(pointer, name=CAPSULE):
    """A capsule of that name, around an address."""
    KEPT.append(name)
    return _new_capsule(pointer, name, None)


def at_the_end(struct):
    """The address of a copy of a struct behind which nothing can be read."""
    size = ctypes.sizeof(struct)
    if not sys.platform.startswith("linux"):
        KEPT.append(struct)
        return ctypes.addressof(struct)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = c_void_p
    libc.mmap.argtypes = c_void_p, ctypes.c_size_t, c_int, c_int, c_int, ctypes.c_long
    libc.mprotect.argtypes = c_void_p, ctypes.c_size_t, c_int
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    pages = libc.mmap(None, 2 * mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    assert libc.mprotect(pages + mmap.PAGESIZE, mmap.PAGESIZE, 0) == 0
    place = pages + mmap.PAGESIZE - size
    ctypes.memmove(place, ctypes.addressof(struct), size)
    return place


def header(major, minor, prev=None):
    """The address of a header that is all there is of a table."""
    made = Header()
    made.version.major, made.version.minor = major, minor
    made.prev_api = prev
    return at_the_end(made)


def table(from_object=None, version=(1, 3)):
    """The address of a table with that one function, or none."""
    made = Functions()
    made.header.version.major, made.header.version.minor = version
    if from_object is not None:
        made.from_object = FROM_OBJECT(from_object)
        KEPT.append(made.from_object)
    return at_the_end(made)


def producer(**attributes):
    """An object whose `__dlpack__` says that it was called, of a new class."""
    inner, calls = Writable([1.0, 2.0]), []

    def dlpack(self, **keywords):
        calls.append("__dlpack__")
        return inner.__dlpack__(**keywords)

    def device(self):
        return inner.__dlpack_device__()

    methods = {"__dlpack__": dlpack, "__dlpack_device__": device}
    made = type("Producer", (), {**methods, **attributes})()
    return made, calls


def by_method(**attributes):
    """The tensor came by `__dlpack__`, and once."""
    made, calls = producer(**attributes)
    assert import_tensor(made).floats() == [1.0, 2.0]
    assert calls == ["__dlpack__"]


@pytest.mark.parametrize("version", [(0, 3), (2, 0), (2, 3), (2**32 - 1, 3)], ids=str)
def test_tables_of_other_major_versions(version):
    """X1: of another major version only the header is there."""
    by_method(**{ATTRIBUTE: capsule(header(*version))})


def test_an_older_table_behind_a_newer_one():
    """X1: what we can read is found behind what we cannot."""

    class Newer(Writable):
        def __dlpack__(self, **keywords):
            raise AssertionError("the table is there")

    newest = header(3, 0, header(2, 0, address(Writable)))
    setattr(Newer, ATTRIBUTE, capsule(newest))
    assert import_tensor(Newer([1.0, 2.0])).floats() == [1.0, 2.0]


def test_tables_that_lead_in_a_circle():
    """X1: the search ends."""
    one = Header()
    one.version.major = 2
    one.prev_api = ctypes.addressof(one)
    KEPT.append(one)
    by_method(**{ATTRIBUTE: capsule(ctypes.addressof(one))})
    other = header(2, 1, ctypes.addressof(one))
    one.prev_api = other
    by_method(**{ATTRIBUTE: capsule(other)})


@pytest.mark.parametrize("version", [(1, 0), (1, 1)], ids=str)
def test_tables_from_before_there_were_tables(version):
    """X3: there is no function behind such a header."""
    by_method(**{ATTRIBUTE: capsule(header(*version))})


def test_functions_that_are_missing():
    """X2: what the standard forbids to be NULL, and is."""
    by_method(**{ATTRIBUTE: capsule(table())})


@pytest.mark.parametrize("status", [-1, 1, -(2**31), 0])
def test_functions_that_fail_in_silence(status):
    """X5: no result, no exception, whatever is returned."""
    asked = []

    def from_object(value, out):
        asked.append(type(value).__name__)
        return status

    by_method(**{ATTRIBUTE: capsule(table(from_object))})
    assert asked == ["Producer"]


NO_TABLES = {
    "none": None,
    "address": 1,
    "zero": 0,
    "text": "table",
    "tuple": (1, 3),
    "other capsule": capsule(1, b"dltensor_versioned"),
    "nearly": capsule(1, b"dlpack_exchange_api_"),
    "without a name": capsule(1, None),
}


@pytest.mark.parametrize("attribute", [ATTRIBUTE, OLD_ATTRIBUTE])
@pytest.mark.parametrize("what", NO_TABLES)
def test_attributes_that_are_no_table(what, attribute):
    """X4: nothing but a capsule of that name is followed; addresses are not."""
    by_method(**{attribute: NO_TABLES[what]})


def test_a_table_on_the_object():
    """X4: an object can say anything about itself, so it is not asked."""
    made, calls = producer()
    setattr(made, ATTRIBUTE, capsule(1))
    assert import_tensor(made).floats() == [1.0, 2.0]
    assert calls == ["__dlpack__"]


def test_every_type_has_its_own_table():
    """X6: among many types, more than are remembered, none gets another's."""
    asked = []

    def from_object(value, out):
        asked.append(value)
        return -1

    with_table = table(from_object)
    made = []
    for number in range(1500):
        attributes = {ATTRIBUTE: capsule(with_table)} if number % 2 else {}
        made.append(producer(**attributes))
    for _ in range(2):
        for number, (each, calls) in enumerate(made):
            asked.clear()
            calls.clear()
            assert import_tensor(each).floats() == [1.0, 2.0]
            assert [id(one) for one in asked] == [id(each)] * (number % 2)
            assert calls == ["__dlpack__"]


def test_objects_of_a_subclass_go_through_the_inherited_table():
    """X6: a table that is inherited is for objects of the subclass too."""

    class Sub(Writable):
        def __dlpack__(self, **keywords):
            raise AssertionError("the table is there")

    assert import_tensor(Sub([1.0, 2.0])).floats() == [1.0, 2.0]


@pytest.mark.parametrize("max_version", [None, (1, 0)], ids=["legacy", "versioned"])
def test_a_capsule_is_taken_by_one(max_version):
    """L3: of many threads that want one capsule, one gets the tensor."""

    def body():
        made = Writable([1.0, 2.0]).__dlpack__(max_version=max_version)
        start, taken, refused = threading.Barrier(8), [], []

        def take():
            start.wait()
            try:
                taken.append(import_tensor(made))
            except ValueError as error:
                refused.append(str(error))

        threads = [threading.Thread(target=take) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(taken), len(refused)) == (1, 7)
        assert all("taken before" in text for text in refused)
        assert taken.pop().floats() == [1.0, 2.0]

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        check_leaks(body, rounds=5)
    finally:
        sys.setswitchinterval(switch)


def test_a_deleter_that_raises():
    """L11: what a deleter leaves behind is reported, and goes no further."""
    reports = []
    before, sys.unraisablehook = sys.unraisablehook, lambda it: reports.append(it.exc_type)

    def on_drop():
        raise KeyError("the owner's own")

    try:
        import_tensor(CallsOnDrop(on_drop)).release()
        assert reports == [KeyError]
        with pytest.raises(TypeError, match="on its way"):
            held = import_tensor(CallsOnDrop(on_drop))
            held.release_while_raising(TypeError("on its way"))
        assert reports == [KeyError, KeyError]
    finally:
        sys.unraisablehook = before
