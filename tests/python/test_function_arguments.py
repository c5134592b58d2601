"""Functions with typed array arguments: values, exceptions, and who releases what."""

import _thread
import array
import collections
import ctypes
import gc
import operator
import re
import signal
import sys
import threading
from functools import partial

import dlpack_testing as testing
import pytest
from conftest import check_leaks, read_only_class, require, run_in_a_new_process
from dlpack_testing import Frozen, Single, Writable, arguments

require("numpy")
import numpy as np


class Subclass(np.ndarray):
    """A subclass of a NumPy array."""


def text(raised):
    """The message of an exception and its notes, in which PyO3 names the argument."""
    return "\n".join([str(raised.value), *getattr(raised.value, "__notes__", [])])


def floats(*shape):
    """Consecutive `float32`s."""
    return np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)


LAYOUTS = {
    "contiguous": lambda: floats(4, 6),
    "column-major": lambda: np.asfortranarray(floats(4, 6)),
    "transposed": lambda: floats(6, 4).T,
    "every second column": lambda: floats(4, 12)[:, ::2],
    "reversed": lambda: floats(4, 6)[::-1, ::-1],
    "broadcast": lambda: np.broadcast_to(floats(6), (4, 6)),
    "unaligned": lambda: np.frombuffer(b"\0" + floats(24).tobytes(), "u1")[1:]
    .view("f4")
    .reshape(4, 6),
    "empty": lambda: floats(0, 6),
    "subclass": lambda: floats(4, 6).view(Subclass),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_read_without_a_copy(layout):
    array = LAYOUTS[layout]()
    address, shape = arguments.matrix(array)
    assert shape == list(array.shape)
    if array.size:
        assert address == array.__array_interface__["data"][0]
    assert arguments.floats(array) == np.ravel(np.asarray(array)).tolist()
    assert arguments.detached_sum(array) == np.asarray(array).sum()


def test_an_array_without_dimensions_has_one_element():
    assert arguments.floats(np.array(2.5, "f4")) == [2.5]
    assert arguments.facts(np.array(2.5)) == ("float64", "cpu", [], [])


def test_every_dtype_is_accepted_where_the_type_names_none():
    for dtype in ["f4", "f8"]:
        assert arguments.any_sum(floats(2, 3).astype(dtype)) == 15
    for dtype in ["?", "u1", "i8", "f2", "c16"]:
        name = np.dtype(dtype).name
        assert arguments.facts(np.zeros((2, 3), dtype)) == (name, "cpu", [2, 3], [3, 1])


def test_bytes_that_are_not_a_bool_raise():
    assert arguments.count_true(np.array([True, False, True])) == 2
    with pytest.raises(ValueError, match="bool"):
        arguments.count_true(np.array([1, 2], "u1").view("?"))


def test_an_element_may_have_dimensions_of_its_own():
    image = np.arange(24, dtype="u1").reshape(2, 4, 3)
    assert arguments.pixels(image) == ([2, 4], bytes([0, 1, 2]))
    with pytest.raises(ValueError, match=r"expected 3 dimensions, got 2 of shape \(4, 3\)"):
        arguments.pixels(image[0])
    with pytest.raises(ValueError, match=r"ends in \(3,\).*got shape \(2, 4\)"):
        arguments.pixels(image[..., 0])


def test_an_array_is_an_element_with_a_dimension():
    x = np.arange(6, dtype="f4").reshape(2, 3)
    y = np.zeros_like(x)
    count, total, result = arguments.points(x, y)
    assert (count, total) == (2, [3, 5, 7])
    assert y.tolist() == result.tolist() == (x + 1).tolist()
    with pytest.raises(ValueError, match=r"ends in \(3,\)"):
        arguments.points(np.zeros((2, 4), "f4"), y)


@pytest.mark.parametrize(
    "wrong, exception, message",
    [
        (lambda: floats(2, 3).astype("f8"), TypeError, "expected float32, got float64"),
        (lambda: floats(2, 3).astype("f8"), TypeError, r"astype\('float32'\)"),
        (lambda: floats(3), ValueError, r"expected 2 dimensions, got 1 of shape \(3,\)"),
        (lambda: [[1.0]], TypeError, r"`list`.*numpy\.asarray\(x, 'float32'\)"),
        (lambda: None, TypeError, "`NoneType`"),
        (lambda: 1.0, TypeError, "`float`"),
        (lambda: floats(2, 3).astype(">f4"), BufferError, "native byte order"),
    ],
)
def test_a_wrong_argument_raises_what_users_expect(wrong, exception, message):
    with pytest.raises(exception, match=message) as raised:
        arguments.matrix(wrong())
    assert type(raised.value) is exception
    # PyO3 adds the name as a note (`add_note` is new in Python 3.11), or, before 0.29, to
    # the message of a `TypeError`.
    if sys.version_info >= (3, 11) and exception is TypeError:
        assert "'x'" in text(raised)


def test_a_function_names_the_argument_of_another_dtype():
    """PyO3 does not add the name to errors of the body."""
    assert arguments.named_sum(floats(2, 3)) == arguments.named_sum(floats(2, 3).astype("f8"))
    with pytest.raises(TypeError) as raised:
        arguments.named_sum(np.zeros(3, "i8"))
    expected = "argument 'x': expected float32 or float64, got int64; convert with "
    assert str(raised.value).startswith(expected)
    # The type that keeps most values.
    assert "astype('float64')" in str(raised.value)
    with pytest.raises(TypeError, match="x.real.astype\\('float32'\\)"):
        arguments.named_sum(np.zeros(3, "c8"))

    array = floats(3)
    arguments.negate(array)
    assert (array == -floats(3)).all()
    expected = "argument 'x': expected float32, got float64; the function changes the tensor in place"
    with pytest.raises(TypeError) as raised:
        arguments.negate(np.zeros(3))
    assert str(raised.value).startswith(expected)


def test_an_attribute_error_of_the_producer_is_passed_on():
    class Broken:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            return self.missing

    with pytest.raises(AttributeError, match="missing"):
        arguments.floats(Broken())


class SubclassOfMasked(np.ma.MaskedArray):
    """A subclass of a masked array."""


def test_masked_elements_are_not_read():
    """Rule W7."""
    masked = np.ma.array([1, 2, 3], mask=[0, 1, 0], dtype="f4")
    for given in [masked, masked.view(SubclassOfMasked), np.ma.masked, masked[1:]]:
        for function in [arguments.floats, arguments.convert_floats, arguments.facts]:
            with pytest.raises(TypeError, match="without masked elements, got.*Masked") as raised:
                function(given)
        with pytest.raises(TypeError, match="without masked elements"):
            testing.import_tensor(given, copy=False)
        with pytest.raises(TypeError, match="without masked elements"):
            testing.Floats.from_dlpack(given)
    for made in (re.findall("`(x[^`]*)`", str(raised.value))):
        assert arguments.floats(eval(made, {"x": masked})) in ([1, 0, 3], [1, 3])
    big_endian = np.ma.array([1, 2], mask=[0, 1], dtype=">f4")
    with pytest.raises(TypeError, match="without masked elements"):
        arguments.convert_floats(big_endian)


def test_masked_elements_of_an_exact_argument():
    """Rule W7: `numpy.asarray`, the advice for other subclasses, would drop the mask."""
    masked = np.ma.array([1, 2, 3], mask=[0, 1, 0], dtype="f4")
    for function in [arguments.exact, arguments.exact_converted]:
        for given in [masked, masked.view(SubclassOfMasked)]:
            with pytest.raises(TypeError, match="without masked elements") as raised:
                function(given)
    for made in re.findall("`(x[^`]*)`", str(raised.value)):
        assert np.asarray(eval(made, {"x": masked})).tolist() in ([1, 0, 3], [1, 3])


def test_the_mask_of_a_record():
    record = np.ma.array([(1.0, 2.0)], mask=[(0, 1)], dtype=[("a", "f4"), ("b", "f4")])
    for given in [record[0], record.reshape(())]:
        with pytest.raises(TypeError, match="without masked elements"):
            arguments.floats(given)


def test_masked_elements_of_an_array_that_numpy_makes_are_not_read():
    class Made:
        def __array__(self, dtype=None, copy=None):
            return np.ma.array([1, 2], mask=[0, 1], dtype="f4")

    with pytest.raises(TypeError, match="without masked elements, got.*MaskedArray"):
        arguments.convert_floats(Made())


def test_a_masked_array_without_masked_elements_is_read():
    for mask in [np.ma.nomask, [False, False]]:
        masked = np.ma.array([1, 2], mask=mask, dtype="f4")
        assert arguments.floats(masked) == [1, 2]
        assert arguments.convert_floats(masked)[0] == [1, 2]
        assert arguments.convert_floats(masked.astype("f8"))[0] == [1, 2]


def test_a_masked_array_is_not_changed():
    for mask in [np.ma.nomask, [0, 1]]:
        masked = np.ma.array([1, 2], mask=mask, dtype="f4")
        with pytest.raises(TypeError, match="without a mask, got.*`x.data`"):
            arguments.scale(masked, 2)
        assert masked.data.tolist() == [1, 2]
        arguments.scale(masked.data, 2)
        assert masked.data.tolist() == [2, 4]


def test_a_masked_array_is_rejected_by_the_first_call_of_a_process():
    run_in_a_new_process(
        """
import numpy
from dlpack_testing import arguments, import_tensor

class Own(numpy.ma.MaskedArray):
    pass

masked = numpy.ma.array([1.0], mask=[True]).view(Own)
for call in [lambda: import_tensor(masked, copy=False), lambda: arguments.writable(masked)]:
    try:
        call()
    except TypeError as error:
        assert "mask" in str(error), error
    else:
        raise AssertionError
"""
    )


class WithMethod(np.ndarray):
    """An array whose method has the name of a mask."""

    def mask(self, which):
        return self[which]


def test_an_attribute_with_the_name_of_a_mask_is_not_one():
    given = floats(2).view(WithMethod)
    assert arguments.floats(given) == arguments.convert_floats(given)[0] == [0, 1]


def test_an_exact_argument_rejects_subclasses():
    for given in [floats(2).view(Subclass), np.ma.array(floats(2))]:
        for function in [arguments.exact, arguments.exact_converted]:
            with pytest.raises(TypeError, match=r"without a unit.*`numpy\.asarray\(x\)`"):
                function(given)
        assert len(arguments.exact(np.asarray(given))) == 2
    assert arguments.exact(floats(2)) == arguments.exact_converted([0, 1]) == [0, 1]
    for items in [list(floats(2)), [[np.int8(0)], (np.float32(1),)], np.float64(1)]:
        assert np.array_equal(arguments.exact_converted(np.ravel(items)), np.ravel(items))
        assert arguments.exact_converted([items]) is not None
    for items in [[floats(2).view(Subclass)], [[floats(2)], (floats(2).view(Subclass),)]]:
        with pytest.raises(TypeError, match="without a unit.*Subclass"):
            arguments.exact_converted(items)
    assert arguments.exact(Frozen([1.0])) == [1]
    with pytest.raises(TypeError, match="is not a tensor"):
        arguments.exact([1.0])
    # Sequences of other classes might be read only once, or never end.
    for items in [UnusualSize(1, 0), [UnusualSize(1, 0)], collections.deque([1.0])]:
        for function in [arguments.exact, arguments.exact_converted]:
            with pytest.raises(TypeError, match="without a unit|is not a tensor"):
                function(items)


def test_an_empty_array_has_elements_with_dimensions():
    """Its strides have no meaning."""
    for array in [np.zeros((2, 0, 3), "u1"), np.zeros((0, 4, 3), "u1")[:, ::-1, ::-1]]:
        with pytest.raises(IndexError):
            arguments.pixels(array)


def test_optional_and_repeated_arguments():
    array = floats(2, 3)
    assert arguments.optional() is None
    assert arguments.optional(None) is None
    assert arguments.optional(array) == 6
    assert arguments.listed([array, array[0]]) == [6, 3]
    assert arguments.listed(()) == []
    assert arguments.variadic() == []
    assert arguments.variadic(array, array[0], array[0, 0:1]) == [6, 3, 1]
    with pytest.raises(TypeError, match="`int`"):
        arguments.optional(1)
    with pytest.raises(TypeError, match="float64"):
        arguments.variadic(array, array.astype("f8"))


class UnusualSize:
    """A sequence that states any number of bytes."""

    def __init__(self, len, nbytes):
        self.len, self.nbytes = len, nbytes

    def __len__(self):
        return self.len

    def __getitem__(self, index):
        return [1.0][index]


class OfShape:
    """As a data frame, or an image, whose size is that of the image."""

    def __init__(self, shape):
        self.shape = self.size = shape

    def __array__(self, dtype=None, copy=None):
        return np.zeros(self.shape, dtype)


class Small(int):
    """A number that says that it is smaller than others."""

    def __gt__(self, other):
        return False


def test_a_bound_counts_the_elements_of_a_broadcast():
    """Also before a conversion, which would allocate memory for all of them."""
    assert arguments.at_most(np.ones(256, "f4")) == [1.0] * 256
    assert arguments.at_most(np.ones(128)) == [1.0] * 128
    assert arguments.at_most([[0.0] * 64, [0] * 64]) == [0.0] * 128
    assert arguments.at_most([1, 2]) == arguments.at_most(np.ones(2, ">f4") * [1, 2]) == [1.0, 2.0]
    # Items that are read once.
    assert arguments.at_most(np.nditer(np.arange(3.0))) == [0, 1, 2]
    one = np.ones((), ">f4")

    class OfList(list):
        pass

    class OfTuple(tuple):
        pass

    for x in [
        OfTuple([np.broadcast_to(one, 257)]),
        OfList([np.broadcast_to(one, 257)]),
        (OfList([np.broadcast_to(one, 257)]),),
        np.broadcast_to(one, 257),
        np.broadcast_to(one.astype("g"), 65),
        range(1025),
        UnusualSize(1025, 1),
        UnusualSize(1, 1 << 64),
        UnusualSize(1025, "unknown"),
        UnusualSize(1, np.int64(2000)),
        UnusualSize(1, Small(1 << 64)),
        UnusualSize(1, -1),
        [0.0] * 129,
        [[0] * 64, [0] * 65],
        ((1j,) * 65, 0),
        [True] * 1025,
        [[0.0] * 1000] * 1000,
        [range(10**9)],
        [[], range(10**9)],
        [np.ones((1, 129)), np.ones((1, 1))],
        [[]] * 1025,
        [Exports(np.broadcast_to(np.float32(1), 257))],
        ([Exports(np.ones(200, "f4"))], [Exports(np.ones(200, "f4"))]),
        array.array("d", range(129)),
        ((ctypes.c_double * 13) * 10)(),
        OfShape((33, 32)),
        OfShape((1 << 64, 2)),
        OfShape((1025, None)),
        [OfShape((33, 32))],
    ]:
        with pytest.raises(ValueError, match="1024 bytes"):
            arguments.at_most(x)
    for x in [np.ones(257, "f4"), np.ones(129), np.broadcast_to(np.uint8(0), 1 << 60)]:
        with pytest.raises(ValueError, match="at most 1024 bytes"):
            arguments.at_most(x)
    with pytest.raises(TypeError, match="got a capsule"):
        arguments.at_most(np.ones(1, "f4").__dlpack__())
    with pytest.raises(TypeError, match="numbers"):
        arguments.at_most(None)
    # NumPy makes texts of the size of the largest one.
    with pytest.raises(TypeError, match="expected numbers, got `str` in `list`"):
        arguments.at_most(["a" * 1000] + [""] * 10)


def test_a_list_does_not_believe_its_subclass():
    """Rule L30."""

    class Long(list):
        def __len__(self):
            return 1 << 40

        def __iter__(self):
            raise LookupError

    class LongTuple(tuple):
        def __len__(self):
            return 1 << 62

    class Endless(collections.abc.Sequence):
        def __len__(self):
            return 1 << 62

        def __getitem__(self, index):
            return floats(2, 3)[index]

    array = floats(2, 3)
    for given in [Long(array), LongTuple(array), Endless(), collections.deque(array)]:
        assert arguments.listed(given) == [3, 3]


def test_a_list_names_the_item_that_is_wrong():
    array = floats(2)
    with pytest.raises(TypeError, match="\\bitem 1: expected float32, got float64; convert with"):
        arguments.listed([array, array.astype("f8")])
    with pytest.raises(TypeError, match="\\bitem 2: .*`NoneType`.*is not a tensor"):
        arguments.variadic(array, array, None)

    class Raises:
        def __dlpack__(self, **keywords):
            raise LookupError("of the producer")

    with pytest.raises(LookupError, match="^'of the producer'|^of the producer") as raised:
        arguments.listed([Raises()])
    if sys.version_info >= (3, 11):
        assert "of item 0" in text(raised)


def test_one_array_is_not_a_list():
    for array in [floats(2, 3), Frozen([1.0]), bytearray(4), memoryview(b""), np.float32(1)]:
        with pytest.raises(TypeError, match="a list or tuple of arrays, got one array.*`\\[x\\]`"):
            arguments.listed(array)
    for given in [None, 1, "text", {1}, {"a": 1}, iter([])]:
        with pytest.raises(TypeError, match="a list or tuple of arrays, got an object of type"):
            arguments.listed(given)


def test_the_object_is_returned_as_it_was_passed():
    for array in [floats(2), floats(2).view(Subclass), Writable([1.0])]:
        assert arguments.same(array) is array
        assert arguments.writable(array) is array


def test_memory_that_must_not_be_written_is_rejected():
    array = floats(4)
    array.flags.writeable = False
    with pytest.raises(ValueError, match=r"writable.*x\.copy\(\)"):
        arguments.writable(array)
    with pytest.raises(ValueError, match="read-only"):
        arguments.writable(Frozen([1.0]))
    overlapping = np.lib.stride_tricks.as_strided(floats(4), (3, 2), (4, 4))
    with pytest.raises(ValueError, match="share memory"):
        arguments.writable(overlapping)
    with pytest.raises(ValueError, match="legacy"):
        arguments.writable(floats(4).__dlpack__())
    assert arguments.floats(floats(4).__dlpack__()) == [0, 1, 2, 3]


@pytest.mark.parametrize("layout", sorted(set(LAYOUTS) - {"broadcast", "unaligned"}))
def test_every_layout_is_changed_in_place(layout):
    array = LAYOUTS[layout]()
    expected = np.array(array) * 3
    assert arguments.scale_matrix(array, 3) == list(array.shape)
    np.testing.assert_array_equal(array, expected)
    arguments.scale(array, 2)
    np.testing.assert_array_equal(array, expected * 2)


def test_other_arrays_are_changed_in_place():
    unaligned = bytearray(b"\0" + floats(3).tobytes())
    array = np.frombuffer(memoryview(unaligned)[1:], "f4")
    arguments.scale(array, 2)
    assert array.tolist() == [0, 2, 4]
    alone = np.array(2, "f4")
    arguments.scale(alone, 2)
    assert alone == 4
    shared = Writable([1.0, 2.0])
    arguments.scale(shared, 2)
    assert arguments.floats(shared) == [2, 4]
    doubles = np.ones((2, 3))[:, ::2]
    arguments.scale_any(doubles, 2)
    assert doubles.tolist() == [[2, 2], [2, 2]]
    with pytest.raises(TypeError, match="float32"):
        arguments.scale_any(floats(2), 2)


def test_an_out_argument_is_filled_and_returned():
    out = np.zeros((4, 3), "f4").T
    assert arguments.add_into(floats(3, 4), floats(3, 4), out) is out
    np.testing.assert_array_equal(out, floats(3, 4) * 2)
    with pytest.raises(ValueError, match="12"):
        arguments.add_into(floats(3), floats(3), out)
    with pytest.raises(ValueError, match="writable"):
        arguments.add_into(out, out, Frozen([1.0] * 12))


def test_a_struct_that_derives_import_is_an_argument():
    points = np.arange(12.0).reshape(4, 3)
    assert arguments.centroid(points) == [4.5, 5.5, 6.5]
    assert arguments.centroid(np.asfortranarray(points)) == [4.5, 5.5, 6.5]
    assert arguments.centroid(points[::-1, ::-1]) == [6.5, 5.5, 4.5]
    assert arguments.centroid(np.repeat(points, 2, 1)[:, ::2]) == [4.5, 5.5, 6.5]
    for wrong, exception, message in [
        (points.astype("f4"), TypeError, "float64"),
        (points[0], ValueError, "dimension"),
        (points[:, :2], ValueError, "3"),
        ([[1.0]], TypeError, "`list`"),
    ]:
        with pytest.raises(exception, match=message) as raised:
            arguments.centroid(wrong)
        assert type(raised.value) is exception


@pytest.mark.parametrize("cls", [Frozen, Writable, Single])
def test_each_argument_is_released_once(cls):
    def body():
        array = cls([1.0, 2.0])
        assert arguments.floats(array) == [1, 2]
        arguments.variadic(array, array)
        arguments.keep(array).release()
        for wrong in [1, floats(2).astype("f8")]:
            for function in [arguments.variadic, arguments.pair]:
                with pytest.raises(TypeError):
                    function(array, wrong)
        with pytest.raises(ValueError):
            arguments.matrix(array)
        with pytest.raises(TypeError):
            arguments.centroid(array)

    check_leaks(body)


def test_no_reference_to_the_object_is_left():
    array = floats(2, 3)
    before = sys.getrefcount(array)
    for _ in range(10):
        arguments.floats(array)
        arguments.same(array)
        for function in [arguments.pixels, arguments.centroid]:
            with pytest.raises(TypeError):
                function(array)
    gc.collect()
    assert sys.getrefcount(array) == before


def test_a_kept_argument_outlives_its_object():
    array = floats(2, 3)
    held = arguments.keep(array)
    del array
    gc.collect()
    assert held.facts()[0] == [2, 3]
    held.release()


def test_threads_read_one_array_at_once():
    array = np.ones(1 << 16, "f4")
    sums = []
    read = lambda: sums.append(arguments.detached_sum(array))
    threads = [threading.Thread(target=read) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sums == [1 << 16] * 4


@pytest.mark.parametrize("requires", [True, False, None, property(lambda self: True)])
def test_a_tensor_with_a_gradient_is_read_but_not_changed(requires):
    """Autograd would not see the change. The tensor is exported by an exchange table, as
    PyTorch's is. Rule W5."""
    testing.script()
    namespace = {"__dlpack_c_exchange_api__": testing.scripted_table()}
    if requires is not None:
        namespace["requires_grad"] = requires
    tensor = type("Tensor", (), namespace)()
    for _ in range(2):
        assert arguments.floats(tensor) == [1, 2, 3]
        if requires in (False, None):
            assert arguments.writable(tensor) is tensor
        else:
            with pytest.raises(ValueError, match=r"autograd.*`x\.detach\(\)`"):
                arguments.writable(tensor)


@pytest.mark.parametrize("wrong", [[1.0], 1.0, (1.0,), range(3), bytes(4), bytearray(4)])
def test_no_copy_is_suggested_for_an_array_that_is_changed(wrong):
    """The function would change the copy."""
    with pytest.raises(TypeError, match="is not a tensor.*in place") as raised:
        arguments.writable(wrong)
    assert "numpy." not in text(raised)
    with pytest.raises(TypeError, match="float64.*keep the converted copy"):
        arguments.writable(np.zeros(3))


class Exports:
    """A class of a user, with the methods of the DLPack protocol only."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Legacy(Exports):
    """A class of a user that exports the struct before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return floats(2, 3).__dlpack__()


def read_only(array):
    array.flags.writeable = False
    return array


def advised(function, wrong):
    """The expression that the message advises, evaluated."""
    with pytest.raises((TypeError, ValueError)) as raised:
        function(wrong)
    advice = re.findall(r"`([^`]*)`", str(raised.value))[-1]
    advice = "x" + advice if advice.startswith(".") else advice
    names = {name: sys.modules[name] for name in ("numpy", "torch") if name in sys.modules}
    return eval(advice, {"x": wrong, **names}), advice


def of_pytorch(array):
    return require("torch").from_dlpack(array)


def of_jax(array):
    return require("jax").numpy.asarray(array)


DTYPE, SHARED, READ_ONLY = "another dtype", "shared elements", "read-only"
WRONG = {
    DTYPE: lambda: np.zeros((2, 3), "f8"),
    SHARED: lambda: np.lib.stride_tricks.as_strided(floats(3), (2, 3), (0, 4)),
    READ_ONLY: lambda: read_only(floats(2, 3)),
}


@pytest.mark.parametrize(
    "make, wrong, advice",
    [
        (lambda x: x, DTYPE, "x.astype('float32')"),
        (lambda x: x, SHARED, "x.copy()"),
        (lambda x: x, READ_ONLY, "x.copy()"),
        (lambda x: x.view(Subclass), DTYPE, "x.astype('float32')"),
        (lambda x: x.view(Subclass), READ_ONLY, "x.copy()"),
        (Exports, DTYPE, "numpy.from_dlpack(x).astype('float32')"),
        (Exports, SHARED, "numpy.from_dlpack(x).copy()"),
        (Exports, READ_ONLY, "numpy.from_dlpack(x).copy()"),
        (of_pytorch, DTYPE, "x.to(torch.float32)"),
        (of_pytorch, SHARED, "x.clone()"),
        (of_jax, DTYPE, "numpy.asarray(x).astype('float32')"),
        (of_jax, READ_ONLY, "numpy.array(x)"),
        (Legacy, READ_ONLY, "numpy.from_dlpack(x).copy()"),
    ],
)
def test_advice_is_for_the_class_of_the_argument(make, wrong, advice):
    """Each advised expression makes an argument that the function accepts."""
    wrong = make(WRONG[wrong]())
    changed, found = advised(arguments.writable, wrong)
    assert found == advice
    assert arguments.writable(changed) is changed


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: of_jax(floats(3)),
            "expected a writable tensor, got an array of JAX, which is immutable; "
            "pass and keep a copy, `numpy.array(x)`",
        ),
        (
            lambda: floats(3).__dlpack__(),
            "expected a writable tensor, got a legacy DLPack capsule, which has no READ_ONLY "
            "flag; pass the object that it was made of, or call "
            "`__dlpack__(max_version=(1, 0))`",
        ),
        (
            lambda: Legacy(None),
            "expected a writable tensor, got a legacy DLPack capsule, which has no READ_ONLY "
            "flag; pass and keep a copy, `numpy.from_dlpack(x).copy()`",
        ),
        (
            lambda: read_only(floats(3)).__dlpack__(max_version=(1, 0)),
            "expected a writable tensor, got a read-only one; pass and keep a copy",
        ),
    ],
    ids=["jax", "legacy capsule", "legacy class", "capsule"],
)
def test_the_reason_why_memory_may_not_be_written(make, message):
    with pytest.raises(ValueError) as raised:
        arguments.writable(make())
    assert str(raised.value) == message
    # What the message of a capsule advises.
    arguments.writable(floats(3).__dlpack__(max_version=(1, 0)))


@pytest.mark.parametrize("function", [arguments.flat, arguments.flat_of_two])
@pytest.mark.parametrize(
    "make, dtype, wrong",
    [
        (lambda x: x, "x.astype('float32')", "numpy.ascontiguousarray(x)"),
        (of_pytorch, "x.to(torch.float32)", "x.contiguous()"),
        (
            Exports,
            "numpy.from_dlpack(x).astype('float32')",
            "numpy.ascontiguousarray(numpy.from_dlpack(x))",
        ),
    ],
)
def test_advice_for_a_struct_is_for_the_class_of_the_argument(make, dtype, wrong, function):
    """Also for each variant of an enum."""
    of_enum = function is arguments.flat_of_two
    given, found = advised(function, make(np.zeros((2, 3))))
    assert found == dtype
    assert function(given) == 6
    with_gaps = make(floats(2, 6)[:, ::2])
    given, found = advised(function, with_gaps)
    assert found == wrong and function(given) == 6
    with pytest.raises(ValueError) as raised:
        function(with_gaps)
    assert str(raised.value).count(f"`{wrong}`") == (2 if of_enum else 1)
    assert "(PyTorch)" not in str(raised.value)


@pytest.mark.parametrize(
    "make, shape, advice",
    [
        (lambda x: x, (3,), "x[None]"),
        (lambda x: x, (), "x[None, None]"),
        (lambda x: x, (4, 2, 3), "x[0]"),
        (lambda x: x, (2, 1, 2, 3), "x[0, 0]"),
        (lambda x: x.view(Subclass), (3,), "x[None]"),
        (of_pytorch, (3,), "x[None]"),
        (of_pytorch, (4, 2, 3), "x[0]"),
        (of_jax, (3,), "x[None]"),
        (Exports, (3,), "numpy.from_dlpack(x)[None]"),
        (Exports, (4, 2, 3), "numpy.from_dlpack(x)[0]"),
    ],
)
def test_advice_for_another_number_of_dimensions(make, shape, advice):
    """The advised expression is in the same memory, so that a function may change it. JAX
    copies, and its arrays cannot be changed."""
    wrong = make(floats(*shape))
    given, found = advised(arguments.matrix, wrong)
    address, _ = arguments.matrix(given)
    assert found == advice
    if make is not of_jax:
        assert address == testing.import_tensor(wrong).facts()[5]


@pytest.mark.parametrize("wrong", [floats(0, 2, 3), floats(3).__dlpack__()])
def test_no_part_is_advised_where_there_is_none(wrong):
    with pytest.raises(ValueError, match="expected 2 dimensions") as raised:
        arguments.matrix(wrong)
    assert "pass" not in text(raised)


def test_a_copy_on_the_host_is_advised():
    """By the keyword of the standard for the device of the result."""

    class Copies(Exports):
        def __dlpack__(self, *, dl_device=None, **keywords):
            tensor = floats(3) if dl_device == (1, 0) else self.array
            return tensor.__dlpack__(**{**keywords, "copy": None})

    for function in (arguments.facts, arguments.floats):
        copied, advice = advised(function, Copies(testing.OnDevice(2, 0)))
        assert advice == "numpy.from_dlpack(x, device='cpu')"
    assert arguments.facts(copied)[1] == "cpu"


def test_no_conversion_is_advised_for_a_capsule():
    """It can be imported only once."""
    with pytest.raises(TypeError, match="expected float32, got float64") as raised:
        arguments.floats(np.zeros(3).__dlpack__(max_version=(1, 0)))
    assert "convert with" not in text(raised)


def test_a_class_without_a_module_is_named():
    class Unplaced:
        __module__ = 5

    with pytest.raises(TypeError, match=r"of type `.*Unplaced`"):
        arguments.floats(Unplaced())


def test_an_interrupt_is_raised_instead_of_advice():
    class Meta(type):
        @property
        def __module__(cls):
            raise KeyboardInterrupt

    class Interrupts(Exports, metaclass=Meta):
        pass

    with pytest.raises(KeyboardInterrupt):
        arguments.floats(Interrupts(np.zeros(3)))


@pytest.mark.parametrize(
    "call",
    [
        partial(arguments.floats, np.zeros(3)),
        partial(arguments.floats, [1.0]),
        partial(arguments.converted, [None], "float64"),
        partial(arguments.converted, np.zeros(3), "int8"),
        partial(arguments.listed, collections.deque([np.zeros(3, "f4")])),
        partial(arguments.flat, np.zeros(3)),
        partial(testing.elementwise.sum, np.uint8([1]), -1),
        partial(repr, Frozen([1.0])),
    ],
    ids=lambda call: call.func.__name__,
)
def test_an_interrupt_that_came_before_is_not_lost(call):
    """No code of Python runs between the two calls."""

    def is_lost():
        try:
            try:
                list(map(operator.methodcaller("__call__"), [_thread.interrupt_main, call]))
            except Exception:
                pass
            for _ in range(100):
                pass
        except KeyboardInterrupt:
            return False
        return True

    # A shell ignores interrupts for what it runs in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert not is_lost()
    finally:
        signal.signal(signal.SIGINT, before)


def test_pytorchs_read_only_tensors_are_copied_by_numpy():
    """Their methods raise."""
    wrapper = read_only_class()
    wrong = wrapper(require("torch").zeros(3))
    changed, advice = advised(arguments.writable, wrong)
    assert advice == "numpy.from_dlpack(x).copy()" and arguments.writable(changed) is changed


def test_tensors_of_pytorch():
    require("torch")
    import torch

    tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    assert arguments.matrix(tensor) == (tensor.data_ptr(), [2, 3])
    assert arguments.floats(tensor.T) == [0, 3, 1, 4, 2, 5]
    assert arguments.floats(torch.nn.Parameter(tensor)) == list(range(6))
    assert arguments.writable(tensor) is tensor
    arguments.scale(tensor[:, 1:], 2)
    assert tensor.tolist() == [[0, 2, 4], [3, 8, 10]]
    assert arguments.facts(torch.zeros(2, dtype=torch.bfloat16))[0] == "bfloat16"
    with pytest.raises(TypeError, match=r"\.to\(torch\.float32\)"):
        arguments.matrix(tensor.double())
    with pytest.raises(ValueError, match="share memory"):
        arguments.writable(torch.zeros(1).expand(3))
    parameter = torch.nn.Parameter(tensor)
    with torch.no_grad(), pytest.raises(ValueError, match=r"x\.detach\(\)"):
        arguments.writable(parameter)
    assert arguments.writable(parameter.detach()).data_ptr() == tensor.data_ptr()
    parameter.requires_grad_(False)
    assert arguments.writable(parameter) is parameter
