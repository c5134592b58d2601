"""One photograph, decoded in Rust, used zero-copy by NumPy and PyTorch.

Run by `cargo xtask demo`. Every address and time printed here is measured.
"""

import argparse
import gc
import importlib.util
import statistics
import time
from pathlib import Path

import dlpack_example
import matplotlib
import numpy as np


def photograph() -> Path:
    """The photograph that comes with matplotlib."""
    return Path(matplotlib.get_data_path()) / "sample_data" / "grace_hopper.jpg"


def nanoseconds(hand_over) -> float:
    """Time of one exchange with its release: the median of many rounds."""
    rounds, repeats = 31, 2000
    times = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        for _ in range(repeats):
            hand_over()
        times.append((time.perf_counter_ns() - start) / repeats)
    return statistics.median(times)


def consumers() -> dict:
    """Name -> (from_dlpack, function that describes its result)."""
    found = {
        "NumPy": (
            np.from_dlpack,
            lambda a: (a.__array_interface__["data"][0], a.shape, a.dtype, a.flags.writeable),
        )
    }
    if importlib.util.find_spec("torch"):
        import torch

        found["PyTorch"] = (
            torch.from_dlpack,
            # PyTorch has no read-only tensors: it ignores the flag.
            lambda t: (t.data_ptr(), tuple(t.shape), str(t.dtype), "not known to it"),
        )
    return found


def table(title: str, tensor, dtype: str, writable: bool) -> None:
    """Prints what Rust and each consumer report about one tensor."""
    rows = [("who", "address", "shape", "dtype", "writable", "ns per hand-over")]
    rows.append(("Rust", hex(tensor.data_ptr), str(tensor.shape), dtype, yes(writable), ""))
    for name, (from_dlpack, facts) in consumers().items():
        address, shape, dtype, may_write = facts(from_dlpack(tensor))
        assert address == tensor.data_ptr, f"{name} made a copy"
        took = f"{nanoseconds(lambda: from_dlpack(tensor)):.0f}"
        rows.append((name, hex(address), str(tuple(shape)), str(dtype), yes(may_write), took))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print(f"\n{title}")
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        print("  " + "  ".join(cells).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def yes(fact) -> str:
    """yes, no, or what else there is to say."""
    return {True: "yes", False: "no"}.get(fact, str(fact))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("target/demo"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    image = dlpack_example.Image.open(photograph())
    height, width, _ = image.shape
    print(f"Rust decoded a photograph of {height} x {width} pixels into `Image`.")

    table("1. An `Image` over `Arc`: all owners read the same memory", image, "uint8", False)

    canvas = image.to_canvas()
    table("2. A `Canvas` over `SharedBuffer`: all owners may write too", canvas, "uint8", True)

    print("\n3. NumPy brightens the canvas in place, and Rust sees it")
    before = canvas.mean()
    canvas.save(out / "before.png")
    view = np.from_dlpack(canvas)
    view[...] = np.minimum(view.astype(np.uint16) + 60, 255).astype(np.uint8)
    after = canvas.mean()
    canvas.save(out / "after.png")
    assert after > before, "NumPy wrote into a copy"
    side_by_side = np.concatenate([np.from_dlpack(image), view], axis=1)
    matplotlib.image.imsave(out / "before_after.png", side_by_side)
    print(f"  mean brightness, computed by Rust: {before:.1f} -> {after:.1f}")
    print(f"  picture: {out / 'before_after.png'}")

    print("\n4. The last one to leave frees the memory, once")
    freed = dlpack_example.freed()
    views = [from_dlpack(image) for from_dlpack, _ in consumers().values()]
    print(f"  {len(views)} view(s) and the object: photographs freed = {freed}")
    del image, side_by_side
    gc.collect()
    assert dlpack_example.freed() == freed, "freed under a living view"
    print(f"  object gone, {len(views)} view(s) left: photographs freed = {freed}")
    views.clear()
    gc.collect()
    assert dlpack_example.freed() == freed + 1, "not freed exactly once"
    print(f"  last view gone:           photographs freed = {dlpack_example.freed()}")


if __name__ == "__main__":
    import matplotlib.image

    main()
