"""The C structs of DLPack 1.3, read with ctypes from a capsule that stays
unconsumed. Independent of the Rust code: every field is spelled out here."""

import ctypes
from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)

READ_ONLY = 1
IS_COPIED = 2


class DLDevice(Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLDataType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class DLManagedTensor(Structure):
    _fields_ = [
        ("dl_tensor", DLTensor),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
    ]


class DLPackVersion(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32)]


class DLManagedTensorVersioned(Structure):
    _fields_ = [
        ("version", DLPackVersion),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", DLTensor),
    ]


STRUCTS = {"dltensor": DLManagedTensor, "dltensor_versioned": DLManagedTensorVersioned}

_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.restype, _get_name.argtypes = c_char_p, [py_object]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = c_void_p, [py_object, c_char_p]
_get_destructor = ctypes.pythonapi.PyCapsule_GetDestructor
_get_destructor.restype, _get_destructor.argtypes = c_void_p, [py_object]


def name(capsule):
    """The name of a capsule."""
    return _get_name(capsule).decode()


def has_destructor(capsule):
    """Whether a capsule has a destructor."""
    return _get_destructor(capsule) is not None


def of(capsule):
    """The struct in a capsule, which must outlive the result."""
    struct = STRUCTS[name(capsule)]
    return struct.from_address(_get_pointer(capsule, name(capsule).encode()))


class Tensor:
    """The fields of the struct in a capsule, copied."""

    def __init__(self, capsule):
        self.name = name(capsule)
        managed = of(capsule)
        tensor = managed.dl_tensor
        self.versioned = isinstance(managed, DLManagedTensorVersioned)
        self.version = (
            (managed.version.major, managed.version.minor) if self.versioned else None
        )
        self.flags = managed.flags if self.versioned else None
        self.manager_ctx = managed.manager_ctx
        self.deleter = managed.deleter
        self.data = tensor.data
        self.device = (tensor.device.device_type, tensor.device.device_id)
        self.dtype = (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
        self.ndim = tensor.ndim
        self.shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
        self.has_strides = bool(tensor.strides)
        self.strides = (
            tuple(tensor.strides[: tensor.ndim]) if self.has_strides else None
        )
        self.byte_offset = tensor.byte_offset

    def floats(self):
        """The elements of a row-major float32 tensor."""
        assert self.dtype == (2, 32, 1)
        count = 1
        for extent in self.shape:
            count *= extent
        return list((ctypes.c_float * count).from_address(self.data)) if count else []
