"""One job of the matrix: tensors of some producers, through our class, to one
consumer. Prints one line of JSON for each cell, before and after it, so that a
cell that ends the process is known."""

import json
import os
import re
import sys
import warnings
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# The thread pools of six libraries would compete for the processors.
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")

import dlpack_structs as structs  # noqa: E402
from grid import DTYPES, LAYOUTS, byte_offset, expected  # noqa: E402
from peers import PEERS  # noqa: E402
from reference import alive, same_as  # noqa: E402

# Where nothing is to be compared.
NOT_MADE, NOT_EXPORTED = "not made", "not exported"


def refusal(error):
    """An exception, in one short line."""
    words = str(error).strip().splitlines()
    # ONNX Runtime states the file, the function and the condition first.
    words[:1] = [re.sub(r"^/\S+:\d+ .*(\) | was false\. )", "", line) for line in words[:1]]
    return f"{type(error).__name__}: {words[0][:120] if words else ''}"


def judge(peer, tensor, dtype, layout, address, **asks):
    """The outcome of passing a tensor to a library."""
    try:
        array = peer.take(tensor, **asks)
    except Exception as error:
        return "refused", refusal(error)
    try:
        seen = peer.look(array, dtype)
    except Exception as error:
        return "WRONG", "cannot be read: " + refusal(error)
    if seen.shape != layout.shape:
        return "WRONG", f"shape {seen.shape}"
    if seen.dtype not in (None, dtype):
        return "converted", f"to {seen.dtype}"
    if seen.patterns != expected(dtype, layout):
        return "WRONG", "other elements"
    if not seen.usable:
        return "unusable", "its first operation ends the process"
    if 0 in layout.shape:
        return "same", ""
    return ("same" if seen.address == address else "copy"), ""


def source(producer, dtype, layout):
    """A tensor of the producer, or the reason why it cannot make one."""
    try:
        tensor = producer.make(dtype, layout)
    except Exception as error:
        return None, NOT_MADE, refusal(error)
    for keywords in ({"max_version": (1, 3)}, {}):
        try:
            exported = structs.Tensor(tensor.__dlpack__(**keywords)).dtype
        except TypeError:
            continue
        except Exception as error:
            return None, NOT_EXPORTED, refusal(error)
        if exported == DTYPES[dtype]:
            return tensor, "", ""
        return None, NOT_EXPORTED, f"as {exported}"
    return None, NOT_EXPORTED, "TypeError"


def well_placed(producer, ours, dtype, layout):
    """Our class over a tensor of the producer with the alignment that the producer usually
    has. Some libraries copy unaligned tensors, so the outcome would depend on the
    allocator; a tensor with another alignment is discarded and made again."""
    kept = []
    for _ in range(50):
        tensor = source(producer, dtype, layout)[0]
        middle = ours.take(tensor, **producer.asks)
        if producer.aligned:
            placed = (middle.data_ptr - byte_offset(dtype, layout)) % 64 == 0
        else:
            placed = middle.data_ptr % 64 != 0
        if placed:
            break
        kept.append(middle)
    return middle


def cells(producer, consumer, ours, dtype, layout, reference_only):
    """The verdicts on one cell: into our class where `consumer` is that, else
    from it and, for comparison, from the reference."""
    tensor, verdict, why = source(producer, dtype, layout)
    if tensor is None:
        return verdict, why, None
    if consumer is ours:
        try:
            address = producer_address(producer, tensor, dtype)
        except Exception as error:
            return NOT_EXPORTED, refusal(error), None
        return *judge(ours, tensor, dtype, layout, address, **producer.asks), None
    try:
        middle = well_placed(producer, ours, dtype, layout)
    except Exception as error:
        return "not imported", refusal(error), None
    address = middle.data_ptr
    if reference_only:
        verdict, why = "CRASH", "the process ends"
    else:
        verdict, why = judge(consumer, middle, dtype, layout, address)
    other, _ = judge(consumer, same_as(middle), dtype, layout, address)
    return verdict, why, other


def producer_address(producer, tensor, dtype):
    """The address of the first element according to the producer's export."""
    if hasattr(producer, "look") and producer.package != "nanobind":
        return producer.look(tensor, dtype).address
    found = structs.Tensor(tensor.__dlpack__(max_version=(1, 3)))
    return (found.data or 0) + found.byte_offset


def main():
    job = json.loads(sys.argv[1])
    # Libraries print to standard output; the results use a pipe of their own.
    out = os.fdopen(job["answers"], "w")

    def say(**answer):
        print(json.dumps(answer), file=out, flush=True)

    wanted = {*job["producers"], job["consumer"], "dlpack_example"}
    made, failed = {}, {}
    for name in [name for name in PEERS if name in wanted]:
        say(importing=name)
        try:
            made[name] = PEERS[name]()
        except ImportError as error:
            failed[name] = refusal(error)
    say(versions={name: peer.version() for name, peer in made.items()}, failed=failed)
    if {job["consumer"], "dlpack_example"} & {*failed}:
        return
    consumer, ours = made[job["consumer"]], made["dlpack_example"]
    after, only = job.get("after"), job.get("only")
    for name in job["producers"]:
        for dtype in DTYPES if name in made else ():
            alive()  # releases tensors that were never consumed
            for layout in LAYOUTS:
                key = f"{name}|{dtype}|{layout.name}"
                if after:
                    after = None if key == after else after
                    continue
                if only not in (None, key):
                    continue
                say(begin=key)
                verdict, why, other = cells(
                    made[name], consumer, ours, dtype, layout, only is not None
                )
                say(cell=key, verdict=verdict, why=why, reference=other)
    say(finished=True)
    # Some of these libraries crash when one process shuts them all down.
    out.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
