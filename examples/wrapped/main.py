"""Types of ndarray, image and candle in Python, zero-copy over their Rust memory.

Run by `cargo xtask example wrapped`.
"""

from pathlib import Path

import matplotlib
import numpy as np
import tvm_ffi

from dlpack_wrapped import Activations, Field, Photo


def show(what: str, array: np.ndarray) -> None:
    print(f"  {what:28} {str(array.shape):16} {array.dtype!s:8} strides {array.strides}")


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def main() -> None:
    field = Field(6, 8)
    heights = np.from_dlpack(field)
    show("ndarray", heights)
    assert address(heights) == field.data_ptr, "a copy"
    assert np.isclose(heights.max(), heights[3, 4]), "the top is in the middle"
    some = np.from_dlpack(field.every_other_row())
    show("every other row, turned", some)
    assert np.array_equal(some, heights[::-2])
    assert np.shares_memory(some, heights), "a copy"

    photo = Photo(Path(matplotlib.get_data_path()) / "sample_data" / "grace_hopper.jpg")
    pixels = np.from_dlpack(photo)
    show("image", pixels)
    assert address(pixels) == photo.data_ptr, "a copy"
    assert pixels.std() > 10, "not a photograph"

    activations = Activations(4, 3)
    column = np.from_dlpack(activations)
    show("candle, transposed", column)
    assert column.tolist() == [[18.0], [22.0], [26.0]]
    assert address(column) == activations.data_ptr, "a copy"
    assert tvm_ffi.from_dlpack(activations).shape == (3, 1)

    for one in (heights, pixels, column):
        assert not one.flags.writeable
    print("  all of it is shared with Rust, so Python may read it and not write it")


main()
