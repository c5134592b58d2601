"""A producer written with ctypes alone, from the text of the standard. It shares no code
with the Rust code. A library's behaviour with its tensors is the library's behaviour with
any producer, and is the expected behaviour for our class."""

import ctypes
import sys
from ctypes import POINTER, c_char_p, c_int64, c_void_p, py_object

import dlpack_structs as structs
from dlpack_structs import IS_COPIED, READ_ONLY

# A function of this module: other libraries set the argument types of the functions that
# `ctypes.pythonapi` shares.
_new = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)

# The names must outlive every capsule.
NAMES = {False: c_char_p(b"dltensor"), True: c_char_p(b"dltensor_versioned")}

# Tensors that are exported and not yet deleted, by the address of their struct. Capsules
# may be destroyed while an exception is set, when no Python code may run, so they have no
# destructor; `alive` finds those that were never consumed.
_alive = {}


@ctypes.CFUNCTYPE(None, c_void_p)
def _delete(managed):
    # A statement instead of a call, for the same reason. A second call of the deleter
    # raises KeyError.
    del _alive[managed]


def alive():
    """How many tensors consumers have taken and not deleted."""
    for address, (_, _, _, capsule) in list(_alive.items()):
        taken = structs.name(capsule).startswith("used_")
        # Keeps the name, the tuple and the function alive.
        if not taken and sys.getrefcount(capsule) == 3:
            del _alive[address]
    return len(_alive)


def indices(shape, strides):
    """The positions of the elements in row-major order, relative to the first one."""
    if 0 in shape:
        return []
    found = [0]
    for extent, stride in zip(shape, strides, strict=True):
        found = [start + step * stride for start in found for step in range(extent)]
    return found


def gather(address, shape, strides, bits):
    """The bit patterns in memory, decoded according to a description."""
    found = []
    for index in indices(shape, strides):
        first, shift = divmod(index * bits, 8)
        memory = ctypes.string_at(address + first, (shift + bits + 7) // 8)
        found.append(int.from_bytes(memory, "little") >> shift & ((1 << bits) - 1))
    return found


class Reference:
    """A tensor over memory that another object keeps alive."""

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
        capsule = _new(address, NAMES[versioned], None)
        _alive[address] = (managed, dims, self.owner, capsule)
        return capsule

    def copied(self):
        """A row-major copy; only for elements of whole bytes."""
        size = self.dtype[1] * self.dtype[2] // 8
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


def same_as(tensor):
    """The tensor of another producer, exported by this one."""
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
