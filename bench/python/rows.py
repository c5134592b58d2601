"""The Python rows: objects of our classes beside those of the libraries.

    rows.py FOLDER JSON

`cargo xtask bench python` runs it. FOLDER has the module built for this Python, and
below `abi3` the one for all. A library that is not installed is left out aloud.
"""

import contextlib
import ctypes
import datetime
import importlib
import importlib.util
import mmap
import os
import platform
import sys
import time
from pathlib import Path

import numpy
import reading
from measure import OURS, Report, loop

SHAPE = (2, 3, 4)
VERSION = (1, 0)
HUGE_PAGE = 2 << 20
ROOT = Path(__file__).resolve().parents[2]
FROZEN = f"{OURS}, Arc<[f32]>"
OWN_FROM_OBJECT = "torch's own, unchecked"


def load(folder):
    """The module in a folder. Several builds of it can be loaded at a time."""
    name = "dlpack_bench_python"
    spec = importlib.util.spec_from_file_location(name, Path(folder) / f"{name}.so")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"left out: {name} ({error})\n")
        return None


def nanobind_array(array):
    """The same memory as an object of nanobind, from a module of the tests."""
    sys.path.insert(0, str(ROOT / "tests" / "python" / "matrix"))
    try:
        import nanobind_peer

        module = nanobind_peer.load(optimize="-O2")
    except ImportError as error:
        print(f"left out: nanobind ({error})\n")
        return None
    float32 = (2, 32, 1)
    strides = [12, 4, 1]
    return module.make(array.ctypes.data, list(SHAPE), strides, *float32, False, array)


def about(libraries):
    try:
        models = [line for line in open("/proc/cpuinfo") if line.startswith("model name")]
        processor = f"{models[0].split(':')[1].strip()}, {os.cpu_count()} cores"
    except (OSError, IndexError):
        processor = f"{platform.machine()}, {os.cpu_count()} cores"
    versions = {"Python": platform.python_version()}
    versions |= {name: module.__version__ for name, module in libraries.items() if module}
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "date": datetime.date.today().isoformat(),
        "machine": processor,
        "system": f"{platform.system()} {platform.machine()}",
        "load": load and round(load, 1),
        "versions": versions,
    }


def producers(report, objects, ours):
    """`__dlpack__`, as consumers call it."""
    written = {name: x for name, x in ours.items() if name != FROZEN}
    copied = {f"{FROZEN}: a copy": ours[FROZEN]}
    named = {"NumPy": objects["NumPy"]} | written | copied | objects
    report.row(
        "obj.__dlpack__()",
        {name: loop("x.__dlpack__()", x=x) for name, x in named.items()},
        bar=0.9,
    )
    statement = "x.__dlpack__(max_version=version)"
    report.row(
        "obj.__dlpack__(max_version=(1, 0))",
        {
            name: loop(statement, x=x, version=VERSION)
            for name, x in with_ours(objects, ours).items()
        },
        bar=0.9,
    )


def with_ours(objects, ours, reference="NumPy"):
    return {reference: objects[reference]} | ours | objects


def general(report, objects, tensor, module):
    """The class of `examples/python` for any dtype, rank and layout, in both directions,
    beside such a class without an `ExportArc`; and the import of a class with a fixed dtype and
    rank."""
    array, ours = objects["NumPy"], f"{OURS}, general Tensor"
    own, plain = tensor.zeros(list(SHAPE), "float32"), module.General(list(SHAPE))
    version = {"version": VERSION}
    for title, statement, bar in [
        ("obj.__dlpack__(), general Tensor", "x.__dlpack__()", 0.9),
        (
            "obj.__dlpack__(max_version=(1, 0)), general Tensor",
            "x.__dlpack__(max_version=version)",
            0.9,
        ),
        ("numpy.from_dlpack(obj), general Tensor", "f(x)", 0.95),
    ]:
        names = version | {"f": numpy.from_dlpack}
        subjects = {"NumPy": loop(statement, x=array, **names)}
        subjects[ours] = loop(statement, x=own, **names)
        subjects[f"{OURS}, no ExportArc"] = loop(statement, x=plain, **names)
        report.row(title, subjects, bar=bar)
    theirs = {"numpy.from_dlpack(array)": loop("f(x)", f=numpy.from_dlpack, x=array)}
    for title, name, cls in [
        ("Tensor.from_dlpack(numpy array), general Tensor", ours, tensor),
        ("Taken.from_dlpack(numpy array), fixed class", f"{OURS}, fixed class", module.Taken),
    ]:
        report.row(title, theirs | {name: loop("f(x)", f=cls.from_dlpack, x=array)}, bar=0.9)


def consumers(report, objects, ours, torch, tvm_ffi):
    """Libraries that import our objects."""
    for title, function, reference, bar in [
        ("numpy.from_dlpack(obj)", numpy.from_dlpack, "NumPy", 0.95),
        ("torch.from_dlpack(obj)", torch and torch.from_dlpack, "NumPy", 1.0),
        ("tvm_ffi.from_dlpack(obj)", tvm_ffi and tvm_ffi.from_dlpack, "PyTorch", 0.75),
    ]:
        if function and reference in objects:
            report.row(
                title,
                {
                    name: loop("f(x)", f=function, x=x)
                    for name, x in with_ours(objects, ours, reference).items()
                },
                bar=bar,
                batch=50,
            )


def taking(report, module, objects):
    """Rust takes tensors of libraries; both sides are called by native code."""
    array = objects["NumPy"]
    report.row(
        "Rust from_dlpack(numpy array) + drop",
        {
            "numpy.from_dlpack": lambda n: module.call(numpy.from_dlpack, array, n),
            OURS: lambda n: module.take(array, n),
            "array.__dlpack__() alone, dropped": lambda n: module.produce(array, n),
        },
        bar=0.4,
    )
    if "PyTorch" in objects:
        tensor = objects["PyTorch"]
        report.row(
            "Rust from_dlpack(torch tensor) + drop, by table",
            {
                OWN_FROM_OBJECT: lambda n: module.take_unchecked(tensor, n),
                OURS: lambda n: module.take(tensor, n),
            },
            bar=1.15,
        )


def stable_abi(report, module, stable, objects):
    """The stable-ABI build, compared with the version-specific one."""
    ours, theirs = module.Frozen(SHAPE), stable.Frozen(SHAPE)
    own, abi3 = "this Python's build", f"{OURS}, abi3"

    def pair(title, make):
        report.row(f"abi3: {title}", {own: make(module, ours), abi3: make(stable, theirs)}, bar=1.1)

    pair(
        "obj.__dlpack__(max_version=(1, 0))",
        lambda _, x: loop("x.__dlpack__(max_version=version)", x=x, version=VERSION),
    )
    pair("numpy.from_dlpack(obj)", lambda _, x: loop("f(x)", f=numpy.from_dlpack, x=x))
    array = objects["NumPy"]
    pair("Rust from_dlpack(numpy array) + drop", lambda m, _: lambda n: m.take(array, n))
    if "PyTorch" in objects:
        tensor = objects["PyTorch"]
        pair("Rust from_dlpack(torch tensor) + drop", lambda m, _: lambda n: m.take(tensor, n))


def free_memory():
    """The number of bytes that this process may still allocate; 0 if unknown."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return 0
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    # In a container, the remainder of its limit.
    with contextlib.suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text())
        free = min(free, limit - int((group / "memory.current").read_text()))
    return max(free, 0)


def write_to_free_memory(report):
    """Writes to each page of the free memory, in huge pages, twice; seconds of each time.

    The host of a virtual machine finds memory for it at the first write to a page, which
    may take fifty times as long as the second. Whether the pages that the system hands to a
    copy are new is then not left to chance.
    """
    # Part of it is left for other processes.
    length = min(free_memory() // 4 * 3, 32 << 30) & ~(HUGE_PAGE - 1)
    if not length:
        print("left out: writing to free memory before copies (Linux only)\n")
        return
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        with mmap.mmap(-1, length, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            memory.madvise(mmap.MADV_HUGEPAGE)
            for place in range(0, length, HUGE_PAGE):
                memory[place] = 1
        seconds.append(round(time.perf_counter() - start, 2))
    report.about["free memory"] = {"GiB": round(length / (1 << 30), 1), "seconds": seconds}


def collapse_to_huge_pages(array):
    """Moves the memory of an array to huge pages, where Linux can (6.1 and later)."""
    collapse = 25  # MADV_COLLAPSE
    begin, end = numpy.lib.array_utils.byte_bounds(array)
    begin, end = -(-begin // HUGE_PAGE) * HUGE_PAGE, end // HUGE_PAGE * HUGE_PAGE
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).madvise(
            ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), ctypes.c_int(collapse)
        )


def copies(report, module):
    """Copies of 64 MiB."""
    side = 4096

    def milliseconds(statement):
        def run(_):
            start = time.perf_counter()
            copied = statement()
            elapsed = time.perf_counter() - start
            del copied
            return elapsed * 1e3

        return run

    for title, ours, array in [
        (
            "contiguous",
            module.Frozen((side, side, 1)),
            numpy.ones((side, side), numpy.float32),
        ),
        (
            "strided: every second column",
            module.Sliced((side, side)),
            numpy.ones((side, 2 * side), numpy.float32)[:, ::2],
        ),
        (
            "strided: transposed",
            module.Transposed((side, side)),
            numpy.ones((side, side), numpy.float32).T,
        ),
    ]:
        copy = numpy.from_dlpack(ours, copy=True)
        assert (copy.reshape(array.shape) == array).all()
        del copy
        # The memory of `array` is in huge pages, because NumPy requests them.
        collapse_to_huge_pages(numpy.from_dlpack(ours))
        report.row(
            f"copy=True of 64 MiB, {title}",
            {
                "array.copy()": milliseconds(lambda: array.copy("C")),
                OURS: milliseconds(lambda: ours.__dlpack__(max_version=VERSION, copy=True)),
            },
            # At least 0.95 of the speed.
            bar=1.05,
            rounds=9,
            batch=1,
            unit="ms",
        )


def main():
    folder, output = sys.argv[1:]
    module, stable = load(folder), None
    with contextlib.suppress(FileNotFoundError, ImportError):
        stable = load(Path(folder) / "abi3")
    torch, tvm_ffi = library("torch"), library("tvm_ffi")
    array = numpy.ones(SHAPE, numpy.float32)
    objects = {"NumPy": array}
    if torch:
        objects["PyTorch"] = torch.ones(SHAPE)
    if tvm_ffi:
        objects["tvm-ffi"] = tvm_ffi.from_dlpack(numpy.ones(SHAPE, numpy.float32))
    bound = nanobind_array(array)
    if bound is not None:
        objects["nanobind"] = bound
    nanobind = library("nanobind")
    libraries = {"NumPy": numpy, "PyTorch": torch, "tvm-ffi": tvm_ffi, "nanobind": nanobind}
    report = Report(about(libraries))
    ours = {
        FROZEN: module.Frozen(SHAPE),
        f"{OURS}, SharedBuffer": module.Shared(SHAPE),
        f"{OURS}, SharedBuffer, not frozen": module.Mutable(SHAPE),
    }
    producers(report, objects, ours)
    general(report, objects, importlib.import_module("dlpack_example").Tensor, module)
    consumers(report, objects, ours, torch, tvm_ffi)
    taking(report, module, objects)
    if stable:
        stable_abi(report, module, stable, objects)
    write_to_free_memory(report)
    copies(report, module)
    reading.measure(report)
    report.write(output)


main()
