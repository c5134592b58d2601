"""`python::from_dlpack` of objects that are not tensors: the exception and its message."""

import array
import operator
import re
import sys

import dlpack_testing as testing
import pytest
from conftest import nothing_left, require
from dlpack_testing import Writable


@pytest.mark.parametrize("object", [1, None, "text", [1.0], object()])
def test_no_producer(object):
    """AttributeError, as the standard requires."""
    with pytest.raises(AttributeError, match="__dlpack__"), nothing_left():
        testing.import_tensor(object)


def of_numbers():
    """Objects that NumPy can convert to a tensor, and their elements."""
    np = require("numpy")

    class Image:
        """An object with `__array_interface__` as in Pillow, or with `__array__` as in
        pandas."""

        # The interface is an address and owns nothing.
        kept = np.arange(3.0)
        __array_interface__ = kept.__array_interface__

    numbers = [0.0, 1.0, 2.0]
    doubles = array.array("d", numbers)
    return [
        (numbers, numbers),
        (tuple(numbers), numbers),
        ([[0.0, 1.0], [2.0, 3.0]], [0.0, 1.0, 2.0, 3.0]),
        (range(3), [0, 1, 2]),
        (7, [7]),
        (True, [True]),
        (7.5, [7.5]),
        (7j, [7j]),
        (np.float64(7.5), [7.5]),
        (bytes([1, 2]), [1, 2]),
        (bytearray([1, 2]), [1, 2]),
        (memoryview(doubles), numbers),
        (doubles, numbers),
        (Image(), numbers),
    ]


@pytest.mark.parametrize("asked", [{}, {"copy": True}, {"device": (1, 0)}], ids=str)
def test_what_is_no_tensor_yet_says_what_makes_one(asked):
    """Evaluating the expression that the message suggests returns the elements."""
    np = require("numpy")
    for given, elements in of_numbers():
        with pytest.raises(AttributeError) as caught, nothing_left():
            testing.import_tensor(given, **asked)
        text = str(caught.value)
        assert type(caught.value) is AttributeError
        assert f"of type `{qualified(given)}`, which is not a tensor" in text, text
        [instead] = re.findall("; pass `(.+)`$", text)
        made = eval(instead, {"numpy": np, "x": given})
        shape, _, dtype = testing.import_tensor(made).facts()[:3]
        assert tuple(shape) == made.shape and dtype == str(made.dtype)
        assert made.ravel().tolist() == elements


def qualified(given):
    """The qualified name of its type."""
    cls = type(given)
    module = "" if cls.__module__ == "builtins" else f"{cls.__module__}."
    return f"{module}{cls.__qualname__}"


@pytest.mark.parametrize(
    "given",
    [None, "text", {1}, pytest.param(object(), id="object()"), {"a": 1}],
    ids=repr,
)
def test_what_numpy_makes_nothing_of(given):
    """For objects that NumPy cannot convert, the message does not suggest NumPy."""
    text = f"`{qualified(given)}`, which is not a tensor: it has no `__dlpack__`; pass a tensor,"
    with pytest.raises(AttributeError, match=re.escape(text)), nothing_left():
        testing.import_tensor(given)


def test_a_stream_does_not_change_the_message():
    """With a stream, `__dlpack_device__` is called first."""
    text = "`list`, which is not a tensor: it has no `__dlpack__`; pass `numpy.asarray(x)`"
    with pytest.raises(AttributeError, match=re.escape(text)), nothing_left():
        testing.import_tensor([1.0], stream=5)


def test_scalars_of_numpy_that_are_no_numbers():
    """NumPy makes arrays of them that it cannot export."""
    np = require("numpy")
    others = [
        np.str_("text"),
        np.datetime64("2026-01-01"),
        np.timedelta64(1, "s"),
        np.longdouble(1),
        np.zeros(1, [("a", "f4")])[0],
    ]
    for given in others:
        with pytest.raises(AttributeError, match="; pass a tensor,"), nothing_left():
            testing.import_tensor(given)
    for given in [np.float32(1), np.int8(1), np.uint64(1), np.bool_(True), np.complex64(1)]:
        with pytest.raises(AttributeError, match=r"; pass `numpy\.asarray\(x\)`$"):
            testing.import_tensor(given)


KINDS = ["list", "None", "class", "module"]


@pytest.mark.parametrize("given", [[1.0], None, int, pytest], ids=KINDS)
def test_the_error_says_of_what_it_is(given):
    """The exception has `name` and `obj`, as Python's own AttributeErrors do."""
    for asked in [{}, {"stream": 5}, {"copy": True}]:
        with pytest.raises(AttributeError, match="is not a tensor") as caught, nothing_left():
            testing.import_tensor(given, **asked)
        assert caught.value.name == "__dlpack__" and caught.value.obj is given
        assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "given, text",
    [
        (int, "the object is the class `int`, which is not a tensor; pass a tensor, such as"),
        (Writable, "the object is the class `.*Writable`, which is not a tensor; pass a tensor"),
        (pytest, "the object is a module, which is not a tensor; pass a tensor, such as"),
    ],
    ids=["class", "class of tensors", "module"],
)
def test_a_class_and_a_module_are_not_tensors(given, text):
    with pytest.raises(AttributeError, match=text):
        testing.import_tensor(given)
    with pytest.raises(TypeError, match=text):
        testing.arguments.floats(given)


def found_by_code():
    """Objects whose types have no `__dlpack__`, and whose code decides what an attribute is."""

    class Column:
        def __init__(self, answer):
            self.answer = answer

        def __getattr__(self, name):
            return self.answer(name)

    def raising(error):
        def answer(name):
            raise error

        return answer

    class Nothing:
        __dlpack__ = None

    class Exports:
        def __dlpack__(self, **keywords):
            raise AssertionError

    class Overrides(Exports):
        __dlpack__ = None

    class Itself:
        def __init__(self):
            self.__dlpack__ = None

    class Attribute:
        def __getattribute__(self, name):
            if name.startswith("__dlpack"):
                raise LookupError(name)
            return object.__getattribute__(self, name)

    yield Column(raising(AttributeError("the column has no attribute '__dlpack__'")))
    yield Column(raising(KeyError("a column")))
    yield Column(lambda name: "a column")
    yield Column(lambda name: None)
    yield from [Nothing(), Overrides(), Itself(), Attribute()]


@pytest.mark.parametrize("given", list(found_by_code()), ids=lambda given: type(given).__name__)
def test_the_type_decides_what_an_object_is(given):
    """Not the exception of its `__getattr__`."""
    text = "which is not a tensor: it has no `__dlpack__`; pass a tensor"
    for asked in [{}, {"stream": 5}, {"copy": True}, {"device": (1, 0)}]:
        with pytest.raises(AttributeError, match=text):
            testing.import_tensor(given, **asked)
    with pytest.raises(TypeError, match=text):
        testing.arguments.floats(given)


@pytest.mark.parametrize("exit", [KeyboardInterrupt, SystemExit, MemoryError])
def test_an_exit_of_a_lookup_arrives(exit):
    class Interrupts:
        def __getattr__(self, name):
            raise exit("stop")

    for function in [testing.import_tensor, testing.arguments.floats]:
        with pytest.raises(exit, match="^stop"):
            function(Interrupts())


def test_a_proxy_of_a_tensor_is_imported():
    """Its type has no `__dlpack__`, and its `__getattr__` returns one."""

    class Proxy:
        def __init__(self, tensor):
            self.tensor = tensor

        def __getattr__(self, name):
            return getattr(self.tensor, name)

    assert testing.import_tensor(Proxy(Writable([1.0]))).floats() == [1.0]


def test_a_method_that_a_subclass_of_numpy_removes():
    """`None` in the class means that there is no method."""
    numpy = pytest.importorskip("numpy")

    class Without(numpy.ndarray):
        __dlpack__ = None

    given = numpy.ones(2, "f4").view(Without)
    for function, error in [(testing.import_tensor, AttributeError), (testing.arguments.floats, TypeError)]:
        with pytest.raises(error, match="it has no `__dlpack__`; pass `numpy.asarray"):
            function(given)
    assert testing.arguments.convert_floats(given)[0] == [1, 1]


def test_words_of_the_object_stay():
    """An AttributeError that the `__dlpack__` of an object raises is not replaced, even if its
    text looks like Python's."""

    class Around:
        def __dlpack__(self, **keywords):
            return [1.0].__dlpack__(**keywords)

    with pytest.raises(AttributeError, match="^'list' object has no"):
        testing.import_tensor(Around())

    class Holder:
        inner = [1.0]
        __dlpack__ = property(operator.attrgetter("inner.__dlpack__"))

    with pytest.raises(AttributeError, match="^'list' object has no") as caught:
        testing.import_tensor(Holder())
    assert caught.value.obj is Holder.inner


def test_who_exports_but_names_no_device():
    """The message names the missing method and does not say that the object is not a
    tensor."""

    class Placeless:
        def __init__(self):
            self.tensor = Writable([1.0])

        def __dlpack__(self, **keywords):
            return self.tensor.__dlpack__(**keywords)

    class PlacelessInside:
        def __init__(self):
            self.__dlpack__ = Writable([1.0]).__dlpack__

    for cls in [Placeless, PlacelessInside]:
        assert testing.import_tensor(cls()).floats() == [1.0]
        text = f"^'{cls.__name__}' object has no attribute '__dlpack_device__'$"
        with pytest.raises(AttributeError, match=text):
            testing.import_tensor(cls(), stream=5)


class Raises:
    """An attribute that cannot be read from the object or its class."""

    def __init__(self, error):
        self.error = error

    def __get__(self, instance, owner):
        raise self.error


def of_dtype(error):
    """An object whose `dtype` raises when it is read. Its `__array__` is not."""

    class Described:
        __array__ = Raises(AssertionError)
        dtype = Raises(error)

    return Described()


def of_buffer(error):
    """An object whose buffer cannot be acquired."""
    if sys.version_info < (3, 12):
        pytest.skip("classes have `__buffer__` from Python 3.12 on")

    class Buffer:
        def __buffer__(self, flags):
            raise error

    return Buffer()


def of_table(error):
    """An object whose exchange table raises when it is looked up."""

    class Meta(type):
        def __getattr__(cls, name):
            if name == "__dlpack_c_exchange_api__":
                raise error
            raise AttributeError(name)

    class Table(metaclass=Meta):
        pass

    return Table()


HOOKS = pytest.mark.parametrize("of", [of_dtype, of_buffer, of_table])


@HOOKS
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_interrupts_the_explanation_arrives(of, error):
    """An interrupt, or a MemoryError, is raised instead of the explanation."""
    given = of(error("stop"))
    with pytest.raises(error, match="^stop$"):
        testing.import_tensor(given, copy=False)


@HOOKS
def test_what_goes_wrong_in_the_explanation(of):
    """Any other exception during the explanation is dropped."""
    with pytest.raises(AttributeError, match="is not a tensor.*; pass a tensor,"):
        testing.import_tensor(of(KeyError("lost")), copy=False)


def test_a_metaclass_is_not_asked_what_its_class_has():
    """Attributes are read from the type; its metaclass is consulted only for a table."""
    asked = []

    class Meta(type):
        def __getattr__(cls, name):
            asked.append(name)
            raise AttributeError(name)

    class OfMeta(metaclass=Meta):
        pass

    with pytest.raises(AttributeError, match="is not a tensor"):
        testing.import_tensor(OfMeta())
    assert set(asked) == {"__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"}
