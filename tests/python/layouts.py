"""Tensors of `float32` in every layout that tests refer to by name."""

from dlpack_example import Tensor


def nested(shape, element):
    """Nested lists of a shape, each element computed from its indices."""
    if not shape:
        return element()
    first, *rest = shape
    return [nested(rest, lambda *tail, i=i: element(i, *tail)) for i in range(first)]


def build(layout, read_only):
    """A tensor in the layout of that name."""
    cube = Tensor(
        nested((2, 3, 4), lambda i, j, k: 100.0 * i + 10.0 * j + k),
        "float32",
        read_only=read_only,
    )
    wide = Tensor([float(index) for index in range(40)], "float32", read_only=read_only)
    ranks = {f"{rank} dimensions": rank for rank in (8, 9, 33, 64)}
    if layout in ranks:
        shape = [1] * ranks[layout]
        shape[0], shape[-1] = 2, 3
        values = nested(shape, lambda *indices: 10.0 * indices[0] + indices[-1])
        return Tensor(values, "float32", read_only=read_only)
    if layout == "0-d":
        return Tensor(1.5, "float32", read_only=read_only)
    if layout == "vector":
        return wide
    if layout == "row-major":
        return cube
    if layout == "empty":
        return Tensor([], "float32", read_only=read_only)
    shape, strides, byte_offset = {
        "transposed": ((4, 3, 2), (1, 4, 12), 0),
        "axes permuted": ((3, 2, 4), (4, 12, 1), 0),
        "every other column": ((2, 3, 2), (12, 4, 2), 0),
        "offset 4 bytes": ((39,), (1,), 4),
        "offset 64 bytes": ((24,), (1,), 64),
        "last plane": ((3, 4), (4, 1), 48),
        "reversed": ((40,), (-1,), 39 * 4),
        "rows reversed": ((2, 3, 4), (12, -4, 1), 8 * 4),
        "broadcast rows": ((5, 4), (0, 1), 0),
        "broadcast scalar": ((2, 3), (0, 0), 0),
        "sliding windows": ((4, 3), (1, 1), 0),
        "odd stride, size 1": ((1, 4), (99, 1), 0),
        "empty (2, 0, 3)": ((2, 0, 3), (3, 3, 1), 0),
        "empty, odd strides": ((2, 0, 3), (7, 5, -9), 8),
    }[layout]
    base = wide if len(shape) == 1 else cube
    return base.as_strided(shape, strides, byte_offset)
