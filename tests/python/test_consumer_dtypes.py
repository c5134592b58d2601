"""Which element types each consumer takes.

The table is the claim. In its cells:

- ``same``: the array lies at the tensor's own address;
- ``copy``: it lies elsewhere;
- ``none``: there are no elements, so there is nothing to compare;
- an exception: the consumer refuses with it.

Observed with NumPy 2.4, PyTorch 2.15, JAX 0.10 and tvm-ffi 0.1.15.
"""

import math
import struct

import consumers
import dlpack_testing
import pytest
from dlpack_example import Tensor

# Four elements of every type, in writable memory aligned to 64 bytes.
DTYPES = """
    dtype               numpy         torch        jax              tvm_ffi
    int8                same          same         same             same
    int16               same          same         same             same
    int32               same          same         same             same
    int64               same          same         same             same
    uint8               same          same         same             same
    uint16              same          same         same             same
    uint32              same          same         same             same
    uint64              same          same         same             same
    float16             same          same         same             same
    float32             same          same         same             same
    float64             same          same         same             same
    bfloat16            RuntimeError  same         same             same
    complex32           RuntimeError  same         JaxRuntimeError  same
    bcomplex32          RuntimeError  BufferError  JaxRuntimeError  same
    complex64           same          same         same             same
    complex128          same          same         same             same
    bool                same          same         same             same
    float8_e3m4         RuntimeError  BufferError  same             same
    float8_e4m3         RuntimeError  BufferError  same             same
    float8_e4m3b11fnuz  RuntimeError  BufferError  same             same
    float8_e4m3fn       RuntimeError  same         same             same
    float8_e4m3fnuz     RuntimeError  same         same             same
    float8_e5m2         RuntimeError  same         same             same
    float8_e5m2fnuz     RuntimeError  same         same             same
    float8_e8m0fnu      RuntimeError  same         same             same
    float6_e2m3fn       RuntimeError  BufferError  JaxRuntimeError  same
    float6_e3m2fn       RuntimeError  BufferError  JaxRuntimeError  same
    float4_e2m1fn       RuntimeError  BufferError  JaxRuntimeError  same
    float4_e2m1fnx2     RuntimeError  same         JaxRuntimeError  same
"""


# 0.5, 1, 2 and 4 in the formats that no Python library packs: sign, exponent
# and mantissa worked out by hand.
SMALL_FLOATS = {
    "float8_e3m4": (0x20, 0x30, 0x40, 0x50),
    "float8_e4m3": (0x30, 0x38, 0x40, 0x48),
    "float8_e4m3b11fnuz": (0x50, 0x58, 0x60, 0x68),
    "float8_e4m3fn": (0x30, 0x38, 0x40, 0x48),
    "float8_e4m3fnuz": (0x38, 0x40, 0x48, 0x50),
    "float8_e5m2": (0x38, 0x3C, 0x40, 0x44),
    "float8_e5m2fnuz": (0x3C, 0x40, 0x44, 0x48),
    "float8_e8m0fnu": (0x7E, 0x7F, 0x80, 0x81),
    "float6_e2m3fn": (0x04, 0x08, 0x10, 0x18),
    "float6_e3m2fn": (0x08, 0x0C, 0x10, 0x14),
    "float4_e2m1fn": (0x1, 0x2, 0x4, 0x6),
}
SMALL_WIDTHS = {"float8": 8, "float6": 6, "float4": 4}

# `struct` formats of the others; bfloat16 is the upper half of a float32.
FORMATS = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "complex32": "e",
    "complex64": "f",
    "complex128": "d",
    "bool": "?",
}


def example(dtype):
    """Four elements of a type that all of its formats can hold exactly."""
    if dtype.startswith("uint"):
        return [0, 1, 2, 2 ** int(dtype.removeprefix("uint")) - 1]
    if dtype.startswith("int"):
        largest = 2 ** (int(dtype.removeprefix("int")) - 1)
        return [0, -1, -largest, largest - 1]
    if "complex" in dtype:
        return [0.5 + 1j, -2 + 4j, 1j, 3]
    if dtype == "bool":
        return [True, False, False, True]
    return [0.5, 1.0, 2.0, 4.0]


def packed(dtype, values):
    """The bytes of elements, by rules that share nothing with the Rust code."""
    if "complex" in dtype:
        values = [part for value in values for part in (value.real, value.imag)]
    if dtype in FORMATS:
        return b"".join(struct.pack("<" + FORMATS[dtype], value) for value in values)
    if dtype in ("bfloat16", "bcomplex32"):
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    width = SMALL_WIDTHS[dtype.split("_")[0]]
    patterns = dict(zip((0.5, 1.0, 2.0, 4.0), SMALL_FLOATS[dtype], strict=True))
    bits = sum(patterns[value] << (width * index) for index, value in enumerate(values))
    return bits.to_bytes(math.ceil(width * len(values) / 8), "little")


def test_every_element_type_is_in_the_table():
    """The table has the types that the library names, and PyTorch's pairs."""
    names = {name for name, _, _ in consumers.table(DTYPES)}
    assert names == {*dlpack_testing.dtypes(), "float4_e2m1fnx2"}


@pytest.mark.parametrize("read_only", [False, True], ids=["writable", "read-only"])
@pytest.mark.parametrize(("dtype", "name", "outcome"), consumers.table(DTYPES))
def test_element_type(dtype, name, outcome, read_only):
    """Each consumer takes each element type as the table says, bit by bit."""
    consumer = consumers.get(name)
    values = example(dtype)
    lanes = 2 if dtype.endswith("x2") else 1
    elements = [values[:2], values[2:]] if lanes == 2 else values
    tensor = Tensor(elements, dtype, read_only=read_only)
    assert tensor.dtype == dtype and tensor.tolist() == elements
    if read_only and not outcome.endswith("Error"):
        outcome = consumers.copied_if_read_only(name, outcome)

    array = consumers.attempt(consumer, tensor, outcome)
    if array is None:
        return
    consumers.check_place(consumer, array, tensor, outcome)
    assert consumer.shape(array) == (len(values) // lanes,)
    expected = packed(dtype.removesuffix("x2"), values)
    assert consumers.memory(consumer.address(array), len(expected)) == expected
    if consumer.values(array) is not None:
        assert consumer.values(array) == values
    check_dtype(consumer, array, dtype)


def check_dtype(consumer, array, dtype):
    """The consumer calls the element type by the same name."""
    if isinstance(consumer, consumers.TvmFfi) and dtype in consumer.NAMELESS:
        with pytest.raises(ValueError, match="type_code=(5|18)"):
            consumer.dtype(array)
        return
    if isinstance(consumer, consumers.Torch):
        dtype = dtype.replace("fnx2", "fn_x2")
    assert consumer.dtype(array) == dtype
