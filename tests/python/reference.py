"""A producer made of ctypes alone, written from the standard's text.

It shares nothing with the Rust code. What a library does with its tensors is
what that library does with anybody's; our class is measured against that."""

import ctypes
from ctypes import POINTER, c_char_p, c_int64, c_void_p, py_object

import dlpack_structs as structs
from dlpack_structs import IS_COPIED, READ_ONLY

_api = ctypes.pythonapi
_new = _api.PyCapsule_New
_new.restype, _new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
# Prototypes of their own, for capsules that are about to die.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, c_char_p)(
    ("PyCapsule_IsValid", _api)
)
_get_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(
    ("PyCapsule_GetPointer", _api)
)

# The names must outlive every capsule.
NAMES = {False: c_char_p(b"dltensor"), True: c_char_p(b"dltensor_versioned")}

# What is exported and not yet deleted, by the address of its struct.
_alive = {}


@ctypes.CFUNCTYPE(None, c_void_p)
def _delete(managed):
    _alive.pop(managed, None)


# Capsules die while exceptions are on their way, which no Python code may see.
# So the first thing that a destructor does is to put the exception aside, with
# nothing that could notice it: into places made beforehand, one for each
# destructor that runs inside another.
_ASIDE = [tuple(c_void_p() for _ in range(3)) for _ in range(16)]
_ASIDE_POINTERS = [tuple(map(ctypes.byref, places)) for places in _ASIDE]
_fetch, _restore = _api.PyErr_Fetch, _api.PyErr_Restore
_depth = 0


@ctypes.CFUNCTYPE(None, c_void_p)
def _destroy(capsule):
    global _depth
    _fetch(*_ASIDE_POINTERS[_depth])
    _depth += 1
    for name in NAMES.values():
        if _is_valid(capsule, name.value):
            _delete(_get_pointer(capsule, name.value))
    _depth -= 1
    _restore(*_ASIDE[_depth])


class Reference:
    """A tensor over memory that somebody else keeps alive."""

    def __init__(self, owner, data, dtype, shape, strides, flags=0, byte_offset=0):
        self.owner, self.data, self.dtype, self.flags = owner, data, dtype, flags
        self.shape, self.strides, self.byte_offset = shape, strides, byte_offset

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None:
            raise ValueError("the CPU has no streams")
        if dl_device not in (None, (1, 0)):
            raise BufferError("only the CPU is served")
        versioned = max_version is not None and max_version[0] >= 1
        if copy:
            return self.copied().capsule(versioned, IS_COPIED)
        if self.flags & READ_ONLY and not versioned:
            raise BufferError("the legacy capsule cannot say that this is read-only")
        return self.capsule(versioned, self.flags)

    def capsule(self, versioned, flags):
        struct = structs.DLManagedTensorVersioned if versioned else structs.DLManagedTensor
        managed = struct()
        ndim = len(self.shape)
        dims = (c_int64 * max(2 * ndim, 1))(*self.shape, *self.strides)
        tensor = managed.dl_tensor
        tensor.data, tensor.byte_offset = self.data, self.byte_offset
        tensor.device = structs.DLDevice(1, 0)
        tensor.ndim, tensor.dtype = ndim, structs.DLDataType(*self.dtype)
        if ndim:
            tensor.shape = ctypes.cast(dims, POINTER(c_int64))
            strides = ctypes.addressof(dims) + ndim * 8
            tensor.strides = ctypes.cast(strides, POINTER(c_int64))
        if versioned:
            managed.version = structs.DLPackVersion(1, 3)
            managed.flags = flags
        managed.deleter = ctypes.cast(_delete, c_void_p).value
        address = ctypes.addressof(managed)
        managed.manager_ctx = address
        _alive[address] = (managed, dims, self.owner)
        return _new(address, NAMES[versioned], ctypes.cast(_destroy, c_void_p))

    def copied(self):
        """A compact copy; only for elements of whole bytes."""
        size = self.dtype[1] * self.dtype[2] // 8
        from grid import gather

        patterns = gather(
            self.data + self.byte_offset, self.shape, self.strides, size * 8
        )
        memory = b"".join(pattern.to_bytes(size, "little") for pattern in patterns)
        owner, address = aligned(memory)
        strides = [1] * len(self.shape)
        for axis in range(len(self.shape) - 1, 0, -1):
            strides[axis - 1] = strides[axis] * self.shape[axis]
        return Reference(owner, address, self.dtype, self.shape, tuple(strides))


def aligned(memory):
    """A copy of some bytes at a multiple of 64, and its address."""
    owner = ctypes.create_string_buffer(len(memory) + 64)
    address = ctypes.addressof(owner)
    address += -address % 64
    ctypes.memmove(address, memory, len(memory))
    return owner, address


def alive():
    """How many exports have not been deleted."""
    return len(_alive)


def same_as(tensor):
    """The tensor of another producer, described by this one."""
    capsule = tensor.__dlpack__(max_version=(1, 3))
    found = structs.Tensor(capsule)
    strides = found.strides if found.ndim else ()
    return Reference(
        (tensor, capsule),
        found.data or 0,
        found.dtype,
        found.shape,
        strides,
        found.flags,
        found.byte_offset,
    )
