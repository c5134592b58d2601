"""Functions of elements as functions of arrays, against NumPy."""

import array
import re

import dlpack_testing as testing
import pytest
from conftest import require, run_in_a_new_process

require("numpy")
import numpy as np

functions = testing.elementwise
SINGLE = {"float32", "float16", "bool", "uint8", "int16"}
SHAPES = [
    ((3, 4), (3, 4)),
    ((3, 1), (4,)),
    ((), (5,)),
    ((), ()),
    ((0, 3), (1, 3)),
    ((2, 3, 4), (3, 1)),
    ((400, 170), (400, 1)),
    ((70000,), (1,)),
]


def layouts(array):
    """The same elements in other memory."""
    yield array
    if array.ndim:
        yield np.asfortranarray(array)
        yield np.repeat(array, 2, axis=0)[::2]
        yield array[::-1].copy()[::-1]
    unaligned = np.zeros(array.nbytes + 1, "uint8")[1:].view(array.dtype).reshape(array.shape)
    unaligned[...] = array
    unaligned.flags.writeable = False
    yield unaligned


def numbers(shape, dtype):
    return (np.random.default_rng(7).random(shape) * 9).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_every_layout_shape_and_dtype(shapes, dtype):
    x, y = (numbers(shape, dtype) for shape in shapes)
    kind = "float32" if dtype in SINGLE else "float64"
    expected = np.asarray(np.hypot(x.astype(kind), y.astype(kind)))
    for first in layouts(x):
        for second in layouts(y):
            for threads in [0, 1, 3]:
                result = functions.hypot(first, second, threads=threads)
                assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
                np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_out(threads):
    x, y = numbers((300, 1), "f8"), numbers((200,), "f8")
    expected = np.hypot(x, y)
    wide = np.zeros((600, 400))
    for out in [np.zeros((300, 200)), np.zeros((200, 300)).T, wide[::-2, ::2]]:
        assert functions.hypot(x, y, out=out, threads=threads) is out
        np.testing.assert_allclose(out, expected, rtol=1e-12)
    assert not wide[::-2][:, 1::2].any()
    # The operands are repeated to the shape of `out`.
    out = np.zeros((2, 3), "f4")
    functions.hypot(np.float32(3), 4, out=out)
    assert (out == 5).all()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("x", "y", "out"),
    [
        ("a[:-1]", "a[:-1]", "a[1:]"),
        ("a[1:]", "a[1:]", "a[:-1]"),
        ("a", "a[::-1]", "a"),
        ("a", "1.0", "a[::-1]"),
        ("a", "a", "a"),
        ("a.reshape(300, 300)", "a.reshape(300, 300).T", "a.reshape(300, 300)"),
        ("a[:300]", "a[:300]", "a.reshape(300, 300)"),
        ("a[::2]", "a[1::2]", "a[::2]"),
    ],
)
def test_out_may_share_memory_with_the_operands(x, y, out, threads):
    a = numbers(90000, "f8")
    expected = a.copy()
    eval(out, {"a": expected})[...] = np.hypot(eval(x), eval(y))
    functions.hypot(eval(x), eval(y), out=eval(out), threads=threads)
    np.testing.assert_allclose(a, expected, rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 3])
def test_out_may_be_larger_elements_of_the_same_memory(threads):
    out = np.zeros(50_000)
    exponents = out.view("i4")[:50_000]
    exponents[:] = np.arange(50_000) % 7
    expected = 2.0**exponents
    functions.power(2.0, exponents, out=out, threads=threads)
    np.testing.assert_array_equal(out, expected)


def test_numbers_adapt_to_the_arrays():
    single, integers = np.ones(2, "f4"), np.arange(2)
    assert functions.hypot(single, 2.0).dtype == "float32"
    assert functions.hypot(3, single).dtype == "float32"
    assert functions.hypot(integers, 2.0).dtype == "float64"
    assert functions.hypot(np.ones(2, "i2"), 2).dtype == "float32"
    # A kind above that of the arrays has the precision of Python.
    assert functions.hypot(np.zeros(1, "i2"), 2.1) == 2.1
    assert functions.hypot(single, np.float64(2)).dtype == "float64"
    assert functions.sum(np.uint8([250]), 10).tolist() == [4]
    assert functions.sum(np.uint8([250]), np.int64(10)).tolist() == [260]
    assert functions.sum(np.array([True]), 300).tolist() == [301]
    assert functions.sum(single, 2j).dtype == "complex128"
    assert functions.within(single, True, 1).tolist() == [True, True]
    for value in [functions.sum(1, 2), functions.hypot(3, 4), functions.sum(1, 2.5)]:
        assert isinstance(value, np.generic)
    assert (functions.sum(1, 2), functions.hypot(3, 4), functions.sum(1, 2j)) == (3, 5.0, 1 + 2j)
    assert functions.hypot(np.float64(3), 4).shape == ()


@pytest.mark.parametrize("number", [2**64, -(2**64), 2**64 + 2**12, 10**30])
def test_functions_of_floats_compute_integers_beyond_64_bits(number):
    for dtype in ["f8", "f4", "c16"]:
        x = np.ones(2, dtype)
        result = functions.sum(x, number)
        assert result.dtype == dtype and result.tolist() == (x + number).tolist()
    assert functions.hypot(np.arange(2), number).tolist() == [abs(float(number))] * 2
    assert functions.hypot(number, 1) == abs(float(number))


def test_an_error_of_several_arguments_has_the_number_of_one():
    ones = np.ones(2, "f4")
    for given in [2.5, np.int64(2)]:
        with pytest.raises(TypeError, match="^argument 2: expected int32, got (float64|int64)"):
            testing.elementwise.power(ones, given)
    with pytest.raises(OverflowError, match="^argument 2: expected int32, got a number that does"):
        testing.elementwise.power(ones, 3_000_000_000)


@pytest.mark.parametrize(
    "x",
    [[1.0, 3.0], (1.0,), range(3), array.array("d", [1.0]), memoryview(array.array("d", [1.0])), 2.0],
    ids=lambda x: type(x).__name__,
)
def test_the_conversion_of_an_operand_is_advised_for_its_class(x):
    with pytest.raises(TypeError, match="expected float32, got .*; convert with") as raised:
        functions.halved(x)
    [advice] = re.findall("`(.+)`", str(raised.value))
    assert advice == "numpy.asarray(x).astype('float32')"
    made = functions.halved(eval(advice, {"numpy": np, "x": x}))
    assert made.tolist() == (np.asarray(x) / 2).tolist()
    with pytest.raises(TypeError, match=r"convert with `\.astype\('float32'\)`"):
        functions.halved(np.asarray(x))


def test_halves_are_computed_as_halves():
    """As are the numbers of few digits, and no others."""
    for dtype in ["float16", "uint8", "int8", "bool"]:
        made = functions.doubled(np.ones(2, dtype))
        assert (made.dtype, made.tolist()) == ("float16", [2, 2]), dtype
    for dtype in ["int16", "float32", "float64"]:
        assert functions.doubled(np.ones(2, dtype)).dtype == "float64", dtype


def test_types_can_differ():
    assert functions.power(np.full(3, 2.0), np.array([1, 2, 3], "i4")).tolist() == [2, 4, 8]
    assert functions.power(np.full(3, 2.0), 3).tolist() == [8, 8, 8]
    for x in [2.0, 2, np.float64(2), [2]]:
        assert functions.power(x, 3) == 8
    assert functions.power(np.array([True]), 3).tolist() == [1]
    with pytest.raises(OverflowError, match="expected int32"):
        functions.power(2.0, 2**40)
    with pytest.raises(TypeError, match="expected int32, got float64"):
        functions.power(2.0, 3.0)
    assert functions.within([0.5, 1.5, 2.5], 1, [2, 2, 3]).tolist() == [False, True, True]
    assert functions.halved(np.float16([1, 2])).dtype == "float32"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: functions.hypot(x, 1j), TypeError, "expected float32 or float64, got complex128"),
        (lambda x: functions.hypot(x, np.ones(5, "c8")), TypeError, "got complex64; convert with"),
        (lambda x: functions.power(x, np.ones(5)), TypeError, "expected int32, got float64"),
        (lambda x: functions.hypot(x, np.ones(3)), ValueError, r"together, got \(5,\) and \(3,\)"),
        (lambda x: functions.hypot(x, 1, out=np.ones(5)), TypeError, "'out': expected float32, got"),
        (lambda x: functions.hypot(x, 1, out=np.ones(3, "f4")), ValueError, r"`out` of shape \(5,\)"),
        (lambda x: functions.hypot(x, 1, out=np.ones((5, 1), "f4")), ValueError, r"got \(5, 1\)"),
        (lambda x: functions.hypot(x, 1, out=np.broadcast_to(x[:1], 5)), ValueError, "read-only"),
        (lambda x: functions.hypot(x, 1e300), OverflowError, "expected float32, got a number"),
        (lambda x: functions.sum(np.uint8([1]), -1), OverflowError, "expected uint8, got a number"),
        (lambda x: functions.sum(np.uint8([1]), -1), OverflowError, "fit, -1; pass numbers from 0 to 255"),
        (lambda x: functions.sum(np.arange(2), 2**64), OverflowError, f"int64, .*, {2**64}; pass numbers"),
        (lambda x: functions.sum(2**64, 2**64), OverflowError, "expected int64, got a number"),
        (lambda x: functions.power(np.ones(1), 2**64), OverflowError, f"expected int32, .*, {2**64}; pass"),
        (lambda x: functions.halved(2**64), TypeError, r"expected float32, got float64(\n|$)"),
        (lambda x: functions.hypot(x, 2**1024), OverflowError, "got an `int` of 1025 bits"),
        (lambda x: functions.hypot(x, None), TypeError, "expected an array, got `NoneType`"),
        (lambda x: functions.hypot(x, "a"), TypeError, "pass numbers"),
        (lambda x: functions.hypot(x, np.array([x, None], object)), TypeError, "object"),
        (lambda x: functions.hypot(x, np.ma.array(x, mask=x > 1)), TypeError, "masked"),
        (lambda x: functions.halved(np.ones(2)), TypeError, "expected float32, got float64; convert"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(np.arange(5, dtype="f4"))


@pytest.mark.parametrize("threads", [1, 4])
def test_a_panic_is_an_exception(threads):
    x = np.ones(200_000)
    assert functions.checked(x, threads=threads).sum() == 200_000
    x[150_000] = -1
    with pytest.raises(BaseException, match="a negative element"):
        functions.checked(x, threads=threads)


def test_results_are_in_the_library_of_the_first_array():
    torch = require("torch")
    result = functions.hypot(2, torch.ones(3, requires_grad=True))
    assert isinstance(result, torch.Tensor) and result.dtype == torch.float32
    assert isinstance(functions.hypot(torch.ones(2), np.ones(2)), torch.Tensor)
    assert isinstance(functions.hypot(np.ones(2), torch.ones(2)), np.ndarray)
    # These are no arrays of a library.
    for given in [[3.0, 4.0], (3.0, 4.0), range(2), np.float32(3)]:
        assert isinstance(functions.hypot(given, torch.ones(2)), torch.Tensor)
    assert functions.hypot(torch.ones(2, dtype=torch.bfloat16), 1).dtype == torch.float32
    transposed = torch.arange(6.0).reshape(2, 3).T
    assert functions.sum(transposed, 1).tolist() == (transposed + 1).tolist()
    out = torch.zeros(3, 2)
    assert functions.sum(transposed, 1, out=out) is out
    assert out.tolist() == (transposed + 1).tolist()
    jax = require("jax")
    assert isinstance(functions.hypot(jax.numpy.ones(3), 2), jax.Array)


def test_columns_and_series():
    pandas = require("pandas")
    frame = pandas.DataFrame({"x": [3, 6], "y": [4.0, 8.0]})
    assert functions.hypot(frame["x"], frame["y"]).tolist() == [5, 10]
    # pandas makes floats of integers of which some are missing.
    missing = pandas.Series([1, None], dtype="Int64")
    np.testing.assert_allclose(functions.hypot(missing, 1), [2**0.5, np.nan])


def test_other_threads_run_meanwhile():
    run_in_a_new_process(
        """
import threading, numpy
import dlpack_testing as testing
x = numpy.ones(3_000_000)
results = []
threads = [
    threading.Thread(target=lambda: results.append(testing.elementwise.hypot(x, 1, threads=3)))
    for _ in range(4)
]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(results) == 4 and all((r == results[0]).all() for r in results)
"""
    )


def test_without_a_second_thread_the_first_one_computes_all():
    run_in_a_new_process(
        """
import os, resource
import numpy as np
from dlpack_testing import elementwise

if os.getuid() == 0:
    # The limit does not apply to this user.
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
out = np.zeros(1_000_000)
elementwise.sum(np.ones(1_000_000), 1, out=out, threads=4)
assert (out == 2).all()
""",
        timeout=60,
    )
