"""Array-like objects where Python's built-ins and operators look: as NumPy arrays, or an
exception."""

import math
import operator

import pytest
from conftest import check_leaks, require, run_in_a_new_process
from dlpack_testing import BareArray, FrozenArray, OnDevice, OwnAttributes, SharedArray

numpy = require("numpy")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]
CLASSES = pytest.mark.parametrize("class_", [SharedArray, FrozenArray, BareArray])
ARRAYS = {
    "uint8 digits": numpy.array([49, 50], "uint8"),
    "uint8 digit": numpy.array(53, "uint8"),
    "float": numpy.array(2.5, "float32"),
    "one": numpy.array([7], "int64"),
    "zero": numpy.array([0.0], "float64"),
    "floats": numpy.array([[1.0, -2.0, 3.5], [0.0, 5.0, 6.0]], "float32"),
    "ints": numpy.array([3, 1, 2], "int32"),
    "square": numpy.array([[1, 2], [3, 4]], "int64"),
    "columns": numpy.arange(6, dtype="int16").reshape(2, 3).T,
    "empty": numpy.zeros((0, 3), "float32"),
    "bools": numpy.array([True, False]),
    "complex": numpy.array([1 + 2j], "complex64"),
}
arrays = pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)

# The special methods of arrays, by how an array-like object has them.
SAME = (
    *("abs", "add", "and", "bool", "complex", "contains", "delitem", "divmod", "eq", "float"),
    *("floordiv", "ge", "getitem", "gt", "iadd", "iand", "ifloordiv", "ilshift", "imatmul"),
    *("imod", "imul", "index", "int", "invert", "ior", "ipow", "irshift", "isub", "iter"),
    *("itruediv", "ixor", "le", "len", "lshift", "lt", "matmul", "mod", "mul", "ne", "neg"),
    *("or", "pos", "pow", "radd", "rand", "rdivmod", "rfloordiv", "rlshift", "rmatmul", "rmod"),
    *("rmul", "ror", "rpow", "rrshift", "rshift", "rsub", "rtruediv", "rxor", "setitem", "sub"),
    *("truediv", "xor"),
)
# Of every object, or with a meaning of its own.
OTHER = (
    *("class", "delattr", "dir", "doc", "format", "getattribute", "getstate", "init"),
    *("init_subclass", "new", "reduce", "reduce_ex", "repr", "setattr", "sizeof", "str"),
    *("subclasshook", "hash", "dlpack", "dlpack_device", "array"),
)
# Those of the buffer protocol, which is an option.
BUFFER = ("array_interface", "buffer", "release_buffer")
# Without them `copy`, `pickle` and NumPy use the methods above, or raise.
ABSENT = (
    *("array_finalize", "array_function", "array_namespace", "array_priority", "array_struct"),
    *("array_ufunc", "array_wrap", "class_getitem", "copy", "deepcopy", "setstate"),
)


def of(class_, array):
    """An object with a copy of the elements and the layout of an array."""
    size = array.itemsize
    memory = numpy.lib.stride_tricks.as_strided(array, (array.size,), (size,)).tobytes()
    strides = [stride // size for stride in array.strides]
    return class_(memory, str(array.dtype), list(array.shape), strides)


def outcome(function, *arguments):
    """What a call returns, in a form that is compared; or the type of its exception."""
    try:
        result = function(*arguments)
    except Exception as error:
        assert str(error)
        return type(error)
    return comparable(result)


def comparable(result):
    if isinstance(result, (numpy.ndarray, SharedArray, FrozenArray, BareArray)):
        result = numpy.asarray(result)
        return str(result.dtype), result.shape, result.tobytes()
    if isinstance(result, tuple):
        return tuple(comparable(part) for part in result)
    if hasattr(result, "__next__"):
        return [comparable(part) for part in result]
    return type(result), repr(result)


@CLASSES
def test_a_format(class_):
    """Of a number without dimensions; of other arrays NumPy raises."""
    number, row = (of(class_, numpy.array(value, "f4")) for value in [2.5, [2.5]])
    assert f"{number:.2f} {number:>8}" == "2.50      2.5"
    with pytest.raises(TypeError, match="unsupported format string"):
        format(row, ".2f")
    for x in [number, row]:
        assert f"{x}" == str(x) == repr(x)


def test_the_table_has_every_special_method():
    known = {f"__{name}__" for name in SAME + OTHER + BUFFER + ABSENT}
    special = {name for name in dir(numpy.ndarray) if name.startswith("__")}
    assert special - known == set()
    missing = {f"__{name}__" for name in SAME + OTHER} - set(dir(BareArray))
    # `__getstate__` of every object is of Python 3.11.
    assert missing - {"__getstate__"} == set()
    absent = {f"__{name}__" for name in ABSENT + BUFFER}
    assert absent & set(dir(BareArray)) == set()


@CLASSES
@arrays
def test_methods_are_those_of_the_array(class_, array):
    operands = [(), (2,), (1.5,), (array.copy(),), (0,), (None,), (numpy.float32(2),)]
    for name in SAME:
        in_place = name.startswith("i") and name[1:] in SAME
        method = f"__{name}__"
        given = {
            "setitem": [(0, 1), (..., 2), (slice(None), array.copy()), (9, 9), ()],
            "len": [()],
        }.get(name, operands)
        for arguments in given:
            if class_ is FrozenArray and (in_place or name == "setitem"):
                continue
            ours, theirs = of(class_, array), array.copy(order="K")
            found = outcome(getattr(class_, method), ours, *arguments)
            expected = outcome(getattr(numpy.ndarray, method), theirs, *arguments)
            assert found == expected, (name, arguments)
            # Both were changed alike.
            assert comparable(ours) == comparable(theirs), (name, arguments)


BUILTINS = [
    *(bool, int, float, complex, bytes, len, list, tuple, abs, round, reversed, hash),
    *(sum, min, max, sorted, any, all, set),
    *(math.floor, math.ceil, math.trunc, math.sqrt, operator.index, operator.not_),
    *(operator.neg, operator.pos, operator.invert, bin, hex, range, chr),
    *(numpy.float64, numpy.int64, numpy.sum, numpy.sort, numpy.shape, numpy.isscalar),
    *(lambda x: 3 in x, lambda x: x == x, lambda x: x != 3, lambda x: x == "a", lambda x: x == None),
    *(lambda x: 2 * x, lambda x: 2.0 - x, lambda x: [1, 2] + x, lambda x: [1, 2] * x),
    *(lambda x: numpy.float32(2) * x, lambda x: numpy.arange(3) + x, lambda x: x + numpy.arange(3)),
    *(lambda x: x @ x, lambda x: divmod(x, 2), lambda x: pow(x, 2), lambda x: pow(x, 2, 3)),
    *(lambda x: x < x, lambda x: x >= 2, lambda x: x & 1, lambda x: x or 5, lambda x: not x),
    *(lambda x: [10, 20, 30, 40][x], lambda x: "%d" % x, lambda x: "%.1f" % x),
    *(lambda x: {x: 1}, lambda x: x in [x, 1], lambda x: x[0], lambda x: x[..., 0], lambda x: x[None]),
]


@CLASSES
@arrays
def test_builtins_are_as_for_the_array(class_, array):
    for function in BUILTINS:
        ours, theirs = of(class_, array), array.copy(order="K")
        assert outcome(function, ours) == outcome(function, theirs), BUILTINS.index(function)


def test_numbers_are_not_read_as_text():
    digits = of(SharedArray, ARRAYS["uint8 digit"])
    assert (int(digits), float(digits), operator.index(digits)) == (53, 53.0, 53)
    with pytest.raises(TypeError):
        int(of(SharedArray, ARRAYS["uint8 digits"]))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(of(BareArray, ARRAYS["floats"]))
    with pytest.raises(TypeError, match="unhashable"):
        hash(digits)


@pytest.mark.parametrize("class_", [SharedArray, BareArray])
def test_operators_in_place_return_the_object(class_):
    original = of(class_, ARRAYS["ints"])
    changed = original
    changed += 1
    changed *= 2
    assert changed is original
    changed[0] = 7
    assert numpy.asarray(original).tolist() == [7, 4, 6]
    with pytest.raises(TypeError):
        changed += 0.5


def test_read_only_objects_are_not_changed():
    frozen = of(FrozenArray, ARRAYS["ints"])
    with pytest.raises(ValueError, match="read-only"):
        frozen += 1
    with pytest.raises(ValueError, match="read-only"):
        frozen[0] = 1
    assert numpy.asarray(frozen).tolist() == [3, 1, 2]


def test_methods_of_the_class_and_of_subclasses_are_kept():
    class Own(BareArray):
        def __add__(self, other):
            return "own"

        def __eq__(self, other):
            return True

        __hash__ = object.__hash__

    own = of(Own, ARRAYS["ints"])
    assert own + 1 == "own"
    assert own == 5
    assert {own: 1}[own] == 1
    assert (own - 1).tolist() == [2, 0, 1]
    # `__len__` is of the class.
    assert len(OwnAttributes([1.0])) == 7
    assert bool(OwnAttributes([0.0])) is False


def test_device_memory_and_other_dtypes_say_what_to_call():
    for use in [bool, float, operator.neg, lambda x: x == 1, lambda x: x + 1, list, lambda x: x[0]]:
        with pytest.raises(TypeError, match="copy it to the CPU with `numpy.from_dlpack"):
            use(OnDevice(2))
        with pytest.raises(TypeError, match="got bfloat16; use `from_dlpack` of a library"):
            use(BareArray(bytes(4), "bfloat16", [2]))


def test_methods_leave_nothing_behind():
    tensor = of(BareArray, ARRAYS["ints"])

    def body():
        tensor + 1, -tensor, tensor == tensor, bytes(tensor)
        for use in (bool, float, lambda x: x @ "a", lambda x: x[9]):
            with pytest.raises((TypeError, ValueError, IndexError)):
                use(tensor)

    check_leaks(body)


@CLASSES
@pytest.mark.parametrize("name", ["torch", "jax", "paddle"])
def test_operators_with_tensors_are_those_of_the_array(class_, name):
    """NumPy leaves them to the other operand, which does not know the object."""
    library = require(name)
    one = numpy.array([[1, 2], [3, 4]], "float32")
    other = library.numpy.ones((2, 2)) if name == "jax" else library.ones([2, 2])
    ours = of(class_, one)
    operators = [operator.eq, operator.ne, operator.lt, operator.ge]
    for function in [*operators, operator.add, operator.sub, operator.mul, operator.matmul]:
        # Paddle compares with what it does not know by itself.
        for arguments in [(ours, other), *([(other, ours)] if name != "paddle" else [])]:
            theirs = tuple(one if given is ours else given for given in arguments)
            found, expected = plain(function, arguments), plain(function, theirs)
            assert found == expected, (function, type(arguments[0]))


@CLASSES
def test_operators_with_objects_that_come_before_an_array(class_):
    """Their methods are called first, as they are for an array of NumPy."""
    one = numpy.array([[1, 2], [3, 4]], "int64")
    ours, matrix = of(class_, one), numpy.matrix(one)
    assert numpy.array_equal(matrix * ours, matrix * one) and type(ours * matrix) is numpy.matrix
    assert numpy.array_equal(ours * matrix, one * matrix)
    require("scipy")
    import scipy.sparse

    sparse = scipy.sparse.csr_matrix(one)
    assert (sparse / ours).toarray().tolist() == (sparse / one).toarray().tolist()
    for function in [operator.add, operator.sub, operator.matmul]:
        for arguments in [(ours, sparse), (sparse, ours)]:
            theirs = tuple(one if given is ours else given for given in arguments)
            found, expected = function(*arguments), function(*theirs)
            assert type(found) is type(expected), (function, arguments)
            assert numpy.array_equal(found, expected), (function, arguments)


@CLASSES
def test_operators_with_columns_are_those_of_the_array(class_):
    pandas = require("pandas")
    one = numpy.array([1, 2, 3])
    ours, series = of(class_, one), pandas.Series([1, 3, 2])
    for function in [operator.add, operator.sub, operator.mod, operator.lt, operator.eq]:
        for arguments in [(ours, series), (series, ours), (ours, pandas.Index(series))]:
            theirs = tuple(one if given is ours else given for given in arguments)
            found, expected = function(*arguments), function(*theirs)
            assert list(found) == list(expected) and type(found) is type(expected), (function, arguments)
    series += ours
    assert series.tolist() == [2, 5, 5]


IMPORTS = """
import builtins, os, threading
from dlpack_testing import SharedArray
import numpy

one = SharedArray(numpy.ones(2, "float32").tobytes(), "float32", [2], [1])
own, names, within = builtins.__import__, ["operator"], []

def imports(name, *arguments, **keywords):
    if name in names:
        names.remove(name)
        within.append(one + 1)
    return own(name, *arguments, **keywords)

builtins.__import__ = imports
assert (one + 1).tolist() == [2, 2] and within[0].tolist() == [2, 2]

begun, forked = threading.Event(), threading.Event()

def waits(name, *arguments, **keywords):
    if name == "operator" and threading.current_thread() is not threading.main_thread():
        begun.set()
        forked.wait()
    return own(name, *arguments, **keywords)

builtins.__import__ = waits
thread = threading.Thread(target=lambda: one - 1)
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    builtins.__import__ = own
    os._exit(0 if (one - 1).tolist() == [0, 0] else 1)
forked.set()
thread.join()
assert os.waitpid(child, 0)[1] == 0
"""


def test_an_operator_that_is_used_while_it_is_found():
    """An import runs Python code, which may use the same operator, and another thread may fork."""
    run_in_a_new_process(IMPORTS, timeout=60)


def plain(function, arguments):
    try:
        return numpy.asarray(function(*arguments)).tolist()
    except TypeError:
        return TypeError
