"""Checks of a producer: `CHECKS`. Each is a function of an object with `__dlpack__`, and raises
`Violation` or `Unsupported`."""

import ctypes
import sys


class Violation(Exception):
    """The producer violates the standard."""


class Unsupported(Exception):
    """The producer does not support an optional part of the standard."""


class Tensor(ctypes.Structure):
    """`DLTensor`."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Legacy(ctypes.Structure):
    """`DLManagedTensor`."""

    _fields_ = [
        ("tensor", Tensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


IS_COPIED = 2
STRUCTS = {b"dltensor": Legacy, b"dltensor_versioned": Versioned}
CHECKS = {}

_name = ctypes.pythonapi.PyCapsule_GetName
_name.argtypes, _name.restype = [ctypes.py_object], ctypes.c_char_p
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


def expect(condition, words):
    """Raises `Violation` with these words unless the condition holds."""
    if not condition:
        raise Violation(words)


def named(name):
    """Adds a check to the table."""

    def add(function):
        CHECKS[name] = function
        return function

    return add


def struct_of(capsule):
    """The name of a capsule and the C struct in it, which the capsule keeps alive."""
    expect(type(capsule).__name__ == "PyCapsule", f"expected a capsule, got {type(capsule)}")
    name = _name(capsule)
    expect(name in STRUCTS, f"expected a capsule `dltensor` or `dltensor_versioned`, got {name}")
    return name, STRUCTS[name].from_address(_pointer(capsule, name))


def export(x, **keywords):
    """The capsule, its name and its struct."""
    try:
        capsule = x.__dlpack__(**keywords)
    except TypeError as error:
        raise Violation(f"`__dlpack__` rejects {keywords}: {error}") from error
    return capsule, *struct_of(capsule)


@named("device: __dlpack_device__ is a pair of integers")
def device_is_a_pair(x):
    found = x.__dlpack_device__()
    expect(isinstance(found, tuple) and len(found) == 2, f"expected a pair, got {found!r}")
    expect(all(isinstance(one, int) for one in found), f"expected integers, got {found!r}")


@named("device: the struct has the device of __dlpack_device__")
def devices_agree(x):
    capsule, _, struct = export(x, max_version=(1, 3))
    found = struct.tensor.device_type, struct.tensor.device_id
    stated = tuple(int(part) for part in x.__dlpack_device__())
    del capsule
    expect(found == stated, f"the struct has {found}, `__dlpack_device__` returns {stated}")


@named("version: without max_version the struct is the legacy one")
def default_is_legacy(x):
    _, name, _ = export(x)
    expect(name == b"dltensor", f"expected `dltensor`, got `{name.decode()}`")


@named("version: max_version=None and (0, 8) are the legacy struct")
def old_versions_are_legacy(x):
    for version in (None, (0, 8)):
        _, name, _ = export(x, max_version=version)
        expect(name == b"dltensor", f"{version}: expected `dltensor`, got `{name.decode()}`")


@named("version: max_version=(1, 0) is a struct of major version 1")
def major_version_is_one(x):
    capsule, name, struct = export(x, max_version=(1, 0))
    if name == b"dltensor":
        raise Unsupported("it exports the legacy struct only")
    major = struct.major
    del capsule
    expect(major == 1, f"the major version is {major}")


@named("struct: dtype, ndim and shape are those of a tensor")
def fields_are_of_a_tensor(x):
    capsule, _, struct = export(x, max_version=(1, 3))
    tensor = struct.tensor
    shape = tensor.shape[: tensor.ndim] if tensor.ndim > 0 else []
    found = tensor.ndim, tensor.bits, tensor.lanes
    del capsule
    expect(found[0] >= 0, f"ndim is {found[0]}")
    expect(all(dim >= 0 for dim in shape), f"the shape is {shape}")
    expect(found[1] > 0 and found[2] > 0, f"the dtype has {found[1]} bits, {found[2]} lanes")


@named("struct: strides are present from version 1.2 on")
def strides_are_present(x):
    capsule, name, struct = export(x, max_version=(1, 3))
    if name == b"dltensor" or (struct.major, struct.minor) < (1, 2):
        raise Unsupported("the struct is of a version before 1.2")
    present = bool(struct.tensor.strides) or struct.tensor.ndim == 0
    del capsule
    expect(present, "strides is NULL")


@named("keywords: stream=None")
def stream_none_is_accepted(x):
    export(x, stream=None)


@named("keywords: dl_device of its own")
def own_device_is_accepted(x):
    export(x, dl_device=x.__dlpack_device__(), max_version=(1, 3))


@named("copy: copy=False shares the memory")
def no_copy_shares(x):
    first, _, one = export(x, max_version=(1, 3))
    try:
        second, _, two = export(x, copy=False, max_version=(1, 3))
    except BufferError as error:
        raise Unsupported(f"it cannot export without a copy: {error}") from error
    same = one.tensor.data == two.tensor.data
    del first, second
    expect(same, "the data is at another address than without `copy`")


@named("copy: copy=True copies")
def copy_copies(x):
    first, _, one = export(x, max_version=(1, 3))
    try:
        second, name, two = export(x, copy=True, max_version=(1, 3))
    except BufferError as error:
        raise Unsupported(f"it cannot export a copy: {error}") from error
    count = 1
    for axis in range(one.tensor.ndim):
        count *= one.tensor.shape[axis]
    same = one.tensor.data == two.tensor.data
    flagged = name == b"dltensor" or bool(two.flags & IS_COPIED)
    del first, second
    expect(count == 0 or not same, "the data is at the same address")
    expect(flagged, "the flag IS_COPIED is not set")


@named("release: unused capsules release the object")
def capsules_release(x):
    before = sys.getrefcount(x)
    for _ in range(20):
        x.__dlpack__()
        x.__dlpack__(max_version=(1, 3))
    after = sys.getrefcount(x)
    expect(after == before, f"40 capsules changed its reference count from {before} to {after}")
