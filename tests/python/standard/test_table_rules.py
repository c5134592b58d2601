"""Checks of the exchange table of a class, one per clause."""

import ctypes

import pytest
from clauses import DLPACK, clause
from subjects import producers, subject  # noqa: F401

ATTRIBUTE = "__dlpack_c_exchange_api__"
NAME = b"dlpack_exchange_api"
TABLE = "DLPackExchangeAPI"


class Table(ctypes.Structure):
    """The header and the functions of the table."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("prev_api", ctypes.c_void_p),
        ("managed_tensor_allocator", ctypes.c_void_p),
        ("managed_tensor_from_py_object_no_sync", ctypes.c_void_p),
        ("managed_tensor_to_py_object_no_sync", ctypes.c_void_p),
        ("dltensor_from_py_object_no_sync", ctypes.c_void_p),
        ("current_work_stream", ctypes.c_void_p),
    ]


def table(subject):
    """The table of a class; skips the check if the class has none."""
    cls = type(subject.make())
    if not hasattr(cls, ATTRIBUTE):
        pytest.skip(f"{cls.__name__} has no exchange table, which the standard allows")
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get(getattr(cls, ATTRIBUTE), NAME)
    return Table.from_address(address)


@producers()
@clause(DLPACK, TABLE, "is a capsule on the type, of the name that the standard gives")
def test_the_table_is_a_capsule_on_the_type(subject):
    table(subject)
    assert ATTRIBUTE not in getattr(subject.make(), "__dict__", {})


@producers()
@clause(DLPACK, TABLE, "its header says the version, and whether there is an older one")
def test_the_header(subject):
    found = table(subject)
    assert (found.major, found.minor) == (1, 3) and not found.prev_api


@producers()
@clause(DLPACK, TABLE, "the functions that must not be NULL are there")
@pytest.mark.parametrize(
    "name",
    [
        "managed_tensor_allocator",
        "managed_tensor_from_py_object_no_sync",
        "managed_tensor_to_py_object_no_sync",
        "current_work_stream",
    ],
)
def test_functions_are_there(subject, name):
    assert getattr(table(subject), name)


@producers()
@clause(DLPACK, TABLE, "lives as long as the process: each look finds the same one")
def test_the_table_stays(subject):
    found = [ctypes.addressof(table(subject)) for _ in range(3)]
    assert len(set(found)) == 1
