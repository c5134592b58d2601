"""Gives tensors of all kinds to libraries, and compares what becomes of them with
the doctor's verdict. Prints one line of JSON for each that differs, and a last one
that counts.

`main` has all libraries but dpnp; `dpnp` has dpnp, and all but Paddle: these two
do not load into one process. Further arguments name producers of `broken.py`."""

import importlib.metadata
import json
import os
import sys
import warnings
from collections import Counter

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")

import broken  # noqa: E402
import conftest  # noqa: E402, F401  (says where the modules are)
from grid import DTYPES, LAYOUTS  # noqa: E402
from peers import PEERS  # noqa: E402
from reference import alive  # noqa: E402

import dlpack_doctor  # noqa: E402
from dlpack_doctor import _native  # noqa: E402
from dlpack_doctor.consumers import TAKES, is_there, use  # noqa: E402

PACKAGES = {
    "tvm_ffi": "apache-tvm-ffi",
    "array_api_strict": "array-api-strict",
    "paddle": "paddlepaddle",
    "tensorflow": "tensorflow-cpu",
    "cuda.core": "cuda-core",
    "warp": "warp-lang",
}
# Combinations that are left out: they would end this process, or have no defined outcome.
NOT_TRIED = {"crash", "unusable", "leaks", "unknown"}
# In the order in which they can be imported into one process.
ORDER = ("numpy", "torch", "jax", "tvm_ffi", "nanobind", "array_api_strict", "mlx")
LATER = ("paddle", "tensorflow", "pyarrow", "onnxruntime", "cuda.core", "warp")
MODES = {"main": (*ORDER, *LATER), "dpnp": ("numpy", "dpnp", "torch")}


def nanobind():
    """The consumer of the matrix: C++ that takes `nb::ndarray<>`."""
    module = importlib.import_module("nanobind_peer").load()
    return module, module.take


def version_of(name):
    """The version of an installed library."""
    return importlib.metadata.version(PACKAGES.get(name, name))


def judged(verdicts, name):
    """The verdict on the installed version, if there is one."""
    version = version_of(name)
    for verdict in verdicts:
        if verdict["consumer"] == name and version.startswith(verdict["version"]):
            return verdict
    return None


def outcome(name, module, take, tensor):
    """The outcome of passing a tensor to a library."""
    try:
        made = take(tensor)
    except Exception as error:
        return "refused", f"{type(error).__name__}: {error}"[:160]
    if name in ("nanobind", "cuda.core"):
        # Objects without an export, or without one of each element type.
        found = (made.address if name == "nanobind" else made.ptr) == address_of(tensor)
        return ("same" if found else "copy"), ""
    use(name, module, made)
    fit, why = _native.compare(tensor, made)
    return fit.lower(), why


def address_of(tensor):
    """Where the doctor says that the first element is."""
    report = dlpack_doctor.examine(tensor).data
    for request in report["requests"]:
        found = request["answer"].get("tensor")
        if found:
            empty = found["layout"] and found["layout"]["numel"] == 0
            return found["data"] + (0 if empty else found["byte_offset"])
    return None


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print where they like

    def say(**line):
        print(json.dumps(line), file=out, flush=True)

    mode = sys.argv[1]
    present = [name for name in MODES[mode] if is_there(name)]
    consumers, producers = {}, {"reference": PEERS["reference"]()}
    for name in present:
        say(importing=name)
        try:
            consumers[name] = nanobind() if name == "nanobind" else TAKES[name]()
            producers[name] = PEERS[name]()
        except ImportError as error:
            say(failed=name, why=str(error))
            consumers.pop(name, None)
    if mode == "dpnp":
        # The others have met each other.
        pairs = [(p, c) for p in producers for c in consumers if "dpnp" in (p, c)]
    else:
        pairs = [(p, c) for p in producers for c in consumers]
    count, unmeasured = Counter(), set()

    def compare(tensor, what, takers):
        verdicts = dlpack_doctor.examine(tensor).verdicts
        for name in takers:
            verdict = judged(verdicts, name)
            if verdict is None:
                unmeasured.add(name)
                continue
            count[f"{name} {verdict['fit']}"] += 1
            if verdict["fit"] in NOT_TRIED:
                continue
            say(trying=f"{what} {name}")
            fit, why = outcome(name, *consumers[name], tensor)
            if fit != verdict["fit"]:
                said = [verdict["fit"], verdict["why"]]
                say(wrong=f"{what} into {name}", verdict=said, found=[fit, why])

    for producer in producers:
        takers = [consumer for made, consumer in pairs if made == producer]
        for dtype in DTYPES:
            alive()  # releases tensors that were never consumed
            for layout in LAYOUTS:
                try:
                    tensor = producers[producer].make(dtype, layout)
                    tensor.__dlpack__()
                except Exception:
                    # It has no such tensor; a read-only one is rejected as legacy.
                    if producer != "reference":
                        continue
                compare(tensor, f"{producer} {dtype} {layout.name}", takers)
    for producer in sys.argv[2:]:
        compare(getattr(broken, producer)(), f"broken {producer}", list(consumers))
    say(count=count, unmeasured=sorted(unmeasured), consumers=list(consumers))
    out.flush()
    # Some of these libraries crash when one process shuts them all down.
    os._exit(0)


if __name__ == "__main__":
    main()
