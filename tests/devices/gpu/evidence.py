"""Runs the checks that need a GPU. `cargo xtask gpu --bundle FOLDER` builds a bundle, and its
`run.sh` runs this script on a machine with a GPU, without Rust and without a network:

    ./run.sh RESULTS           (DLPACK_PYTHON names a Python with PyTorch and CuPy)

Each check runs in a process of its own, so one that crashes or hangs does not stop the
others. RESULTS/record.md has a line for each check; one that could not run is `not run`, with
the reason, and does not count as passed. RESULTS/log.txt has the output.

Without an NVIDIA driver, or without a GPU behind it, the script prints that and does nothing
else (exit status 2). `--simulator` accepts the simulator of this repository in place of the
driver, for the checks that need neither PyTorch nor CuPy.
"""

import argparse
import ctypes
import datetime
import faulthandler
import gc
import importlib
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

REFUSED = 2
GPU, PINNED, MANAGED = 2, 3, 13
# Of a clock of 1 to 2 GHz: some hundred milliseconds.
LONG = 500_000_000
# Seconds after which a check or a test program is killed.
LIMIT = 180
# The last line of a check: its outcome as JSON.
OUTCOME = "outcome: "


class NotHere(Exception):
    """Why nothing, or not this check, can be shown on this machine."""


def driver(simulator):
    """The driver and its version, if it is one and has a GPU."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise NotHere(f"there is no NVIDIA driver ({error})") from error
    if hasattr(cuda, "sim_counts") != simulator:
        raise NotHere(
            "libcuda.so.1 is not the simulator"
            if simulator
            else "libcuda.so.1 is the simulator: unset LD_LIBRARY_PATH"
        )
    code = cuda.cuInit(0)
    if code:
        raise NotHere(f"the NVIDIA driver finds no GPU (cuInit returns {code})")
    count, version = ctypes.c_int(), ctypes.c_int()
    cuda.cuDeviceGetCount(ctypes.byref(count))
    if count.value < 1:
        raise NotHere("the NVIDIA driver finds no GPU")
    cuda.cuDriverGetVersion(ctypes.byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


class Library:
    """A library of Python, imported by the first check that uses it."""

    def __init__(self, name, unusable=None, simulator=False):
        self._name, self._unusable, self._simulator = name, unusable, simulator

    def __getattr__(self, attribute):
        if self._simulator:
            raise NotHere(f"{self._name} needs a GPU")
        try:
            module = importlib.import_module(self._name)
        except ImportError as error:
            raise NotHere(f"this Python has no {self._name} ({error})") from error
        reason = self._unusable and self._unusable(module)
        if reason:
            raise NotHere(reason)
        return getattr(module, attribute)


def without_cuda(torch):
    """Why this PyTorch cannot be used, if it cannot."""
    return None if torch.cuda.is_available() else "this PyTorch finds no GPU"


def without_gpu(jax):
    """Why this JAX cannot be used, if it cannot."""
    found = jax.default_backend()
    return None if found == "gpu" else f"this JAX has only the backend {found}"


def seconds(call, rounds=200):
    """The median time of a call."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def microseconds(call):
    """The median time of a call, in words."""
    return f"{seconds(call) * 1e6:.1f} us"


def child(code):
    """Runs code in another Python, which imports the module as this one does."""
    # Python 3.12 warns of each fork of a process with threads, and a driver starts some.
    forks = "ignore:This process:DeprecationWarning"
    run = subprocess.run(
        [sys.executable, "-W", forks, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert run.returncode == 0, f"exit status {run.returncode}: {run.stderr[-500:]}"
    assert not run.stderr, run.stderr[-500:]
    return run.stdout.strip()


class Checks:
    """One function for each claim; what it returns goes to the record."""

    def __init__(self, ours, bundle, simulator):
        self.ours, self.bundle = ours, bundle
        self.torch = Library("torch", without_cuda, simulator)
        self.cupy = Library("cupy", None, simulator)
        self.views = Library("cuda.core.utils", None, simulator)
        self.tvm_ffi = Library("tvm_ffi", None, simulator)
        self.numpy = Library("numpy", None, simulator)
        self.jax = Library("jax", without_gpu, simulator)

    # Who makes what.

    def torch_to_rust_and_back(self):
        """The address stays, and the elements."""
        tensor = self.torch.arange(1000, dtype=self.torch.float32, device="cuda")
        taken = self.ours.FromCuda.from_dlpack(tensor)
        assert taken.data_ptr == tensor.data_ptr()
        back = self.torch.from_dlpack(taken)
        assert back.data_ptr() == tensor.data_ptr()
        back += 1
        assert tensor[999].item() == 1000

    def rust_to_torch(self):
        """Memory of ours, written by PyTorch, read by us."""
        made = self.ours.OnCuda(1000)
        view = self.torch.from_dlpack(made)
        assert view.is_cuda and view.data_ptr() == made.data_ptr
        view.fill_(3)
        self.torch.cuda.synchronize()
        assert made.values() == [3.0] * 1000

    def cupy_to_rust_and_back(self):
        """As with PyTorch."""
        array = self.cupy.arange(1000, dtype="float32")
        taken = self.ours.FromCuda.from_dlpack(array)
        assert taken.data_ptr == array.data.ptr
        back = self.cupy.from_dlpack(taken)
        assert back.data.ptr == array.data.ptr
        back += 1
        assert float(array[999]) == 1000

    def rust_to_cupy(self):
        """As with PyTorch."""
        made = self.ours.OnCuda(1000)
        view = self.cupy.from_dlpack(made)
        view.fill(3)
        self.cupy.cuda.Device(0).synchronize()
        assert made.values() == [3.0] * 1000

    # Streams, with a long kernel in flight.

    def load_kernels(self):
        """A driver loads a kernel at its first launch, and may wait for the GPU then."""
        torch = self.torch
        used, other = torch.empty(1 << 20, device="cuda"), torch.empty(1 << 20, device="cuda")
        torch.cuda._sleep(1)
        used.fill_(1)
        used.copy_(other)
        bool((used == 5).all())
        torch.cuda.synchronize()

    def pending(self, producer):
        """Zeros of ours on a stream, where a long kernel comes before sevens."""
        self.load_kernels()
        made = self.ours.OnCuda(1 << 20, producer.cuda_stream)
        view = self.torch.from_dlpack(made)
        producer.synchronize()
        with self.torch.cuda.stream(producer):
            self.torch.cuda._sleep(LONG)
            view.fill_(7)
        return made

    def consume(self, number, consumer):
        """What a consumer on a stream reads that sends this number, and how long
        the host was kept."""
        torch = self.torch
        seen = torch.empty(1 << 20, device="cuda")
        producer = torch.cuda.Stream()
        made = self.pending(producer)
        begun = time.perf_counter()
        capsule = made.__dlpack__(stream=number, max_version=(1, 3))
        kept = time.perf_counter() - begun
        view = torch.utils.dlpack.from_dlpack(capsule)
        with torch.cuda.stream(consumer):
            seen.copy_(view)
        assert not producer.query(), "the producer's work ended before the consumer's began"
        consumer.synchronize()
        value = seen[-1].item()
        torch.cuda.synchronize()
        return value, kept

    def ordered(self, number, consumer):
        value, kept = self.consume(number, consumer)
        assert value == 7, f"the consumer read {value}"
        assert kept < 0.05, f"the host waited for {kept:.3f} s"
        return f"correct; the call took {kept * 1e6:.0f} us"

    def stream_none(self):
        """Nothing said: the legacy default stream."""
        return self.ordered(None, self.torch.cuda.default_stream())

    def stream_1(self):
        """The legacy default stream by its number."""
        return self.ordered(1, self.torch.cuda.default_stream())

    def stream_2(self):
        """The per-thread default stream."""
        return self.ordered(2, self.torch.cuda.ExternalStream(2))

    def stream_handle(self):
        """A stream by its handle."""
        stream = self.torch.cuda.Stream()
        return self.ordered(stream.cuda_stream, stream)

    def stream_minus_1(self):
        """No order was asked for: the value is the one of before."""
        value, _ = self.consume(-1, self.torch.cuda.Stream())
        assert value == 0, f"the consumer read {value}: the kernel was not long enough"
        return "stale, as asked for"

    def stream_0(self):
        """It is neither default stream."""
        made = self.ours.OnCuda(4)
        try:
            made.__dlpack__(stream=0, max_version=(1, 3))
        except (BufferError, ValueError) as error:
            return f"rejected: {error}"
        raise AssertionError("0 was taken")

    # Graphs.

    def work_stream_while_capturing(self):
        """Our kernels go where PyTorch's table says, into its graph too."""
        torch = self.torch
        stream = torch.cuda.Stream()
        tensor = torch.zeros(4, device="cuda")
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            *_, said = self.ours.borrowed_facts(tensor)
            tensor += 1
        assert said == stream.cuda_stream, (said, stream.cuda_stream)
        return "PyTorch's table names the captured stream"

    def capture_of_our_tensor(self):
        """A tensor that is exported while its stream is captured, and replayed."""
        torch = self.torch
        stream = torch.cuda.Stream()
        made = self.ours.OnCuda(4, stream.cuda_stream)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        entered = self.ours.EnteredCuda(stream.cuda_stream)
        try:
            with torch.cuda.graph(graph, stream=stream):
                assert self.ours.cuda_work_stream() == stream.cuda_stream
                view = torch.from_dlpack(made)
                view += 1
        finally:
            entered.leave()
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
        assert made.values() == [3.0] * 4, made.values()
        return "three replays add three"

    # Functions with kernels.

    def function_on_pytorchs_stream(self):
        """It neither waits for PyTorch's pending work nor overtakes it."""
        torch = self.torch
        self.load_kernels()
        stream, x = torch.cuda.Stream(), torch.zeros(1 << 20, device="cuda")
        assert float((self.ours.cuda_copied(x) + 1)[0]) == 1
        with torch.cuda.stream(stream):
            torch.cuda._sleep(LONG)
            x.fill_(7)
            begun = time.perf_counter()
            copy = self.ours.cuda_copied(x)
            kept = time.perf_counter() - begun
            result = copy + 1
            assert not stream.query(), "the pending work ended before the function's"
        stream.synchronize()
        assert isinstance(copy, torch.Tensor) and bool((result == 8).all())
        return f"correct; the call took {kept * 1e6:.0f} us"

    def example_kernel(self):
        """`examples/cuda-kernel`: a kernel of Rust between work of PyTorch."""
        assert self.torch.cuda.is_available()
        program = Path(__file__).with_name("example_kernel.py")
        return child(program.read_text(encoding="utf-8"))

    def function_on_cupys_arrays(self):
        """CuPy does not name its stream, so the function's is ordered after it."""
        cupy = self.cupy
        x = cupy.zeros(1 << 20, dtype="float32")
        assert float((self.ours.cuda_copied(x) + 1)[0]) == 1
        with cupy.cuda.Stream(non_blocking=True) as stream:
            x.fill(7)
            copy = self.ours.cuda_copied(x)
            result = copy + 1
        stream.synchronize()
        assert isinstance(copy, cupy.ndarray) and bool((result == 8).all())

    def function_inside_of_a_graph(self):
        """One that allocates nothing becomes a part of PyTorch's graph."""
        torch = self.torch
        x, out = torch.zeros(4, device="cuda"), torch.zeros(4, device="cuda")
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            assert self.ours.cuda_overwrite(x, out) is out
        x.fill_(3)
        assert out.tolist() == [0.0] * 4, "the function ran during the capture"
        graph.replay()
        torch.cuda.synchronize()
        assert out.tolist() == [3.0] * 4, out.tolist()
        return "the replay copies"

    # Memory.

    def attributes(self):
        """Whose an address is."""
        torch = self.torch
        gpu = torch.zeros(4, device="cuda")
        pinned = torch.zeros(4).pin_memory()
        plain = torch.zeros(4)
        managed = self.cupy.cuda.malloc_managed(64)
        of = self.ours.cuda_attributes
        assert of(gpu.data_ptr()) == (GPU, 0, False)
        assert of(pinned.data_ptr()) == (PINNED, 0, True)
        assert of(managed.ptr) == (MANAGED, 0, True)
        try:
            found = of(plain.data_ptr())
        except Exception as error:
            return f"ordinary memory: {error}"
        raise AssertionError(f"ordinary memory was taken for {found}")

    def pinned_and_managed(self):
        """Made by us, named by us, and classified by the driver."""
        for kind in (PINNED, MANAGED):
            made = self.ours.OnCuda(16, 0, kind)
            assert made.__dlpack_device__() == (kind, 0)
            assert self.ours.cuda_attributes(made.data_ptr) == (kind, 0, True)
            assert made.values() == [0.0] * 16

    # Ends.

    def dropped_on_a_foreign_thread(self):
        """A deleter on a thread without a context, which has none afterwards."""
        made = self.ours.OnCuda(1 << 20)
        taken = self.ours.take(made.__dlpack__(stream=1, max_version=(1, 3)))
        del made
        gc.collect()
        cuda, answers = ctypes.CDLL("libcuda.so.1"), []

        def end():
            context = ctypes.c_void_p()
            taken.delete()
            answers.append(cuda.cuCtxGetCurrent(ctypes.byref(context)))
            answers.append(context.value)

        thread = threading.Thread(target=end)
        thread.start()
        thread.join()
        assert answers == [0, None], answers

    def freed_while_in_flight(self):
        """Released while a consumer's kernel still reads: it is not allocated again."""
        torch = self.torch
        self.load_kernels()
        consumer = torch.cuda.Stream()
        seen = torch.empty(1 << 20, device="cuda")
        made = self.ours.OnCuda(1 << 20)
        torch.from_dlpack(made).fill_(5)
        torch.cuda.synchronize()
        with torch.cuda.stream(consumer):
            view = torch.from_dlpack(made)
            torch.cuda._sleep(LONG)
            seen.copy_(view)
        begun = time.perf_counter()
        del made, view
        kept = time.perf_counter() - begun
        # A free that does not wait takes place now, and the next allocations return the same
        # memory.
        time.sleep(0.02)
        others = [self.ours.OnCuda(1 << 20) for _ in range(4)]
        assert not consumer.query(), "the consumer's work ended before the release"
        torch.cuda.synchronize()
        assert bool((seen == 5).all()), "the memory was given away"
        del others
        return f"correct; the release took {kept * 1e6:.0f} us"

    def exit_with_live_buffers(self):
        """An interpreter that ends with tensors, capsules and a thread that holds one."""
        return child(
            "import threading, dlpack_testing as ours\n"
            "kept = [ours.OnCuda(1 << 20) for _ in range(8)]\n"
            "capsules = [made.__dlpack__(stream=1, max_version=(1, 3)) for made in kept]\n"
            "thread = threading.Thread(target=lambda: kept.append(ours.OnCuda(4)))\n"
            "thread.start(); thread.join()\n"
            "cycle = {}; cycle['self'] = (cycle, kept, capsules)\n"
            "print('ended')"
        )

    def fork_with_live_buffers(self):
        """A forked child drops tensors and ends; the parent goes on."""
        return child(
            "import gc, os, dlpack_testing as ours\n"
            "made = ours.OnCuda(1024)\n"
            "capsule = made.__dlpack__(stream=1, max_version=(1, 3))\n"
            "pid = os.fork()\n"
            "if pid == 0:\n"
            "    del made, capsule; gc.collect(); os._exit(7)\n"
            "_, status = os.waitpid(pid, 0)\n"
            "assert os.waitstatus_to_exitcode(status) == 7, status\n"
            "assert made.values() == [0.0] * 1024\n"
            "del made, capsule; gc.collect()\n"
            "print('the child ended with status 7')"
        )

    # Contexts and captures.

    def attributes_without_a_context(self):
        """A thread that never used CUDA asks whose an address is."""
        made, pinned = self.ours.OnCuda(4), self.ours.OnCuda(4, 0, PINNED)
        plain = ctypes.create_string_buffer(64)
        answers = []

        def ask():
            context = ctypes.c_void_p()
            for address in (made.data_ptr, pinned.data_ptr, ctypes.addressof(plain)):
                try:
                    answers.append(self.ours.cuda_attributes(address)[0])
                except Exception as error:
                    answers.append(type(error).__name__)
            answers.append(ctypes.CDLL("libcuda.so.1").cuCtxGetCurrent(ctypes.byref(context)))
            answers.append(context.value)

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        assert answers[:2] == [GPU, PINNED], answers
        assert answers[3:] == [0, None], answers
        return f"ordinary memory: {answers[2]}"

    def copy_while_another_thread_captures(self):
        """A copy to the host does not end a capture in global mode, and is right."""
        torch = self.torch
        made, kernel = self.ours.OnCuda(1000), torch.zeros(4, device="cuda")
        stream, answers = torch.cuda.Stream(), []
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()

        def copy():
            try:
                answers.append(made.values() == [0.0] * 1000)
            except Exception as error:
                answers.append(f"{type(error).__name__}: {error}")

        with torch.cuda.graph(graph, stream=stream):
            kernel += 1
            thread = threading.Thread(target=copy)
            thread.start()
            thread.join()
            kernel += 1
        graph.replay()
        torch.cuda.synchronize()
        assert kernel.tolist() == [2.0] * 4, kernel.tolist()
        assert answers and answers[0] is not False, answers
        return "copied" if answers[0] is True else f"rejected: {answers[0]}"

    def allocation_inside_of_a_graph(self):
        """It is rejected on a stream that PyTorch captures, and the capture goes on."""
        torch = self.torch
        stream, kernel = torch.cuda.Stream(), torch.zeros(4, device="cuda")
        torch.cuda.synchronize()
        graph, said = torch.cuda.CUDAGraph(), None
        with torch.cuda.graph(graph, stream=stream):
            kernel += 1
            try:
                self.ours.OnCuda(4, stream.cuda_stream)
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
        graph.replay()
        torch.cuda.synchronize()
        assert said, "the allocation was accepted"
        assert kernel.tolist() == [1.0] * 4, kernel.tolist()
        return said

    # JAX.

    def jax_to_rust(self):
        """The address stays. JAX's arrays are immutable, so `FromCuda` rejects them."""
        array = self.jax.numpy.arange(1000, dtype="float32")
        device, shape, _, address, _ = self.ours.borrowed_facts(array)
        assert (device, shape) == ("cuda:0", [1000]), (device, shape)
        assert address == array.unsafe_buffer_pointer()
        try:
            self.ours.FromCuda.from_dlpack(array)
        except ValueError as error:
            return f"borrowed; as writable memory rejected: {error}"
        raise AssertionError("a read-only array was adopted as writable memory")

    def rust_to_jax(self):
        """Memory of ours, read by JAX."""
        made = self.ours.OnCuda(1000)
        array = self.jax.dlpack.from_dlpack(made)
        same = array.unsafe_buffer_pointer() == made.data_ptr
        assert float(array.sum()) == 0.0
        return "zero-copy" if same else "copied by JAX"

    # Consumers of every library.

    def rust_to_cuda_core(self):
        """NVIDIA's own view of a tensor, on a stream."""
        stream = self.torch.cuda.Stream()
        made = self.ours.OnCuda(100)
        view = self.views.StridedMemoryView.from_dlpack(made, stream_ptr=stream.cuda_stream)
        assert (view.ptr, tuple(view.shape)) == (made.data_ptr, (100,))
        assert view.is_device_accessible and view.device_id == 0

    def rust_to_tvm_ffi_and_torch(self):
        """Through the exchange table of our class, and on to PyTorch."""
        made = self.ours.OnCuda(100)
        back = self.torch.from_dlpack(self.tvm_ffi.from_dlpack(made))
        assert back.is_cuda and back.data_ptr() == made.data_ptr
        back.fill_(2)
        self.torch.cuda.synchronize()
        assert made.values() == [2.0] * 100

    # Figures.

    def time_of_an_export_to_pytorch(self):
        """`torch.from_dlpack` on a side stream: of ours, and of PyTorch's own tensor."""
        torch = self.torch
        made, own = self.ours.OnCuda(1000), torch.zeros(1000, device="cuda")
        with torch.cuda.stream(torch.cuda.Stream()):
            ours = microseconds(lambda: torch.from_dlpack(made))
            theirs = microseconds(lambda: torch.from_dlpack(own))
        return f"ours {ours}, PyTorch's {theirs}"

    def time_of_an_export_to_cupy(self):
        """The same with `cupy.from_dlpack`."""
        cupy = self.cupy
        made, own = self.ours.OnCuda(1000), cupy.zeros(1000, dtype="float32")
        with cupy.cuda.Stream(non_blocking=True):
            ours = microseconds(lambda: cupy.from_dlpack(made))
            theirs = microseconds(lambda: cupy.from_dlpack(own))
        return f"ours {ours}, CuPy's {theirs}"

    def time_of_a_borrow(self):
        """The pointer and the stream of PyTorch's tensor, by its exchange table."""
        own = self.torch.zeros(1000, device="cuda")
        return f"cuda_stream_of {microseconds(lambda: self.ours.cuda_stream_of(own))}"

    def time_of_a_release_after_a_side_stream(self):
        """When the GPU has nothing to do, and during a long kernel of another stream."""
        torch = self.torch
        side, other = torch.cuda.Stream(), torch.cuda.Stream()

        def release(busy):
            made = self.ours.OnCuda(1000)
            with torch.cuda.stream(side):
                view = torch.from_dlpack(made)
                view += 1
            side.synchronize()
            if busy:
                with torch.cuda.stream(other):
                    torch.cuda._sleep(LONG)
            begun = time.perf_counter()
            del made, view
            taken = time.perf_counter() - begun
            assert busy != other.query()
            torch.cuda.synchronize()
            return taken * 1e6

        self.load_kernels()
        release(False)
        idle = statistics.median(release(False) for _ in range(50))
        busy = statistics.median(release(True) for _ in range(5))
        return f"idle {idle:.0f} us, during a kernel of another stream {busy:.0f} us"

    def time_of_a_copy_to_the_host(self):
        """256 MiB into new memory of the host, beside PyTorch's copy."""
        count = 1 << 26
        made, own = self.ours.OnCuda(count), self.torch.zeros(count, device="cuda")
        copied = self.numpy.from_dlpack(made, device="cpu", copy=True)
        assert copied.shape == (count,) and not copied.any()
        calls = (
            lambda: self.numpy.from_dlpack(made, device="cpu", copy=True),
            lambda: own.cpu(),
        )
        ours, theirs = (f"{count * 4 / seconds(call, 7) / 1e9:.1f} GB/s" for call in calls)
        return f"ours {ours}, PyTorch's {theirs}"

    def compute_sanitizer(self):
        """NVIDIA's memory checker finds neither errors nor leaks in test programs. It makes each
        call wait, so those that hold a stream back while they make more calls would never end."""
        tool = shutil.which("compute-sanitizer")
        if tool is None:
            raise NotHere("there is no compute-sanitizer")
        options = ["--error-exitcode=9", "--leak-check=full"]
        programs = ("cuda_copies", "cuda_contexts", "cuda_threads")
        for name in programs:
            run = subprocess.run(
                [tool, *options, str(self.bundle / "programs/cuda" / name)],
                env={**os.environ, "DLPACK_REQUIRE": "cuda"},
                capture_output=True,
                text=True,
                timeout=LIMIT,
            )
            print(run.stdout, run.stderr)
            assert run.returncode == 0, f"{name}, exit status {run.returncode}"
        return f"no error and no leak in {', '.join(programs)}"


HELPERS = {"load_kernels", "pending", "consume", "ordered"}


def names():
    """The names of all checks, in the order in which they are written."""
    written = [name for name in vars(Checks) if not name.startswith("_")]
    return [name for name in written if name not in HELPERS]


def outcome(check):
    """`passed`, `failed` or `not run`, and what there is to say."""
    try:
        return "passed", check() or ""
    except NotHere as reason:
        return "not run", str(reason)
    except Exception as error:
        traceback.print_exc()
        return "failed", f"{type(error).__name__}: {error}".replace("\n", " ")


def check_here(name, bundle, simulator):
    """Runs one check in this process, and prints its outcome."""
    sys.path.insert(0, str(bundle))
    checks = Checks(importlib.import_module("dlpack_testing"), bundle, simulator)
    result = outcome(getattr(checks, name))
    sys.stdout.flush()
    print(OUTCOME + json.dumps(result), flush=True)


def process(command, log, environment=None):
    """The exit status and the output of a process that is killed after some minutes."""
    print("$", *command, file=log, flush=True)
    try:
        run = subprocess.run(
            command,
            env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
        )
        status, output = run.returncode, run.stdout
    except subprocess.TimeoutExpired as killed:
        status, output = f"killed after {LIMIT} s", (killed.stdout or b"").decode(errors="replace")
    print(output, f"exit status {status}", sep="\n", file=log, flush=True)
    return status, output


def check_apart(name, options, log):
    """The outcome of a check in a process of its own. One that crashed has failed."""
    command = [sys.executable, str(Path(__file__)), *options, f"--check={name}"]
    status, output = process(command, log)
    last = output.strip().splitlines()[-1:] or [""]
    if status == 0 and last[0].startswith(OUTCOME):
        return tuple(json.loads(last[0].removeprefix(OUTCOME)))
    return "failed", f"exit status {status}"


# Variables for test programs, by the folder that they are in: without CUDA's driver nothing is
# run at all, and the others run where their library is installed.
VARIABLES = {
    "cuda": {"DLPACK_REQUIRE": "cuda"},
    "opencl": {"DLPACK_OPENCL": os.environ.get("DLPACK_OPENCL", "libOpenCL.so.1")},
}


def program(path, log):
    """The outcome of a test program of Rust on the driver of the machine."""
    status, output = process([str(path)], log, VARIABLES.get(path.parent.name))
    failed = re.findall(r"^test (\S+) \.\.\. FAILED", output, re.MULTILINE)
    skipped = re.findall(r"SKIPPED \S+: .*", output)
    # Rust counts as passed a test that skips itself, and one that is only run in a process of its
    # own.
    children = re.findall(r"^test (?:\S+::)?child\w* \.\.\. ok", output, re.MULTILINE)
    passed = sum(int(n) for n in re.findall(r"(\d+) passed", output))
    passed -= len(skipped) + len(children)
    words = f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped"
    words += "".join(f"; {name}" for name in failed)
    if status != 0:
        return "failed", f"{words} (exit status {status})"
    return ("passed", words) if passed else ("not run", "; ".join(skipped) or words)


def record(rows, versions):
    """A section for docs/records/gpus.md. A record of failures is one, too."""
    today = datetime.date.today().isoformat()
    lines = [f"## {today}, {versions['gpu']}", ""]
    lines += [f"- {name}: {value}" for name, value in versions.items() if name != "gpu"]
    lines += ["", "| check | result | figures |", "|---|---|---|"]
    lines += [f"| {name} | {result} | {words} |" for name, result, words in rows]
    return "\n".join(lines) + "\n"


def add_to_page(path, text):
    """Puts a record on the page, before older ones."""
    before, heading, after = path.read_text().partition("\n## ")
    path.write_text(before + "\n" + text + heading + after)


def versions_here(driver_version, chosen):
    """What the record says of the machine, and of what was run."""
    simulator, commit = chosen.simulator, chosen.bundle / "commit.txt"
    found = {"gpu": "the simulator" if simulator else "a GPU without PyTorch"}
    found["commit"] = commit.read_text() if commit.exists() else "not known"
    found["driver"] = f"for CUDA {driver_version}"
    if tool := shutil.which("nvidia-smi"):
        command = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
        said = subprocess.run(command, capture_output=True, text=True).stdout.split()
        found["driver"] = ", ".join([*said[:1], found["driver"]])
    for name in ("torch", "cupy", "jax", "tvm_ffi", "cuda.core"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            found[name] = "not installed"
            continue
        found[name] = module.__version__
        if name == "torch" and module.cuda.is_available():
            found["gpu"] = module.cuda.get_device_name(0)
            found[name] += f" (CUDA {module.version.cuda})"
    found["system"] = f"{platform.system()} {platform.machine()}, " + (
        f"Python {platform.python_version()}"
    )
    return found


def arguments():
    """The options."""
    parser = argparse.ArgumentParser(description="Runs what only a GPU can show.")
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--page", type=Path)
    parser.add_argument("--check")
    parser.add_argument("--simulator", action="store_true")
    return parser.parse_args()


def main():
    """Refuses, or shows."""
    faulthandler.enable()
    chosen = arguments()
    try:
        version = driver(chosen.simulator)
    except NotHere as reason:
        print(f"No evidence from this machine: {reason}.", file=sys.stderr)
        print("Nothing was run.", file=sys.stderr)
        return REFUSED
    if chosen.check:
        check_here(chosen.check, chosen.bundle, chosen.simulator)
        return 0
    options = ["--bundle", str(chosen.bundle), *["--simulator"][: chosen.simulator]]
    chosen.results.mkdir(parents=True, exist_ok=True)
    rows = []
    with (chosen.results / "log.txt").open("w") as log:
        for path in sorted((chosen.bundle / "programs").glob("*/*")):
            if path.suffix == ".so":
                continue
            name = f"test program {path.parent.name}/{path.name}"
            rows.append((name, *program(path, log)))
            print(*rows[-1], sep=": ", flush=True)
        for name in names():
            rows.append((name.replace("_", " "), *check_apart(name, options, log)))
            print(*rows[-1], sep=": ", flush=True)
    text = record(rows, versions_here(version, chosen))
    (chosen.results / "record.md").write_text(text)
    if chosen.page and not chosen.simulator:
        add_to_page(chosen.page, text)
    return 1 if any(result == "failed" for _, result, _ in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
