"""What only a GPU can show: run on one, it writes a record to docs/gpu.md.

    cargo xtask gpu            (DLPACK_PYTHON names a Python with PyTorch and CuPy)

Without an NVIDIA driver, or without a GPU behind it, it says so and does
nothing (exit status 2). Nothing is skipped quietly: what could not be run is a
line of the record, and no check counts as passed that did not run.
"""

import ctypes
import datetime
import faulthandler
import gc
import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "gpu.md"
NO_RECORD = "None yet."
REFUSED = 2
GPU, PINNED, MANAGED = 2, 3, 13
# Of a clock of 1 to 2 GHz: some hundred milliseconds.
LONG = 500_000_000


class NotHere(Exception):
    """Why nothing can be shown on this machine."""


def driver():
    """The driver and its version, if it is one and has a GPU."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise NotHere(f"there is no NVIDIA driver ({error})") from error
    if hasattr(cuda, "sim_counts"):
        raise NotHere("libcuda.so.1 is the simulator: unset LD_LIBRARY_PATH")
    code = cuda.cuInit(0)
    if code:
        raise NotHere(f"the NVIDIA driver finds no GPU (cuInit answers {code})")
    count, version = ctypes.c_int(), ctypes.c_int()
    cuda.cuDeviceGetCount(ctypes.byref(count))
    if count.value < 1:
        raise NotHere("the NVIDIA driver finds no GPU")
    cuda.cuDriverGetVersion(ctypes.byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def library(name):
    """A library of Python, or why there is nothing to show without it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NotHere(f"this Python has no {name} ({error})") from error


def build(folder):
    """Our classes, built for this Python, imported from a folder of their own."""
    subprocess.run(
        ["cargo", "build", "--release", "--package=dlpack-testing"]
        + ["--target-dir=target/gpu-evidence"],
        cwd=ROOT,
        env={**os.environ, "PYO3_PYTHON": sys.executable},
        check=True,
    )
    built = ROOT / "target/gpu-evidence/release/libdlpack_testing.so"
    shutil.copy(built, Path(folder) / "dlpack_testing.so")
    sys.path.insert(0, folder)
    return importlib.import_module("dlpack_testing")


def rust_tests():
    """The simulator's own test programs, on the driver of the machine."""
    paths = [
        path
        for path in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
        if path and "gpu-simulator" not in path
    ]
    run = subprocess.run(
        ["cargo", "test", "--package=dlpack-gpu-tests", "--no-fail-fast"],
        cwd=ROOT,
        env={
            **os.environ,
            "DLPACK_REQUIRE": "cuda",
            "LD_LIBRARY_PATH": os.pathsep.join(paths),
        },
        capture_output=True,
        text=True,
    )
    log = run.stdout + run.stderr
    (ROOT / "target" / "gpu-evidence.log").write_text(log)
    passed = sum(int(n) for n in re.findall(r"(\d+) passed", log))
    failed = sum(int(n) for n in re.findall(r"(\d+) failed", log))
    skipped = len(re.findall(r"^SKIPPED", log, re.MULTILINE))
    names = re.findall(r"^test (\S+) \.\.\. FAILED", log, re.MULTILINE)
    words = f"{passed} passed, {failed} failed, {skipped} skipped"
    assert run.returncode == 0 and passed, f"{words}: {', '.join(names)}"
    return words


class Checks:
    """One function for each claim; what it returns goes to the record."""

    def __init__(self, ours, torch, cupy):
        self.ours, self.torch, self.cupy = ours, torch, cupy

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

    def pending(self, producer):
        """Zeros of ours on a stream, where a long kernel comes before sevens."""
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
        made = self.pending(torch.cuda.Stream())
        seen = torch.empty(1 << 20, device="cuda")
        torch.cuda.current_stream().synchronize()
        begun = time.perf_counter()
        capsule = made.__dlpack__(stream=number, max_version=(1, 3))
        kept = time.perf_counter() - begun
        view = torch.utils.dlpack.from_dlpack(capsule)
        with torch.cuda.stream(consumer):
            seen.copy_(view)
        consumer.synchronize()
        value = seen[-1].item()
        torch.cuda.synchronize()
        return value, kept

    def ordered(self, number, consumer):
        value, kept = self.consume(number, consumer)
        assert value == 7, f"the consumer read {value}"
        assert kept < 0.05, f"the host waited for {kept:.3f} s"
        return f"right; the host was kept for {kept * 1e6:.0f} us"

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
            return f"refused: {error}"
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
        gc.collect()
        kept = time.perf_counter() - begun
        # The next allocations would return the same memory.
        others = [self.ours.OnCuda(1 << 20) for _ in range(4)]
        torch.cuda.synchronize()
        assert bool((seen == 5).all()), "the memory was given away"
        del others
        return f"right; the deleter took {kept:.3f} s"


def checks(ours, torch, cupy):
    """All of them, in order; every one runs, whatever another did."""
    every = Checks(ours, torch, cupy)
    names = [
        *("torch_to_rust_and_back", "rust_to_torch"),
        *("cupy_to_rust_and_back", "rust_to_cupy"),
        *("stream_none", "stream_minus_1", "stream_0", "stream_1", "stream_2"),
        *("stream_handle", "work_stream_while_capturing", "capture_of_our_tensor"),
        *("attributes", "pinned_and_managed", "dropped_on_a_foreign_thread"),
        "freed_while_in_flight",
    ]
    for name in names:
        yield name.replace("_", " "), getattr(every, name)


def outcome(check):
    """`passed`, or `failed`, and what there is to say."""
    try:
        return "passed", check() or ""
    except Exception as error:
        traceback.print_exc()
        return "failed", f"{type(error).__name__}: {error}".replace("\n", " ")


def record(rows, versions):
    """A section for docs/gpu.md. A record of failures is one, too."""
    today = datetime.date.today().isoformat()
    lines = [f"#### {today}, {versions['gpu']}", ""]
    lines += [f"- {name}: {value}" for name, value in versions.items() if name != "gpu"]
    lines += ["", "| check | result | figures |", "|---|---|---|"]
    lines += [f"| {name} | {result} | {words} |" for name, result, words in rows]
    page = PAGE.read_text()
    before, heading, after = page.partition("### Records\n")
    assert heading, "docs/gpu.md has a place for records"
    if after.lstrip().startswith(NO_RECORD):
        after = ""
    PAGE.write_text(before + heading + "\n" + "\n".join(lines) + "\n" + after)


def main():
    """Refuses, or shows."""
    faulthandler.enable()
    try:
        version = driver()
        torch, cupy = library("torch"), library("cupy")
        if not torch.cuda.is_available():
            raise NotHere("this PyTorch was built without CUDA, or finds no GPU")
    except NotHere as reason:
        print(f"No evidence from this machine: {reason}.", file=sys.stderr)
        print("Nothing was run, and docs/gpu.md is as it was.", file=sys.stderr)
        return REFUSED
    versions = {
        "gpu": torch.cuda.get_device_name(0),
        "driver": f"for CUDA {version}",
        "PyTorch": f"{torch.__version__} (CUDA {torch.version.cuda})",
        "CuPy": cupy.__version__,
        "system": f"{platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}",
    }
    rows = [("the tests of the simulator, on the driver", *outcome(rust_tests))]
    with tempfile.TemporaryDirectory() as folder:
        ours = build(folder)
        for name, check in checks(ours, torch, cupy):
            rows.append((name, *outcome(check)))
            print(*rows[-1], sep=": ")
        record(rows, versions)
    return 1 if any(result == "failed" for _, result, _ in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
