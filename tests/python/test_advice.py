"""Each expression that a message of an argument advises is evaluated with the real library, and
makes an argument that the function accepts."""

import array
import ctypes
import os
import re
import sys
import warnings

import dlpack_testing as testing
import pytest
from conftest import read_only_class, require
from dlpack_testing import arguments

np = require("numpy")


class Exports:
    """A class of a user, with the methods of the DLPack protocol only."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Subclass(np.ndarray):
    """A subclass of a NumPy array."""


def of_torch(array):
    return require("torch").from_dlpack(array)


def of_jax(array):
    return require("jax").numpy.asarray(array)


MAKE = {
    "numpy": lambda x: x,
    "subclass": lambda x: x.view(Subclass),
    "torch": of_torch,
    "jax": of_jax,
    "other": Exports,
}


# In a message, and in the sources, where parts of it are in braces.
EXPRESSION = r"`((?:\.[a-z]|x[.\[]|x !=|x\{part\}|\{(?:real|array|x)\}|\[x|\[\*x|\[numpy\.|numpy\.|torch\.|cupy\.|dpnp\.)[^`\"]*)`"


def advised(function, wrong, exceptions=(TypeError, ValueError, BufferError, AttributeError)):
    """The expressions that the message advises, and what they make."""
    with pytest.raises(exceptions) as raised:
        function(wrong)
    [message, *_] = str(raised.value).split("\n")
    found = re.findall(EXPRESSION, message.split("; ", 1)[1])
    names = {name: sys.modules[name] for name in ("numpy", "torch") if name in sys.modules}
    made = []
    for advice in found:
        expression = "x" + advice if advice.startswith(".") else advice
        made.append((advice, eval(expression, {"x": wrong, **names})))
    return made, message


def floats(*shape):
    return np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)


def packed():
    return np.array([(1, 2.0), (3, 4.0)], [("a", "u1"), ("b", "f4")])["b"]


ALL = list(MAKE)
CASES = [
    # name of the function, libraries, the wrong argument, number of expressions
    ("floats", ALL, lambda: np.zeros((2, 3), "f8"), 1),
    ("floats", ALL, lambda: np.zeros((2, 3), "i4"), 1),
    ("floats", ALL, lambda: np.zeros((2, 3), "c8"), 1),
    ("floats", ALL, lambda: np.array([True]), 1),
    ("matrix", ALL, lambda: floats(3), 1),
    ("matrix", ALL, lambda: floats(4, 2, 3), 1),
    ("flat", ALL, lambda: np.zeros((2, 3)), 1),
    ("flat", ["numpy", "subclass", "torch", "other"], lambda: floats(2, 6)[:, ::2], 1),
    ("flat_of_two", ["numpy", "subclass", "torch", "other"], lambda: floats(2, 6)[:, ::2], 2),
    ("by_columns", ALL, lambda: floats(2, 3), 1),
    ("pixels", ["numpy", "subclass", "other"], lambda: np.zeros((2, 2, 6), "u1")[..., ::2], 1),
    ("write_points", ["numpy", "subclass", "torch", "other"], lambda: np.asfortranarray(floats(2, 3)), 1),
    ("convert_bytes", ALL, lambda: np.array([1.5, 2.5]), 1),
    ("convert_bytes", ALL, lambda: np.array([1 + 2j]), 1),
    ("convert_floats", ALL, lambda: np.array([1 + 2j]), 1),
    ("writable", ["numpy", "subclass", "torch", "other"], lambda: np.zeros((2, 3)), 1),
    (
        "writable",
        ["numpy", "subclass", "other"],
        lambda: np.lib.stride_tricks.as_strided(floats(3), (2, 3), (0, 4)),
        1,
    ),
    ("writable", ["jax"], lambda: floats(3), 1),
    ("writable", ["jax"], lambda: np.arange(3, dtype="i4"), 1),
    ("mean_as", ["jax"], lambda: np.ones(3, "c8"), 1),
    ("floats", ["numpy", "subclass"], lambda: floats(3).astype(">f4"), 1),
    ("floats", ["numpy", "subclass"], lambda: np.array([1, 2], np.longdouble), 1),
    ("floats", ["numpy", "subclass"], lambda: np.array([1, 2], ">c16"), 1),
    ("floats", ["numpy", "subclass"], packed, 1),
    ("facts", ["numpy", "subclass"], packed, 1),
    ("facts", ["numpy", "subclass"], lambda: np.array([1, 2], ">i2"), 1),
    ("facts", ["numpy", "subclass"], lambda: np.array(["2020"], "M8[D]"), 1),
    ("floats", ["numpy", "subclass"], lambda: np.array(["2020"], "M8[D]"), 0),
    ("writable", ["numpy", "subclass"], lambda: floats(3).astype(">f4"), 1),
    ("writable", ["numpy", "subclass"], packed, 1),
    ("flat", ["numpy"], lambda: np.frombuffer(b"\0" + bytes(8), "u1")[1:].view("f4"), 1),
]


PARAMETERS = [
    (name, library, *rest) for name, libraries, *rest in CASES for library in libraries
]


@pytest.mark.parametrize("function, library, wrong, count", PARAMETERS)
def test_advice_makes_an_argument_that_is_accepted(function, library, wrong, count):
    call = getattr(arguments, function)
    made, message = advised(call, MAKE[library](wrong()))
    assert len(made) == count, message
    for advice, argument in made:
        call(argument)
        EXECUTED.add(advice)


OBJECTS = [[1.0], (1, 2), 2.5, 3, 1 + 0j, range(3), b"12", bytearray(8), memoryview(b"12"), np.float64(1)]
CONVERTED = [[1.5], 2.5, (1j,)]


@pytest.mark.parametrize("x", OBJECTS, ids=lambda x: type(x).__name__)
def test_advice_for_an_object_that_is_not_a_tensor(x):
    for function in [arguments.floats, arguments.facts, testing.import_tensor]:
        [(advice, made)], _ = advised(function, x)
        function(made)
        EXECUTED.add(advice)


@pytest.mark.parametrize("given", CONVERTED, ids=str)
def test_advice_for_an_object_that_is_converted(given):
    [(advice, made)], _ = advised(arguments.convert_bytes, given)
    arguments.facts(made)
    assert made.dtype == "u1"
    EXECUTED.add(advice)


CONVERTED_TO_BOOL = [
    (b"\0\2", [False, True]),
    ([1j, 0j], [True, False]),
    (np.array([1j, 0]), [True, False]),
    (Exports(np.array([1j, 0])), [True, False]),
]


def check_bools(given, expected):
    [(advice, made)], _ = advised(lambda x: arguments.converted(x, "bool"), given)
    assert arguments.converted(made, "bool").tolist() == expected
    EXECUTED.add(advice)


@pytest.mark.parametrize("given, expected", CONVERTED_TO_BOOL)
def test_advice_for_bools_keeps_every_number_that_is_not_zero(given, expected):
    """Also imaginary ones, and those in `bytes`, of which `numpy.asarray` makes one text."""
    check_bools(given, expected)
    if type(given) is np.ndarray:
        for library in ["torch", "jax"]:
            check_bools(MAKE[library](given), expected)


def test_a_complex_number_is_not_false_because_its_real_part_is_zero():
    with pytest.raises(TypeError) as raised:
        arguments.count_true(1j)
    assert "`numpy.asarray(x, 'bool')`" in str(raised.value)


INVALID = bytes([0, 0, 2])
BYTES = np.frombuffer(INVALID, "u1").view("?")
INVALID_BOOLS = [
    (BYTES, "x != 0"),
    (Exports(BYTES), "numpy.from_dlpack(x) != 0"),
    (testing.PlainArray(list(INVALID), "bool", [3]), "numpy.from_dlpack(x) != 0"),
    (memoryview(INVALID).cast("?"), "numpy.asarray(x) != 0"),
    ((ctypes.c_bool * 3).from_buffer_copy(INVALID), "numpy.asarray(x) != 0"),
]


@pytest.mark.parametrize("given, expected", INVALID_BOOLS, ids=lambda x: type(x).__name__)
def test_advice_for_bools_that_are_neither_0_nor_1(given, expected):
    """`x != 0` is one `bool` for an object without operators."""
    [(advice, made)], _ = advised(lambda x: arguments.converted(x, "float32"), given)
    assert advice == expected and arguments.count_true(made) == 1
    EXECUTED.add(advice)
    # An error of the function that reads them, which has no object.
    with pytest.raises(ValueError, match="; pass `.* != 0`, or `.* != 0` if `x` has no `__array__`") as raised:
        arguments.converted(given, "bool")
    has_array = hasattr(type(given), "__array__") or not hasattr(given, "__dlpack__")
    advice = re.findall(r"`(\w.* != 0)`", str(raised.value).replace("`, or `", "`\n`"))[not has_array]
    assert arguments.count_true(eval(advice, {"numpy": np, "x": given})) == 1


def test_advice_for_a_mask_of_an_image():
    image = require("PIL.Image").new("1", (4, 2))
    image.putpixel((1, 0), 1)
    [(advice, made)], _ = advised(lambda x: arguments.converted(x, "float32"), image)
    assert advice == "numpy.asarray(x) != 0"
    assert arguments.converted(made, "float32").tolist() == [[0, 1, 0, 0], [0] * 4]
    require("torch")
    [(advice, made)], _ = advised(lambda x: arguments.converted(x, "float32"), of_torch(BYTES))
    assert advice == "x != 0" and arguments.count_true(made) == 1


class Refused:
    """A tensor that NumPy makes an array of, because its library does not export it."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype)

    def __dlpack__(self, **keywords):
        raise BufferError("of the producer")

    def __dlpack_device__(self):
        return 1, 0


def test_advice_for_a_tensor_that_is_not_exported():
    given = Refused([[0.5, 0, 2]])
    [(advice, made)], _ = advised(lambda x: arguments.converted(x, "bool"), given)
    assert advice == "numpy.asarray(x).astype('bool')"
    assert arguments.converted(made, "bool").tolist() == [[True, False, True]]
    [(advice, made)], _ = advised(arguments.convert_bytes, Refused(np.array([[1, 0, 2]])))
    assert advice == "numpy.asarray(x)[0]" and arguments.convert_bytes(made) == [1, 0, 2]
    [(advice, made)], _ = advised(testing.elementwise.halved, given)
    assert advice == "numpy.asarray(x).astype('float32')"
    assert testing.elementwise.halved(made).tolist() == [[0.25, 0, 1]]


def test_advice_for_columns_of_arrow_that_are_not_exported():
    pyarrow = require("pyarrow")
    given = pyarrow.array([1, 2]).dictionary_encode()
    [(advice, made)], _ = advised(lambda x: arguments.converted(x, "bool"), given)
    assert advice == "numpy.asarray(x).astype('bool')"
    assert arguments.converted(made, "bool").tolist() == [True, True]
    # NumPy makes a missing value `True`.
    [(advice, made)], _ = advised(lambda x: arguments.converted(x, "bool"), pyarrow.array([1, None]))
    assert (advice, made.to_pylist()) == ("x.fill_null(0)", [1, 0])


def test_advice_for_a_tensor_of_paddle_with_a_gradient():
    """Its table exports the tensor, and its `__dlpack__` does not."""
    given = require("paddle").ones([2])
    given.stop_gradient = False
    [(advice, made)], _ = advised(lambda x: arguments.converted(x, "bool"), given)
    assert advice == "numpy.asarray(x).astype('bool')"
    assert arguments.converted(made, "bool").tolist() == [True, True]


def test_advice_for_masked_records():
    """NumPy does not compress them, and has no zero of bytes."""
    records = np.ma.array(np.zeros(2, testing.SharedEvents([2]).__array__().dtype))
    records[0] = np.ma.masked
    [(advice, made)], _ = advised(testing.levels, records)
    assert advice == "x.filled(0)"
    testing.levels(made)
    records = np.ma.array(np.zeros(2, [("a", "V3")]))
    records[0] = np.ma.masked
    with pytest.raises(TypeError, match=r"`numpy.ma.MaskedArray` with some(\n|$)"):
        arguments.convert_floats(records)


def test_advice_for_the_first_field_of_numbers():
    given = np.zeros(2, [("a", "V3"), ("b", [("c", "i2")]), ("d", "f4")])
    for function in [arguments.floats, arguments.convert_floats]:
        [(advice, made)], _ = advised(function, given)
        assert advice == "x['d'].copy()"
        function(made)
    with pytest.raises(BufferError, match="; pass numbers"):
        arguments.floats(given[["a"]])


class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_int)]


@pytest.mark.parametrize("given", [Point(), (Point * 2)()])
def test_no_array_of_numbers_is_advised_for_structs_of_c(given):
    for function in [arguments.floats, arguments.facts]:
        assert not advised(function, given)[0]


def test_advice_for_columns_of_different_types():
    """Columns of numbers are converted; of objects NumPy makes numbers, if they are."""
    given = require("pandas").DataFrame({"a": [True, False], "b": [2, 3]})
    assert arguments.converted(given, "float32").tolist() == [[1, 2], [0, 3]]
    given = given.astype(object)
    [(advice, made)], _ = advised(lambda x: arguments.converted(x, "float32"), given)
    assert advice == "numpy.asarray(x).astype('float32')"
    assert arguments.converted(made, "float32").tolist() == [[1, 2], [0, 3]]


def test_pytorch_is_advised_only_if_it_is_imported(monkeypatch):
    torch = require("torch")
    given = Exports(torch.ones(2, dtype=torch.bfloat16))
    assert len(advised(arguments.floats, given)[0]) == 1
    monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(TypeError, match=r"expected float32, got bfloat16(\n|$)"):
        arguments.floats(given)


def test_no_conversion_is_advised_that_pytorch_does_not_have():
    torch = require("torch")
    for dtype, found in [("float4_e2m1fn_x2", "float4_e2m1fnx2"), ("uint4", "uint8"), ("int2", "int8")]:
        given = torch.empty(2, dtype=getattr(torch, dtype))
        with pytest.raises(TypeError, match=f"expected float32, got {found}(\n|$)"):
            arguments.floats(given)


def test_advice_for_a_masked_array():
    given = np.ma.array([1, 2], mask=[0, 1], dtype="f4")
    made, _ = advised(arguments.floats, given)
    for advice, argument in made:
        arguments.floats(argument)
        EXECUTED.add(advice)
    items = [given[0], np.ma.masked]
    [(advice, argument)], _ = advised(arguments.convert_floats, items)
    assert arguments.convert_floats(argument)[0] == [1, 0]
    EXECUTED.add(advice)
    [(advice, argument)], _ = advised(lambda x: arguments.scale(x, 1), given)
    arguments.scale(argument, 1)
    EXECUTED.add(advice)
    for advice, argument in advised(arguments.exact, given)[0]:
        arguments.exact(argument)
        EXECUTED.add(advice)
    [(advice, argument)], _ = advised(arguments.exact, np.matrix([[1, 2]], dtype="f4"))
    arguments.exact(argument)
    EXECUTED.add(advice)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_copy_that_the_function_changes_is_kept(library):
    wrong = MAKE[library](np.asfortranarray(floats(2, 3)))
    [(_, made)], message = advised(arguments.write_points, wrong)
    assert re.search(r"contiguous there, got strides \(1, 2\); pass and keep `", message)
    arguments.write_points(made)
    assert made.tolist() == [[1, 1, 1]] * 2 and wrong.tolist() != made.tolist()


def test_advice_of_pytorch():
    torch = require("torch")
    for function, wrong in [
        (lambda x: arguments.scale(x, 2), torch.nn.Parameter(torch.ones(3))),
        (arguments.floats, torch.ones(3, dtype=torch.bfloat16)),
        (arguments.writable, torch.zeros(1).expand(3)),
        (arguments.facts, torch.tensor([1 + 2j]).conj()),
        (arguments.flat, torch.ones(4).requires_grad_()[::2]),
    ]:
        [(advice, made)], _ = advised(function, wrong)
        function(made)
        EXECUTED.add(advice)
    [(advice, made)], _ = advised(arguments.floats, Exports(torch.ones(3, dtype=torch.bfloat16)))
    arguments.floats(made)
    EXECUTED.add(advice)


def test_advice_for_a_read_only_tensor_of_pytorch():
    [(_, made)], _ = advised(arguments.writable, read_only_class()(require("torch").zeros(3)))
    arguments.writable(made)


def test_advice_for_another_dtype_keeps_the_values():
    """Of several accepted dtypes."""
    for dtype, advice in [
        # No float has all values: the one that has most of them.
        ("i8", "float64"),
        ("i4", "float64"),
        ("u4", "float64"),
        ("i2", "float32"),
        ("f2", "float32"),
        ("u8", "float64"),
    ]:
        [(found, made)], _ = advised(arguments.named_sum, np.zeros(3, dtype))
        assert found == f".astype('{advice}')"
        arguments.named_sum(made)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_advice_keeps_fractions():
    """Of the real parts of complex numbers, if an integer has more digits."""
    for dtype, advice in [
        ("c8", "x.real.astype('float32')"),
        ("c16", "x.real.astype('float64')"),
        ("f2", ".astype('float32')"),
    ]:
        [(found, made)], _ = advised(arguments.element_bits, np.zeros(3, dtype))
        assert found == advice
        arguments.element_bits(made)


def masked_tensor(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # A prototype, it says.
        return torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False]))


def test_tensors_that_are_traced_have_no_memory():
    """Those that `vmap` passes refuse to give an address."""
    torch = require("torch")
    refused = []

    def function(x):
        for reads in [arguments.floats, arguments.convert_floats, arguments.convert_any]:
            with pytest.raises(BufferError, match="without memory, because it is .*traced"):
                reads(x)
            refused.append(x)
        return x.sum()

    torch.func.vmap(function)(torch.ones(2, 3))
    torch.func.functionalize(function)(torch.ones(3))
    assert len(refused) == 6


def test_advice_for_tensors_that_pytorch_stores_otherwise():
    torch = require("torch")
    ragged = [torch.ones(2), torch.ones(3)]
    for wrong, found, count in [
        (torch.eye(3).to_sparse(), "without strides", 1),
        (torch.eye(3).to_sparse_csr(), "without strides", 1),
        (torch.quantize_per_tensor(torch.ones(3), 0.5, 0, torch.quint8), "quantized", 1),
        (torch.nested.nested_tensor(ragged), "nested", 2),
        (torch.nested.nested_tensor(ragged, layout=torch.jagged), "nested", 2),
        (torch.ones(3, device="meta"), "no memory", 0),
        (masked_tensor(torch), "without memory, because it is masked", 1),
    ]:
        for function in [arguments.floats, arguments.convert_floats, arguments.convert_any]:
            made, message = advised(function, wrong, BufferError)
            assert message.startswith(("expected float32, got a ", "expected an array, got a "))
            assert found in message and len(made) == count, message
            for advice, argument in made:
                function(argument[1] if "unbind" in advice else argument)
                EXECUTED.add(advice)
        with pytest.raises(BufferError, match=f"{found}.*; pass and keep") as raised:
            arguments.writable(wrong)
        assert isinstance(raised.value.__cause__, (BufferError, RuntimeError))
    with pytest.raises(BufferError, match=r"conjugate bit; pass `x\.resolve_conj\(\)`"):
        arguments.converted(torch.tensor([1 + 2j]).conj(), "complex64")


def test_advice_for_unaligned_elements():
    """Of a class that a Rust function makes of the array, and not of an argument."""
    torch = require("torch")
    given = np.frombuffer(bytearray(9), "u1")[1:].view("f4")
    function = testing.Received.from_dlpack
    for x, of in [(given, "numpy"), (torch.from_numpy(given), "x.clone")]:
        with pytest.raises(ValueError, match="aligned to 4 bytes, got others; ") as raised:
            function(x)
        [advice] = [found for found in re.findall(EXPRESSION, str(raised.value)) if of in found]
        assert function(eval(advice, {"numpy": np, "x": x})).values() == [0, 0]


@pytest.mark.parametrize("importing", [testing.import_tensor, testing.Received.from_dlpack])
def test_advice_of_an_import_for_what_numpy_does_not_export(importing):
    """Not only of an argument: `from_dlpack` and the class method, which makes float32, say the same."""
    for wrong in [
        floats(3).astype(">f4"),
        np.zeros(2, [("a", "f4"), ("b", "u1")]),
        np.array([1.5, 2], object),
        np.array(["2020-01-01"], "M8[D]"),
        np.zeros(2, "g"),
    ]:
        [(advice, made)], message = advised(importing, wrong)
        assert message.startswith("expected an array, got an array of ")
        if importing is testing.import_tensor or made.dtype == "f4":
            importing(made)
        EXECUTED.add(advice)
    with pytest.raises(BufferError, match="got an array of object, .*; pass numbers"):
        importing(np.array([{}, ()], object))


def test_no_advice_for_an_error_about_something_else():
    """About what was requested, or of a class that exports by a method of its own."""

    class Own(np.ndarray):
        def __dlpack__(self, **keywords):
            raise BufferError("of the class")

    class Filled:
        def fillna(self, value):
            return floats(1)

        def __dlpack__(self, **keywords):
            raise ValueError("of the class")

        def __dlpack_device__(self):
            return 1, 0

    for function in (testing.import_tensor, arguments.floats):
        for x in (floats(1).view(Own), Filled()):
            with pytest.raises((BufferError, ValueError), match="^of the class"):
                function(x)
    for requested in [{"device": (2, 0)}, {"device": (10, 0)}, {"copy": False, "device": (2, 0)}]:
        with pytest.raises((BufferError, ValueError)) as raised:
            testing.import_tensor(floats(1), **requested)
        assert "x.copy()" not in str(raised.value)


def test_advice_for_dates_of_another_byte_order():
    given = np.array(["2020-01-01"], ">M8[s]")
    [(advice, made)], _ = advised(testing.import_tensor, given)
    EXECUTED.add(advice)
    assert made.tolist() == given.astype("int64").tolist()


def test_advice_for_an_array_of_jax_stays_in_jax():
    """Unless the function changes the array, or JAX makes 32-bit elements by default."""
    given = require("jax").numpy.arange(3)
    for function, expected in [
        (arguments.floats, ".astype('float32')"),
        (arguments.bfloats, ".astype('bfloat16')"),
        (arguments.double_sum, "numpy.asarray(x).astype('float64')"),
        (arguments.writable, "numpy.asarray(x).astype('float32')"),
    ]:
        [(advice, made)], _ = advised(function, given)
        assert advice == expected
        function(made)


def test_advice_for_an_array_that_jax_does_not_export():
    """By its producer, with an error of a type of its own."""
    jax = require("jax")
    for function in [arguments.floats, lambda x: arguments.scale(x, 2)]:
        wrong = jax.numpy.ones(2, "int4")
        [(advice, made)], message = advised(function, wrong)
        assert message.startswith("expected float32, got an array of int4, which JAX does not")
        function(made)
        EXECUTED.add(advice)
    deleted = jax.numpy.ones(2, "int4")
    deleted.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        arguments.floats(deleted)


@pytest.mark.parametrize("dtype", ["bfloat16", "int4", "uint4", "int2", "float8_e5m2"])
def test_advice_for_dtypes_of_another_package(dtype):
    """NumPy does not export them."""
    wrong = np.zeros(2, getattr(require("ml_dtypes"), dtype))
    wider = "uint8" if dtype[0] == "u" else "int8" if dtype[0] == "i" else "float32"
    for function, expected, to in [
        (arguments.floats, "float32", "float32"),
        (arguments.mean_as, "float64", "float64"),
        (arguments.facts, "an array", wider),
    ]:
        [(advice, made)], message = advised(function, wrong)
        assert message.startswith(f"expected {expected}, got an array of {dtype}, which NumPy")
        assert advice == f".astype('{to}')"
        function(made)
    [(advice, made)], message = advised(lambda x: arguments.scale(x, 2), wrong)
    assert advice == ".astype('float32')" and "keep the converted copy" in message
    with pytest.raises(BufferError, match="; pass a tensor of a library that exports bfloat16"):
        arguments.bfloats(wrong)


def test_advice_for_elements_that_are_converted_while_they_are_read():
    for given in [[1, 2.5], range(3), 1 + 0j]:
        [(advice, made)], _ = advised(arguments.mean_as, given)
        assert "'float64')" in advice
        arguments.mean_as(made)


def test_advice_for_a_negated_tensor():
    torch = require("torch")
    wrong = torch.tensor([1 + 2j]).conj().imag
    for function in [arguments.floats, arguments.convert_floats]:
        [(advice, made)], _ = advised(function, wrong)
        assert advice == "x.resolve_neg()" and made.tolist() == [-2]
        function(made)
        EXECUTED.add(advice)


def test_no_conversion_is_advised_for_text():
    for x in [array.array("u", "ab"), memoryview(b"ab").cast("c")]:
        with pytest.raises(TypeError, match="; pass a tensor"):
            arguments.floats(x)


def test_advice_for_one_array_in_place_of_a_list():
    for given in [floats(2, 3), {"a": floats(2), "b": floats(3)}.values()]:
        [(advice, made)], _ = advised(arguments.listed, given)
        arguments.listed(made)
        EXECUTED.add(advice)


def test_advice_for_a_type_that_only_pytorch_has():
    require("torch")
    for function, given in [
        (arguments.bfloats, np.arange(3.0)[::-1]),
        (arguments.converted_bf16, np.array([1, 2], ">c16")),
        (arguments.converted_bf16, np.array([1 + 2j, 3], "c8")),
    ]:
        [(advice, made)], _ = advised(function, given)
        assert made.tolist() == given.real.tolist()
        function(made)
        EXECUTED.add(advice)


def test_advice_for_a_device():
    class Copies(Exports):
        def __dlpack__(self, *, dl_device=None, **keywords):
            tensor = floats(3) if dl_device == (1, 0) else self.array
            return tensor.__dlpack__(**{**keywords, "copy": None})

    for function, keeps in [(arguments.facts, False), (arguments.writable, True)]:
        [(advice, made)], message = advised(function, Copies(testing.OnDevice(2, 0)))
        function(made)
        assert ("pass and keep a copy" in message) is keeps
        EXECUTED.add(advice)


EXECUTED = set()
SOURCES = "dlpack-traits/src/python"
# The libraries are not installed where this test runs, or are too new; pandas evaluates `x.astype`.
ELSEWHERE = ("cupy.", "dpnp.", "x.get()", "x.asnumpy()", "x.cpu()", "x.numpy()", "unmasked", "x.astype(")


class Lazy:
    """As a masked array of Dask, which is not where all libraries of these tests are."""

    def __init__(self, array):
        self.array = array
        self._meta = array[:0]

    def __dask_graph__(self):
        return {}

    def compute(self):
        return self.array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)


def test_advice_for_a_lazy_masked_array():
    given = Lazy(np.ma.masked_greater(floats(3), 1))
    for function in [arguments.floats, arguments.convert_floats]:
        cures, _ = advised(function, given)
        assert "x.compute().filled(0)" in dict(cures)
        for advice, made in cures:
            function(made)
            EXECUTED.add(advice)


def test_every_expression_of_the_sources_was_evaluated():
    """By the tests above, which run here again, because they may run in several processes."""
    require("torch"), require("jax")
    for parameters in PARAMETERS:
        test_advice_makes_an_argument_that_is_accepted(*parameters)
    for given in OBJECTS:
        test_advice_for_an_object_that_is_not_a_tensor(given)
    for given in CONVERTED:
        test_advice_for_an_object_that_is_converted(given)
    for given, expected in INVALID_BOOLS:
        test_advice_for_bools_that_are_neither_0_nor_1(given, expected)
    test_advice_for_a_masked_array()
    test_advice_of_pytorch()
    test_advice_for_tensors_that_pytorch_stores_otherwise()
    test_advice_for_an_array_that_jax_does_not_export()
    test_advice_for_a_negated_tensor()
    test_advice_for_one_array_in_place_of_a_list()
    test_advice_for_a_type_that_only_pytorch_has()
    test_advice_for_a_device()
    test_advice_of_an_import_for_what_numpy_does_not_export(testing.import_tensor)
    test_advice_for_dates_of_another_byte_order()
    test_advice_for_a_lazy_masked_array()
    root = os.path.join(os.path.dirname(__file__), "..", "..", SOURCES)
    texts = []
    for folder in ["argument", "import"]:
        for name in os.listdir(os.path.join(root, folder)):
            with open(os.path.join(root, folder, name)) as file:
                lines = [line for line in file if not line.lstrip().startswith("//")]
                texts += re.findall(EXPRESSION, "".join(lines))
    assert len(texts) > 30
    missing = set()
    for text in texts:
        if any(part in text for part in ELSEWHERE):
            continue
        pattern = re.escape(text).replace(r"\{real\}", "(x.real)?")
        pattern = pattern.replace(r"\{part\}", "(x?.real|.data)?")
        pattern = re.sub(r"\\\{\w*\\\}", ".+", pattern)
        if not any(re.fullmatch(pattern, done) for done in EXECUTED):
            missing.add(text)
    assert missing == set()
