"""USM between dpnp and Rust, on a real runtime of SYCL.

`cargo xtask test --full` runs this in an environment of its own, with the device
that has USM at different numbers.
"""

import ctypes
import functools
import os
import sys

import pytest
from conftest import check_leaks, missing, nothing_left, require

os.environ.setdefault(
    "OCL_ICD_FILENAMES", os.path.join(sys.prefix, "lib", "libintelocl.so")
)
dpctl = require("dpctl")
numpy = require("numpy")

from dlpack_testing import InUsm, recognize_usm, sycl_devices  # noqa: E402

ONEAPI = 14
KINDS = ("device", "shared", "host")
# The one device with USM; PoCL, if it is there, has none.
WITH_USM = [d.has_aspect_usm_device_allocations for d in dpctl.get_devices()]
INDEX = WITH_USM.index(True) if True in WITH_USM else None
if INDEX is None:
    missing("oneapi", "no device of SYCL has USM")
DEVICE = dpctl.get_devices()[INDEX]
# With a device without USM at number 0, dpnp ends the process when it computes.
COMPUTES = INDEX == 0
dpt = require("dpnp").tensor
if "DLPACK_ONEAPI_INDEX" in os.environ:
    assert str(INDEX) == os.environ["DLPACK_ONEAPI_INDEX"]
MEMORIES = {
    "device": dpctl.memory.MemoryUSMDevice,
    "shared": dpctl.memory.MemoryUSMShared,
    "host": dpctl.memory.MemoryUSMHost,
}


@pytest.fixture
def queue():
    """A queue with an order, of the device's default context."""
    return dpctl.SyclQueue(DEVICE, property="in_order")


@pytest.fixture(params=KINDS)
def kind(request):
    """Each kind of USM."""
    return request.param


def made(elements, kind, queue):
    """An array of dpnp, made without a kernel."""
    memory = MEMORIES[kind](elements.nbytes, queue=queue)
    memory.copy_from_host(elements.ravel().view("uint8"))
    return dpt.usm_ndarray(elements.shape, dtype=elements.dtype, buffer=memory)


def test_we_count_as_dpctl_does():
    """The number of a device is its index in one list."""
    assert sycl_devices() == len(dpctl.get_devices())


def test_where_ours_is(kind):
    """The device, as the protocol numbers it."""
    ours = InUsm(4, kind, INDEX)
    assert ours.__dlpack_device__() == (ONEAPI, INDEX)
    assert (ours.kind, ours.index) == (kind, INDEX)
    assert recognize_usm(ours.data_ptr, INDEX) == (INDEX, kind)


def test_it_takes_ours(kind):
    """The same memory, of the same kind, in both directions."""
    with nothing_left():
        ours = InUsm(4, kind, INDEX)
        theirs = dpt.from_dlpack(ours)
        assert isinstance(theirs, dpt.usm_ndarray)
        assert (theirs.usm_type, theirs._pointer) == (kind, ours.data_ptr)
        assert theirs.sycl_device == DEVICE and theirs.shape == (4,)
        if COMPUTES:
            theirs[1:] = 3.0
            theirs.sycl_queue.wait()
            assert dpt.asnumpy(theirs).tolist() == ours.to_list() == [0, 3, 3, 3]
        del ours, theirs


def test_the_memory_outlives_our_object(kind):
    """Its array keeps our memory alive."""
    theirs = dpt.from_dlpack(InUsm(4, kind, INDEX))
    assert recognize_usm(theirs._pointer, INDEX) == (INDEX, kind)


def test_we_take_theirs(kind, queue):
    """Views too: offsets and strides, including negative ones."""
    elements = numpy.arange(12, dtype="float32").reshape(3, 4)
    theirs = made(elements, kind, queue)
    for part in (numpy.s_[:], numpy.s_[1:], numpy.s_[:, ::-2], numpy.s_[::-1, 1]):
        view = theirs[part]
        ours = InUsm.take(view)
        assert (ours.kind, ours.index) == (kind, INDEX)
        assert ours.to_list() == elements[part].ravel().tolist()
        if min(view.strides) < 0:
            # We say where the first element is; it looks for others from there on.
            with pytest.raises(ValueError, match="can not accommodate"):
                dpt.from_dlpack(ours)
            continue
        again = dpt.from_dlpack(ours)
        assert (again._pointer, again.strides) == (view._pointer, view.strides)


def test_theirs_outlives_their_object(kind, queue):
    """Our object keeps its memory alive."""
    ours = InUsm.take(made(numpy.full(5, 2, dtype="float32"), kind, queue))
    assert ours.to_list() == [2.0] * 5


def test_memory_that_is_none(queue):
    """A host's address, and a device that does not exist."""
    host = ctypes.create_string_buffer(64)
    for address in (ctypes.addressof(host), 0, 16):
        with pytest.raises(ValueError, match="no enabled backend"):
            recognize_usm(address, INDEX)
    ours = InUsm(4, "device", INDEX)
    for index in (-1, sycl_devices(), 99):
        with pytest.raises(ValueError, match="no enabled backend"):
            recognize_usm(ours.data_ptr, index)


def test_a_device_without_usm():
    """The address is rejected where a query would end the process."""
    for index, device in enumerate(dpctl.get_devices()):
        if not device.has_aspect_usm_device_allocations:
            with pytest.raises(ValueError, match="unified shared memory"):
                recognize_usm(InUsm(4, "host", INDEX).data_ptr, index)
            with pytest.raises(ValueError, match="USM"):
                InUsm(4, "device", index)


def test_they_refuse_what_we_cannot_take():
    """Memory of a part of the device is of another context."""
    part = DEVICE.create_sub_devices(partition=[1])[0]
    queue = dpctl.SyclQueue(part)
    memory = dpctl.memory.MemoryUSMDevice(64, queue=queue)
    with pytest.raises(ValueError, match="no enabled backend"):
        recognize_usm(memory._pointer, INDEX)
    with pytest.raises(ValueError, match="queue of another"):
        InUsm(4, "device", INDEX, queue.addressof_ref())


def test_streams_are_queues(queue):
    """A `SyclQueue`, its address, or nothing."""
    ours = InUsm(4, "device", INDEX)
    for stream in (queue, queue.addressof_ref(), None):
        assert "dltensor" in repr(ours.__dlpack__(stream=stream, max_version=(1, 3)))
    with pytest.raises(ValueError, match="does not track work on"):
        ours.__dlpack__(stream=-1)
    with pytest.raises(ValueError, match="handle"):
        ours.__dlpack__(stream=0)
    with pytest.raises(TypeError, match="stream"):
        ours.__dlpack__(stream="queue")


def test_dl_device_cpu(kind):
    """A copy on the host."""
    ours = InUsm(4, kind, INDEX)
    assert numpy.from_dlpack(ours, device="cpu").tolist() == [0] * 4


def test_the_exchange_table():
    """It names a queue, and its allocator gives memory of the device."""
    from dlpack_structs import DLManagedTensorVersioned
    from exchange_table import Table, delete

    table = Table(InUsm)
    assert table.stream(ONEAPI, INDEX) and table.stream(1, 0) is None
    for device in [(ONEAPI, INDEX), (1, 0)]:
        managed = table.allocate([8], device=device)
        tensor = DLManagedTensorVersioned.from_address(managed).dl_tensor
        assert (tensor.device.device_type, tensor.device.device_id) == device
        if device[0] == ONEAPI:
            assert recognize_usm(tensor.data, INDEX) == (INDEX, "device")
        delete(managed)
    told = []
    assert table.allocate([8], device=(ONEAPI, 99), told=told) is None
    assert told[0][0] == "BufferError"
    with pytest.raises(BufferError):
        table.stream(ONEAPI, 99)


@pytest.mark.skipif(not COMPUTES, reason="dpnp computes on device 0 only")
def test_what_it_computes_is_taken(kind):
    """Its kernels run before our reads."""
    theirs = dpt.arange(6, dtype="float32", usm_type=kind) * 2
    theirs.sycl_queue.wait()
    assert InUsm.take(theirs).to_list() == [0, 2, 4, 6, 8, 10]


COUNT = 32 << 20


def keep_busy(queue, target, zeros, fives):
    """Enqueues long copies to ``target``, of which only the last one matters."""
    for _ in range(12):
        queue.memcpy_async(target, zeros, 4 * COUNT)
    queue.memcpy_async(target, fives, 4 * COUNT)


def test_their_pending_work_comes_first(queue):
    """A capsule for our queue while theirs is at work: no stale elements."""
    zeros = made(numpy.zeros(COUNT, dtype="float32"), "device", queue)
    target = made(numpy.zeros(COUNT, dtype="float32"), "device", queue)
    fives = made(numpy.full(COUNT, 5, dtype="float32"), "device", queue)
    queue.wait()
    ours = dpctl.SyclQueue(DEVICE, property="in_order")
    keep_busy(queue, target.usm_data, zeros.usm_data, fives.usm_data)
    capsule = target[:4].__dlpack__(stream=ours, max_version=(1, 3))
    assert InUsm.take(capsule, ours.addressof_ref()).to_list() == [5.0] * 4
    queue.wait()


def test_an_import_puts_their_pending_work_first(queue):
    """The same without an explicit capsule: the import passes our queue to dpnp."""
    zeros = made(numpy.zeros(COUNT, dtype="float32"), "device", queue)
    target = made(numpy.zeros(COUNT, dtype="float32"), "device", queue)
    fives = made(numpy.full(COUNT, 5, dtype="float32"), "device", queue)
    queue.wait()
    ours = dpctl.SyclQueue(DEVICE, property="in_order")
    keep_busy(queue, target.usm_data, zeros.usm_data, fives.usm_data)
    taken = InUsm.take(target[:4], ours.addressof_ref(), ours)
    assert taken.to_list() == [5.0] * 4
    queue.wait()


def test_a_stream_that_they_do_not_take(queue):
    """The producer's exception reaches the caller."""
    theirs = made(numpy.zeros(4, dtype="float32"), "device", queue)
    for stream in (-1, 1, "queue"):
        with pytest.raises(TypeError):
            InUsm.take(theirs, None, stream)


def test_our_pending_work_comes_first(queue):
    """A capsule for their queue while ours is at work."""
    zeros = made(numpy.zeros(COUNT, dtype="float32"), "device", queue)
    fives = made(numpy.full(COUNT, 5, dtype="float32"), "device", queue)
    ours = InUsm(COUNT, "device", INDEX, queue.addressof_ref())
    usm = dpt.from_dlpack(ours).usm_data
    queue.wait()
    keep_busy(queue, usm, zeros.usm_data, fives.usm_data)
    consumer = dpctl.SyclQueue(DEVICE, property="in_order")
    capsule = ours.__dlpack__(stream=consumer, max_version=(1, 3))
    end = dpctl.memory.MemoryUSMHost(16, queue=consumer)
    consumer.memcpy_async(end, usm, 16)
    consumer.wait()
    assert numpy.frombuffer(end, dtype="float32").tolist() == [5] * 4
    queue.wait()
    del capsule


def test_nothing_is_left(kind):
    """Each export is released, and each import."""
    ours = InUsm(4, kind, INDEX)
    check_leaks(lambda: dpt.from_dlpack(ours))
    check_leaks(lambda: InUsm.take(ours))


AXPY = """
__kernel void axpy(float a, __global const float* x, __global const float* y,
                   __global float* out) {
    size_t i = get_global_id(0);
    out[i] = a * x[i] + y[i];
}
"""


@pytest.fixture(scope="module")
def axpy():
    """The function of examples/functions, with a kernel on the queue of the arrays of dpnp, which
    has no order."""
    from dpctl import program

    functions = require("array_functions")
    queue = dpt.zeros(1, dtype="float32").sycl_queue
    kernel = program.create_program_from_source(queue, AXPY).get_sycl_kernel("axpy")
    return functools.partial(functions.axpy, kernel)


@pytest.mark.skipif(not COMPUTES, reason="dpnp computes on device 0 only")
def test_a_kernel_takes_and_returns_their_arrays(axpy):
    """A kernel in Rust, between kernels of dpnp, on their queue."""
    dpnp = require("dpnp")
    x = dpnp.arange(1 << 16, dtype="float32")
    out = axpy(2.0, x * 3, dpnp.ones(1 << 16, dtype="float32"))
    assert type(out) is dpnp.ndarray
    assert out.sycl_device == x.sycl_device and out.usm_type == "device"
    doubled = dpnp.asnumpy(out + out)
    assert (doubled == 2 * (6 * numpy.arange(1 << 16, dtype="float32") + 1)).all()


@pytest.mark.skipif(not COMPUTES, reason="dpnp computes on device 0 only")
def test_a_kernel_waits_for_their_pending_work(axpy):
    """The array is written by copies that are enqueued on its queue."""
    zeros = dpt.zeros(COUNT, dtype="float32")
    queue = zeros.sycl_queue
    fives = made(numpy.full(COUNT, 5, dtype="float32"), "device", queue)
    ones = made(numpy.ones(16, dtype="float32"), "device", queue)
    queue.wait()
    keep_busy(queue, zeros.usm_data, fives.usm_data, fives.usm_data)
    out = axpy(2.0, zeros[:16], ones)
    assert dpt.asnumpy(out).tolist() == [11] * 16


@pytest.mark.skipif(not COMPUTES, reason="dpnp computes on device 0 only")
def test_arguments_of_a_kernel(axpy, monkeypatch):
    """Another dtype, another rank, host memory, and what the function itself rejects."""
    from dpctl import program

    array_functions = require("array_functions")
    x = dpt.ones(4, dtype="float32")
    for wrong, error, words in [
        (dpt.ones(4, dtype="int32"), TypeError, "expected float32, got int32"),
        (dpt.ones((2, 2), dtype="float32"), ValueError, "expected 1 dimension, got 2"),
        (numpy.ones(4, dtype="float32"), ValueError, "expected oneapi, got cpu"),
    ]:
        with pytest.raises(error, match=words):
            axpy(1.0, x, wrong)
    class Kernel(program.SyclKernel):
        def addressof_ref(self):
            return 8

    # A class of Python code, also in the place of dpctl's, may return any address.
    monkeypatch.setattr(program, "SyclKernel", Kernel)
    for kernel in [1, Kernel()]:
        with pytest.raises(TypeError, match="kernel of dpctl"):
            array_functions.axpy(kernel, 1.0, x, x)
    with pytest.raises(ValueError, match="of one length"):
        axpy(1.0, x, dpt.ones(5, dtype="float32"))
    check_leaks(lambda: axpy(1.0, x, x))


@pytest.mark.skipif(not COMPUTES, reason="dpnp computes on device 0 only")
@pytest.mark.parametrize("answer", [0x4141414141, "text", None])
def test_a_queue_of_python_code_names_no_address(axpy, monkeypatch, answer):
    """Any class can be put in the place of `dpctl.SyclQueue`; its numbers are not used."""
    import dpctl

    class Queue:
        def addressof_ref(self):
            return answer

        def _get_capsule(self):
            return answer

    class Array:
        sycl_queue = Queue()

        def __dlpack_device__(self):
            return (14, 0)

        def __dlpack__(self, **_):
            raise BufferError("nothing to export")

    monkeypatch.setattr(dpctl, "SyclQueue", Queue)
    with pytest.raises(BufferError, match="nothing to export"):
        axpy(1.0, Array(), dpt.ones(4, dtype="float32"))
