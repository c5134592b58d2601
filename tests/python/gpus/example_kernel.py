"""`examples/cuda-kernel` on the simulator of the driver, with arrays of a class whose exchange table names
the caller's stream, as PyTorch's does: the kernel runs on that stream, and the host does not wait."""

import faulthandler
import gc

import cuda_kernel
import numpy
import pytest
import vendors
from gpu_classes import SEVEN, Consumer, Pending, on_stream


@pytest.fixture
def gpu():
    """Checks that the test leaves no error or object behind, but the kernel, which stays loaded."""
    found = vendors.simulated(vendors.Cuda)
    one = found.taken.from_dlpack(found.made(1))
    cuda_kernel.axpy(1, one, one)
    del one
    gc.collect()
    before = vendors.counts(found.calls)
    faulthandler.dump_traceback_later(60, exit=True)
    yield found
    faulthandler.cancel_dump_traceback_later()
    gc.collect()
    assert found.calls.sim_clear_error() == 0
    assert vendors.counts(found.calls) == before


def test_help_shows_dtype_and_shape():
    assert "axpy(a: float, x: float32[n], y: float32[n])" in cuda_kernel.axpy.__doc__


def test_the_kernel_waits_for_its_arguments_and_the_host_does_not(gpu):
    """`y` is ready on another stream, behind a gate."""
    with Consumer(gpu) as caller, Pending(gpu) as pending:
        zeros = gpu.taken.from_dlpack(gpu.made(vendors.COUNT))
        gpu.synchronize(0)
        with on_stream(gpu, caller.stream):
            result = cuda_kernel.axpy(2, zeros, pending.tensor)
        assert type(result) is gpu.taken
        assert not pending.gate.opened.is_set()
        caller.enqueue(result.data_ptr)
        pending.gate.open()
        assert caller.result() == {7.0}
        del zeros, result


def test_the_kernel_runs_on_the_callers_stream(gpu):
    """Work of the caller before and after it, behind a gate."""
    gate = vendors.Gate()
    with Consumer(gpu) as caller:
        x = gpu.taken.from_dlpack(gpu.made(vendors.COUNT))
        gpu.synchronize(0)
        with on_stream(gpu, caller.stream):
            gpu.hold(caller.stream, gate)
            gpu.fill(x.data_ptr, SEVEN, vendors.COUNT, caller.stream)
            first = cuda_kernel.axpy(2, x, x)
            result = cuda_kernel.axpy(1, first, x)
        caller.enqueue(result.data_ptr)
        assert not gate.opened.is_set()
        gate.open()
        assert caller.result() == {28.0}
        del x, first, result


def test_arguments_may_be_released_before_the_kernel_runs(gpu):
    with Consumer(gpu) as caller, Pending(gpu) as pending:
        with on_stream(gpu, caller.stream):
            zeros = gpu.taken.from_dlpack(gpu.made(vendors.COUNT))
            result = cuda_kernel.axpy(1, zeros, pending.tensor)
        # The classes of the tests wait for the device before they release what they imported.
        pending.gate.open_later()
        del zeros
        gc.collect()
        caller.enqueue(result.data_ptr)
        assert caller.result() == {7.0}
        del result


def test_empty_arrays_and_other_arguments(gpu):
    empty = gpu.taken.from_dlpack(gpu.made(0))
    assert type(cuda_kernel.axpy(2, empty, empty)) is gpu.taken
    x = gpu.made(4)
    with pytest.raises(ValueError, match="one length on one GPU"):
        cuda_kernel.axpy(2, x, gpu.made(3))
    with pytest.raises(ValueError, match="one length on one GPU"):
        cuda_kernel.axpy(2, x, gpu.made(4, index=1))
    with pytest.raises(ValueError, match="expected cuda, cuda_host or cuda_managed, got cpu"):
        cuda_kernel.axpy(2, x, numpy.ones(4, "f4"))
    del x, empty
