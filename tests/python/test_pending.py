"""Every function that C calls, called while an exception is set. Such a caller is a deleter
or breaks a rule of the C API: in either case no exception is lost, and the return code is
right."""

import ctypes
from ctypes import addressof, c_void_p, cast

import pytest
from conftest import check_leaks
from dlpack_structs import DLManagedTensorVersioned, DLTensor
from dlpack_testing import (
    CallsBack,
    Frozen,
    Growing,
    Received,
    Single,
    Writable,
    call_while_raising,
)
from exchange_table import SetError, Table, delete

CLASSES = pytest.mark.parametrize("cls", [Frozen, Writable, Single, Growing])


class OnItsWay(Exception):
    pass


def call(function, *arguments):
    """The return code, and the class of the exception that is set afterwards."""
    address = cast(function, c_void_p).value
    code, left = call_while_raising(OnItsWay(), address, list(arguments))
    return code, type(left)


@CLASSES
def test_exports(cls):
    """The call succeeds, and the earlier exception is still set."""
    value = cls([1.0, 2.0])
    functions = Table(cls).functions

    def body():
        out = c_void_p(1)
        assert call(functions.from_object, id(value), addressof(out)) == (0, OnItsWay)
        assert call(
            DLManagedTensorVersioned.from_address(out.value).deleter, out.value
        ) == (0, OnItsWay)

    check_leaks(body)


def test_exports_that_call_python():
    """Python code runs without the exception, which is set again afterwards."""
    called = []
    value = CallsBack(called.append)
    functions = Table(CallsBack).functions

    def body():
        out = c_void_p(1)
        assert call(functions.from_object, id(value), addressof(out)) == (0, OnItsWay)
        delete(out.value)
        view = DLTensor()
        assert call(functions.view, id(value), addressof(view)) == (0, OnItsWay)

    check_leaks(body)
    assert set(called) == {"describe", "share", "sync_for"}


@CLASSES
def test_refused_exports(cls):
    """The exception of the failure is set, and the result is NULL."""
    functions = Table(cls).functions
    other = object()

    def body():
        out = c_void_p(1)
        code, left = call(functions.from_object, id(other), addressof(out))
        assert (code, out.value) == (-1, None)
        assert left is TypeError

    check_leaks(body)


def test_views():
    value, functions = Writable([1.0, 2.0]), Table(Writable).functions
    frozen = Frozen([1.0])
    out = DLTensor()
    assert call(functions.view, id(value), addressof(out)) == (0, OnItsWay)
    assert out.data == value.data_ptr
    functions = Table(Frozen).functions
    assert call(functions.view, id(frozen), addressof(out)) == (-1, BufferError)


def test_objects():
    """An object is made, or the caller keeps the tensor."""
    functions = Table(Received).functions
    table = Table(Writable)

    def body():
        out = c_void_p(1)
        tensor = table.from_object(Writable([1.0, 2.0]))
        assert call(functions.to_object, tensor, addressof(out)) == (0, OnItsWay)
        made = ctypes.cast(out, ctypes.py_object).value
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(made))
        assert made.values() == [1.0, 2.0]

    check_leaks(body)

    def refused():
        out = c_void_p(1)
        tensor = table.from_object(Writable([1.0, 2.0], [2, 1]))
        code, left = call(functions.to_object, tensor, addressof(out))
        assert (code, out.value) == (-1, None)
        assert left is not OnItsWay and issubclass(left, Exception)
        delete(tensor)

    check_leaks(refused)


def test_streams():
    functions = Table(Frozen).functions
    out = c_void_p(1)
    assert call(functions.stream, 1, 0, addressof(out)) == (0, OnItsWay)
    code, left = call(functions.stream, 2, 0, addressof(out))
    assert code == -1 and left is not OnItsWay


def test_allocations():
    """`SetError` reports failures, so the earlier exception stays unchanged."""
    functions = Table(Frozen).functions
    said = []
    set_error = SetError(lambda context, kind, text: said.append(kind))
    set_error_address = cast(set_error, c_void_p).value

    def body():
        shape = (ctypes.c_int64 * 1)(4)
        prototype = DLTensor(ndim=1, shape=shape)
        prototype.device.device_type = 1
        prototype.dtype.code, prototype.dtype.bits, prototype.dtype.lanes = 2, 32, 1
        out = c_void_p(1)
        given = addressof(prototype), addressof(out), 0, set_error_address
        assert call(functions.allocate, *given) == (0, OnItsWay)
        delete(out.value)

    check_leaks(body)
    assert said == []
