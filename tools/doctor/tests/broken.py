"""Producers that are each wrong in one way, and one that is not.

Made of ctypes alone: memory, struct and capsule are what the fields say."""

import ctypes
import os
import sys
import threading
from ctypes import POINTER, PYFUNCTYPE, c_char_p, c_int64, c_void_p, py_object
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[3] / "tests/python"))

import dlpack_structs as structs  # noqa: E402
import exchange_table as tables  # noqa: E402

# Functions of this module: other libraries set the argument types of the functions that
# `ctypes.pythonapi` shares.
_new = PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", ctypes.pythonapi))
# Of a capsule that dies, by its address: an object would bring it back to life.
_name = PYFUNCTYPE(c_char_p, c_void_p)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer = PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

LEGACY, VERSIONED = c_char_p(b"dltensor"), c_char_p(b"dltensor_versioned")
ALIVE = {}
# An address that is not mapped in any process.
NOWHERE = 0xDEAD_0000_0000


@ctypes.CFUNCTYPE(None, c_void_p)
def delete(managed):
    ALIVE.pop(managed)


@PYFUNCTYPE(None, c_void_p)
def destroy(capsule):
    name = _name(capsule)
    if not name.startswith(b"used_"):
        ALIVE.pop(_pointer(capsule, name), None)


class Producer:
    """A correct producer of six floats in two rows."""

    shape, strides, dtype = (2, 3), (3, 1), (2, 32, 1)
    misplaced = 0

    def __init__(self, **attributes):
        self.__dict__.update(attributes)
        self.buffer = ctypes.create_string_buffer(bytes(range(256)))
        start = ctypes.addressof(self.buffer)
        self.data = start + -start % 64 + self.misplaced

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device not in (None, (1, 0)):
            raise BufferError("only the CPU is served")
        if copy:
            raise BufferError("no copies are made")
        return self.export(max_version is not None and max_version[0] >= 1)

    def export(self, versioned):
        struct = structs.DLManagedTensorVersioned if versioned else structs.DLManagedTensor
        managed = struct()
        tensor = managed.dl_tensor
        count = len(self.shape)
        dims = (c_int64 * (2 * count))(*self.shape, *self.strides)
        tensor.data = self.data
        tensor.device = structs.DLDevice(1, 0)
        tensor.ndim, tensor.dtype = count, structs.DLDataType(*self.dtype)
        tensor.shape = ctypes.cast(dims, POINTER(c_int64))
        strides = ctypes.addressof(dims) + count * 8
        tensor.strides = ctypes.cast(strides, POINTER(c_int64))
        if versioned:
            managed.version = structs.DLPackVersion(1, 3)
        managed.deleter = ctypes.cast(delete, c_void_p).value
        address = ctypes.addressof(managed)
        managed.manager_ctx = address
        self.change(managed, tensor)
        ALIVE[address] = (managed, dims, self)
        return self.capsule(address, versioned)

    def change(self, managed, tensor):
        """Subclasses override this to corrupt the struct."""

    def capsule(self, address, versioned):
        name = VERSIONED if versioned else LEGACY
        return _new(address, name, ctypes.cast(destroy, c_void_p))


def healthy():
    return Producer()


def changed(change, **attributes):
    """A producer that applies this change to every struct."""
    made = Producer(**attributes)
    made.change = change
    return made


def version_2():
    def change(managed, tensor):
        if hasattr(managed, "version"):
            managed.version.major = 2

    return changed(change)


def null_data():
    return changed(lambda managed, tensor: setattr(tensor, "data", None))


def data_nowhere():
    return changed(lambda managed, tensor: setattr(tensor, "data", NOWHERE))


def negative_shape():
    return Producer(shape=(2, -3))


def negative_ndim():
    return changed(lambda managed, tensor: setattr(tensor, "ndim", -1))


def many_dims():
    return Producer(shape=(1,) * 65, strides=(1,) * 65)


def null_shape():
    return changed(lambda managed, tensor: setattr(tensor, "shape", None))


def shape_nowhere():
    def change(managed, tensor):
        tensor.shape = ctypes.cast(NOWHERE, POINTER(c_int64))

    return changed(change)


def null_strides():
    return changed(lambda managed, tensor: setattr(tensor, "strides", None))


def misaligned():
    return Producer(misplaced=2)


def misaligned_by(bytes):
    return Producer(misplaced=bytes)


def byte_offset():
    return changed(lambda managed, tensor: setattr(tensor, "byte_offset", 8))


def unknown_dtype():
    return Producer(dtype=(99, 32, 1))


def no_lanes():
    return Producer(dtype=(2, 32, 0))


def unknown_flags():
    def change(managed, tensor):
        if hasattr(managed, "flags"):
            managed.flags = 1 << 40

    return changed(change)


def huge():
    return Producer(shape=(1 << 40, 1 << 40), strides=(1 << 40, 1))


def null_deleter():
    return changed(lambda managed, tensor: setattr(managed, "deleter", None))


def null_context():
    return changed(lambda managed, tensor: setattr(managed, "manager_ctx", None))


def wild_deleter():
    """The deleter is a function that needs the interpreter, called without it."""

    def change(managed, tensor):
        managed.deleter = ctypes.cast(ctypes.pythonapi.PyErr_Clear, c_void_p).value

    return changed(change)


def aborting_deleter():
    def change(managed, tensor):
        managed.deleter = ctypes.cast(ctypes.CDLL(None).abort, c_void_p).value

    return changed(change)


def struct_nowhere():
    made = Producer()
    made.capsule = lambda address, versioned: _new(
        NOWHERE, VERSIONED if versioned else LEGACY, None
    )
    return made


WRONG_NAME = c_char_p(b"tensor")


def capsule_name():
    made = Producer()
    made.capsule = lambda address, versioned: _new(address, WRONG_NAME, None)
    return made


def no_destructor():
    made = Producer()
    made.capsule = lambda address, versioned: _new(
        address, VERSIONED if versioned else LEGACY, None
    )
    return made


class NoCapsule(Producer):
    def __dlpack__(self, **keywords):
        return 3


class AlwaysVersioned(Producer):
    def export(self, versioned):
        return super().export(True)


class Lies(Producer):
    def __dlpack_device__(self):
        return (2, 0)


class OddDevice(Producer):
    def __dlpack_device__(self):
        return "cpu"


class DeviceRaises(Producer):
    def __dlpack_device__(self):
        raise RuntimeError("no device")


class NoDevice:
    def __init__(self):
        self.producer = Producer()

    def __dlpack__(self, **keywords):
        return self.producer.__dlpack__(**keywords)


class RaisesOnKeyword(Producer):
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if max_version is not None:
            raise ValueError("what is a version?")
        return self.export(False)


class OldKeywords(Producer):
    def __dlpack__(self, stream=None):
        return self.export(False)


class Refuses(Producer):
    def __dlpack__(self, **keywords):
        raise BufferError("not today")


class Leaks(Producer):
    """Each export takes a reference that is never released."""

    def export(self, versioned):
        ctypes.pythonapi.Py_IncRef(py_object(self))
        return super().export(versioned)


class ReleasesLater(Producer):
    """Each export takes a reference. A thread releases them two seconds later."""

    taken = []

    def export(self, versioned):
        if not self.taken:
            threading.Timer(2, self.taken.clear).start()
        self.taken.append(self)
        return super().export(versioned)


class LeaksBlocks(Producer):
    kept = []

    def export(self, versioned):
        self.kept.append([object()])
        return super().export(versioned)


class IgnoresCopy(Producer):
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.export(max_version is not None and max_version[0] >= 1)


class Disagrees(Producer):
    def export(self, versioned):
        self.shape = (2, 3) if versioned else (3, 2)
        return super().export(versioned)


class Aborts(Producer):
    def __dlpack__(self, **keywords):
        os.abort()


class Exits(Producer):
    def __dlpack__(self, **keywords):
        os._exit(7)


@PYFUNCTYPE(ctypes.c_int, py_object, POINTER(c_void_p))
def from_object(producer, out):
    capsule = producer.export(True)
    out[0] = _pointer(id(capsule), VERSIONED.value)
    _rename(capsule, USED)
    return 0


_rename = PYFUNCTYPE(ctypes.c_int, py_object, c_char_p)(
    ("PyCapsule_SetName", ctypes.pythonapi)
)
USED = c_char_p(b"used_dltensor_versioned")
TABLE_NAME = c_char_p(b"dlpack_exchange_api")


def with_table(version=(1, 3), name=TABLE_NAME, functions=("from_object",)):
    """A producer of a type with an exchange table that has these functions."""
    table = tables.Functions()
    table.header.version.major, table.header.version.minor = version
    address = ctypes.addressof(table)
    here = ctypes.cast(from_object, c_void_p).value
    for function in functions:
        offset = getattr(tables.Functions, function).offset
        c_void_p.from_address(address + offset).value = here
    made = type("WithTable", (Producer,), {tables.ATTRIBUTE: _new(address, name, None)})
    made.kept = table
    return made()


def table_slot():
    return with_table()


def table_version():
    return with_table(version=(2, 0))


def table_name():
    return with_table(name=WRONG_NAME)


def table_nowhere():
    made = type(
        "TableNowhere", (Producer,), {tables.ATTRIBUTE: _new(NOWHERE, TABLE_NAME, None)}
    )
    return made()


def table_int():
    return type("TableInt", (Producer,), {tables.ATTRIBUTE: "a table"})()
