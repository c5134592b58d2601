"""Tensors of an asynchronous device, seen from Python. The device is the accelerator of
`examples/new-device`, with threads of its own and memory that the host cannot access. A
gate holds its work back."""

import ctypes
import faulthandler
import gc
import threading
import time

import pytest

from conftest import require
from dlpack_testing import (
    Gate,
    KeptOnNpu,
    NpuConsumer,
    OnNpu,
    StoredOnNpu,
    closed_npu_stream,
    current_npu_stream,
    first_on_npu,
    npu_streams,
    take,
)

NPU = (12, 0)


@pytest.fixture(autouse=True)
def idle():
    """Waits until the streams of a test are idle, because other tests count memory. The default
    streams of both devices stay: the copy makes them."""
    OnNpu([1], 0.0, opened()).__dlpack__(max_version=(1, 0), dl_device=(12, 1))
    yield
    deadline = time.monotonic() + 10
    while npu_streams() > 2 and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.001)


def opened():
    gate = Gate()
    gate.open()
    return gate


def test_the_device_is_the_one_of_the_struct():
    """`__dlpack_device__` and the struct name the device; `data` is its handle."""
    tvm_ffi = require("tvm_ffi")
    tensor = OnNpu([2, 3], 1.5, opened())
    assert tensor.__dlpack_device__() == NPU
    array = tvm_ffi.from_dlpack(tensor)
    assert (array.device.dlpack_device_type(), array.device.index) == NPU
    assert tuple(array.shape) == (2, 3)


def test_a_copy_on_the_host_waits_for_the_work():
    """NumPy reads the elements after the pending kernel is done."""
    numpy = require("numpy")
    gate = Gate()
    tensor = OnNpu([2, 3], 1.5, gate)
    gate.open_later()
    array = numpy.from_dlpack(tensor, device="cpu")
    assert array.tolist() == [[1.5] * 3] * 2
    assert array.flags.writeable
    assert numpy.from_dlpack(tensor, device="cpu", copy=True).tolist() == array.tolist()


def test_python_goes_on_while_a_device_is_waited_for():
    """A Python thread opens the gate; it can run because the wait releases the GIL."""
    numpy = require("numpy")
    for export in (
        lambda tensor: numpy.from_dlpack(tensor, device="cpu"),
        lambda tensor: tensor.__dlpack__(max_version=(1, 0)),
    ):
        gate = Gate()
        tensor = OnNpu([4], 1.5, gate)
        opener = threading.Timer(0.02, gate.open)
        faulthandler.dump_traceback_later(30, exit=True)  # aborts a deadlocked test
        opener.start()
        export(tensor)
        faulthandler.cancel_dump_traceback_later()
        opener.join()


def test_legacy_consumers_get_copies_too():
    """The legacy struct can be copied to the host as well."""
    tensor = OnNpu([4], 2.0, opened())
    capsule = tensor.__dlpack__(dl_device=(1, 0))
    assert "dltensor" in repr(capsule) and "versioned" not in repr(capsule)
    numpy = require("numpy")

    class Legacy:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **_):
            return capsule

    assert numpy.from_dlpack(Legacy()).tolist() == [2.0] * 4


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"dl_device": (1, 0), "copy": False}, "takes a copy"),
        ({"dl_device": (2, 0)}, "cannot be exported to cuda:0"),
        ({"dl_device": (12, 7)}, "cannot be exported to ext_dev:7"),
        ({"dl_device": (12, 1), "copy": False}, "to ext_dev:1 takes a copy"),
    ],
)
def test_what_the_device_cannot_do(keywords, words):
    """A copy to a device that the backend cannot reach is a BufferError."""
    tensor = OnNpu([4], 2.0, opened())
    with pytest.raises(BufferError, match=words):
        tensor.__dlpack__(max_version=(1, 0), **keywords)


def test_python_goes_on_while_rust_copies_from_a_device():
    """A Python thread opens the gate, although the function that copies does not detach."""
    gate = Gate()
    kept = KeptOnNpu(OnNpu([4], 2.0, gate))
    opener = threading.Timer(0.02, gate.open)
    faulthandler.dump_traceback_later(30, exit=True)  # aborts a deadlocked test
    opener.start()
    assert kept.to_list() == [2.0] * 4
    faulthandler.cancel_dump_traceback_later()
    opener.join()


def test_a_copy_on_another_device_of_the_backend():
    """`dl_device=` names another device, and the copy waits for the pending kernel."""
    numpy = require("numpy")
    gate = Gate()
    tensor = OnNpu([4], 2.0, gate)
    gate.open_later()
    copy = KeptOnNpu.from_dlpack(tensor, device=(12, 1))
    assert copy.__dlpack_device__() == (12, 1)
    assert numpy.from_dlpack(copy, device="cpu").tolist() == [2.0] * 4
    assert tensor.__dlpack_device__() == NPU


def test_a_copy_stays_on_the_device():
    """`copy=True` alone copies to other memory of the same device."""
    consumer = NpuConsumer()
    gate = Gate()
    tensor = OnNpu([4], 2.0, gate)
    gate.open_later()
    copy = take(tensor.__dlpack__(max_version=(1, 0), copy=True, stream=consumer.stream))
    del tensor
    consumer.enqueue_sum(copy)
    assert consumer.result() == 8.0


def test_numpy_needs_to_be_told():
    """Without `device="cpu"` NumPy rejects the device and does not read the memory."""
    numpy = require("numpy")
    with pytest.raises((BufferError, RuntimeError)):
        numpy.from_dlpack(OnNpu([4], 2.0, opened()))


def test_a_hand_off_does_not_wait():
    """The consumer's stream waits and Python does not: the gate stays closed until the end.
    """
    gate = Gate()
    consumer = NpuConsumer()
    tensor = OnNpu([4], 2.0, gate)
    capsule = tensor.__dlpack__(max_version=(1, 0), stream=consumer.stream)
    consumer.enqueue_sum(take(capsule))
    # The consumer has released its tensor, and there is no other owner.
    del tensor, capsule
    gate.open()
    assert consumer.result() == 8.0


def test_without_a_stream_the_work_is_done():
    """`stream=None` blocks the host until the work is done, so any stream may read the
    elements."""
    gate = Gate()
    consumer = NpuConsumer()
    tensor = OnNpu([4], 2.0, gate)
    gate.open_later()
    consumer.enqueue_sum(take(tensor.__dlpack__(max_version=(1, 0))))
    assert consumer.result() == 8.0


def test_its_own_stream_is_no_journey():
    """The consumer may name the producer's own stream, with work pending on it."""
    gate = Gate()
    tensor = OnNpu([4], 2.0, gate)
    tensor.__dlpack__(max_version=(1, 0), stream=tensor.stream)
    gate.open()


@pytest.mark.parametrize("stream", [0, -1])
def test_streams_that_are_none(stream):
    """0 is not a stream of this device; for -1, the device could not determine when the
    memory may be freed."""
    tensor = OnNpu([4], 2.0, opened())
    with pytest.raises(ValueError, match="`stream`"):
        tensor.__dlpack__(max_version=(1, 0), stream=stream)


def test_a_stream_that_is_gone():
    """An error of the device is a BufferError with its code."""
    tensor = OnNpu([4], 2.0, opened())
    with pytest.raises(BufferError, match="`find_stream` returned 2 for ext_dev:0"):
        tensor.__dlpack__(max_version=(1, 0), stream=closed_npu_stream())


def test_the_exchange_table():
    """The table returns the current stream, and its allocator allocates memory of the
    device."""
    from dlpack_structs import DLManagedTensorVersioned
    from exchange_table import Table, delete

    table = Table(OnNpu)
    assert table.stream(*NPU) and table.stream(1, 0) is None
    for device in [NPU, (1, 0)]:
        managed = table.allocate([8], device=device)
        found = DLManagedTensorVersioned.from_address(managed).dl_tensor.device
        assert (found.device_type, found.device_id) == device
        delete(managed)
    told = []
    assert table.allocate([8], device=(12, 2), told=told) is None
    assert told[0][0] == "BufferError"
    with pytest.raises(BufferError):
        table.stream(12, 2)


def test_a_copy_on_the_host_has_no_stream():
    """With `dl_device=(1, 0)` the consumer is on the host."""
    tensor = OnNpu([4], 2.0, opened())
    with pytest.raises(ValueError, match="`stream` must be None"):
        tensor.__dlpack__(max_version=(1, 0), dl_device=(1, 0), stream=tensor.stream)


@pytest.mark.parametrize("keep", [KeptOnNpu, KeptOnNpu.from_dlpack])
def test_a_class_keeps_memory_of_a_device(keep):
    """Consumers with a stream, copies on the host and arguments of kernels wait for the producer."""
    numpy = require("numpy")
    gate = Gate()
    tensor = OnNpu([4], 2.0, gate)
    gate.open_later()
    kept = keep(tensor)
    del tensor
    assert kept.__dlpack_device__() == NPU
    consumer = NpuConsumer()
    consumer.enqueue_sum(take(kept.__dlpack__(max_version=(1, 0), stream=consumer.stream)))
    assert consumer.result() == 8.0
    assert numpy.from_dlpack(kept, device="cpu").tolist() == [2.0] * 4
    assert numpy.from_dlpack(kept, device="cpu", copy=True).tolist() == [2.0] * 4
    assert first_on_npu(kept) == 2.0
    assert first_on_npu(KeptOnNpu(kept)) == 2.0


def test_a_class_without_a_backend_names_the_buffer():
    """An `ImportedStorage` has no stream; its elements can be copied all the same."""
    numpy = require("numpy")
    gate = Gate()
    tensor = OnNpu([4], 2.0, gate)
    gate.open_later()
    stored = StoredOnNpu.from_dlpack(tensor)
    assert numpy.from_dlpack(stored, device="cpu").tolist() == [2.0] * 4
    for use in (
        lambda: stored.__dlpack__(max_version=(1, 0), stream=NpuConsumer().stream),
        lambda: first_on_npu(stored),
    ):
        with pytest.raises(BufferError, match="import it into a `DeviceBuffer`"):
            use()


def test_an_array_names_its_stream_by_the_attribute_of_the_backend():
    """The producer then gets no stream. A capsule of another name is not a stream."""
    tensor, consumer, streams = OnNpu([4], 2.0, opened()), NpuConsumer(), []
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

    class Stream:
        def __init__(self, name):
            self.name = name

        def as_capsule(self):
            return capsule(consumer.stream, self.name, None)

    class Array:
        def __init__(self, name):
            self.npu_stream = Stream(name)

        def __dlpack_device__(self):
            return NPU

        def __dlpack__(self, **keywords):
            streams.append(keywords.get("stream"))
            return tensor.__dlpack__(**keywords)

    assert KeptOnNpu(Array(b"npu_stream")).stream == consumer.stream
    assert KeptOnNpu(Array(b"another")).stream == current_npu_stream()
    assert streams == [None, current_npu_stream()]


def test_an_object_is_a_stream_by_the_method_of_the_backend():
    """`__npu_stream__` returns the handle, or a tuple with it, as `__cuda_stream__` does."""
    gate = Gate()
    tensor = OnNpu([4], 2.0, gate)
    consumer = NpuConsumer()

    class Wrapped:
        def __init__(self, stated):
            self.stated = stated

        def __npu_stream__(self):
            return self.stated

    for stream in (consumer, Wrapped(consumer.stream)):
        consumer.enqueue_sum(take(tensor.__dlpack__(max_version=(1, 0), stream=stream)))
    gate.open()
    assert consumer.result() == 8.0
    wanted = "`stream` must be an integer, None, or an object with `__npu_stream__`, not"
    for wrong in ("1", object(), Wrapped("1"), Wrapped(None), Wrapped((0, 1, 2)), Wrapped(-5)):
        with pytest.raises(TypeError, match=wanted):
            tensor.__dlpack__(max_version=(1, 0), stream=wrong)
