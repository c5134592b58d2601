"""Arguments that are converted because their type asks for it, and those that are not."""

import array
import collections
import importlib.util
import sys
import threading
import types
import weakref

import pytest
from conftest import check_leaks, require, run_in_a_new_process
from dlpack_testing import Frozen, OnDevice, arguments, elementwise

require("numpy")
import numpy as np


class WithArray:
    """An object that only NumPy can convert."""

    def __array__(self, dtype=None, copy=None):
        return np.array([1.5, 2.5], dtype)


@pytest.mark.parametrize(
    "given, expected",
    [
        ([1, 2.5], [1, 2.5]),
        ((1, 2), [1, 2]),
        ([[1.0], [2.0]], [1, 2]),
        ([], []),
        (range(3), [0, 1, 2]),
        (2, [2]),
        (2.5, [2.5]),
        (True, [1]),
        (array.array("d", [1.0]), [1]),
        pytest.param(memoryview(b"ab"), [97, 98], id="memoryview"),
        pytest.param(WithArray(), [1.5, 2.5], id="__array__"),
        (np.float64(2.5), [2.5]),
        (np.arange(4.0)[::2], [0, 2]),
        (np.array([1, 2], ">f4"), [1, 2]),
        (np.array([1, 2], "i8"), [1, 2]),
        (np.array([True]), [1]),
    ],
    ids=str,
)
def test_values_are_converted_to_floats(given, expected):
    values, _ = arguments.convert_floats(given)
    assert values == expected


def test_an_array_that_meets_the_type_is_not_copied():
    for given in [np.ones(3, "f4"), Frozen([1.0])]:
        assert arguments.convert_floats(given)[1] is given
    # A converted array of another dtype stands for the array of the caller.
    given = np.ones(3)
    assert arguments.convert_floats(given)[1] is given
    made = arguments.convert_floats([1.0])[1]
    assert type(made) is np.ndarray and made.dtype == "f8"


def test_integers_keep_their_values():
    assert arguments.convert_bytes([1, 255]) == [1, 255]
    assert arguments.convert_bytes(np.array([0, 255], "i8")) == [0, 255]
    assert arguments.convert_bytes([]) == []
    for given in [[256], [-1], np.array([1, 300], "u2"), [2**63]]:
        with pytest.raises(ValueError, match="expected uint8, got .*int.* does not fit"):
            arguments.convert_bytes(given)


BEYOND_64_BITS = [
    ("convert_bytes", [2**70], r"expected uint8, got an `int` of 71 bits, .*from 0 to 255\b"),
    ("convert_bytes", [1, -(2**64)], "expected uint8, got an `int` of 65 bits"),
    ("convert_floats", 2**70, r"expected float32, got an `int` of 71 bits, .*; pass floats\b"),
    ("convert_floats", np.array([2**64, 1.5], object), "expected float32, got an `int` of 65 bits"),
    ("convert_any", 2**64, r"expected an array, got an `int` of 65 bits.*-2\*\*63 to 2\*\*64 - 1"),
    ("convert_any", [[10**5000]], "got an `int` of 16610 bits, which does not fit in 64"),
]


@pytest.mark.parametrize(
    "dtype, advice",
    [
        ("int8", "numbers from -128 to 127"),
        ("int64", f"numbers from {-(2**63)} to {2**63 - 1}"),
        ("uint64", f"numbers from 0 to {2**64 - 1}"),
        ("float64", "floats"),
        ("complex64", "floats"),
        ("bool", "bools"),
    ],
)
def test_the_advice_for_a_large_integer_is_that_of_the_dtype(dtype, advice):
    with pytest.raises(ValueError, match=f"expected {dtype}, got .*; pass {advice}\\b"):
        arguments.converted([2**64], dtype)


@pytest.mark.parametrize("function, given, message", BEYOND_64_BITS)
def test_integers_beyond_64_bits_are_named(function, given, message):
    with pytest.raises(ValueError, match=message):
        getattr(arguments, function)(given)


OF_OBJECTS = [-(2**63), 2**64 - 1]


@pytest.mark.parametrize(
    "given", [[2**70, None], [2**70, "1"], [2**70, 1j], np.array(OF_OBJECTS, object)]
)
def test_objects_that_are_not_all_numbers_are_not_too_large(given):
    with pytest.raises((TypeError, ValueError)) as raised:
        arguments.convert_floats(given)
    assert "bits" not in str(raised.value)


class Exports:
    """A class with the methods of the DLPack protocol only."""

    def __dlpack__(self, **keywords):
        return np.ones(2).__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize(
    "function, given, message",
    [
        ("convert_bytes", [1.5], "expected uint8, got float64, .*values could be lost"),
        ("convert_bytes", np.ones(2), r"\.astype\('uint8'\)"),
        ("convert_bytes", [1.5], r"`numpy\.asarray\(x\)\.astype\('uint8'\)`"),
        ("convert_bytes", Exports(), r"`numpy\.from_dlpack\(x\)\.astype\('uint8'\)`"),
        ("convert_floats", [1j], "expected float32, got complex128"),
        ("convert_floats", "text", "expected float32, got <U4 in `str`; pass numbers"),
        ("convert_floats", ["1"], "expected float32, got <U1 in `list`; pass numbers"),
        ("convert_floats", None, "expected float32, got `NoneType`; pass numbers"),
        ("convert_floats", {1}, "expected float32, got `set`; pass numbers"),
        ("convert_floats", {"a": 1}, r"got the mapping `dict`; pass a list of its values, `list"),
        ("convert_floats", iter([1.0]), "expected float32, got `list_iterator`; pass numbers"),
        ("convert_floats", (x for x in [1]), r"expected float32, got `generator`; pass `list\(x\)`"),
        ("convert_floats", {1: 2}.values(), r"expected float32, got `dict_values`; pass `list\(x\)`"),
        ("convert_floats", [None], "expected float32, got `list`; pass numbers"),
        ("convert_floats", [1, None], "expected float32, got `list`; pass numbers"),
        ("convert_floats", np.array(["2020"], "M8[Y]"), r"got an array of datetime64\[Y\]"),
        ("convert_floats", np.array([None]), "expected float32, got an array of object"),
        ("convert_floats", np.ndarray, "the object is the class `numpy.ndarray`"),
        ("convert_floats", np, "the object is a module"),
        ("convert_any", object(), "expected an array, got `object`"),
    ],
)
def test_values_that_could_be_lost_are_not_converted(function, given, message):
    with pytest.raises(TypeError, match=message):
        getattr(arguments, function)(given)


def test_other_requirements_are_not_converted():
    with pytest.raises(ValueError, match="expected 1 dimension, got 2 of shape"):
        arguments.convert_bytes([[1], [2]])
    with pytest.raises(ValueError):
        arguments.convert_floats([[1], [2, 3]])
    assert arguments.convert_any([[1.0, 2.0]]) == ("float64", [1, 2])
    assert arguments.convert_any(np.ones(2, "f2")) == ("float16", [2])


def test_nothing_is_converted_without_request():
    """The message names the dtype in the conversion."""
    for given in [[1.0], 1.0, WithArray()]:
        with pytest.raises(TypeError, match=r"is not a tensor.*asarray\(x, 'float32'\)"):
            arguments.floats(given)
    with pytest.raises(TypeError, match=r"`numpy\.asarray\(x\)`"):
        arguments.facts([1.0])


class Refusing:
    """A tensor that raises an error of its own, in a class whose module is not a string."""

    __module__ = 5

    def __dlpack__(self, **keywords):
        raise BufferError("of the producer")

    def __dlpack_device__(self):
        return 1, 0


def test_the_error_of_a_producer_arrives():
    with pytest.raises(BufferError, match="of the producer"):
        arguments.convert_floats(Refusing())


class Raising(WithArray):
    """A tensor that raises when it is exported, and that NumPy can convert."""

    def __init__(self, error):
        self.error = error

    def __dlpack__(self, **keywords):
        raise self.error

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, KeyError])
def test_only_a_refusal_leads_to_a_second_attempt(error):
    with pytest.raises(error):
        arguments.convert_floats(Raising(error()))
    for refusal in [TypeError, BufferError, RuntimeError, ValueError]:
        assert arguments.convert_floats(Raising(refusal()))[0] == [1.5, 2.5]


def test_a_failed_second_attempt_names_the_refusal():
    class Failing(Raising):
        def __array__(self, dtype=None, copy=None):
            raise LookupError("of the array")

    refusal = BufferError("of the producer")
    with pytest.raises(LookupError, match="of the array") as raised:
        arguments.convert_floats(Failing(refusal))
    assert raised.value.__cause__ is refusal


class Once:
    """A tensor that is exported once."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.__dict__.pop("array").__dlpack__(**keywords)

    def __dlpack_device__(self):
        return 1, 0

    def __array__(self, dtype=None, copy=None):
        raise AssertionError


INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
COMPLEX = ["c8", "c16"]
LAYOUTS = [
    lambda x: x,
    lambda x: x.T,
    lambda x: x[::2, ::-1],
    lambda x: np.asfortranarray(x)[1:],
    lambda x: x[:, 1],
    lambda x: x[0, :1].reshape(()),
    lambda x: x[:0],
    lambda x: np.broadcast_to(x[0], (3, *x[0].shape)),
]


@pytest.mark.parametrize("from_", ["?", *INTEGERS, *FLOATS, *COMPLEX])
def test_every_numeric_dtype_is_converted_as_by_numpy(from_):
    """The tensor is exported once, and NumPy does not convert it."""
    random = np.random.default_rng(5)
    values = random.integers(0, 2 if from_ == "?" else 100, (700, 4)).astype(from_)
    for to in [*INTEGERS, *FLOATS, *COMPLEX]:
        if not np.can_cast(from_, to, "same_kind") and not (
            from_ in INTEGERS and to in INTEGERS
        ):
            with pytest.raises(TypeError, match="values could be lost"):
                arguments.converted(Once(values), np.dtype(to).name)
            continue
        for layout in LAYOUTS:
            given = layout(values)
            made = arguments.converted(Once(given), np.dtype(to).name)
            assert made.dtype == to and made.shape == given.shape
            np.testing.assert_array_equal(made, given.astype(to))


@pytest.mark.parametrize("from_", INTEGERS)
@pytest.mark.parametrize("to", INTEGERS)
def test_integers_at_the_ends_of_their_range(from_, to):
    a, b = np.iinfo(from_), np.iinfo(to)
    ends = {a.min, a.max, b.min, b.max, b.min - 1, b.max + 1, 0, -1}
    for value in sorted(end for end in ends if a.min <= end <= a.max):
        given = np.array([1, value], from_)
        if b.min <= value <= b.max:
            assert arguments.converted(given, np.dtype(to).name).tolist() == [1, value]
        else:
            with pytest.raises(ValueError, match="with a value that does not fit"):
                arguments.converted(given, np.dtype(to).name)


def test_a_finite_number_does_not_become_infinite():
    """Rule W8."""
    for to, values in [
        ("float32", np.array([1e300])),
        ("float32", [1.0, -1e39]),
        ("float16", np.array([65520.0])),
        ("float16", np.array([70000])),
        ("float64", np.array([np.finfo(np.longdouble).max])),
        ("complex64", np.array([1e300j])),
        ("complex64", np.array([1e300])),
    ]:
        with np.errstate(all="raise"):
            with pytest.raises(ValueError, match="with a value that does not fit"):
                arguments.converted(values, to)
    with np.errstate(all="raise"):
        tiny = np.array([1, np.finfo(np.longdouble).tiny])
        assert arguments.converted(tiny, "float64").tolist() == [1, float(tiny[1])]
    special = np.array([np.inf, -np.inf, np.nan, 3e38])
    np.testing.assert_array_equal(arguments.converted(special, "float32"), special.astype("f4"))


def test_numbers_are_rounded_as_by_numpy():
    """Once: a large integer is not rounded to a `float64` first."""
    random = np.random.default_rng(6)
    bits = random.integers(0, 2**64, 5000, "u8", endpoint=False)
    for given in [bits, bits.view("i8"), bits.view("f8"), bits.view("f4")]:
        given = given[np.isfinite(given)]
        for to in ["float32", "float16", "float64"]:
            with np.errstate(all="ignore"):
                expected = given.astype(to)
            fit = np.isfinite(expected)
            np.testing.assert_array_equal(arguments.converted(given[fit], to), expected[fit])


def test_all_small_floats_are_converted():
    ml_dtypes = require("ml_dtypes")
    names = ["bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"]
    names += ["float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
    for name in names:
        dtype = np.dtype(getattr(ml_dtypes, name))
        bits = np.arange(256, dtype="u1") if dtype.itemsize == 1 else np.arange(2**16, dtype="u2")
        given = bits.view(dtype)
        np.testing.assert_array_equal(
            arguments.converted(given, "float32"), given.astype("f4")
        )
    given = np.random.default_rng(7).standard_normal(1000)
    for sample in [given, given.astype("f4"), (given * 1e9).astype("i8")]:
        expected = sample.astype(ml_dtypes.bfloat16).astype("f4")
        np.testing.assert_array_equal(arguments.converted_bf16(sample), expected)
    assert arguments.converted_bf16(given.astype(ml_dtypes.bfloat16)).tolist() == expected_of(
        given.astype(ml_dtypes.bfloat16)
    )


def test_a_large_integer_is_rounded_once():
    """A `float64` has no room for the last bit, which decides between two codes."""
    ties = np.array([(0b100000001 << 50) + 1, (0b100000001 << 50) - 1, 0b100000001 << 50])
    assert arguments.converted_bf16(ties).tolist() == [
        float(0b10000001 << 51),
        float(0b1000000 << 52),
        float(0b1000000 << 52),
    ]
    assert arguments.converted_bf16(-ties).tolist()[0] == -float(0b10000001 << 51)


def expected_of(given):
    return given.astype("f4").tolist()


class Subclass(np.ndarray):
    """A subclass of a NumPy array."""


def packed():
    """A field of a packed record, whose strides are not multiples of its size."""
    return np.array([(1, 2.0), (3, 4.0)], [("a", "u1"), ("b", "f4")])["b"]


@pytest.mark.parametrize("of", [lambda x: x, lambda x: x.view(Subclass)], ids=["exact", "subclass"])
@pytest.mark.parametrize(
    "given, expected",
    [
        (np.array([1, 2], ">f4"), [1, 2]),
        (np.array([[1, 2]], ">i8").T, [1, 2]),
        (np.array([1, 2], np.longdouble), [1, 2]),
        (packed(), [2, 4]),
        (np.array(5, ">i2"), [5]),
    ],
    ids=["big-endian", "transposed", "longdouble", "packed", "0-d"],
)
def test_what_numpy_does_not_export_is_copied(of, given, expected):
    assert arguments.convert_floats(of(given))[0] == expected
    assert arguments.convert_any(of(given))[1] == list(given.shape)


@pytest.mark.parametrize("to", ["int64", "uint8", "float16", "float64", "complex64"])
@pytest.mark.parametrize("dtype", "i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split())
def test_another_order_of_bytes_converts_as_the_native_one(dtype, to):
    """So does a field of a packed record: the same values, or the same refusal."""
    native = np.array([1, 2, 3], dtype)
    records = np.zeros(3, [("a", "u1"), ("b", dtype)])
    records["b"] = native

    def outcome(given):
        try:
            return arguments.converted(given, to).tolist()
        except TypeError as error:
            return str(error)

    for given in [native.astype(native.dtype.newbyteorder(">")), records["b"]]:
        assert outcome(given) == outcome(native)


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2", "uint2"])
def test_integers_below_8_bits_of_jax_are_converted(dtype):
    given = require("jax").numpy.asarray([0, 1], dtype)
    for to in ["int64", "uint8", "float32"]:
        made = arguments.converted(given, to)
        assert made.dtype == to and made.tolist() == [0, 1]


TRIANGLES = np.arange(6).reshape(2, 3)


def triangles_of(library):
    return lambda x: require(library).DataFrame({name: column for name, column in zip("abc", x.T)})


@pytest.mark.parametrize("of", [
    np.asfortranarray,
    lambda x: np.flip(x, 1)[:, ::-1],
    lambda x: np.asfortranarray(x, "u4"),
    lambda x: np.asfortranarray(x, ">u4"),
    lambda x: np.asfortranarray(x, ">i8"),
    lambda x: x.astype("u4")[:, ::-1][::-1][:, ::-1][::-1],
    lambda x: np.repeat(x.astype("u4"), 2, axis=1)[:, ::2],
    lambda x: np.arange(6, dtype="u4").reshape(3, 2).T.reshape(2, 3, order="A"),
    lambda x: require("torch").from_numpy(np.asfortranarray(x)),
    lambda x: require("torch").from_numpy(np.asfortranarray(x, "i4")).to(require("torch").uint8),
    triangles_of("pandas"),
    lambda x: triangles_of("pandas")(x.astype("u4")),
    triangles_of("polars"),
    lambda x: triangles_of("polars")(x.astype("u4")),
    lambda x: x.tolist(),
])
def test_elements_that_are_arrays_are_copied_in_any_layout(of):
    given = of(TRIANGLES)
    found, _ = arguments.convert_triangles(given)
    assert found == np.asarray(given).tolist()


def test_a_large_array_of_elements_in_another_layout_is_copied():
    """While other threads run."""
    given = np.asfortranarray(np.arange(1 << 16, dtype="u4").reshape(-1, 2)[:, [0, 1, 1]])
    assert arguments.convert_triangles(given)[0] == given.tolist()


def test_contiguous_elements_are_not_copied():
    given = TRIANGLES.astype("u4")
    assert arguments.convert_triangles(given)[1] == given.ctypes.data
    rows = np.zeros((4, 3), "u4")[::-2]
    assert arguments.convert_triangles(rows)[1] == rows.ctypes.data
    with pytest.raises(ValueError, match=r"ends in \(3,\), got shape \(3, 2\)"):
        arguments.convert_triangles(TRIANGLES.T)


def test_bytes_are_numbers():
    for given in [b"\x01\xff", bytearray(b"\x01\xff"), memoryview(b"\x01\xff")]:
        assert arguments.convert_bytes(given) == [1, 255]
    assert arguments.convert_bytes(b"12") == [49, 50] and arguments.convert_bytes(b"") == []


class IteratedOnce:
    """A sequence that can be iterated once: it stores the iterator."""

    def __init__(self, items):
        self.items, self.iterator = items, iter(items)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]

    def __iter__(self):
        return self.iterator


class Shared:
    """A sequence whose iterators share a position."""

    def __init__(self, items):
        self.items, self.position = items, 0

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]

    def __iter__(self):
        while self.position < len(self.items):
            self.position += 1
            yield self.items[self.position - 1]


class Endless:
    """A data set that does not end the iteration by an `IndexError`."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return float(index)


def test_a_sequence_is_not_iterated_for_a_message():
    with pytest.raises(TypeError, match="not a tensor"):
        arguments.floats(Endless())


def test_a_sequence_without_an_end_has_the_items_of_its_length():
    assert arguments.converted(Endless(), "float64").tolist() == [0, 1]


def test_an_error_of_an_iteration_reaches_the_caller():
    class Raises(IteratedOnce):
        def __iter__(self):
            yield 1.0
            raise OSError("of the disk")

    for x in [Raises([1.0, 2.0]), [Raises([1.0, 2.0])]]:
        with pytest.raises(OSError, match="of the disk"):
            arguments.converted(x, "float64")


class Again:
    """A sequence that iterates by a method of its own."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]

    def __iter__(self):
        return iter(self.items)


class AgainList(list):
    def __iter__(self):
        return list.__iter__(self)


class PassesOn(Again):
    def __getattr__(self, name):
        return getattr(self.__dict__["items"], name)


def test_masks_in_sequences_of_any_class_are_refused():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for x in [
        Again([masked]),
        [Again([masked])],
        [AgainList([masked])],
        [weakref.proxy(masked)],
        [PassesOn(masked)],
    ]:
        with pytest.raises(TypeError, match="without masked elements.*pass (arrays without a mask|`.numpy.ma.filled)"):
            arguments.converted(x, "float64")
    for of in [Again, AgainList, PassesOn]:
        assert arguments.converted([of([1.0, 2.0])], "float64").tolist() == [[1, 2]]
    with pytest.raises(TypeError, match="without masked elements"):
        arguments.floats([AgainList([masked])])


def test_an_item_makes_its_array_once():
    class Frames:
        def __init__(self):
            self.count = 0

        def __array__(self, dtype=None, copy=None):
            self.count += 1
            return np.full(2, self.count, "f8")

    for x in [[Frames()], Again([Frames()])]:
        assert arguments.converted(x, "float64").tolist() == [[1, 1]]


def test_what_is_checked_is_what_is_converted():
    class Replaces:
        """Puts a masked array beside itself when it is read."""

        def __init__(self, items):
            self.items = items

        def __array__(self, dtype=None, copy=None):
            self.items[1] = np.ma.array([5.0, 6.0], mask=[False, True])
            return np.ones(2)

    items = []
    items.extend([Replaces(items), np.zeros(2)])
    with pytest.raises(TypeError, match="without masked elements"):
        arguments.converted(items, "float64")


def test_every_kind_of_mask_is_found():
    class Raises(np.ndarray):
        @property
        def mask(self):
            raise OSError("of the mask")

    class All(np.ndarray):
        mask = True

    class Listed(np.ndarray):
        mask = [True, False]

    class Method(np.ndarray):
        def mask(self):
            return True

    with pytest.raises(OSError, match="of the mask"):
        arguments.converted(np.ones(2).view(Raises), "float64")
    for of in [All, Listed]:
        # Such a class has none of the methods that could be advised.
        with pytest.raises(TypeError, match="without masked elements, got `.*` with some$"):
            arguments.converted(np.ones(2).view(of), "float64")
    assert arguments.converted(np.ones(2).view(Method), "float64").tolist() == [1, 1]


def test_a_sequence_that_iterates_once_is_read_once():
    for of in [
        lambda: IteratedOnce([1.0, 2.0]),
        lambda: [IteratedOnce([1.0, 2.0])],
        lambda: Shared([[1.0, 2.0], [3.0, 4.0]]),
        lambda: [Shared([1.0, 2.0])],
        lambda: np.nditer(np.ones(3)),
    ]:
        assert np.array_equal(arguments.converted(of(), "float64"), np.asarray(of(), "f8"))


@pytest.mark.parametrize("of", [dict, types.MappingProxyType, collections.UserDict, collections.ChainMap])
def test_a_mapping_is_not_its_keys(of):
    """NumPy reads the keys of some mappings."""
    x = of({10: 1.0, 20: 2.0})
    for given in [x, [x, x], (x,)]:
        with pytest.raises(TypeError, match=r"got the mapping `.*`; pass a list of its values"):
            arguments.converted(given, "float64")
    assert arguments.converted([*x.values()], "float64").tolist() == [1, 2]


class Doubled(list):
    def __array__(self, dtype=None, copy=None):
        return np.array([2.0 * value for value in self], dtype)


class Exported(tuple):
    def __dlpack__(self, **keywords):
        return np.array([5.0, 6.0]).__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)


def test_a_list_with_an_array_of_its_own_is_that_array():
    for x, expected in [(Doubled([1, 2]), [2, 4]), (Exported([1, 2]), [5, 6])]:
        assert arguments.converted(x, "float64").tolist() == expected
        assert arguments.converted([x, x], "float64").tolist() == [expected, expected]
    for x in [Doubled([1, 2]), [Doubled([1, 2])]]:
        with pytest.raises(TypeError, match="without a unit or another meaning"):
            arguments.exact_converted(x)


def test_integers_of_a_list_keep_their_values():
    """NumPy makes floats of integers that no integer type has together."""
    for given, dtype in [
        ([2573020360226874006, 13687853399390180967], "uint64"),
        ([[0, 2**63], [2**64 - 1, 1]], "uint64"),
        ([np.uint64(5), 1], "uint64"),
        ([np.uint64(5), -1], "int64"),
        ((np.uint64(2), np.int8(-1)), "int8"),
        ([np.array(5, "u8"), -1], "int64"),
        ([np.uint64(3), np.array(2**60 + 1), np.True_, False], "int64"),
    ]:
        made = arguments.converted(given, dtype)
        assert made.dtype == dtype and made.tolist() == np.array(given, "O").tolist()
    for given, dtype in [([2**63, -1], "int64"), ([2**63, -1], "uint64"), ([2**63, 1], "int64")]:
        with pytest.raises(ValueError, match=f"expected {dtype}, got .* not fit"):
            arguments.converted(given, dtype)
    with pytest.raises(TypeError, match="values could be lost"):
        arguments.converted([2**63, 0.5], "uint64")
    # Rounded once.
    for given in [[np.uint64(5), -(2**60) - 2**36 - 1], [np.uint64(5), np.array(2**60 + 2**36 + 1), -1]]:
        assert arguments.converted(given, "float32")[1] == np.float32(np.int64(given[1]))
    large = 2**63 + 2**39 + 1
    for given in [[large, 1], [large, 2**64 - 1], [large, 1.0], [large, -1]]:
        made = arguments.converted(given, "float32")
        one = isinstance(given[1], int) and given[1] >= 0
        assert made[0] == np.float32(np.uint64(large) if one else float(large))


def test_long_doubles_are_rounded_once():
    if np.finfo(np.longdouble).nmant < 60:
        pytest.skip("here a long double is a double")
    two = np.longdouble(2)
    x = np.array([1 + two**-24 + two**-60, two**-150 * (1 + two**-60), -(two**-1074) * 0.75])
    for dtype in ["float16", "float32", "float64"]:
        with np.errstate(all="ignore"):
            expected = x.astype(dtype)
        assert arguments.converted(x, dtype).tolist() == expected.tolist()
    assert arguments.converted(x, "complex64").tolist() == x.astype("c8").tolist()
    assert arguments.converted(x + 1j, "complex64").tolist() == (x + 1j).astype("c8").tolist()
    with pytest.raises(ValueError, match="float32, got .* does not fit"):
        arguments.converted(np.array([two**200]), "float32")


class Computes:
    """As `dask.delayed(value)()`."""

    def __init__(self, value):
        self.value = value

    def __dask_graph__(self):
        return {}

    def compute(self):
        return self.value


def test_lazy_objects_in_the_results_of_others_end():
    """`compute` has returned, so the recursion limit of Python does not count."""
    itself = Computes(None)
    itself.value = [itself]
    for given in [itself, [itself]]:
        with pytest.raises((TypeError, ValueError)):
            arguments.convert_floats(given)
    nested = itself
    for _ in range(60):
        nested = [nested]
    itself.value = nested
    with pytest.raises((TypeError, ValueError)):
        arguments.convert_floats([itself])
    assert arguments.convert_floats([Computes([Computes(1.5)])])[0] == [1.5]


def test_numbers_of_items_are_those_of_float_and_int():
    """As NumPy makes them, where the array of the item is another number."""

    class Item:
        def __init__(self, array, **methods):
            self.array, self.methods = array, methods

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.array, dtype)

        def __float__(self):
            return self.methods["number"]

        def __int__(self):
            return self.methods["whole"]

    class Whole(Item):
        __float__ = None

        def __index__(self):
            return self.methods["whole"]

    for item, dtype, expected in [
        (Item(2.0, number=2.0), "float64", 2.0),
        (Item(2.0, number=float("nan")), "float64", float("nan")),
        (Item(2, number=2.5), "float64", 2.5),
        (Item(3, number=3000.0, whole=3000), "int64", 3000),
        (Item(2**53 + 1, number=2.0**53), "int64", 2**53 + 1),
        (Item(2, number=3.0, whole=2), "float64", 3.0),
        (Whole(2, whole=2), "int64", 2),
    ]:
        np.testing.assert_array_equal(arguments.converted([item], dtype), [expected])
    with pytest.raises(KeyError):
        arguments.converted([Item(2)], "int64")

    class Unit(Item):
        def __float__(self):
            raise TypeError("has a unit")

    with pytest.raises(TypeError, match="has a unit"):
        arguments.converted([Unit(2, whole=2)], "int64")


@pytest.mark.parametrize("answer", [None, 42, lambda *arguments, **keywords: 0.0])
def test_a_class_that_answers_for_every_name(answer):
    """It is neither lazy nor an array, and a tensor only where its class says so."""

    class Answers:
        def __getattr__(self, name):
            return answer

    class Tensor(Answers):
        def __dlpack__(self, **keywords):
            return np.ones(2, "f4").__dlpack__(**keywords)

        def __dlpack_device__(self):
            return (1, 0)

    for given in [Answers(), [Answers()]]:
        with pytest.raises((TypeError, ValueError, AttributeError)):
            arguments.convert_floats(given)
    assert arguments.floats(Tensor()) == arguments.convert_floats(Tensor())[0] == [1, 1]
    assert elementwise.halved(Tensor()).tolist() == [0.5, 0.5]


def test_a_proxy_of_a_tensor_with_a_gradient_is_read():
    torch = require("torch")
    parameter, plain = torch.nn.Parameter(torch.ones(2)), torch.ones(2)
    for given in [weakref.proxy(parameter), weakref.proxy(plain)]:
        assert arguments.convert_floats(given)[0] == [1, 1]
        assert arguments.at_most(given) == [1, 1]


def test_more_dimensions_than_an_iterator_of_numpy_has():
    for value, message in [(1.5, "values could be lost"), ({}, "the mapping `dict`"), (2**64, "does not fit in 64")]:
        for _ in range(40):
            value = [value]
        with pytest.raises((TypeError, ValueError), match=message):
            arguments.converted(value, "int64")


def test_errors_of_items_are_raised():
    """Not those by which an item refuses to be an array: NumPy raises these again."""

    class Once:
        def __init__(self, error):
            self.errors = [error]

        def __array__(self, dtype=None, copy=None):
            if self.errors:
                raise self.errors.pop()
            return np.ones(1, dtype)

    class Timeout(Exception):
        pass

    for error in [Timeout(), OSError("disk"), KeyboardInterrupt(), MemoryError()]:
        for function in [arguments.convert_floats, elementwise.halved]:
            with pytest.raises(type(error)) as raised:
                function([Once(error)])
            assert raised.value is error


def test_a_refusal_of_a_broadcast_array_does_not_read_it():
    huge = np.broadcast_to(np.float32(1), (2**50,))
    with pytest.raises(TypeError, match=r"values could be lost(\n|$)"):
        arguments.convert_bytes(huge)


def test_proxies_of_sequences_are_not_read():
    """Nor does NumPy read them; they have the methods of sequences, whatever they refer to."""

    class Numbers(set):
        pass

    numbers = Numbers({1, 3})
    for given in [numbers, weakref.proxy(numbers)]:
        with pytest.raises(TypeError, match="pass numbers"):
            arguments.convert_floats(given)


def test_a_computed_tensor_is_converted_as_the_tensor_is():
    torch = require("torch")
    freed = torch.ones(3)
    freed.untyped_storage().resize_(0)
    for given in [Computes(freed), [Computes(freed)], Computes([freed])]:
        with pytest.raises(BufferError, match="data is NULL"):
            arguments.convert_floats(given)
    half = torch.ones(2, dtype=torch.bfloat16)
    for given in [Computes(half), [Computes(half)], Computes([half])]:
        assert arguments.convert_floats(given)[0] == [1, 1]


def test_masks_in_a_computed_list_are_refused():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for given in [Computes([masked]), [Computes([masked])], [Computes(masked)], Computes(masked)]:
        with pytest.raises(TypeError, match="without masked elements"):
            arguments.converted(given, "float64")
    assert arguments.converted(Computes([np.uint64(5), 2**60 + 1]), "int64").tolist() == [5, 2**60 + 1]


def test_tensors_in_a_list_are_converted_as_each_is():
    torch = require("torch")
    gradient = torch.ones(2, requires_grad=True)
    half = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    for x in [[gradient, half], (half, [3.0, 4.0]), list(torch.nn.Linear(2, 1).parameters())[:1]]:
        made = arguments.converted(x, "float64")
        assert made.tolist() == [torch.as_tensor(item).double().tolist() for item in x]
    halves = torch.tensor([1 + 2j], dtype=torch.complex32)
    assert arguments.converted([halves], "complex64").tolist() == [[1 + 2j]]


def test_tensors_of_tensorflow_in_a_list():
    """The export of a text would end the process. TensorFlow cannot be imported beside Paddle."""
    if importlib.util.find_spec("tensorflow") is None:
        require("tensorflow")
    run_in_a_new_process(
        """
import tensorflow
from dlpack_testing import arguments
text = tensorflow.constant(["a"])
for call in [lambda: arguments.converted([text], "float32"), lambda: arguments.floats([text])]:
    try:
        call()
    except TypeError:
        continue
    raise AssertionError("accepted")
half = tensorflow.constant([1.5, 2], "bfloat16")
assert arguments.convert_floats([*half])[0] == [1.5, 2]
assert arguments.convert_floats([half, [1, 2]])[0] == [1.5, 2, 1, 2]
""",
        timeout=100,
    )


def test_the_error_of_a_producer_in_a_list_is_raised():
    class Refuses(Exports):
        def __dlpack__(self, **keywords):
            raise BufferError("call x.sync()")

    for x in [Refuses(), [Refuses()], [[1.0], Refuses()]]:
        with pytest.raises(BufferError, match="sync"):
            arguments.converted(x, "float32")


def test_memory_that_is_not_there_is_an_error():
    """Of a list and for its message."""
    if sys.platform != "linux":
        pytest.skip("the limit is read from /proc")
    run_in_a_new_process(
        """
import itertools, re, resource
import dlpack_testing as testing
from dlpack_testing import arguments
class Unending(list):
    def __iter__(self):
        return itertools.repeat(1.0)
arguments.converted([1.0, [2.0]][:1], "float32")
numbers = [1.0] * 12_000_000
used = int(re.search(r"VmSize:\\s+([0-9]+)", open("/proc/self/status").read())[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (used + 60_000_000,) * 2)
for function, x in [
    (lambda x: arguments.converted(x, "float32"), numbers),
    (lambda x: arguments.converted(x, "float32"), Unending()),
    (arguments.floats, numbers),
]:
    try:
        function(x)
    except (MemoryError, TypeError) as error:
        assert function is arguments.floats or isinstance(error, MemoryError), error
    else:
        raise AssertionError("accepted")
""",
        timeout=100,
    )


def test_lists_that_contain_themselves_are_refused_at_once():
    """As by NumPy, which makes no array of a number beside a list."""
    itself, twice = [], []
    itself.extend([1.0, itself, itself])
    twice.extend([twice, twice])
    nested = [1.0]
    for _ in range(60):
        nested = [nested, nested]
    for x in [itself, twice, [1.0, nested]]:
        with pytest.raises((TypeError, ValueError)):
            arguments.converted(x, "float64")
        with pytest.raises(TypeError, match="not a tensor"):
            arguments.floats(x)


def test_a_capsule_is_converted():
    assert arguments.convert_floats(np.ones(2).__dlpack__())[0] == [1, 1]


def test_other_threads_run_during_a_long_conversion():
    """The calling thread is detached from the interpreter."""
    given, counts, done = np.ones(20_000_000), [], threading.Event()

    def count():
        while not done.is_set():
            counts.append(0)

    thread = threading.Thread(target=count)
    thread.start()
    before = len(counts)
    arguments.convert_any(given)
    arguments.converted(given, "float32")
    during = len(counts) - before
    done.set()
    thread.join()
    assert during > 10


def test_each_argument_is_released_once():
    def body():
        assert arguments.convert_bytes([1, 2]) == [1, 2]
        assert arguments.convert_any(Frozen([1.0])) == ("float32", [1])
        with pytest.raises(TypeError):
            arguments.convert_bytes(Frozen([1.0]))

    check_leaks(body)


def test_numpy_is_needed_only_for_a_conversion():
    run_in_a_new_process(
        """
import sys
sys.modules["numpy"] = None
from dlpack_testing import Frozen, arguments
assert arguments.convert_floats(Frozen([1.0]))[0] == [1.0]
try:
    arguments.convert_floats([1.0])
except TypeError as error:
    assert "expected float32, got `list`" in str(error) and "NumPy" in str(error), error
else:
    raise AssertionError
"""
    )


def test_tensors_of_pytorch():
    require("torch")
    import torch

    tensor = torch.arange(3, dtype=torch.float64)
    values, same = arguments.convert_floats(tensor)
    assert values == [0, 1, 2] and same is tensor
    assert arguments.convert_bytes(torch.tensor([1, 2])) == [1, 2]
    # NumPy does not convert these.
    gradient = torch.arange(3, dtype=torch.float64, requires_grad=True)
    assert arguments.convert_floats(gradient)[0] == [0, 1, 2]
    for dtype in [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]:
        assert arguments.convert_floats(tensor.to(dtype))[0] == [0, 1, 2]
    assert arguments.converted(torch.tensor([1 + 2j]), "complex128").tolist() == [1 + 2j]


def test_tensors_of_mlx_and_pyarrow():
    mlx = require("mlx.core")
    assert arguments.convert_floats(mlx.array([1, 2], dtype=mlx.bfloat16))[0] == [1, 2]
    pyarrow = require("pyarrow")
    assert arguments.convert_floats(pyarrow.array([True, False]))[0] == [1, 0]
    missing = pyarrow.array([1, None])
    with pytest.raises(TypeError, match=r"with missing values; pass `x\.fill_null\(0\)`"):
        arguments.convert_bytes(missing)
    assert arguments.convert_bytes(missing.fill_null(0)) == [1, 0]
    # Of floats pyarrow makes NaN, and exports none.
    missing = pyarrow.array([1, None], pyarrow.float32())
    with pytest.raises(BufferError, match=r"with missing values; pass `x\.fill_null\(0\)`"):
        arguments.floats(missing)
    assert arguments.floats(missing.fill_null(0)) == [1, 0]


def test_freed_memory_is_not_converted():
    """NumPy makes an array of arbitrary values of it."""
    torch = require("torch")
    freed = torch.ones(2, 3)
    freed.untyped_storage().resize_(0)
    for function in [arguments.floats, arguments.convert_floats, arguments.convert_any]:
        with pytest.raises(BufferError, match="without memory.*freed"):
            function(freed)
    for function in [arguments.convert_floats, arguments.convert_any, elementwise.halved]:
        for given in [[freed], weakref.proxy(freed), [weakref.proxy(freed)]]:
            with pytest.raises(BufferError, match="data is NULL"):
                function(given)


def test_tensors_in_a_list_are_converted_as_each_is():
    """Also those that NumPy does not know, and those that it takes for one object."""
    torch, jax = require("torch"), require("jax")
    half, one = jax.numpy.array(1.5, "bfloat16"), torch.ones(2)
    assert arguments.convert_floats([half, 1])[0] == [1.5, 1]
    assert arguments.convert_floats([jax.numpy.ones(2, "bfloat16"), [1, 2]])[0] == [1, 1, 1, 2]
    assert arguments.convert_floats([weakref.proxy(one), one.bfloat16()])[0] == [1, 1, 1, 1]
    assert arguments.convert_floats([OnDevice(3)])[0] == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="expected host memory, got an item on cuda:0; pass a copy"):
        arguments.convert_floats([PassesOn(OnDevice(2))])


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_no_cast_is_advised_that_makes_arbitrary_values(dtype):
    """NumPy casts what is missing, infinite or too large to any integer."""
    given = [np.array([1.0, np.nan]), np.array([-np.inf]), [1, float("nan")]]
    if dtype != "bool":
        given += [np.array([1e300]), np.array([-(2.0**64)], "f4"), np.array([2.0**64], "f4")]
    given += [np.array([1j, np.nan]), [1j, float("inf")]]
    for x in given:
        with pytest.raises(TypeError, match=f"missing or beyond the range of {dtype}: replace them"):
            arguments.converted(x, dtype)
    for x in [np.array([1.5, 255.9]), np.array([-0.5])]:
        with pytest.raises(TypeError, match=f"convert with `.astype..{dtype}..`$"):
            arguments.converted(x, dtype)
    for x in [np.array([256]), np.array([-1, 0], "i1"), np.array([1 << 63], "u8"), np.array([np.nan])]:
        with pytest.raises(TypeError, match="expected uint8, got .* beyond the range of uint8"):
            arguments.bytes(x)
    for x in [np.array([0, 255]), np.array([127], "i1"), np.array([255.5])]:
        with pytest.raises(TypeError, match="expected uint8, got .*; convert with `.astype.'uint8'.`"):
            arguments.bytes(x)
