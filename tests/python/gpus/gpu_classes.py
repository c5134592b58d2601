"""Python classes over GPU memory: the meaning of `stream` for each vendor, copies to the
host, and the exchange table. `cargo xtask test` runs this file on the simulator of
`tests/devices/simulator`, in a process of its own. Gates hold work back, so that no test
depends on timing: a consumer that does not wait reads the old value."""

import contextlib
import ctypes
import faulthandler
import functools
import gc
import shutil
import struct
import subprocess
import sys
import threading
from pathlib import Path

import dlpack_testing as testing
import pytest
import vendors
from conftest import require
from dlpack_structs import IS_COPIED, DLManagedTensorVersioned, Tensor
from exchange_table import Table, delete

VERSIONED = {"max_version": (1, 3)}
BYTES = 4 * vendors.COUNT
SEVEN = struct.unpack("I", struct.pack("f", 7.0))[0]
HOST = 1


@pytest.fixture(params=[vendors.Cuda, vendors.Rocm], ids=lambda vendor: vendor.name)
def gpu(request):
    """A vendor's runtime; checks that the test leaves no error or object behind."""
    found = vendors.simulated(request.param)
    free_during_work(request.param)
    before = vendors.counts(found.calls)
    faulthandler.dump_traceback_later(60, exit=True)  # aborts a deadlocked test
    yield found
    faulthandler.cancel_dump_traceback_later()
    vendors.fail_none(found.calls)
    gc.collect()
    assert found.calls.sim_clear_error() == 0, "what the GPU says at the end"
    assert vendors.counts(found.calls) == before, "something leaked"


@functools.cache
def free_during_work(vendor):
    """Frees memory that a consumer uses. CUDA's backend creates a stream for such frees the first
    time, and keeps it."""
    gpu = vendors.simulated(vendor)
    with Consumer(gpu) as consumer:
        used_late(gpu, consumer, gpu.made(vendors.COUNT))
        gc.collect()


def used_late(gpu, consumer, tensor):
    """Exports a tensor for a consumer's stream, which copies it when a gate opens."""
    gate = vendors.Gate()
    gpu.fill(tensor.data_ptr, SEVEN, vendors.COUNT, 0)
    capsule = tensor.__dlpack__(stream=consumer.stream, **VERSIONED)
    gpu.hold(consumer.stream, gate)
    consumer.enqueue(tensor.data_ptr)
    gate.open_later()
    del capsule


class Pending:
    """Zeros on a stream of their own, which are overwritten by sevens when a gate opens."""

    def __init__(self, gpu, kind=None):
        self.gpu, self.gate, self.producer = gpu, vendors.Gate(), gpu.stream()
        self.tensor = gpu.made(vendors.COUNT, self.producer, kind or gpu.gpu)
        gpu.synchronize(self.producer)
        gpu.hold(self.producer, self.gate)
        gpu.fill(self.tensor.data_ptr, SEVEN, vendors.COUNT, self.producer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.gate.open()
        self.gpu.synchronize(self.producer)
        del self.tensor
        gc.collect()
        self.gpu.destroy(self.producer)


class Consumer:
    """Another library, which copies an imported tensor to the host on a stream."""

    def __init__(self, gpu, stream=None):
        self.gpu, self.own = gpu, stream is None
        self.stream = gpu.stream() if self.own else stream
        self.seen = gpu.host(BYTES)

    def enqueue(self, address):
        self.gpu.copy(self.seen, address, BYTES, self.stream)

    def result(self):
        self.gpu.synchronize(self.stream)
        return set(vendors.floats(self.seen))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.gpu.synchronize(self.stream)
        self.gpu.free_host(self.seen)
        if self.own:
            self.gpu.destroy(self.stream)


def device_of(managed):
    """The device in a versioned struct at an address."""
    device = DLManagedTensorVersioned.from_address(managed).dl_tensor.device
    return device.device_type, device.device_id


# Where a tensor is.


def test_the_device_is_the_one_of_the_struct(gpu):
    """Every kind of memory on every GPU; in both structs, and in the table's."""
    places = [(kind, 0) for kind in gpu.kinds] + [(gpu.gpu, 1)]
    table = Table(gpu.made)
    for kind, index in places:
        tensor = gpu.made(4, kind=kind, index=index)
        assert tensor.__dlpack_device__() == (kind, index)
        for keywords in ({}, VERSIONED):
            capsule = tensor.__dlpack__(**keywords)
            assert Tensor(capsule).device == (kind, index)
            assert Tensor(capsule).data == tensor.data_ptr
            assert Tensor(capsule).byte_offset == 0
        view = table.view(tensor)
        assert (view.device.device_type, view.device.device_id) == (kind, index)
        managed = table.from_object(tensor)
        assert device_of(managed) == (kind, index)
        delete(managed)
        assert gpu.attributes(tensor.data_ptr) == (kind, index, kind != gpu.gpu)


def test_a_gpu_that_is_not_there(gpu):
    """Unknown memory is an error."""
    for index in (-1, 2, 99):
        with pytest.raises(ValueError, match="no enabled backend"):
            gpu.made(4, index=index)
    with pytest.raises(ValueError, match="no enabled backend"):
        gpu.made(4, kind=gpu.pinned, index=1)


def test_tvm_ffi_carries_it(gpu):
    """A round trip through a library that accepts any device."""
    tvm_ffi = require("tvm_ffi")
    tensor = gpu.made(4)
    theirs = tvm_ffi.from_dlpack(tensor)
    assert (theirs.device.dlpack_device_type(), theirs.device.index) == (gpu.gpu, 0)
    back = gpu.taken.from_dlpack(theirs)
    assert back.data_ptr == tensor.data_ptr
    assert back.__dlpack_device__() == (gpu.gpu, 0)


# What `stream` means.


def test_default_streams(gpu):
    """None, and the special numbers of each vendor: the named stream reads the new value,
    and the export does not block."""
    for says, stream in gpu.defaults:
        for keywords in ({}, VERSIONED):
            with Pending(gpu) as pending, Consumer(gpu, stream) as consumer:
                capsule = pending.tensor.__dlpack__(stream=says, **keywords)
                consumer.enqueue(Tensor(capsule).data)
                pending.gate.open()
                assert consumer.result() == {7.0}, (says, keywords)
                del capsule


def test_a_handle(gpu):
    """A stream of the consumer's."""
    with Pending(gpu) as pending, Consumer(gpu) as consumer:
        capsule = pending.tensor.__dlpack__(stream=consumer.stream, **VERSIONED)
        consumer.enqueue(Tensor(capsule).data)
        pending.gate.open()
        assert consumer.result() == {7.0}
        del capsule


def test_its_own_stream(gpu):
    """The consumer uses the producer's stream, so no event is recorded."""
    record = gpu.record.encode()
    with Pending(gpu) as pending, Consumer(gpu, pending.producer) as consumer:
        before = gpu.calls.sim_calls(record)
        capsule = pending.tensor.__dlpack__(stream=pending.producer, **VERSIONED)
        assert gpu.calls.sim_calls(record) == before
        consumer.enqueue(Tensor(capsule).data)
        pending.gate.open()
        assert consumer.result() == {7.0}
        del capsule


def test_no_order_was_asked_for(gpu):
    """-1: without synchronization, the consumer reads the old value."""
    with Pending(gpu) as pending, Consumer(gpu) as consumer:
        capsule = pending.tensor.__dlpack__(stream=-1, **VERSIONED)
        consumer.enqueue(Tensor(capsule).data)
        assert consumer.result() == {0.0}, "stale, as asked for"
        pending.gate.open()
        del capsule


def test_numbers_that_are_refused(gpu):
    """0 of CUDA is ambiguous between the two default streams; 1 and 2 of ROCm are reserved.
    """
    tensor = gpu.made(4)
    for number in gpu.refused:
        with pytest.raises(ValueError, match=f"`stream`.*{number}"):
            tensor.__dlpack__(stream=number, **VERSIONED)
    for number in (-2, -(2**40)):
        with pytest.raises(ValueError, match="stream"):
            tensor.__dlpack__(stream=number, **VERSIONED)
    for other in (1.0, "1", (1,), object()):
        with pytest.raises(TypeError, match="stream"):
            tensor.__dlpack__(stream=other, **VERSIONED)


def test_a_stream_of_another_gpu():
    """A stream of another CUDA context is rejected."""
    gpu = vendors.simulated(vendors.Cuda)
    tensor, stream = gpu.made(4), gpu.stream_of(1)
    with pytest.raises(BufferError, match="another device or context"):
        tensor.__dlpack__(stream=stream, **VERSIONED)
    gpu.destroy(stream)


def test_the_runtimes_error_has_its_code(gpu):
    """If a call of the runtime fails, the error names the call, and nothing is exported."""
    with Consumer(gpu) as consumer:
        tensor = gpu.made(4)
        vendors.fail(gpu.calls, gpu.record, 999)
        with pytest.raises(BufferError, match=f"`{gpu.record}` returned 999"):
            tensor.__dlpack__(stream=consumer.stream, **VERSIONED)


# Copies.


@pytest.mark.parametrize("keywords", [{}, {"copy": True}], ids=["device", "copy"])
def test_numpy_gets_a_copy_on_the_host(gpu, keywords):
    """`dl_device=(1, 0)`: the copy waits for pending work while other Python threads run.
    """
    numpy = require("numpy")
    for kind in gpu.kinds:
        with Pending(gpu, kind) as pending:
            pending.gate.open_later()
            array = numpy.from_dlpack(pending.tensor, device="cpu", **keywords)
            assert set(array.tolist()) == {7.0}
            assert array.flags.writeable
            assert array.ctypes.data != pending.tensor.data_ptr


def test_a_copy_on_the_host_in_both_structs(gpu):
    """The struct names the CPU; a versioned struct has the IS_COPIED flag."""
    for keywords in ({}, VERSIONED):
        with Pending(gpu) as pending:
            pending.gate.open_later()
            capsule = pending.tensor.__dlpack__(dl_device=(HOST, 0), **keywords)
            copy = Tensor(capsule)
            assert copy.device == (HOST, 0)
            assert set(copy.floats()) == {7.0}
            assert copy.flags in (None, IS_COPIED)


def test_what_takes_a_copy(gpu):
    """`copy=False`, a stream for a host destination, and GPUs that do not exist are rejected."""
    tensor = gpu.made(4)
    for keywords, error, words in [
        ({"dl_device": (HOST, 0), "copy": False}, BufferError, "takes a copy"),
        ({"dl_device": (HOST, 0), "stream": -1}, ValueError, "must be None"),
        ({"dl_device": (gpu.gpu, 99)}, BufferError, "cannot be exported to"),
        ({"dl_device": (12, 0)}, BufferError, "cannot be exported to"),
    ]:
        with pytest.raises(error, match=words):
            tensor.__dlpack__(**VERSIONED, **keywords)
    capsule = tensor.__dlpack__(dl_device=(gpu.gpu, 0), **VERSIONED)
    assert Tensor(capsule).data == tensor.data_ptr


def test_a_copy_on_another_gpu(gpu):
    """`dl_device=` of another GPU, after the pending work of the first one."""
    with Pending(gpu) as pending:
        pending.gate.open_later()
        copy = Tensor(pending.tensor.__dlpack__(dl_device=(gpu.gpu, 1), **VERSIONED))
        assert (copy.device, copy.flags) == ((gpu.gpu, 1), IS_COPIED)
        assert pending.gate.opened.is_set()


def test_a_copy_on_the_gpu(gpu):
    """`copy=True`: a copy in memory of the same GPU, synchronized with the consumer's
    stream."""
    with Pending(gpu) as pending, Consumer(gpu) as consumer:
        pending.gate.open_later()
        capsule = pending.tensor.__dlpack__(
            copy=True, stream=consumer.stream, **VERSIONED
        )
        copy = Tensor(capsule)
        assert (copy.device, copy.flags) == ((gpu.gpu, 0), IS_COPIED)
        assert copy.data != pending.tensor.data_ptr
        consumer.enqueue(copy.data)
        assert consumer.result() == {7.0}
        del capsule


def test_numpy_reads_memory_of_the_host_where_it_is(gpu):
    """Pinned and managed memory: NumPy passes no stream and reads at once, so the export
    blocks until pending work is done."""
    numpy = require("numpy")
    for kind in gpu.kinds[1:]:
        with Pending(gpu, kind) as pending:
            pending.gate.open_later()
            array = numpy.from_dlpack(pending.tensor)
            assert array.ctypes.data == pending.tensor.data_ptr
            assert set(array.tolist()) == {7.0}, kind
            del array


# Imports.


def test_an_import_is_for_the_default_stream(gpu):
    """Our tensor, imported and exported again: each consumer is ordered after the work
    before it."""
    with Pending(gpu) as pending, Consumer(gpu) as consumer:
        taken = gpu.taken.from_dlpack(pending.tensor)
        assert taken.data_ptr == pending.tensor.data_ptr
        capsule = taken.__dlpack__(stream=consumer.stream, **VERSIONED)
        consumer.enqueue(Tensor(capsule).data)
        pending.gate.open()
        assert consumer.result() == {7.0}
        del taken, capsule


def test_an_import_that_asks_the_runtime(gpu):
    """Host memory whose tensor claims a GPU, and memory of one kind that claims another,
    are rejected."""
    for kind in gpu.kinds:
        with pytest.raises(ValueError, match="no enabled backend"):
            gpu.taken.from_dlpack(testing.OnDevice(kind))
    tensor = gpu.made(4)
    assert gpu.taken.from_dlpack(tensor).data_ptr == tensor.data_ptr


# The exchange table.


def test_the_table_names_the_current_stream(gpu):
    """NULL is the default stream; a thread that entered a stream uses that stream."""
    table, stream = Table(gpu.made), gpu.stream()
    assert [table.stream(kind, 0) for kind in gpu.kinds] == [None] * len(gpu.kinds)
    assert table.stream(gpu.gpu, 1) is None and table.stream(HOST, 0) is None
    entered = gpu.entered(stream)
    try:
        assert [table.stream(kind, 0) for kind in gpu.kinds] == [stream] * len(gpu.kinds)
        assert table.stream(gpu.gpu, 1) is None
        seen = []
        thread = threading.Thread(target=lambda: seen.append(table.stream(gpu.gpu, 0)))
        thread.start()
        thread.join()
        assert seen == [None], "it is the thread's"
    finally:
        entered.leave()
    assert table.stream(gpu.gpu, 0) is None
    for device in [(gpu.gpu, 2), (gpu.gpu, -1), (12, 0)]:
        with pytest.raises(BufferError):
            table.stream(*device)
    gpu.destroy(stream)


def test_the_table_orders_before_the_current_stream(gpu):
    """The table's functions do not block: the consumer of a tensor works on the current
    stream, which lives as long as the tensor."""
    table = Table(gpu.made)
    for export in ("from_object", "view"):
        with Consumer(gpu) as consumer, Pending(gpu) as pending:
            entered = gpu.entered(consumer.stream)
            try:
                if export == "view":
                    consumer.enqueue(table.view(pending.tensor).data)
                else:
                    managed = table.from_object(pending.tensor)
                    tensor = DLManagedTensorVersioned.from_address(managed).dl_tensor
                    consumer.enqueue(tensor.data)
                    delete(managed)
            finally:
                entered.leave()
            pending.gate.open()
            assert consumer.result() == {7.0}, export


def test_the_table_allocates_on_every_device_of_the_class(gpu):
    """Zeros, in memory that the runtime allocated on that device."""
    table = Table(gpu.made)
    for device in [*((kind, 0) for kind in gpu.kinds), (gpu.gpu, 1), (HOST, 0)]:
        managed = table.allocate([vendors.COUNT], device=device)
        gpu.synchronize(0)
        tensor = DLManagedTensorVersioned.from_address(managed).dl_tensor
        assert device_of(managed) == device
        if device == (gpu.gpu, 0):
            with Consumer(gpu, 0) as consumer:
                consumer.enqueue(tensor.data)
                assert consumer.result() == {0.0}
        elif device[0] != gpu.gpu:
            assert set(vendors.floats(tensor.data)) == {0.0}
        if device[0] != HOST:
            host_reads = device[0] != gpu.gpu
            assert gpu.attributes(tensor.data) == (*device, host_reads)
        delete(managed)
    for device in [(gpu.gpu, 2), (12, 0)]:
        told = []
        assert table.allocate([4], device=device, told=told) is None
        assert told[0][0] == "BufferError", told


# Ends.


def test_the_last_owner_is_a_thread_that_knows_no_gpu(gpu):
    """A deleter on a thread without a current context leaves the thread without one."""
    from dlpack_testing import take

    taken = take(gpu.made(4).__dlpack__(**VERSIONED))
    gc.collect()
    answers = []

    def end():
        taken.delete()
        if gpu.name == "cuda":
            context = ctypes.c_void_p()
            answers.append(gpu.calls.cuCtxGetCurrent(ctypes.byref(context)))
            answers.append(context.value)

    thread = threading.Thread(target=end)
    thread.start()
    thread.join()
    assert answers in ([], [0, None])


def test_memory_is_freed_after_the_consumers_work(gpu):
    """The consumer releases the tensor before its copy has started. With ROCm the free waits
    for the device while other Python threads run: the gate is a Python function."""
    with Consumer(gpu) as consumer:
        used_late(gpu, consumer, gpu.made(vendors.COUNT))
        gc.collect()
        assert consumer.result() == {7.0}


# The script for a real GPU.


def test_the_script_for_a_gpu_as_far_as_it_goes(monkeypatch):
    """The checks of the script that run without PyTorch and CuPy, which cannot use the
    simulator."""
    vendors.simulated(vendors.Cuda)
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "devices" / "gpu"))
    evidence = __import__("evidence")
    checks = evidence.Checks(testing, None, None)
    for check in ("stream_0", "pinned_and_managed", "dropped_on_a_foreign_thread"):
        assert evidence.outcome(getattr(checks, check))[0] == "passed", check


# Functions with kernels on the caller's stream.


class Methods:
    """A producer of another library: without an exchange table."""

    def __init__(self, tensor):
        self.tensor, self.streams = tensor, []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **keywords):
        self.streams.append(keywords["stream"])
        return self.tensor.__dlpack__(**keywords)


@contextlib.contextmanager
def on_stream(gpu, stream):
    """This thread works on the stream."""
    entered = gpu.entered(stream)
    try:
        yield
    finally:
        entered.leave()


def test_a_kernel_runs_on_the_callers_stream(gpu):
    """The function neither waits for pending work nor overtakes it, and so does the library
    that gets the result."""
    tvm_ffi = require("tvm_ffi")
    with Consumer(gpu) as caller, Pending(gpu) as pending:
        with on_stream(gpu, caller.stream):
            theirs = tvm_ffi.from_dlpack(pending.tensor)
            copy = gpu.copied(theirs)
        assert isinstance(copy, tvm_ffi.Tensor) and copy.shape == (vendors.COUNT,)
        caller.enqueue(Tensor(copy.__dlpack__()).data)
        assert not pending.gate.opened.is_set()
        pending.gate.open()
        assert caller.result() == {7.0}
        del theirs, copy


def test_an_argument_is_written_in_place(gpu):
    """`out` is ready on another stream than `x`: it waits for the kernel, which waits for
    it."""
    with Consumer(gpu, 0) as reader, Consumer(gpu) as caller, Pending(gpu) as pending:
        out = gpu.made(vendors.COUNT)
        with on_stream(gpu, caller.stream):
            theirs = require("tvm_ffi").from_dlpack(pending.tensor)
            assert gpu.overwrite(theirs, out) is out
            exported = out.__dlpack__(stream=caller.stream, **VERSIONED)
        with on_stream(gpu, caller.stream):
            caller.enqueue(out.data_ptr)
        del exported
        pending.gate.open()
        assert caller.result() == {7.0}
        reader.enqueue(out.data_ptr)
        assert reader.result() == {7.0}
        del theirs, out


def test_the_stream_of_an_argument(gpu):
    """That of the table of its class, which is the one that this thread entered; without a
    table, the producer receives it."""
    tensor, stream = gpu.made(4), gpu.stream()
    default = {"cuda": 1, "rocm": 0}[gpu.name]
    producer = Methods(tensor)
    assert gpu.stream_of_argument(tensor) == gpu.stream_of_argument(producer) == 0
    entered = gpu.entered(stream)
    try:
        assert gpu.stream_of_argument(tensor) == stream
        assert gpu.stream_of_argument(producer) == stream
    finally:
        entered.leave()
    assert producer.streams == [default, stream]
    del tensor, producer
    gc.collect()
    gpu.destroy(stream)


def test_a_result_of_another_dtype_or_shape_is_an_error(gpu):
    """As JAX makes of 64-bit elements, also on a device."""
    made = []

    class Narrow(Methods):
        dtype, shape = "float32", (4,)

        def from_dlpack(self):
            made.append(self.__dlpack__(**VERSIONED))
            return Narrow(None)

    argument = Narrow(gpu.made(4))
    assert type(gpu.copied(argument)) is Narrow
    for name, other, error in [
        ("dtype", "float16", "of float32, got one of float16"),
        ("shape", (2, 2), r"\[4\], got one of \[2, 2\]"),
    ]:
        setattr(Narrow, name, other)
        with pytest.raises(TypeError, match=error):
            gpu.copied(argument)
        Narrow.dtype, Narrow.shape = "float32", (4,)
    assert len(made) == 3
    del argument, made


def test_arguments_of_other_types(gpu):
    """Memory of the host, another rank, a capsule, and no array."""
    tensor = gpu.made(4)
    numpy = require("numpy")
    host = numpy.zeros(4, dtype="float32")
    for argument, error, words in [
        (host, ValueError, f"expected {gpu.name}.*, got cpu; move it there"),
        (Methods(host), ValueError, f"expected {gpu.name}"),
        (tensor.__dlpack__(**VERSIONED), TypeError, "got a capsule"),
        ([1.0], TypeError, "`list`, which is not a tensor"),
    ]:
        with pytest.raises(error, match=words):
            gpu.copied(argument)


def test_a_kernel_argument_is_released_in_order(gpu):
    """The caller drops its tensor while the kernel waits: the copy reads live memory."""
    with Consumer(gpu) as caller:
        gate, tensor = vendors.Gate(), gpu.made(vendors.COUNT)
        gpu.fill(tensor.data_ptr, SEVEN, vendors.COUNT, 0)
        gpu.synchronize(0)
        with on_stream(gpu, caller.stream):
            theirs = require("tvm_ffi").from_dlpack(tensor)
            gpu.hold(caller.stream, gate)
            copy = gpu.copied(theirs)
        gate.open_later()
        del tensor, theirs
        gc.collect()
        caller.enqueue(Tensor(copy.__dlpack__()).data)
        assert caller.result() == {7.0}
        del copy


def test_the_checks_for_gpus_run_apart(tmp_path):
    """Those that need no library run on the simulator, each in its own process; the others
    are `not run`, which is not `passed`."""
    vendors.simulated(vendors.Cuda)
    shutil.copy(testing.__file__, tmp_path / Path(testing.__file__).name)
    (tmp_path / "programs").mkdir()
    script = Path(__file__).resolve().parents[2] / "devices" / "gpu" / "evidence.py"
    results = tmp_path / "results"
    run = subprocess.run(
        [
            *(sys.executable, script, "--simulator", "--bundle", tmp_path),
            *("--results", results),
        ],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    outcomes = dict(line.split(": ")[:2] for line in run.stdout.splitlines())
    alone = {
        *("stream 0", "dropped on a foreign thread", "exit with live buffers"),
        *("fork with live buffers", "attributes without a context", "pinned and managed"),
    }
    assert {name for name, outcome in outcomes.items() if outcome == "passed"} == alone
    assert set(outcomes.values()) == {"passed", "not run"}
    record = (results / "record.md").read_text()
    assert "the simulator" in record and "| stream 0 | passed | rejected: " in record
    assert "$" in (results / "log.txt").read_text()
