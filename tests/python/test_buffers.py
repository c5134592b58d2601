"""How long a buffer of an array-like object owns its memory, whatever the consumer keeps."""

import ctypes
import gc
import pickle
import sys

import dlpack_testing as testing
import pytest
from conftest import require
from dlpack_testing import FrozenArray, GrowingArray, ReplacedArray, call_while_raising

pytestmark = pytest.mark.skipif(
    sys.implementation.name != "cpython", reason="the buffer protocol of classes needs CPython"
)


class Growing(GrowingArray):
    """A subclass, whose slots Python sets."""


class Replaced(ReplacedArray):
    pass


def pickled(tensor):
    """The array of an out-of-band buffer, in which pickle puts an object as it is."""
    numpy = require("numpy")
    buffers = []
    data = pickle.dumps(numpy.zeros(2, "float32"), 5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[tensor])


def with_numpy(take):
    def consumer(tensor):
        return take(require("numpy"), tensor)

    return consumer


def tolist(taken):
    return [float(value) for value in taken]


# What consumers make of an object, and keep.
CONSUMERS = {
    "memoryview": memoryview,
    "slice": lambda tensor: memoryview(tensor)[:],
    "frombuffer": with_numpy(lambda numpy, tensor: numpy.frombuffer(tensor, "float32")),
    "frombuffer-of-memoryview": with_numpy(
        lambda numpy, tensor: numpy.frombuffer(memoryview(tensor), "float32")
    ),
    "asarray": with_numpy(lambda numpy, tensor: numpy.asarray(tensor)),
    "ndarray-of-memoryview": with_numpy(
        lambda numpy, tensor: numpy.ndarray((2,), "float32", memoryview(tensor))
    ),
    "pickle": pickled,
    "PickleBuffer": lambda tensor: memoryview(pickle.PickleBuffer(tensor)).cast("B").cast("f"),
}
consumers = pytest.mark.parametrize("consumer", CONSUMERS.values(), ids=CONSUMERS)


@consumers
@pytest.mark.parametrize("class_", [GrowingArray, Growing])
def test_memory_does_not_move_while_it_is_used(consumer, class_):
    tensor = class_([1.0, 2.0])
    taken = consumer(tensor)
    gc.collect()
    with pytest.raises(RuntimeError, match="Already borrowed"):
        tensor.push(3.0)
    assert tolist(taken) == [1.0, 2.0]
    del taken
    gc.collect()
    tensor.push(3.0)
    assert tolist(memoryview(tensor)) == [1.0, 2.0, 3.0]


@consumers
@pytest.mark.parametrize("class_", [ReplacedArray, Replaced])
def test_replaced_memory_lives_while_it_is_used(consumer, class_):
    gc.collect()
    live = testing.live()
    tensor = class_([1.0, 2.0])
    taken = consumer(tensor)
    tensor.replace([3.0, 4.0])
    gc.collect()
    assert testing.live() == live + 2
    taken[0] = 5.0
    assert tolist(taken) == [5.0, 2.0]
    assert tolist(memoryview(tensor)) == [3.0, 4.0]
    del tensor
    gc.collect()
    assert testing.live() == live + 1
    taken[1] = 6.0
    assert tolist(taken) == [5.0, 6.0]
    del taken
    gc.collect()
    assert testing.live() == live


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
def test_torch_owns_the_memory_that_it_uses():
    torch = require("torch")

    def consumer(tensor):
        return torch.frombuffer(tensor, dtype=torch.float32)

    for class_ in (GrowingArray, Growing):
        test_memory_does_not_move_while_it_is_used(consumer, class_)
    for class_ in (ReplacedArray, Replaced):
        test_replaced_memory_lives_while_it_is_used(consumer, class_)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="`__buffer__` is of Python 3.12")
@pytest.mark.parametrize("class_", [GrowingArray, Growing])
def test_the_protocol_has_its_methods(class_):
    from collections import abc

    tensor = class_([1.0, 2.0])
    assert isinstance(tensor, abc.Buffer)
    view = tensor.__buffer__(0)
    with pytest.raises(RuntimeError, match="Already borrowed"):
        tensor.push(3.0)
    view.release()
    tensor.push(3.0)

    class Own(class_):
        def __buffer__(self, flags):
            return memoryview(b"own")

    assert bytes(Own([1.0])) == b"own"


# --- errors -----------------------------------------------------------------


def test_failed_allocations_are_memory_errors():
    """Each allocation fails in turn, also where a refusal would be an `AttributeError`."""
    tensor = FrozenArray(bytes(range(24)), "uint8", [1, 2, 3, 4])
    for use in (memoryview, lambda tensor: tensor.__array_interface__):
        assert use(tensor)
        failures, failed = 0, True
        while failed:
            testing.fail_allocation(failures)
            try:
                use(tensor)
            except MemoryError:
                failures += 1
            else:
                failed = False
            finally:
                testing.fail_allocation(-1)
        assert failures >= 3


def test_refusals_say_what_borrows_the_object():
    tensor = GrowingArray([1.0])
    for use in (memoryview, bytes, lambda tensor: tensor.__dlpack__()):
        with pytest.raises(RuntimeError, match="Already mutably borrowed: a method that changes"):
            tensor.while_borrowed(lambda: use(tensor))
    with pytest.raises(RuntimeError, match="Already mutably borrowed"):
        tensor.while_borrowed(lambda: hasattr(tensor, "__array_interface__"))


# --- a pending exception ----------------------------------------------------


class Pending(Exception):
    pass


def while_raising(tensor, flags):
    """Requests a buffer while an exception is pending. Returns the exception afterwards, and
    the bytes."""
    # Another test sets the types of the attribute of this name.
    release = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyBuffer_Release", ctypes.pythonapi))
    function = ctypes.cast(ctypes.pythonapi.PyObject_GetBuffer, ctypes.c_void_p).value
    buffer = (ctypes.c_void_p * 16)()
    code, left = call_while_raising(
        Pending(), function, [id(tensor), ctypes.addressof(buffer), flags], True
    )
    found = None
    if code == 0:
        found = ctypes.string_at(buffer[0], buffer[2])
        release(ctypes.addressof(buffer))
    return type(left), found


def test_requests_while_an_exception_is_pending():
    """PyTorch requests a writable buffer, and then another one without a call of
    `PyErr_Clear`."""
    tensor = FrozenArray(b"abcd", "uint8", [4])
    assert while_raising(tensor, 0) == (Pending, b"abcd")
    assert while_raising(tensor, 1) == (BufferError, None)
    assert while_raising(GrowingArray([0.0]), 0) == (Pending, bytes(4))
    assert while_raising(Growing([0.0]), 0) == (Pending, bytes(4))
    gc.collect()


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
def test_torch_reads_read_only_memory():
    torch = require("torch")
    tensor = FrozenArray(b"abcd", "uint8", [4])
    assert bytes(torch.frombuffer(tensor, dtype=torch.uint8)) == b"abcd"
    assert bytes(torch.as_tensor(tensor)) == b"abcd"
    if not torch.__version__.startswith("2.12"):
        # Which reads the bytes of a buffer as floats.
        assert bytes(torch.asarray(tensor)) == b"abcd"
