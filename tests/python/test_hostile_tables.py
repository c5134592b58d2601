"""Exchange tables that end where reading ends: what a table of its version does
not have lies on a page that cannot be read, where the system has such pages. A
read there ends the process. Other odd tables are in `test_import_tables.py`.
"""

import ctypes
import mmap
import sys
from ctypes import c_int, c_void_p, py_object, pythonapi

import pytest
from dlpack_testing import Writable, import_tensor
from exchange_table import ATTRIBUTE, CAPSULE, Functions, Header, address


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


def table(version):
    """The address of a table without a function."""
    made = Functions()
    made.header.version.major, made.header.version.minor = version
    return at_the_end(made)


def producer(**attributes):
    """An object of a new class whose `__dlpack__` records its calls."""
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
    """The tensor was imported through `__dlpack__`, which was called once."""
    made, calls = producer(**attributes)
    assert import_tensor(made).floats() == [1.0, 2.0]
    assert calls == ["__dlpack__"]


@pytest.mark.parametrize("version", [(0, 3), (2, 0), (2, 3), (2**32 - 1, 3)], ids=str)
def test_tables_of_other_major_versions(version):
    """X1: of a table of another major version only the header is read."""
    by_method(**{ATTRIBUTE: capsule(header(*version))})


def test_an_older_table_behind_a_newer_one():
    """X1: a supported table is found behind an unsupported one."""

    class Newer(Writable):
        def __dlpack__(self, **keywords):
            raise AssertionError("the table is there")

    newest = header(3, 0, header(2, 0, address(Writable)))
    setattr(Newer, ATTRIBUTE, capsule(newest))
    assert import_tensor(Newer([1.0, 2.0])).floats() == [1.0, 2.0]


@pytest.mark.parametrize("version", [(1, 0), (1, 1)], ids=str)
def test_tables_from_before_there_were_tables(version):
    """X3: a table of such a version has no functions to read."""
    by_method(**{ATTRIBUTE: capsule(header(*version))})


@pytest.mark.parametrize("version", [(1, 2), (1, 3), (1, 99)], ids=str)
def test_functions_that_are_missing(version):
    """X2: functions that the standard requires are NULL; the page after the table is
    unreadable."""
    by_method(**{ATTRIBUTE: capsule(table(version))})