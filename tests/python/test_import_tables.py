"""`python::from_dlpack` through the exchange table of a type: which tables are used, and
how results and errors of their functions are handled. Rules X1 to X6."""

import gc
import os
import sys
import sysconfig
import weakref

import dlpack_testing as testing
import pytest
from conftest import check_leaks, nothing_left, require, run_in_a_new_process
from dlpack_testing import Writable

# The text of a `c10::Error` of PyTorch.
FRAMES = "long\nException raised from f at f.cpp:1 (most recent call first):\nframe #0: f"
NEW, OLD = "__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"


@pytest.fixture(autouse=True)
def fresh_script():
    testing.script()


def by_table(held):
    """Whether the tensor was imported through the scripted table."""
    return held.floats() == [1.0, 2.0, 3.0]


def producer(table, *bases, name=NEW, protocol=True):
    """An object of a new type with that table; its `__dlpack__` exports a different tensor.
    """
    namespace = {} if table is None else {name: table}
    if protocol:
        namespace["__dlpack__"] = lambda self, **kw: Writable([9.0]).__dlpack__(**kw)
        namespace["__dlpack_device__"] = lambda self: (1, 0)
    return type("Producer", bases, namespace)()


def imported_by_table(table, **keywords):
    held = testing.import_tensor(producer(table), **keywords)
    assert by_table(held) or held.floats() == [9.0]
    return by_table(held)


# --- which tables ----------------------------------------------------------


@pytest.mark.parametrize("version", [(1, 2), (1, 3), (1, 4), (1, 99)])
def test_tables_that_are_read(version):
    """Our version, the one before it, and later minor versions of our major version are
    read."""
    assert imported_by_table(testing.scripted_table(version=version))


@pytest.mark.parametrize("version", [(0, 3), (1, 0), (1, 1), (2, 0), (2, 3)])
def test_tables_that_are_not_read(version):
    """Tables of another major version, and of versions before tables existed, are not read.
    Rules X1, X3."""
    assert not imported_by_table(testing.scripted_table(version=version))


def test_an_older_table_behind_a_newer_one():
    """The older table is found at up to sixteen links, and not further. Rule X1."""
    known = testing.scripted_table_address()
    for steps in range(1, 20):
        newer = testing.scripted_table(version=(2, 0), prev=known)
        assert imported_by_table(newer) is (steps < 16), steps
        known = testing.scripted_table_address(version=(2, 0), prev=known)


def test_tables_in_a_circle():
    """A cycle of tables ends the search. Rule X1."""
    itself = testing.scripted_table_address(version=(2, 0), circle=True)
    assert not imported_by_table(testing.scripted_table(version=(2, 0), prev=itself))


@pytest.mark.parametrize("missing", ["allocate", "wrap", "view", "stream"])
def test_functions_that_are_not_needed(missing):
    """Functions that the import does not call may be NULL. Rule X2."""
    assert imported_by_table(testing.scripted_table(missing=[missing]))


def test_the_function_that_is_needed():
    """If the function that the import calls is NULL, `__dlpack__` is called. Rule X2."""
    assert not imported_by_table(testing.scripted_table(missing=["export"]))


@pytest.mark.parametrize("name", [NEW, OLD])
@pytest.mark.parametrize("table", [None, 0, 1, "text", object(), property(lambda _: 1)])
def test_what_is_no_table(name, table):
    """An attribute that is not a capsule is ignored; an integer is not used as an address.
    Rule X4."""
    held = testing.import_tensor(producer(table, name=name))
    assert held.floats() == [9.0]


def test_a_capsule_of_another_name():
    """A capsule of another name is ignored. Rule X4."""
    assert not imported_by_table(testing.scripted_table(name="dltensor"))


def test_an_attribute_of_the_object():
    """An attribute of the object is ignored, because the table belongs to the type. Rule
    X4."""
    one = producer(None)
    setattr(one, NEW, testing.scripted_table())
    assert testing.import_tensor(one).floats() == [9.0]


def test_the_old_name():
    """The older attribute name is read if it holds a capsule and the new name is absent."""
    capsule = testing.scripted_table()
    assert by_table(testing.import_tensor(producer(capsule, name=OLD)))
    both = type("Both", (), {NEW: None, OLD: capsule})
    with pytest.raises(AttributeError, match="__dlpack__"):
        testing.import_tensor(both())


@pytest.mark.parametrize("name", [NEW, OLD])
def test_addresses(name):
    """An integer attribute is used as an address only with `addresses=True`."""
    address = testing.scripted_table_address()
    one = producer(address, name=name)
    for _ in range(2):
        assert testing.import_tensor(one).floats() == [9.0]
        assert by_table(testing.import_tensor(one, addresses=True))
    assert not by_table(testing.import_tensor(producer(0, name=name), addresses=True))


def test_subclasses():
    """Subclasses use the table of their base, unless they define another. Rule X6."""
    base = type(producer(testing.scripted_table()))
    assert by_table(testing.import_tensor(producer(None, base, protocol=False)))
    without = type("Without", (base,), {NEW: None})
    assert testing.import_tensor(without()).floats() == [9.0]


def test_a_subclass_of_a_class_of_ours():
    """The subclass uses the table, or the methods, of its base."""

    class More(testing.Floats):
        pass

    assert testing.import_tensor(testing.Floats.from_dlpack(Writable([1.0]))).floats() == [1.0]
    assert issubclass(More, testing.Floats)


def test_a_metaclass_that_raises():
    """Its exception is raised, unless it is AttributeError."""

    class Meta(type):
        def __getattr__(cls, name):
            raise error

    class Odd(metaclass=Meta):
        def __dlpack__(self, **keywords):
            return Writable([9.0]).__dlpack__(**keywords)

    error = ValueError("of the metaclass")
    with pytest.raises(ValueError, match="of the metaclass"):
        testing.import_tensor(Odd())
    error = AttributeError("of the metaclass")
    assert testing.import_tensor(Odd()).floats() == [9.0]


@pytest.mark.parametrize("asked", [{"device": (1, 0)}, {"copy": False}])
def test_what_a_table_has_no_words_for(asked):
    """A request that the table cannot express goes to `__dlpack__`."""
    held = testing.import_tensor(producer(testing.scripted_table()), **asked)
    assert held.floats() == [9.0] and testing.scripted_calls() == {}


# --- whose table it is ------------------------------------------------------


def test_a_table_that_was_copied_later():
    """The class for which the table was first found keeps it. Rule X6."""
    capsule = testing.scripted_table()
    first = producer(capsule)
    assert by_table(testing.import_tensor(first))
    assert testing.import_tensor(producer(capsule)).floats() == [9.0]
    assert by_table(testing.import_tensor(first))


def test_a_table_that_was_moved_later():
    """The table keeps its first class, however many types were looked up since. Rule X6."""
    capsule = testing.scripted_table()
    first = producer(capsule)
    assert by_table(testing.import_tensor(first))
    for _ in range(3000):
        testing.import_tensor(producer(None))
    delattr(type(first), NEW)
    assert testing.import_tensor(producer(capsule)).floats() == [9.0]


@pytest.mark.parametrize("name", [NEW, OLD])
def test_a_table_that_two_classes_have(name):
    """Neither class uses it, because its owner is ambiguous. Rule X6."""
    capsule = testing.scripted_table()
    one, other = producer(capsule), producer(capsule, name=name)
    for each in (other, one, other):
        assert testing.import_tensor(each).floats() == [9.0]
    assert testing.scripted_calls() == {}


def test_a_subclass_may_repeat_the_table():
    """A subclass that repeats the table of its base uses it."""
    capsule = testing.scripted_table()
    base = type(producer(capsule))
    repeated = type("Repeated", (base,), {NEW: capsule})
    below = type("Below", (repeated,), {})
    for each in (below, repeated, base):
        assert by_table(testing.import_tensor(each()))


def test_a_table_that_no_class_has():
    """An attribute that only the metaclass has is not a table. Rule X6."""

    class Meta(type):
        @property
        def __dlpack_c_exchange_api__(cls):
            return capsule

    class Odd(metaclass=Meta):
        def __dlpack__(self, **keywords):
            return Writable([9.0]).__dlpack__(**keywords)

    capsule = testing.scripted_table()
    assert testing.import_tensor(Odd()).floats() == [9.0]


def test_a_metaclass_cannot_hide_the_owner():
    """The method resolution order, the subclasses and the attributes are read from the
    interpreter's own type structures, which a metaclass cannot override. Rule X6."""
    capsule = testing.scripted_table()
    owner = type(producer(capsule))

    class Meta(type):
        __dict__ = {}

        @property
        def __mro__(cls):
            return (cls, owner, object)

        def __subclasses__(cls):
            return []

    class Copied(metaclass=Meta):
        __dlpack_c_exchange_api__ = capsule

        def __dlpack__(self, **keywords):
            return Writable([9.0]).__dlpack__(**keywords)

    one = Copied()
    assert testing.import_tensor(one).floats() == [9.0]
    capsule = testing.scripted_table()
    first = producer(capsule)
    assert by_table(testing.import_tensor(first))
    Copied = Meta("Copied", (Copied,), {NEW: capsule})
    assert testing.import_tensor(Copied()).floats() == [9.0]


def test_a_copy_of_our_own_table():
    """The table of our class is not used for objects of the other class."""

    class Copied:
        __dlpack_c_exchange_api__ = Writable.__dlpack_c_exchange_api__

        def __dlpack__(self, **keywords):
            return Writable([9.0]).__dlpack__(**keywords)

    assert testing.import_tensor(Copied()).floats() == [9.0]
    with pytest.raises(TypeError, match="has no exchange table that allocates"):
        testing.allocate(Copied, [3])


@pytest.mark.parametrize("first", ["copy", "original"])
def test_a_copy_of_the_table_of_another_library(first):
    """The table's function would read any object as one of its own class. Rule X6."""
    require("tvm_ffi")
    code = f"""if True:
        import dlpack_testing as testing
        import numpy, tvm_ffi

        original = tvm_ffi.core.DLTensorTestWrapper
        tensor = original(tvm_ffi.from_dlpack(numpy.arange(3.0, dtype="float32")))

        class Copied:
            __dlpack_c_exchange_api__ = original.__dlpack_c_exchange_api__

        class Over(numpy.ndarray):
            __dlpack_c_exchange_api__ = original.__dlpack_c_exchange_api__

        if {first == "original"}:
            assert testing.import_tensor(tensor).floats() == [0.0, 1.0, 2.0]
        for _ in range(2):
            try:
                testing.import_tensor(Copied())
            except AttributeError:
                pass
            else:
                raise AssertionError("the table was used")
            over = numpy.ones(2, dtype="float32").view(Over)
            assert testing.import_tensor(over).floats() == [1.0, 1.0]
            assert testing.import_tensor(tensor).floats() == [0.0, 1.0, 2.0]
    """
    run_in_a_new_process(code)


# --- what it does ----------------------------------------------------------


def outcome(**script):
    """The outcome of an import: through the table, through `__dlpack__`, or an exception.
    """
    testing.script(**script)
    one = producer(testing.scripted_table())
    result = None

    def body():
        nonlocal result
        try:
            result = by_table(testing.import_tensor(one))
        except Exception as error:
            result = type(error)

    check_leaks(body, rounds=3)
    return result


def test_outcomes():
    """Status, result and exception in every combination: only BufferError, an error that
    lists C++ frames, or a failure without an exception falls back to `__dlpack__`; a tensor
    that was made is released. Rule X5."""
    assert outcome() is True
    assert outcome(nothing=True) is False
    assert outcome(raises="ValueError") is ValueError
    assert outcome(raises="ValueError", nothing=True) is ValueError
    assert outcome(raises="BufferError") is False
    assert outcome(raises="TypeError") is TypeError
    assert outcome(raises="RuntimeError") is RuntimeError
    assert outcome(raises=f"RuntimeError: {FRAMES}") is False
    assert outcome(raises=f"NotImplementedError: {FRAMES}") is NotImplementedError
    assert outcome(raises=f"MemoryError: {FRAMES}") is MemoryError
    for status in (-1, 1):
        assert outcome(status=status, nothing=True) is False
        assert outcome(status=status, nothing=True, raises="ValueError") is ValueError
        assert outcome(status=status, nothing=True, raises="BufferError") is False


def raised(script, by_dlpack=None):
    """The exception of an import whose table and `__dlpack__` both fail."""
    testing.script(**script)
    one = producer(testing.scripted_table(), protocol=False)
    if by_dlpack is not None:

        def dlpack(self, **keywords):
            raise by_dlpack

        type(one).__dlpack__ = dlpack
    with pytest.raises(BaseException) as caught:
        testing.import_tensor(one)
    return caught.value


def test_an_error_with_cpp_frames_is_replaced():
    """PyTorch's table lists the C++ frames of an error that its `__dlpack__` raises in one
    line. The shorter exception is raised, without the longer one as its cause."""
    frames = {"raises": f"RuntimeError: {FRAMES}", "status": -1, "nothing": True}
    for short in (BufferError("short"), RuntimeError("short"), KeyboardInterrupt()):
        error = raised(frames, short)
        assert error is short and error.__cause__ is None
    # Without `__dlpack__` there is no shorter one.
    error = raised(frames)
    assert type(error) is RuntimeError and str(error) == FRAMES


@pytest.mark.parametrize("raises", ["KeyboardInterrupt", "MemoryError", "RuntimeError"])
def test_other_errors_of_a_table_are_raised(raises):
    """`__dlpack__` is not called after them."""
    script = {"raises": raises, "status": -1, "nothing": True}
    error = raised(script, AssertionError("`__dlpack__` was called"))
    assert type(error).__name__ == raises and str(error) == f"{raises} of the table"


def test_a_failure_keeps_what_it_made():
    """If the table fails and returns a tensor, the owner of the tensor is unclear, so it is
    not released a second time. Rule X5."""
    one = producer(testing.scripted_table())
    for raises, result in [("ValueError", ValueError), (None, None)]:
        testing.script(status=-1, raises=raises)
        live = testing.live()
        if result:
            with pytest.raises(result):
                testing.import_tensor(one)
        else:
            assert testing.import_tensor(one).floats() == [9.0]
        assert testing.live() == live + 1


def test_a_type_with_nothing_but_a_table():
    """The exception of the table is the cause of the one that `__dlpack__` raises."""
    one = producer(testing.scripted_table(), protocol=False)
    assert by_table(testing.import_tensor(one))
    for script, message in [
        ({"raises": "BufferError", "status": -1, "nothing": True}, "of the table"),
        ({"status": -1, "nothing": True}, "failed and raised nothing"),
        ({"nothing": True}, "made nothing and raised nothing"),
    ]:
        testing.script(**script)
        with pytest.raises(AttributeError) as caught:
            testing.import_tensor(one)
        assert message in str(caught.value.__cause__)


def test_what_has_a_table_is_a_tensor():
    """A request that needs `__dlpack__` fails for a type with only a table, but the error
    does not deny that the object is a tensor."""
    one = producer(testing.scripted_table(), protocol=False)
    with pytest.raises(AttributeError, match="object has no attribute '__dlpack__'$"):
        testing.import_tensor(one, copy=False)


def test_a_struct_that_is_refused():
    """The rejected struct is released, and `__dlpack__` is called."""
    assert outcome(shape=[-1]) is False


def test_a_tensor_on_a_device_comes_by_the_protocol():
    """A table does not synchronize, so device tensors use `__dlpack__` unless no
    synchronization is needed."""
    one = producer(testing.scripted_table())
    # A new type may be allocated at the address of one that was freed. Whether this happens
    # depends on the allocator.
    testing.import_tensor(one)
    with nothing_left():
        testing.script(device=(2, 0))
        assert testing.import_tensor(one).facts()[3] == "cpu"
        assert testing.import_tensor(one, stream=-1).facts()[3] == "cuda:0"
        # The CPU reads pinned memory, so pending work on it must have finished.
        testing.script(device=(3, 0))
        assert testing.import_tensor(one, stream=-1).facts()[3] == "cpu"


# --- caching ---------------------------------------------------------------


def test_many_types():
    """With more types than the cache holds, each import is right."""
    base = type(producer(testing.scripted_table()))
    types = [type(producer(None, *([base] if turn % 2 else []))) for turn in range(600)]
    for _ in range(3):
        for turn, each in enumerate(types):
            assert by_table(testing.import_tensor(each())) is bool(turn % 2)


def test_the_attribute_is_looked_up_once():
    """Later imports look up no attribute of the type or its metaclass."""
    lookups = []

    class Meta(type):
        def __getattribute__(cls, name):
            lookups.append(name)
            return super().__getattribute__(name)

    class Watched(metaclass=Meta):
        __dlpack_c_exchange_api__ = testing.scripted_table()

    one = Watched()
    testing.import_tensor(one)
    assert NEW in lookups
    lookups.clear()
    for _ in range(10):
        assert by_table(testing.import_tensor(one))
    assert lookups == []


# Once a thread has started, this CPython itself keeps every class until the interpreter ends.
classes_are_freed = pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")) and sys.version_info < (3, 14),
    reason="free-threaded CPython 3.13 keeps classes",
)


@classes_are_freed
@pytest.mark.skipif("DLPACK_SANITIZED" in os.environ, reason="a sanitizer keeps what is freed")
def test_types_that_are_gone():
    """A type leaves the cache before its address is that of another type. Rule X6."""
    base = type(producer(testing.scripted_table()))
    addresses = set()
    for turn in range(2000):
        one = producer(None, *([base] if turn % 3 else []))
        assert by_table(testing.import_tensor(one)) is bool(turn % 3)
        addresses.add(id(type(one)))
        del one
        if turn % 3 != 1:
            gc.collect(0)
    assert len(addresses) < 2000, "no address was used again"


@classes_are_freed
def test_types_are_freed():
    """The cache keeps no type, and nothing that a type refers to."""

    class Large:
        pass

    one = producer(None)
    type(one).large = Large()
    testing.import_tensor(one)
    references = [weakref.ref(type(one)), weakref.ref(type(one).large)]
    del one
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_references_of_objects():
    """An import through the table holds no reference to a Python object."""
    one = producer(testing.scripted_table())
    testing.import_tensor(one)
    before = sys.getrefcount(one), sys.getrefcount(type(one))
    testing.import_often(one, 1000)
    assert (sys.getrefcount(one), sys.getrefcount(type(one))) == before
