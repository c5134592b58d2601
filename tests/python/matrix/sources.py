"""Where tensors come from: memory in every layout, and who describes it."""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import dlpack_structs as structs  # noqa: E402
from grid import DTYPES, ROW_MAJOR, byte_offset, expected, image, width  # noqa: E402
from reference import READ_ONLY, Reference, aligned  # noqa: E402


class NotMade(Exception):
    """The library has no such tensor."""


def arrays(dtype):
    """NumPy's name of an element type, with those that ml-dtypes adds."""
    import numpy

    try:
        import ml_dtypes
    except ImportError:
        ml_dtypes = None
    try:
        if dtype == "bool" or dtype.startswith(("complex", "int", "uint", "float")):
            return numpy.dtype(dtype)
    except TypeError:
        pass
    found = getattr(ml_dtypes, dtype, None)
    if found is None:
        raise NotMade
    return numpy.dtype(found)


def numpy_view(dtype, layout):
    """A NumPy array in a layout, over memory aligned to 64 bytes."""
    import numpy

    kind = arrays(dtype)
    if width(dtype) < 8:
        raise NotMade  # NumPy has one byte for each
    storage = numpy.empty(len(image(dtype)) + 64, "uint8")
    start = -storage.ctypes.data % 64
    storage = storage[start : start + len(image(dtype))]
    storage[:] = numpy.frombuffer(image(dtype), "uint8")
    view = numpy.ndarray(
        layout.shape,
        kind,
        storage,
        layout.offset * kind.itemsize,
        [stride * kind.itemsize for stride in layout.strides],
    )
    view.flags.writeable = not layout.read_only
    return view


def row_major(dtype, layout):
    """A compact NumPy array, also of elements below a byte, for libraries that
    have nothing but compact arrays."""
    import numpy

    if layout.name not in ROW_MAJOR:
        raise NotMade
    kind = arrays(dtype)
    size = kind.itemsize
    memory = b"".join(
        pattern.to_bytes(size, "little") for pattern in expected(dtype, layout)
    )
    return numpy.frombuffer(memory, kind).reshape(layout.shape)


def own_address(tensor):
    """The address that a tensor exports."""
    found = structs.Tensor(tensor.__dlpack__())
    return (found.data or 0) + found.byte_offset


def reference(dtype, layout):
    """A tensor of the independent producer."""
    owner, address = aligned(image(dtype))
    flags = READ_ONLY if layout.read_only else 0
    return Reference(
        owner,
        address,
        DTYPES[dtype],
        layout.shape,
        layout.strides,
        flags,
        byte_offset(dtype, layout),
    )


def strides_of(shape):
    """Row-major strides."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * shape[axis]
    return tuple(strides)


def name_of(dtype):
    """The name of a triple of code, bits and lanes."""
    return next((name for name, known in DTYPES.items() if known == tuple(dtype)), None)
