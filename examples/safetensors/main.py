"""A sentence model of 91 MB, used by PyTorch zero-copy in the file that Rust mapped.

Run by `cargo xtask example safetensors`.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import torch

import mapped_weights

PAGE = resource.getpagesize()


def private_mebibytes() -> float:
    """Memory of this process that no file backs."""
    resident, shared = Path("/proc/self/statm").read_text().split()[1:3]
    return (int(resident) - int(shared)) * PAGE / 2**20


def measured(what: str, load):
    """Loads, and prints the time and the memory."""
    before, start = private_mebibytes(), time.perf_counter()
    result = load()
    took, grown = time.perf_counter() - start, private_mebibytes() - before
    print(f"  {what:42} {took * 1000:8.2f} ms  {grown:7.1f} MiB more")
    return result


def read_all(path: Path) -> dict:
    """The same elements, read into memory: the file begins with the length of a header."""
    contents = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(contents[:8], "little")
    header = json.loads(contents[8:start])
    header.pop("__metadata__", None)
    types = {"F32": torch.float32, "I64": torch.int64}
    tensors = {}
    for name, entry in header.items():
        first, last = (start + offset for offset in entry["data_offsets"])
        elements = torch.frombuffer(contents[first:last], dtype=types[entry["dtype"]])
        tensors[name] = elements.reshape(entry["shape"])
    return tensors


def main(folder: Path) -> None:
    path = folder / "model.safetensors"
    print(f"{path.name}: {path.stat().st_size / 2**20:.1f} MiB")

    model = mapped_weights.Model(path)
    mapped = measured(
        "mapped by Rust, torch.from_dlpack of each",
        lambda: {name: torch.from_dlpack(model[name]) for name in model.keys()},
    )
    read = measured("read into memory", lambda: read_all(path))
    assert mapped.keys() == read.keys()
    assert all(torch.equal(mapped[name], read[name]) for name in read), "other elements"
    print(f"  {len(read)} tensors, all equal")

    # Use the weights: the embeddings of words, before any attention.
    words = (folder / "vocab.txt").read_text().splitlines()
    number = {word: index for index, word in enumerate(words)}
    table = torch.nn.functional.normalize(mapped["embeddings.word_embeddings.weight"], dim=1)
    for word in ("piano", "ocean"):
        near = (table @ table[number[word]]).topk(4).indices[1:]
        print(f"  nearest to {word!r}: {', '.join(words[index] for index in near)}")

    # One weight keeps the map alive.
    name = "embeddings.position_embeddings.weight"
    array = np.from_dlpack(model[name])
    del model, mapped
    assert not array.flags.writeable, "a mapped file is read-only"
    assert np.array_equal(array, read[name].numpy())
    print("  the model is gone, and NumPy still reads a weight of it")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
