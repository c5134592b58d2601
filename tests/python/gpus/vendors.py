"""The runtimes of GPUs as another library would call them, with ctypes: streams,
work on them, and a gate that holds work back. On the simulator only."""

import ctypes
import threading
from ctypes import CFUNCTYPE, POINTER, byref, c_int, c_size_t, c_uint, c_void_p

import dlpack_testing as testing
from conftest import missing

COUNT = 1024
HostFunction = CFUNCTYPE(None, c_void_p)
COUNTED = (
    *("device_memory", "pinned_memory", "managed_memory", "streams", "events"),
    *("captures", "graphs", "modules", "contexts"),
)


class Gate:
    """Work that takes as long as a test wants: a function that a stream calls."""

    def __init__(self):
        self.opened = threading.Event()
        self.function = HostFunction(lambda _: self.opened.wait())

    def open(self):
        self.opened.set()

    def open_later(self):
        """After the next line, which waits: it must let other threads run."""
        threading.Timer(0.02, self.open).start()


class Cuda:
    """NVIDIA's driver."""

    name, library = "cuda", "libcuda.so.1"
    gpu, pinned, managed = 2, 3, 13
    kinds = (2, 3, 13)
    made, taken = testing.OnCuda, testing.FromCuda
    entered = testing.EnteredCuda
    attributes = staticmethod(testing.cuda_attributes)
    stream_of_argument = staticmethod(testing.cuda_stream_of)
    copied = staticmethod(testing.cuda_copied)
    overwrite = staticmethod(testing.cuda_overwrite)
    record = "cuEventRecord"
    # What a consumer says, and on which stream it works then.
    defaults = ((None, 0), (1, 0), (2, 2))
    refused = (0,)

    def __init__(self, calls):
        self.calls = calls
        context = c_void_p()
        assert calls.cuInit(0) == 0
        assert calls.cuDevicePrimaryCtxRetain(byref(context), self.device(0)) == 0
        assert calls.cuCtxSetCurrent(context) == 0

    def device(self, index):
        """The ``CUdevice`` of an index."""
        device = c_int()
        assert self.calls.cuDeviceGet(byref(device), index) == 0
        return device

    def stream(self):
        made = c_void_p()
        assert self.calls.cuStreamCreate(byref(made), 1) == 0
        return made.value

    def stream_of(self, index):
        """A stream of another GPU."""
        context, before = c_void_p(), c_void_p()
        assert self.calls.cuCtxGetCurrent(byref(before)) == 0
        assert self.calls.cuDevicePrimaryCtxRetain(byref(context), self.device(index)) == 0
        assert self.calls.cuCtxSetCurrent(context) == 0
        made = self.stream()
        assert self.calls.cuCtxSetCurrent(before) == 0
        return made

    def destroy(self, stream):
        assert self.calls.cuStreamDestroy_v2(c_void_p(stream)) == 0

    def synchronize(self, stream):
        assert self.calls.cuStreamSynchronize(c_void_p(stream)) == 0

    def host(self, byte_len):
        """Pinned memory: copies to it do not keep the host."""
        made = c_void_p()
        assert self.calls.cuMemHostAlloc(byref(made), c_size_t(byte_len), 0) == 0
        return made.value

    def free_host(self, address):
        assert self.calls.cuMemFreeHost(c_void_p(address)) == 0

    def fill(self, address, bits, count, stream):
        code = self.calls.cuMemsetD32Async(
            c_size_t(address), c_uint(bits), c_size_t(count), c_void_p(stream)
        )
        assert code == 0

    def copy(self, to, source, byte_len, stream):
        code = self.calls.cuMemcpyAsync(
            c_size_t(to), c_size_t(source), c_size_t(byte_len), c_void_p(stream)
        )
        assert code == 0

    def hold(self, stream, gate):
        assert self.calls.cuLaunchHostFunc(c_void_p(stream), gate.function, None) == 0


class Rocm:
    """AMD's runtime."""

    name, library = "rocm", "libamdhip64.so.7"
    gpu, pinned, managed = 10, 11, None
    kinds = (10, 11)
    made, taken = testing.OnRocm, testing.FromRocm
    entered = testing.EnteredRocm
    attributes = staticmethod(testing.rocm_attributes)
    stream_of_argument = staticmethod(testing.rocm_stream_of)
    copied = staticmethod(testing.rocm_copied)
    overwrite = staticmethod(testing.rocm_overwrite)
    record = "hipEventRecord"
    defaults = ((None, 0), (0, 0))
    refused = (1, 2)

    def __init__(self, calls):
        self.calls = calls
        assert calls.hipSetDevice(0) == 0

    def stream(self):
        made = c_void_p()
        assert self.calls.hipStreamCreateWithFlags(byref(made), 1) == 0
        return made.value

    def destroy(self, stream):
        assert self.calls.hipStreamDestroy(c_void_p(stream)) == 0

    def synchronize(self, stream):
        assert self.calls.hipStreamSynchronize(c_void_p(stream)) == 0

    def host(self, byte_len):
        made = c_void_p()
        assert self.calls.hipHostMalloc(byref(made), c_size_t(byte_len), 0) == 0
        return made.value

    def free_host(self, address):
        assert self.calls.hipHostFree(c_void_p(address)) == 0

    def fill(self, address, bits, count, stream):
        code = self.calls.hipMemsetD32Async(
            c_size_t(address), c_int(bits), c_size_t(count), c_void_p(stream)
        )
        assert code == 0

    def copy(self, to, source, byte_len, stream):
        # 4: the runtime finds out where both are.
        code = self.calls.hipMemcpyAsync(
            *(c_size_t(to), c_size_t(source), c_size_t(byte_len)), 4, c_void_p(stream)
        )
        assert code == 0

    def hold(self, stream, gate):
        assert self.calls.hipLaunchHostFunc(c_void_p(stream), gate.function, None) == 0


def simulated(vendor):
    """The vendor's functions, where they are the simulator's."""
    try:
        calls = ctypes.CDLL(vendor.library)
    except OSError as error:
        reason = f"the loader finds no {vendor.library} ({error})"
    else:
        if hasattr(calls, "sim_counts"):
            return vendor(calls)
        reason = f"{vendor.library} is not the simulator"
    return missing(vendor.name, reason)


def counts(calls):
    """What exists when all work is done, but for contexts, which are kept."""
    found = (c_size_t * len(COUNTED))()
    assert calls.sim_counts(byref(found)) == 0
    return dict(zip(COUNTED, found, strict=True)) | {"contexts": 0}


def fail(calls, name, code):
    """The next call of that name fails."""
    calls.sim_fail.argtypes = [ctypes.c_char_p, c_uint, c_int]
    calls.sim_fail(name.encode(), 0, code)


def fail_none(calls):
    """No call fails on request any more."""
    calls.sim_fail_none()


def floats(address, count=COUNT):
    """Numbers that the host can read."""
    return ctypes.cast(address, POINTER(ctypes.c_float * count)).contents[:]
