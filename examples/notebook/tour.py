# %% [markdown]
# # One photograph, several libraries
#
# A notebook as a script: editors run it cell by cell, and `cargo xtask example notebook`
# from top to bottom. Pictures go to the folder that is its argument.

# %%
import statistics
import sys
import time
from pathlib import Path

import dlpack_example
import matplotlib

if not hasattr(sys, "ps1"):
    matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "target/notebook")
OUT.mkdir(parents=True, exist_ok=True)
PHOTOGRAPH = Path(matplotlib.get_data_path()) / "sample_data" / "grace_hopper.jpg"

# %% [markdown]
# Rust decodes a photograph. NumPy shows it zero-copy.

# %%
image = dlpack_example.Image.open(PHOTOGRAPH)
pixels = np.from_dlpack(image)
assert pixels.__array_interface__["data"][0] == image.data_ptr

# Views of the same memory: nothing is copied.
windows = {
    "as decoded": pixels,
    "a part": pixels[80:280, 150:350],
    "mirrored": pixels[:, ::-1],
    "every 8th pixel": pixels[::8, ::8],
}
figure, axes = plt.subplots(1, 4, figsize=(11, 3.4))
for axis, (title, window) in zip(axes, windows.items()):
    assert np.shares_memory(window, pixels)
    axis.imshow(window)
    axis.set_title(title, fontsize=10)
    axis.axis("off")
figure.suptitle("One buffer of Rust, four windows of NumPy")
figure.savefig(OUT / "windows.png", dpi=120, bbox_inches="tight")

# %% [markdown]
# Both sides may write to a canvas. NumPy draws, and Rust computes the mean.

# %%
canvas = image.to_canvas()
drawn = np.from_dlpack(canvas)
means = [canvas.mean()]
for step in range(8):
    drawn[step * 75 : (step + 1) * 75] //= 2
    means.append(canvas.mean())
assert all(after < before for before, after in zip(means, means[1:])), "Rust did not see it"

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
left.imshow(drawn)
left.axis("off")
left.set_title("darkened by NumPy, band by band", fontsize=10)
right.plot(means, "o-")
right.set(xlabel="bands", ylabel="mean", title="what Rust says meanwhile")
figure.savefig(OUT / "canvas.png", dpi=120, bbox_inches="tight")

# %% [markdown]
# The time of an exchange does not depend on the size. The time of a copy does.


# %%
def seconds(work) -> float:
    """The median of several runs."""
    times = []
    for _ in range(9):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


sizes = [2**power for power in range(10, 27, 2)]
tensors = [dlpack_example.Tensor.zeros([size], "uint8") for size in sizes]
hand_over = [seconds(lambda: np.from_dlpack(tensor)) for tensor in tensors]
copies = [seconds(lambda: np.from_dlpack(tensor, copy=True)) for tensor in tensors]
assert copies[-1] > 20 * hand_over[-1], "the hand-over copies"

figure, axis = plt.subplots(figsize=(6, 3.6))
axis.loglog(sizes, np.array(copies) * 1e6, "s-", label="copy=True")
axis.loglog(sizes, np.array(hand_over) * 1e6, "o-", label="hand-over")
axis.set(xlabel="bytes", ylabel="microseconds", title="np.from_dlpack of a Rust tensor")
axis.legend()
figure.savefig(OUT / "sizes.png", dpi=120, bbox_inches="tight")
print(f"pictures: {OUT}/windows.png, canvas.png, sizes.png")
