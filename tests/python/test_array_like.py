"""Array-like classes: `__array__`, the buffer protocol and the attributes of an array."""

import ctypes
import gc
import hashlib
import io
import struct
import sys

import dlpack_testing as testing
import pytest
from conftest import check_leaks, require
from dlpack_testing import (
    BareArray,
    FrozenArray,
    GrowingArray,
    OnDevice,
    OwnAttributes,
    PanickingArray,
    PlainArray,
    SharedArray,
)

CLASSES = [SharedArray, FrozenArray]
needs_buffers = pytest.mark.skipif(
    sys.implementation.name != "cpython", reason="the buffer protocol of classes needs CPython"
)

# dtype, code of the buffer protocol (of Linux and macOS), and an element.
FORMATS = [
    ("bool", "?", True),
    ("int8", "b", -3),
    ("int16", "h", -300),
    ("int32", "i", -70000),
    ("int64", "lq", -(1 << 40)),
    ("uint8", "B", 3),
    ("uint16", "H", 300),
    ("uint32", "I", 70000),
    ("uint64", "LQ", 1 << 40),
    ("float16", "e", 0.5),
    ("float32", "f", 0.5),
    ("float64", "d", 0.5),
]


def floats(class_, values, shape=None, strides=None, byte_offset=0):
    """A tensor of `float32`s."""
    data = struct.pack(f"{len(values)}f", *values)
    return class_(data, "float32", [len(values)] if shape is None else shape, strides, byte_offset)


# --- the buffer protocol ----------------------------------------------------


@needs_buffers
@pytest.mark.parametrize("class_", CLASSES)
@pytest.mark.parametrize(("dtype", "codes", "element"), FORMATS)
def test_buffers_have_the_format_of_the_dtype(class_, dtype, codes, element):
    code = codes[0] if struct.calcsize(codes[0]) == struct.calcsize(codes[-1]) else codes[-1]
    data = struct.pack(f"2{code}", element, element)
    view = memoryview(class_(data, dtype, [2]))
    assert view.format in codes
    assert view.itemsize == len(data) // 2
    if code != "e":  # `memoryview` itself does not read it
        assert view.tolist() == [element, element]
    assert view.nbytes == len(data)


@needs_buffers
@pytest.mark.parametrize(("dtype", "code"), [("complex64", "Zf"), ("complex128", "Zd")])
def test_complex_buffers_have_numpys_format(dtype, code):
    numpy = require("numpy")
    size = 8 if dtype == "complex64" else 16
    tensor = FrozenArray(numpy.array([1 + 2j], dtype).tobytes(), dtype, [1])
    assert memoryview(tensor).format == code
    assert memoryview(tensor).itemsize == size
    assert numpy.asarray(tensor).tolist() == [1 + 2j]


@needs_buffers
@pytest.mark.parametrize(
    ("dtype", "size"),
    [("bfloat16", 2), ("float8_e4m3fn", 1), ("uint8x4", 4), ("float4_e2m1fnx2", 1)],
)
def test_dtypes_without_a_format_have_no_buffer(dtype, size):
    """A consumer would read the bytes as numbers of another type."""
    numpy = require("numpy")
    tensor = FrozenArray(bytes(2 * size), dtype, [2])

    def body():
        with pytest.raises(TypeError, match=f"no code for {dtype}"):
            memoryview(tensor)

    check_leaks(body)
    # NumPy then tries `__array__`, and does not make an array of the object.
    for use in (numpy.asarray, numpy.sum, list, lambda x: x[0], lambda x: x.__array__(copy=False)):
        with pytest.raises(TypeError, match=f"got {dtype}; use `from_dlpack` of a library that"):
            use(tensor)
    assert not hasattr(tensor, "__array_interface__")
    assert tensor.dtype == dtype


@needs_buffers
def test_buffers_are_the_memory_of_the_object():
    tensor = floats(SharedArray, [1.0, 2.0])
    view = memoryview(tensor)
    assert not view.readonly
    view[1] = 7.0
    assert struct.unpack("2f", bytes(tensor.bytes())) == (1.0, 7.0)


@needs_buffers
def test_read_only_tensors_have_read_only_buffers():
    tensor = floats(FrozenArray, [1.0, 2.0])
    view = memoryview(tensor)
    assert view.readonly
    with pytest.raises(TypeError, match="read-only"):
        view[0] = 1.0
    # A request for a writable buffer is rejected.
    with pytest.raises((BufferError, TypeError)):
        (ctypes.c_char * 8).from_buffer(tensor)
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(b"12345678").readinto(tensor)
    assert struct.unpack("2f", bytes(tensor.bytes())) == (1.0, 2.0)


@needs_buffers
def test_writable_requests_of_shared_memory_are_served():
    tensor = floats(SharedArray, [1.0, 2.0])
    assert io.BytesIO(struct.pack("2f", 3.0, 4.0)).readinto(tensor) == 8
    assert struct.unpack("2f", bytes(tensor.bytes())) == (3.0, 4.0)


@needs_buffers
@pytest.mark.parametrize("strides", [[0], [0, 1], [1, 1]])
def test_overlapping_elements_are_not_writable(strides):
    """A consumer that writes one element would change another."""
    shape = [2] * len(strides)
    tensor = floats(SharedArray, [1.0, 2.0, 3.0, 4.0], shape, strides)
    view = memoryview(tensor)
    assert view.readonly
    assert view.strides == tuple(4 * stride for stride in strides)
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(bytes(16)).readinto(tensor)


@needs_buffers
@pytest.mark.parametrize("class_", CLASSES)
@pytest.mark.parametrize(
    ("shape", "strides", "offset", "expected"),
    [
        ([2, 3], None, 0, [[0, 1, 2], [3, 4, 5]]),
        ([3, 2], [1, 3], 0, [[0, 3], [1, 4], [2, 5]]),
        ([3], [2], 4, [1, 3, 5]),
        ([3], [-2], 20, [5, 3, 1]),
        ([2, 2], [-3, -1], 20, [[5, 4], [2, 1]]),
        ([], [], 8, 2),
        ([0], [1], 0, []),
        ([2, 0], [9, 9], 0, [[], []]),
        ([1, 2], [1 << 61, 1], 0, [[0, 1]]),
    ],
)
def test_layouts_are_those_of_the_tensor(class_, shape, strides, offset, expected):
    tensor = floats(class_, range(6), shape, strides, offset)
    view = memoryview(tensor)
    assert view.tolist() == expected
    assert view.shape == tuple(shape)
    assert view.nbytes == 4 * _product(shape)
    numpy = require("numpy")
    assert numpy.asarray(tensor).tolist() == expected
    assert numpy.asarray(view).tolist() == expected
    assert numpy.array(tensor).tolist() == expected


def _product(shape):
    product = 1
    for dim in shape:
        product *= dim
    return product


# The flags of `Py_buffer` requests.
SIMPLE, WRITABLE, FORMAT, ND = 0, 1, 4, 8
STRIDES, C, F, ANY = 0x10 | ND, 0x38, 0x58, 0x98


class Py_buffer(ctypes.Structure):
    """The struct of the buffer protocol."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


def request(tensor, flags):
    """What a request with these flags gets: `(ndim, format, shape, strides)`."""
    get = ctypes.pythonapi.PyObject_GetBuffer
    get.argtypes = [ctypes.py_object, ctypes.POINTER(Py_buffer), ctypes.c_int]
    release = ctypes.pythonapi.PyBuffer_Release
    release.argtypes = [ctypes.POINTER(Py_buffer)]
    release.restype = None
    buffer = Py_buffer()
    get(tensor, ctypes.byref(buffer), flags)
    shape = [buffer.shape[i] for i in range(buffer.ndim)] if buffer.shape else None
    strides = [buffer.strides[i] for i in range(buffer.ndim)] if buffer.strides else None
    found = (buffer.ndim, buffer.format, shape, strides, buffer.len)
    release(ctypes.byref(buffer))
    return found


@needs_buffers
def test_requests_get_what_they_name():
    """As `memoryview` answers them, which is the reference implementation."""
    numpy = require("numpy")
    layouts = [
        ([2, 3], [3, 1]),
        ([3, 2], [1, 3]),
        ([3], [2]),
        ([3], [-2]),
        ([], []),
        ([0], [1]),
        ([6], [1]),
    ]
    flags = [
        base | extra
        for base in (SIMPLE, ND, STRIDES, C, F, ANY)
        for extra in (0, WRITABLE, FORMAT, WRITABLE | FORMAT)
    ]
    served = refused = 0
    for class_ in CLASSES:
        for shape, strides in layouts:
            offset = 20 if strides == [-2] else 0
            tensor = floats(class_, range(6), shape, strides, offset)
            reference = memoryview(numpy.asarray(tensor))
            for flag in flags:
                try:
                    expected = request(reference, flag)
                except BufferError:
                    with pytest.raises(BufferError):
                        request(tensor, flag)
                    refused += 1
                    continue
                found = request(tensor, flag)
                # NumPy replaces the strides of small dimensions.
                if _product(shape) <= 1:
                    found, expected = found[:3], expected[:3]
                assert found == expected, (class_, shape, strides, flag)
                served += 1
    assert served > 100
    assert refused > 50


@needs_buffers
@pytest.mark.parametrize("class_", CLASSES)
def test_a_buffer_owns_the_memory_until_it_is_released(class_):
    """Each buffer has one export, which is released exactly once."""
    gc.collect()
    tensor = floats(class_, [1.0, 2.0])
    live, exports, releases = testing.live(), testing.exports(), testing.releases()
    view = memoryview(tensor)
    second = view[1:]
    assert testing.exports() == exports + 1
    del tensor
    gc.collect()
    assert testing.live() == live
    assert second[0] == 2.0
    view.release()
    assert testing.releases() == releases
    second.release()
    del view, second
    gc.collect()
    assert testing.releases() == releases + 1
    assert testing.live() == live - 1


@needs_buffers
def test_a_rejected_request_releases_its_export():
    tensor = floats(FrozenArray, [1.0, 2.0])
    gc.collect()
    exports, releases = testing.exports(), testing.releases()
    for _ in range(10):
        with pytest.raises((BufferError, TypeError)):
            io.BytesIO(bytes(8)).readinto(tensor)
    gc.collect()
    assert testing.exports() - exports == testing.releases() - releases


@needs_buffers
def test_an_object_that_grows_is_borrowed_by_its_buffers():
    tensor = GrowingArray([1.0, 2.0])
    view = memoryview(tensor)
    assert view.readonly
    with pytest.raises(RuntimeError, match="Already borrowed"):
        tensor.push(3.0)
    assert view.tolist() == [1.0, 2.0]
    view.release()
    del view
    gc.collect()
    tensor.push(3.0)
    assert memoryview(tensor).tolist() == [1.0, 2.0, 3.0]


@needs_buffers
def test_no_buffer_of_an_object_that_is_borrowed_for_writing():
    tensor = GrowingArray([1.0])
    with pytest.raises(RuntimeError, match="Already mutably borrowed"):
        tensor.while_borrowed(lambda: memoryview(tensor))
    assert tensor.while_borrowed(lambda: repr(tensor)).startswith("<GrowingArray: Already mut")
    assert memoryview(tensor).tolist() == [1.0]


@needs_buffers
@pytest.mark.parametrize("device_type", [2, 4, 10])
def test_device_memory_has_no_buffer(device_type):
    """The processor must not read it."""
    numpy = require("numpy")
    tensor = OnDevice(device_type)
    with pytest.raises(BufferError, match="host"):
        memoryview(tensor)
    assert tensor.streams() == [], "nothing was synchronized"
    with pytest.raises(TypeError, match="copy it to the CPU"):
        numpy.asarray(tensor)
    assert not hasattr(tensor, "__array_interface__")
    assert tensor.shape == (6,)
    assert tensor.device != "cpu"
    assert tensor.streams() == [], "attributes do not synchronize"


@needs_buffers
def test_pinned_memory_has_buffers():
    tensor = OnDevice(3)
    assert memoryview(tensor).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert tensor.streams() != [], "pending work was waited for"


def test_a_panic_is_an_exception():
    tensor = PanickingArray()
    with pytest.raises((RuntimeError, TypeError), match="panicked|buffer|bytes-like"):
        memoryview(tensor)
    with pytest.raises(RuntimeError, match="panicked"):
        tensor.shape
    with pytest.raises(RuntimeError, match="panicked"):
        repr(tensor)


@needs_buffers
@pytest.mark.parametrize("base", [SharedArray, GrowingArray])
def test_subclasses_have_buffers(base):
    class Subclass(base):
        pass

    values = [1.0, 2.0]
    tensor = Subclass(values) if base is GrowingArray else floats(Subclass, values)
    assert memoryview(tensor).tolist() == values
    assert repr(tensor) == "Subclass(shape=(2,), dtype=float32, device=cpu)"


@needs_buffers
@pytest.mark.skipif(sys.version_info < (3, 12), reason="`__buffer__` is of Python 3.12")
def test_buffer_method_of_another_object_is_rejected():
    with pytest.raises(TypeError):
        SharedArray.__buffer__(OwnAttributes([1.0]), 0)
    with pytest.raises(TypeError):
        SharedArray.__buffer__(object(), 0)


@needs_buffers
def test_exporters_cannot_be_created_by_python():
    exporter = memoryview(floats(SharedArray, [1.0])).obj
    class_ = type(floats(SharedArray, [1.0]).__array_interface__["data"])
    with pytest.raises(TypeError):
        class_()
    with pytest.raises(TypeError):
        object.__new__(class_)
    assert exporter is not None


@needs_buffers
def test_hashes_and_bytes():
    tensor = floats(FrozenArray, [1.0, 2.0, 3.0, 4.0], [2, 2])
    data = struct.pack("4f", 1.0, 2.0, 3.0, 4.0)
    assert hashlib.sha256(tensor).digest() == hashlib.sha256(data).digest()
    assert bytes(tensor) == data
    assert bytearray(tensor) == data
    assert b"".join([tensor]) == data
    with pytest.raises(BufferError):
        hashlib.sha256(floats(FrozenArray, range(6), [3], [2]))


# --- __array__ --------------------------------------------------------------


@pytest.mark.parametrize("class_", CLASSES)
def test_numpy_uses_the_memory(class_):
    numpy = require("numpy")
    tensor = floats(class_, [1.0, 2.0])
    for array in (numpy.asarray(tensor), tensor.__array__(), tensor.__array__(copy=False)):
        assert array.dtype == numpy.float32
        assert array.ctypes.data == tensor.data_ptr
        assert array.flags.writeable == (class_ is SharedArray)
    assert numpy.sum(tensor) == 3.0
    assert numpy.add(tensor, tensor).tolist() == [2.0, 4.0]
    assert numpy.stack([tensor, tensor]).tolist() == [[1.0, 2.0], [1.0, 2.0]]


def test_array_converts_by_the_rules_of_numpy():
    numpy = require("numpy")
    tensor = floats(SharedArray, [1.0, 2.5])
    # dtype
    assert tensor.__array__("float64").dtype == numpy.float64
    assert tensor.__array__(dtype=numpy.int32).tolist() == [1, 2]
    assert tensor.__array__("float32").ctypes.data == tensor.data_ptr
    assert tensor.__array__(None).ctypes.data == tensor.data_ptr
    assert numpy.asarray(tensor, dtype="float64").tolist() == [1.0, 2.5]
    # copy
    copy = tensor.__array__(copy=True)
    assert copy.ctypes.data != tensor.data_ptr
    assert copy.flags.writeable
    assert tensor.__array__("float32", copy=True).ctypes.data != tensor.data_ptr
    assert tensor.__array__("int32", copy=True).dtype == numpy.int32
    assert tensor.__array__("float32", copy=False).ctypes.data == tensor.data_ptr
    with pytest.raises(ValueError, match="copy=False forbids"):
        tensor.__array__("float64", copy=False)
    assert numpy.array(tensor, copy=True).ctypes.data != tensor.data_ptr
    assert numpy.array(tensor, copy=False).ctypes.data == tensor.data_ptr
    with pytest.raises(ValueError):
        numpy.array(tensor, dtype="float64", copy=False)
    frozen = floats(FrozenArray, [1.0])
    assert frozen.__array__(copy=True).flags.writeable
    assert not frozen.__array__().flags.writeable


def test_wrong_arguments_of_array():
    require("numpy")
    tensor = floats(SharedArray, [1.0])
    for positional, keywords in [
        (("f4", True), {}),
        ((), {"order": "C"}),
        (("f4",), {"dtype": "f4"}),
        ((), {"copy": "no"}),
        (("no dtype",), {}),
    ]:
        with pytest.raises(TypeError):
            tensor.__array__(*positional, **keywords)


def test_an_array_keeps_the_memory_alive():
    numpy = require("numpy")
    gc.collect()
    live = testing.live()
    array = numpy.asarray(floats(SharedArray, [1.0, 2.0]))
    gc.collect()
    assert testing.live() == live + 1
    assert array.tolist() == [1.0, 2.0]
    del array
    gc.collect()
    assert testing.live() == live


def test_numpy_gets_memory_that_does_not_move():
    numpy = require("numpy")
    tensor = GrowingArray([1.0, 2.0])
    for take in (numpy.asarray, numpy.from_dlpack, lambda x: x.__array__()):
        array = take(tensor)
        with pytest.raises(RuntimeError, match="Already borrowed"):
            tensor.push(3.0)
        assert array.tolist() == [1.0, 2.0]
        del array
        gc.collect()


@needs_buffers
def test_the_array_interface_owns_its_memory():
    """A consumer that keeps only the dict reads valid memory."""
    numpy = require("numpy")

    class Holder:
        pass

    tensor = GrowingArray([1.0, 2.0])
    holder = Holder()
    holder.__array_interface__ = tensor.__array_interface__
    assert set(holder.__array_interface__) == {"version", "shape", "typestr", "data"}
    array = numpy.asarray(holder)
    del holder
    gc.collect()
    with pytest.raises(RuntimeError, match="Already borrowed"):
        tensor.push(3.0)
    assert array.tolist() == [1.0, 2.0]
    assert not array.flags.writeable
    assert not hasattr(floats(SharedArray, range(6), [3], [2]), "__array_interface__")


# --- attributes -------------------------------------------------------------


def test_attributes():
    numpy = require("numpy")
    tensor = floats(SharedArray, range(6), [2, 3])
    assert tensor.shape == (2, 3)
    assert tensor.ndim == 2
    assert tensor.size == 6
    assert tensor.device == "cpu"
    assert tensor.dtype == numpy.dtype("float32")
    assert isinstance(tensor.dtype, numpy.dtype)
    assert len(tensor) == 2
    assert [row.tolist() for row in tensor] == [[0, 1, 2], [3, 4, 5]]
    assert tensor[1, 2] == 5.0
    assert tensor[:, 1].tolist() == [1.0, 4.0]
    with pytest.raises(IndexError):
        tensor[2]
    assert repr(tensor) == "SharedArray(shape=(2, 3), dtype=float32, device=cpu)"
    scalar = floats(SharedArray, [1.0], [])
    assert scalar.shape == ()
    with pytest.raises(TypeError, match="no len"):
        len(scalar)
    for name in ("shape", "ndim", "size", "nbytes", "device", "dtype"):
        with pytest.raises(AttributeError):
            setattr(tensor, name, 1)
        assert getattr(SharedArray, name).__doc__


def test_attributes_of_the_class_are_kept():
    numpy = require("numpy")
    tensor = OwnAttributes([1.0, 2.0])
    assert tensor.shape == "its own shape [2]"
    assert len(tensor) == 7
    assert repr(tensor) == "its own repr of [2]"
    assert tensor.ndim == 1
    assert numpy.from_dlpack(tensor).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("class_", [testing.Frozen, testing.Writable, testing.Growing])
def test_every_class_is_an_array_for_numpy(class_):
    """Zero-copy, without an option."""
    numpy = require("numpy")
    tensor = class_([1.0, 2.0])
    array = numpy.asarray(tensor)
    assert (array.dtype, array.tolist()) == (numpy.float32, [1.0, 2.0])
    assert array.ctypes.data == tensor.data_ptr
    assert numpy.sum(tensor) == 3.0
    assert numpy.array(tensor, dtype="int64").tolist() == [1, 2]
    assert numpy.stack([tensor, tensor]).shape == (2, 2)
    # The attributes of arrays are an option, and so is the buffer protocol.
    for name in ("shape", "dtype", "__len__", "__add__", "__buffer__", "__array_interface__"):
        assert not hasattr(tensor, name)
    with pytest.raises(TypeError):
        memoryview(tensor)
    assert len({tensor}) == 1


@pytest.mark.parametrize("class_", [BareArray, PlainArray])
def test_layouts_without_the_buffer_protocol(class_):
    numpy = require("numpy")
    for shape, strides, offset, expected in [
        ([2, 3], None, 0, [[0, 1, 2], [3, 4, 5]]),
        ([3, 2], [1, 3], 0, [[0, 3], [1, 4], [2, 5]]),
        ([3], [-2], 20, [5, 3, 1]),
        ([], [], 8, 2),
        ([0], [1], 0, []),
    ]:
        tensor = floats(class_, range(6), shape, strides, offset)
        assert numpy.asarray(tensor).tolist() == expected
        assert numpy.array(tensor, dtype="float64").tolist() == expected


# --- libraries --------------------------------------------------------------


# Classes with the buffer protocol, without it, and without any option.
LIBRARY_CLASSES = pytest.mark.parametrize("class_", [FrozenArray, BareArray, PlainArray])


@LIBRARY_CLASSES
def test_matplotlib(class_):
    matplotlib = require("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    image = axes.imshow(floats(class_, range(6), [2, 3]))
    assert image.get_array().tolist() == [[0, 1, 2], [3, 4, 5]]
    (line,) = axes.plot(floats(class_, [1.0, 2.0]))
    assert line.get_ydata().tolist() == [1.0, 2.0]
    figure.canvas.draw()
    pyplot.close(figure)


@needs_buffers
def test_pillow():
    require("PIL")
    from PIL import Image as image

    pixels = FrozenArray(bytes(range(12)), "uint8", [2, 2, 3])
    picture = image.fromarray(pixels)
    assert (picture.mode, picture.size) == ("RGB", (2, 2))
    assert picture.getpixel((1, 0)) == (3, 4, 5)
    assert image.frombuffer("RGB", (2, 2), pixels).tobytes() == bytes(range(12))
    gray = image.fromarray(FrozenArray(bytes(range(4)), "uint8", [2, 2]))
    assert gray.getpixel((0, 1)) == 2


@pytest.mark.parametrize("class_", [FrozenArray, SharedArray, BareArray])
def test_pandas(class_):
    pandas = require("pandas")
    series = pandas.Series(floats(class_, [1.0, 2.0]))
    assert series.dtype == "float32"
    assert series.tolist() == [1.0, 2.0]
    frame = pandas.DataFrame(floats(class_, range(6), [2, 3]), columns=list("abc"))
    assert frame["b"].tolist() == [1.0, 4.0]
    assert frame.dtypes.tolist() == ["float32"] * 3
    frame["d"] = floats(class_, [7.0, 8.0])
    assert frame["d"].tolist() == [7.0, 8.0]


@LIBRARY_CLASSES
def test_scikit_learn(class_):
    require("sklearn")
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import StandardScaler

    x = floats(class_, range(6), [3, 2])
    y = floats(class_, [1.0, 2.0, 3.0])
    model = LinearRegression().fit(x, y)
    assert model.predict(x).round(3).tolist() == [1.0, 2.0, 3.0]
    assert StandardScaler().fit_transform(x).shape == (3, 2)


def test_torch():
    torch = require("torch")
    tensor = floats(SharedArray, [1.0, 2.0])
    array = torch.from_dlpack(tensor)
    assert array.data_ptr() == tensor.data_ptr
    assert torch.asarray(tensor).tolist() == [1.0, 2.0]
    matrix = floats(SharedArray, range(6), [2, 3])
    for convert in (torch.from_dlpack, torch.tensor, torch.as_tensor):
        assert convert(matrix).tolist() == [[0, 1, 2], [3, 4, 5]]
    # PyTorch 2.15 prefers a buffer, and ignores its shape. The guide's page warns of it.
    assert torch.asarray(matrix).shape in [(6,), (2, 3)]
    assert torch.asarray(matrix).flatten().tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.filterwarnings("ignore:The given (buffer|NumPy array) is not writable")
@pytest.mark.parametrize("class_", [BareArray, PlainArray])
@pytest.mark.parametrize("name", ["from_dlpack", "asarray", "as_tensor", "tensor"])
def test_torch_without_the_buffer_protocol(class_, name):
    torch = require("torch")
    for dtype, size, value in [("float32", 4, b"\0\0\x80?"), ("int64", 8, b"\x01" + bytes(7))]:
        tensor = class_(value * 6, dtype, [2, 3])
        array = getattr(torch, name)(tensor)
        assert array.dtype == getattr(torch, dtype)
        assert array.tolist() == [[1, 1, 1], [1, 1, 1]]
        assert (array.data_ptr() == tensor.data_ptr) == (name != "tensor")


def test_memory_is_seen_by_tools():
    """`sys.getsizeof` counts the elements, as it does for an array that owns them."""
    few, many = (FrozenArray(bytes(4 * count), "float32", [count]) for count in (1, 1_000_000))
    assert (few.nbytes, many.nbytes) == (4, 4_000_000)
    assert sys.getsizeof(many) - sys.getsizeof(few) == 4 * 999_999
    assert FrozenArray(bytes(6), "float4_e2m1fn", [11]).nbytes == 6
    assert FrozenArray(bytes(4), "float32", [1000], [0]).nbytes == 4000
