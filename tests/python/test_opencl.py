"""Buffers of pyopencl, which has no `__dlpack__`, as tensors of Rust, on PoCL and on Intel's
runtime.

No library of Python takes tensors of OpenCL by the standard; tvm-ffi carries them.
"""

import importlib.util
import os
import sys
import threading
from pathlib import Path

import pytest
from conftest import check_leaks, missing, require


@pytest.fixture(scope="module")
def cl(tmp_path_factory):
    """pyopencl. Each runtime makes one device of the processor."""
    found = importlib.util.find_spec("pyopencl")
    libraries = Path(found.origin).parent / ".libs" if found else None
    pocl = next(libraries.glob("libpocl-*"), None) if libraries else None
    if pocl:
        vendors = tmp_path_factory.mktemp("vendors")
        (vendors / "pocl.icd").write_text(f"{pocl}\n")
        if INTEL.exists():
            (vendors / "intel.icd").write_text(f"{INTEL}\n")
        os.environ["OCL_ICD_VENDORS"] = str(vendors)
    module = require("pyopencl")
    if not pocl:
        missing("opencl", "PoCL is not installed beside pyopencl")
    from dlpack_testing import load_opencl

    # One loader for both, so that devices have the same numbers.
    load_opencl(str(next(libraries.glob("libOpenCL-*"))))
    return module


@pytest.fixture(params=["Portable Computing Language", "Intel(R) OpenCL"], ids=["pocl", "intel"])
def context(cl, request):
    """A context of pyopencl, on each runtime."""
    platform = next((p for p in cl.get_platforms() if p.name == request.param), None)
    if platform is None:
        missing("opencl", f"{request.param} is not installed")
    return cl.Context(platform.get_devices())


@pytest.fixture
def index(cl, context):
    """The number of the context's device, by which tensors name it."""
    devices = [d for p in cl.get_platforms() for d in p.get_devices()]
    return devices.index(context.devices[0])


@pytest.fixture
def queue(cl, context):
    """A queue of that context."""
    return cl.CommandQueue(context)


@pytest.fixture
def buffer(cl, context, queue):
    """0 to 7, as `float32`s."""
    numpy = require("numpy")
    made = cl.Buffer(context, cl.mem_flags.READ_WRITE, 32)
    cl.enqueue_copy(queue, made, numpy.arange(8, dtype="float32"))
    return made


OPENCL = 4
INTEL = Path(sys.prefix, "lib", "libintelocl.so")


def test_we_count_devices_as_it_does(cl):
    """Platform after platform."""
    from dlpack_testing import cl_devices

    devices = [d for p in cl.get_platforms() for d in p.get_devices()]
    assert cl_devices() == len(devices)


def test_a_buffer_goes_out_and_comes_in(cl, buffer, queue, index):
    """The handle as it is; the offset beside it."""
    from dlpack_testing import InClBuffer

    references = buffer.reference_count
    ours = InClBuffer(buffer.int_ptr, 8, index, queue.int_ptr)
    assert ours.__dlpack_device__() == (OPENCL, index)
    assert ours.handle == buffer.int_ptr
    assert buffer.reference_count == references + 1
    other = cl.CommandQueue(queue.context)
    capsule = ours.__dlpack__(stream=other.int_ptr, max_version=(1, 3))
    again = InClBuffer.take(capsule, other.int_ptr)
    del capsule
    del ours
    assert again.handle == buffer.int_ptr
    assert again.to_list() == [2, 3, 4, 5, 6, 7]
    del again
    assert buffer.reference_count == references


def test_pending_work_comes_first(cl, context, buffer, queue, index):
    """The producer waits for a gate; the consumer's kernel waits for the producer."""
    from dlpack_testing import InClBuffer

    numpy = require("numpy")
    gate = cl.UserEvent(context)
    cl.enqueue_barrier(queue, wait_for=[gate])
    cl.enqueue_fill_buffer(queue, buffer, numpy.float32(5), 0, 32)
    ours = InClBuffer(buffer.int_ptr, 0, index, queue.int_ptr)
    consumer = cl.CommandQueue(context)
    capsule = ours.__dlpack__(stream=consumer.int_ptr, max_version=(1, 3))
    read = numpy.zeros(8, dtype="float32")
    event = cl.enqueue_copy(consumer, read, buffer, is_blocking=False)
    consumer.flush()
    assert event.command_execution_status != cl.command_execution_status.COMPLETE
    gate.set_status(cl.command_execution_status.COMPLETE)
    consumer.finish()
    assert read.tolist() == [5] * 8
    del capsule


def test_what_is_refused(cl, buffer, queue, index):
    """A queue of another context, no queue, and a tensor that is not there."""
    from dlpack_testing import InClBuffer

    ours = InClBuffer(buffer.int_ptr, 0, index, queue.int_ptr)
    # Intel's runtime does not let a queue keep its context alive.
    elsewhere = cl.Context(queue.context.devices)
    other = cl.CommandQueue(elsewhere)
    with pytest.raises(BufferError, match="two contexts"):
        ours.__dlpack__(stream=other.int_ptr)
    with pytest.raises(ValueError, match="another context"):
        InClBuffer(buffer.int_ptr, 0, index, other.int_ptr)
    with pytest.raises(ValueError, match="queue of another device"):
        InClBuffer(buffer.int_ptr, 0, 1 - index, queue.int_ptr)
    for stream in (0, -1):
        with pytest.raises(ValueError):
            ours.__dlpack__(stream=stream)


def test_a_copy_on_the_host(cl, buffer, queue, index):
    """Through the queue of this crate, if it belongs to the context."""
    from dlpack_testing import InClBuffer

    ours = InClBuffer(buffer.int_ptr, 4, index, queue.int_ptr)
    assert ours.to_list() == [1, 2, 3, 4, 5, 6, 7]
    with pytest.raises(BufferError, match="two contexts"):
        ours.__dlpack__(dl_device=(1, 0))


def test_tvm_ffi_carries_it(cl, buffer, queue, index):
    """tvm-ffi accesses no element, and exports the tensor that it imported."""
    from dlpack_testing import InClBuffer

    tvm_ffi = require("tvm_ffi")
    ours = InClBuffer(buffer.int_ptr, 8, index, queue.int_ptr)
    queue.finish()
    carried = tvm_ffi.from_dlpack(ours)
    again = InClBuffer.take(carried.__dlpack__(max_version=(1, 3)), queue.int_ptr)
    assert (again.handle, again.to_list()) == (buffer.int_ptr, [2, 3, 4, 5, 6, 7])


def test_the_exchange_table(cl, index):
    """It names a queue, and its allocator gives a `cl_mem` of the device."""
    from dlpack_structs import DLManagedTensorVersioned
    from dlpack_testing import InClBuffer
    from exchange_table import Table, delete

    table = Table(InClBuffer)
    queue = cl.CommandQueue.from_int_ptr(table.stream(OPENCL, index))
    managed = table.allocate([8], device=(OPENCL, index))
    tensor = DLManagedTensorVersioned.from_address(managed).dl_tensor
    assert (tensor.device.device_type, tensor.device.device_id) == (OPENCL, index)
    memory = cl.Buffer.from_int_ptr(tensor.data)
    assert (memory.size, memory.context) == (32, queue.context)
    delete(managed)
    told = []
    assert table.allocate([8], device=(OPENCL, 99), told=told) is None
    assert told[0][0] == "BufferError"
    with pytest.raises(BufferError):
        table.stream(OPENCL, 99)


def test_nothing_is_left(buffer, queue, index):
    """Each export is released, and each import."""
    from dlpack_testing import InClBuffer

    ours = InClBuffer(buffer.int_ptr, 0, index, queue.int_ptr)

    def there_and_back():
        capsule = ours.__dlpack__(max_version=(1, 3))
        InClBuffer.take(capsule, queue.int_ptr)

    check_leaks(there_and_back)


AXPY = """
__kernel void axpy(float a, __global const float* x, ulong x_begin, __global const float* y,
                   ulong y_begin, __global float* out) {
    size_t i = get_global_id(0);
    out[i] = a * x[x_begin + i] + y[y_begin + i];
}
"""


@pytest.fixture
def axpy(cl, context):
    """A kernel of the buffers' context."""
    from dlpack_testing import cl_axpy

    libraries = Path(importlib.util.find_spec("pyopencl").origin).parent / ".libs"
    library = str(next(libraries.glob("libOpenCL-*")))
    try:
        kernel = cl.Program(context, AXPY).build().axpy
    except cl.RuntimeError as error:
        # LLVM in PoCL 3.0 does not know AMD's processors of 2024 and later. Intel's runtime
        # compiles the kernel there, and is required where this one is.
        if "unknown target CPU" not in str(error) or not INTEL.exists():
            raise
        pytest.skip("PoCL cannot compile for this processor")
    return lambda a, x, y: cl_axpy(library, kernel.int_ptr, a, x, y)


def test_a_kernel_runs_on_the_callers_queue(cl, context, buffer, queue, axpy, index):
    """A kernel in Rust on tensors that tvm-ffi carries, on a queue of pyopencl. It does not
    overtake pending work."""
    from dlpack_testing import EnteredCl, InClBuffer

    numpy, tvm_ffi = require("numpy"), require("tvm_ffi")
    gate = cl.UserEvent(context)
    other = cl.Buffer(context, cl.mem_flags.READ_WRITE, 32)
    cl.enqueue_copy(queue, other, numpy.ones(8, dtype="float32"))
    cl.enqueue_barrier(queue, wait_for=[gate])
    cl.enqueue_fill_buffer(queue, other, numpy.float32(5), 0, 32)
    entered = EnteredCl(index, queue.int_ptr)
    x = tvm_ffi.from_dlpack(InClBuffer(buffer.int_ptr, 8, index, queue.int_ptr))
    y = tvm_ffi.from_dlpack(InClBuffer(other.int_ptr, 8, index, queue.int_ptr))
    # tvm-ffi passes no stream to the result, so the host waits, without the GIL.
    opened = cl.command_execution_status.COMPLETE
    threading.Timer(0.05, gate.set_status, [opened]).start()
    out = axpy(2.0, x, y)
    entered.leave()
    assert isinstance(out, tvm_ffi.Tensor) and out.shape == (6,)
    del x, y
    taken = InClBuffer.take(out.__dlpack__(max_version=(1, 3)), queue.int_ptr)
    assert taken.to_list() == [9, 11, 13, 15, 17, 19]


def test_a_kernel_on_a_class_of_ours(buffer, queue, axpy, index):
    """Its table names the queue that this thread entered."""
    from dlpack_testing import EnteredCl, InClBuffer

    ours = InClBuffer(buffer.int_ptr, 0, index, queue.int_ptr)
    entered = EnteredCl(index, queue.int_ptr)
    try:
        out = axpy(1.0, ours, ours)
        assert type(out) is InClBuffer
        assert out.to_list() == [0, 2, 4, 6, 8, 10, 12, 14]
        check_leaks(lambda: axpy(1.0, ours, ours))
    finally:
        entered.leave()
    # Without it, the queue is of another context than the buffer.
    with pytest.raises(BufferError, match="two contexts"):
        axpy(1.0, ours, ours)
