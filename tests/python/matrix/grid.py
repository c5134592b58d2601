"""What is exchanged: element types, layouts, and the bits that belong to each.

Every tensor is a window on the same 48 elements of its type, of which each has
a pattern of bits of its own as far as the type has patterns enough. Values are
compared as patterns, so that no conversion can hide a difference."""

import math
import struct
from typing import NamedTuple

from reference import indices

# Name: code, bits, lanes.
DTYPES = {
    **{f"int{bits}": (0, bits, 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits, 1) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (2, bits, 1) for bits in (16, 32, 64)},
    "bfloat16": (4, 16, 1),
    **{f"complex{bits}": (5, bits, 1) for bits in (32, 64, 128)},
    "bool": (6, 8, 1),
    "float8_e3m4": (7, 8, 1),
    "float8_e4m3": (8, 8, 1),
    "float8_e4m3b11fnuz": (9, 8, 1),
    "float8_e4m3fn": (10, 8, 1),
    "float8_e4m3fnuz": (11, 8, 1),
    "float8_e5m2": (12, 8, 1),
    "float8_e5m2fnuz": (13, 8, 1),
    "float8_e8m0fnu": (14, 8, 1),
    "float6_e2m3fn": (15, 6, 1),
    "float6_e3m2fn": (16, 6, 1),
    "float4_e2m1fn": (17, 4, 1),
    "float4_e2m1fnx2": (17, 4, 2),
    "int4": (0, 4, 1),
    "uint4": (1, 4, 1),
}

ELEMENTS = 48


class Layout(NamedTuple):
    """A window on the elements: strides and offset count elements."""

    name: str
    shape: tuple
    strides: tuple
    offset: int = 0
    read_only: bool = False


LAYOUTS = (
    Layout("contiguous", (2, 3, 4), (12, 4, 1)),
    Layout("read-only", (2, 3, 4), (12, 4, 1), read_only=True),
    Layout("0-d", (), ()),
    Layout("no elements", (2, 0, 3), (3, 3, 1)),
    Layout("offset", (3, 4), (4, 1), offset=4),
    Layout("strided", (2, 3, 2), (12, 4, 2)),
    Layout("reversed", (2, 3, 4), (12, -4, 1), offset=8),
    Layout("transposed", (4, 3, 2), (1, 4, 12)),
    Layout("broadcast", (5, 4), (0, 1)),
    Layout("33-d", (2, *[1] * 31, 3), (3, *[3] * 31, 1)),
)
# Those that a library without strides has.
ROW_MAJOR = ("contiguous", "0-d", "no elements", "33-d")


def width(dtype):
    """Bits of one element, of all its lanes."""
    _, bits, lanes = DTYPES[dtype]
    return bits * lanes


def pattern(dtype, index):
    """The bits of the element of that index, finite where it is a float."""
    code, bits, lanes = DTYPES[dtype]
    if dtype == "bool":
        return (0x9A6E_31B5_72C4 >> index) & 1
    if code == 2:
        letter = {16: "e", 32: "f", 64: "d"}[bits]
        return int.from_bytes(struct.pack("<" + letter, index + 1.0), "little")
    if dtype == "bfloat16":
        return int.from_bytes(struct.pack("<f", index + 1.0)[2:], "little")
    if code == 5:
        part = {32: "float16", 64: "float32", 128: "float64"}[bits]
        return pattern(part, index) | pattern(part, 47 - index) << (bits // 2)
    if code <= 1 and bits >= 8:
        return index + 1
    if bits == 8:
        return index + 1  # finite in all formats of 8 bits
    lane = [(5 * (index * lanes + lane) + 3) % (1 << bits) for lane in range(lanes)]
    return sum(part << (bits * position) for position, part in enumerate(lane))


def image(dtype):
    """All elements as they lie in memory, packed."""
    bits = sum(
        pattern(dtype, index) << (index * width(dtype)) for index in range(ELEMENTS)
    )
    return bits.to_bytes(math.ceil(ELEMENTS * width(dtype) / 8), "little")


def byte_offset(dtype, layout):
    """Bytes before the first element; all offsets are whole bytes."""
    bits = layout.offset * width(dtype)
    assert bits % 8 == 0
    return bits // 8


def expected(dtype, layout):
    """The patterns of a tensor's elements, in row-major order."""
    return [
        pattern(dtype, layout.offset + index)
        for index in indices(layout.shape, layout.strides)
    ]


def split(memory, bits):
    """The patterns of unpacked elements: each of as many whole bytes as it needs."""
    size = (bits + 7) // 8
    return [
        int.from_bytes(memory[at : at + size], "little") & ((1 << bits) - 1)
        for at in range(0, len(memory), size)
    ]
