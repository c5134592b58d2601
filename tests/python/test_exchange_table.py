"""The exchange table that every class has: its five functions with Python
objects, and the consumers that use it."""

import ctypes
import sys

import dlpack_testing as testing
import pytest
from conftest import check_leaks, nothing_left, require
from dlpack_example import Canvas, Image, Tensor
from dlpack_structs import READ_ONLY, DLManagedTensorVersioned
from dlpack_testing import (
    CallsOnDrop,
    Faulty,
    Frozen,
    Growing,
    Received,
    Single,
    Viewed,
    Writable,
    publish_on,
)
from exchange_table import ATTRIBUTE, CAPSULE, Table, address, delete

OLD_ATTRIBUTE = "__c_dlpack_exchange_api__"


def managed(tensor):
    """The struct of a managed tensor."""
    return DLManagedTensorVersioned.from_address(tensor)


def floats(tensor):
    """The elements of a compact float32 tensor."""
    count = 1
    for axis in range(tensor.ndim):
        count *= tensor.shape[axis]
    return list((ctypes.c_float * count).from_address(tensor.data))


# --- publishing ------------------------------------------------------------


@pytest.mark.parametrize("cls", [Image, Canvas, Tensor, Frozen, Growing, Received])
def test_every_class_has_a_table(cls):
    capsule = cls.__dict__[ATTRIBUTE]
    assert type(capsule).__name__ == "PyCapsule"
    assert CAPSULE.decode() in repr(capsule)
    table = Table(cls)
    assert (table.header.version.major, table.header.version.minor) == (1, 3)
    assert table.header.prev_api is None
    functions = table.functions
    for name, _ in functions._fields_[1:]:
        assert ctypes.cast(getattr(functions, name), ctypes.c_void_p).value, name


def test_each_class_has_a_table_of_its_own():
    classes = [Image, Canvas, Tensor, Frozen, Writable, Single]
    assert len({address(cls) for cls in classes}) == len(classes)


def test_the_old_name_is_there_on_request():
    assert address(Viewed, OLD_ATTRIBUTE) == address(Viewed)
    assert not hasattr(Frozen, OLD_ATTRIBUTE)


def test_a_subclass_inherits_the_table():
    class Derived(Writable):
        pass

    assert address(Derived) == address(Writable)
    tensor = Table(Derived).from_object(Derived([1.0, 2.0]))
    assert floats(managed(tensor).dl_tensor) == [1.0, 2.0]
    delete(tensor)


def test_a_table_can_be_put_on_a_type_of_another_tool():
    class Foreign:
        pass

    publish_on(Foreign)
    table = Table(Foreign)
    assert (table.header.version.major, table.header.version.minor) == (1, 3)
    with pytest.raises(TypeError):
        table.from_object(Foreign())
    with pytest.raises(TypeError):
        publish_on(int)


# --- from an object --------------------------------------------------------


@pytest.mark.parametrize("cls", [Frozen, Writable, Single, Growing])
def test_a_managed_tensor_is_no_copy(cls):
    def body():
        tensor = cls([1.0, 2.0, 3.0])
        exported = Table(cls).from_object(tensor)
        struct = managed(exported)
        assert (struct.version.major, struct.version.minor) == (1, 3)
        assert struct.dl_tensor.data == tensor.data_ptr
        assert struct.flags == (0 if cls is Writable else READ_ONLY)
        del tensor
        assert floats(struct.dl_tensor) == [1.0, 2.0, 3.0]
        delete(exported)

    check_leaks(body)


def test_an_object_that_owns_its_memory_is_borrowed_until_the_deleter():
    growing = Growing([1.0])
    references = sys.getrefcount(growing)
    exported = Table(Growing).from_object(growing)
    assert sys.getrefcount(growing) == references + 1
    with pytest.raises(RuntimeError, match="Already borrowed"):
        growing.push(2.0)
    delete(exported)
    assert sys.getrefcount(growing) == references
    growing.push(2.0)


@pytest.mark.parametrize("fault", Faulty.all())
def test_the_table_refuses_what_dlpack_refuses(fault):
    def body():
        faulty = Faulty(fault)
        with pytest.raises(Exception) as by_method:
            faulty.__dlpack__(max_version=(1, 3))
        with pytest.raises(Exception) as by_table:
            Table(Faulty).from_object(faulty)
        assert by_table.type is by_method.type
        assert str(by_table.value) == str(by_method.value)
        with pytest.raises((BufferError, RuntimeError)):
            Table(Faulty).view(faulty)

    check_leaks(body, rounds=3)


def test_other_objects_are_refused():
    def body():
        for other in [1, None, object(), Frozen, Single([1.0])]:
            with pytest.raises(TypeError):
                Table(Writable).from_object(other)
            with pytest.raises(TypeError):
                Table(Writable).view(other)

    check_leaks(body)


def test_an_object_in_use_is_refused():
    growing = Growing([1.0])

    def export():
        with pytest.raises(RuntimeError, match="Already mutably borrowed"):
            Table(Growing).from_object(growing)

    growing.while_borrowed(export)


# --- a view ----------------------------------------------------------------


def test_a_view_is_of_the_object_and_holds_nothing():
    writable = Writable([1.0, 2.0, 3.0, 4.0], [2, 2])
    references = sys.getrefcount(writable)
    with nothing_left():
        views = [Table(Writable).view(writable) for _ in range(100)]
    assert sys.getrefcount(writable) == references
    for view in views:
        assert view.data == writable.data_ptr
        assert view.shape[:2] == [2, 2] and view.strides[:2] == [2, 1]
    # Shape and strides are where they were, however many views there are.
    assert len({ctypes.addressof(view.strides.contents) for view in views}) == 1


def test_read_only_memory_is_lent_where_the_class_says_so():
    viewed = Viewed([1.0, 2.0, 3.0])
    view = Table(Viewed).view(viewed)
    assert view.shape[:2] == [1, 3] and view.strides[:2] == [3, 1]
    assert floats(view) == [1.0, 2.0, 3.0]
    with pytest.raises(BufferError, match="read-only"):
        Table(Frozen).view(Frozen([1.0]))


def test_a_class_that_can_change_has_no_views():
    with pytest.raises(BufferError, match="frozen"):
        Table(Growing).view(Growing([1.0]))


# --- to an object ----------------------------------------------------------


def test_an_object_is_made_of_a_tensor():
    def body():
        writable = Writable([1.0, 2.0])
        made = Table(Received).to_object(Table(Writable).from_object(writable))
        assert type(made) is Received
        # One variable has each; from CPython 3.14 on an argument is not counted.
        alone = object()
        assert sys.getrefcount(made) == sys.getrefcount(alone)
        writable.store(1, 5.0)
        del writable
        assert made.values() == [1.0, 5.0]
        assert require("numpy").from_dlpack(made).tolist() == [1.0, 5.0]

    check_leaks(body)


@pytest.mark.parametrize(
    ("cls", "shape", "error", "match"),
    [
        (Received, [2, 1], ValueError, "it takes one dimension"),
        (Received, [13], RuntimeError, "panicked"),
        (Writable, [2], BufferError, "only exports"),
    ],
)
def test_after_a_failure_the_tensor_is_the_callers(cls, shape, error, match):
    count = shape[0]

    def body():
        tensor = Table(Writable).from_object(Writable([0.0] * count, shape))
        with pytest.raises(error, match=match):
            Table(cls).to_object(tensor)
        assert floats(managed(tensor).dl_tensor) == [0.0] * count
        delete(tensor)

    check_leaks(body, rounds=5)


def test_what_a_deleter_raises_is_reported():
    """It may be Python's, and run when an object dies, or while one is made."""

    def fails():
        raise LookupError("on purpose")

    reported = []
    hook, sys.unraisablehook = sys.unraisablehook, reported.append
    try:
        made = Table(Received).to_object(
            Table(CallsOnDrop).from_object(CallsOnDrop(fails))
        )
        with pytest.raises(ZeroDivisionError):
            try:
                1 / 0
            finally:
                del made
        assert [type(event.exc_value) for event in reported] == [LookupError]
    finally:
        sys.unraisablehook = hook


# --- the allocator and the stream ------------------------------------------


def test_the_allocator_makes_zeros():
    def body():
        tensor = Table(Frozen).allocate([3, 4])
        struct = managed(tensor)
        assert struct.flags == 0
        assert struct.dl_tensor.data % 64 == 0
        assert floats(struct.dl_tensor) == [0.0] * 12
        delete(tensor)

    check_leaks(body)


def test_the_allocator_reports_once():
    def body():
        for arguments, kind, text in [
            (dict(shape=[-1]), "BufferError", "negative"),
            (dict(shape=[1], dtype=(2, 0, 1)), "BufferError", "element type"),
            (dict(shape=[1], device=(2, 0)), "BufferError", "no enabled backend"),
            (dict(shape=[2**60], dtype=(0, 8, 1)), "MemoryError", "could not allocate"),
        ]:
            told = []
            assert Table(Frozen).allocate(told=told, **arguments) is None
            assert len(told) == 1
            assert told[0][0] == kind and text in told[0][1]
            assert Table(Frozen).allocate(**arguments) is None, "SetError is NULL"

    check_leaks(body, rounds=3)


def test_the_cpu_has_no_stream():
    assert Table(Frozen).stream(1, 0) is None
    with pytest.raises(BufferError, match="no enabled backend"):
        Table(Frozen).stream(2, 0)


# --- consumers -------------------------------------------------------------


def test_tvm_ffi_takes_objects_through_the_table():
    """A subclass whose ``__dlpack__`` fails is imported all the same."""
    tvm_ffi = require("tvm_ffi")

    class OnlyTable(Writable):
        def __dlpack__(self, **keywords):
            raise AssertionError("__dlpack__ was called")

    def body():
        tensor = OnlyTable([1.0, 2.0, 3.0])
        taken = tvm_ffi.from_dlpack(tensor)
        assert tuple(taken.shape) == (3,)
        assert require("numpy").from_dlpack(taken).tolist() == [1.0, 2.0, 3.0]
        with pytest.raises(AssertionError):
            require("numpy").from_dlpack(tensor)

    check_leaks(body)


@pytest.mark.parametrize("library", ["torch", "this one"])
def test_a_subclass_that_overrides_has_to_hide_the_table(library):
    """The table is looked up on the type, as the standard says, and inherited. A subclass
    of ``torch.Tensor`` behaves as one of a class of this crate does."""
    tvm_ffi = require("tvm_ffi")
    if library == "torch":
        torch = require("torch")
        base = torch.Tensor
    else:
        base = Writable
    calls = []

    def make(cls):
        return cls([1.0]) if base is Writable else torch.tensor([1.0]).as_subclass(cls)

    class Override(base):
        def __dlpack__(self, **keywords):
            calls.append(type(self))
            return super().__dlpack__(**keywords)

    class Hidden(Override):
        __dlpack_c_exchange_api__ = None

    tvm_ffi.from_dlpack(make(Override))
    assert calls == []
    importing = testing.import_tensor(make(Override))
    assert calls == [] and importing.floats() == [1.0]
    assert testing.import_tensor(make(Hidden)).floats() == [1.0]
    assert calls == [Hidden]


def test_tvm_ffi_falls_back_where_the_table_refuses():
    """After a ``BufferError`` of the table, ``__dlpack__`` is called."""
    tvm_ffi = require("tvm_ffi")
    with pytest.raises(BufferError, match="film"):
        tvm_ffi.from_dlpack(Faulty("custom"))


def test_tvm_ffi_gives_back_the_class():
    """A function of tvm-ffi gets our object, and returns one of our class."""
    tvm_ffi = require("tvm_ffi")
    echo = tvm_ffi.get_global_func("testing.echo")

    def body():
        made = Table(Received).to_object(
            Table(Writable).from_object(Writable([1.0, 2.0]))
        )
        returned = echo(made)
        assert type(returned) is Received
        assert returned is not made
        assert returned.values() == [1.0, 2.0]

    check_leaks(body)


def test_tvm_ffi_keeps_its_tensor_where_the_class_only_exports():
    """tvm-ffi calls the deleter of a rejected tensor: it must run exactly once."""
    tvm_ffi = require("tvm_ffi")
    echo = tvm_ffi.get_global_func("testing.echo")

    def body():
        returned = echo(Writable([1.0, 2.0]))
        assert isinstance(returned, tvm_ffi.Tensor)
        assert require("numpy").from_dlpack(returned).tolist() == [1.0, 2.0]

    check_leaks(body)
