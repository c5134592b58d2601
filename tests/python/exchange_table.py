"""The exchange table of DLPack 1.3, called with ctypes as C code calls it: attached to the
interpreter. If a function leaves an exception set, the wrapper raises it."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, PYFUNCTYPE, Structure, byref, c_char_p, c_int32
from ctypes import c_int, c_void_p, py_object

from dlpack_structs import DLManagedTensorVersioned, DLPackVersion, DLTensor

ATTRIBUTE = "__dlpack_c_exchange_api__"
CAPSULE = b"dlpack_exchange_api"

Deleter = CFUNCTYPE(None, c_void_p)
SetError = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)


class Header(Structure):
    _fields_ = [("version", DLPackVersion), ("prev_api", c_void_p)]


class Functions(Structure):
    """Every function is called with the GIL held."""

    _fields_ = [
        ("header", Header),
        (
            "allocate",
            PYFUNCTYPE(
                c_int, POINTER(DLTensor), POINTER(c_void_p), c_void_p, SetError
            ),
        ),
        ("from_object", PYFUNCTYPE(c_int, py_object, POINTER(c_void_p))),
        ("to_object", PYFUNCTYPE(c_int, c_void_p, POINTER(py_object))),
        ("view", PYFUNCTYPE(c_int, py_object, POINTER(DLTensor))),
        ("stream", PYFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))),
    ]


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = c_void_p, [py_object, c_char_p]


def address(cls, attribute=ATTRIBUTE):
    """The address of the table of a class."""
    return _get_pointer(getattr(cls, attribute), CAPSULE)


def delete(tensor):
    """Calls the deleter of a managed tensor."""
    managed = DLManagedTensorVersioned.from_address(tensor)
    Deleter(managed.deleter)(tensor)


class Table:
    """The table of a class."""

    def __init__(self, cls):
        self.functions = Functions.from_address(address(cls))
        self.header = self.functions.header

    def from_object(self, value):
        """A managed tensor owned by the caller, which must call its deleter."""
        out = c_void_p(1)
        try:
            assert self.functions.from_object(value, byref(out)) == 0
        except BaseException:
            assert out.value is None, "nothing but NULL is written on a failure"
            raise
        return out.value

    def to_object(self, tensor):
        """A new object, which takes ownership of the tensor."""
        out = py_object()
        assert self.functions.to_object(tensor, byref(out)) == 0
        made = out.value
        ctypes.pythonapi.Py_DecRef(py_object(made))
        return made

    def view(self, value):
        """A borrowed tensor."""
        out = DLTensor()
        assert self.functions.view(value, byref(out)) == 0
        return out

    def stream(self, device_type, device_id):
        """The current stream of a device."""
        out = c_void_p(1)
        try:
            assert self.functions.stream(device_type, device_id, byref(out)) == 0
        except BaseException:
            assert out.value is None
            raise
        return out.value

    def allocate(self, shape, dtype=(2, 32, 1), device=(1, 0), told=None):
        """A new tensor, or None with the arguments of `SetError` in `told`."""

        @SetError
        def set_error(context, kind, message):
            told.append((kind.decode(), message.decode()))

        prototype = DLTensor()
        dims = (ctypes.c_int64 * len(shape))(*shape)
        prototype.shape = dims
        prototype.ndim = len(shape)
        prototype.dtype.code, prototype.dtype.bits, prototype.dtype.lanes = dtype
        prototype.device.device_type, prototype.device.device_id = device
        out = c_void_p(1)
        report = SetError() if told is None else set_error
        code = self.functions.allocate(byref(prototype), byref(out), None, report)
        assert (code == 0) == (out.value is not None)
        return out.value
