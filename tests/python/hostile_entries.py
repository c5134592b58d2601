"""Every import function that Python code can reach, as a function of one argument, for
`dlpack_conformance`."""

import builtins
import ctypes
from ctypes import byref, c_void_p

import dlpack_example
import dlpack_testing as testing
from exchange_table import SetError, Table

# `python::from_dlpack`, and the tensor held.
from_dlpack = testing.import_tensor
# The function of the example.
example = dlpack_example.from_dlpack
# The class method of an importable class, by hand and by the derive.
class_method = testing.Anything.from_dlpack
derived = testing.Derived.from_dlpack
# `python::with_tensor` and `python::with_view`.
borrow = testing.borrowed_facts
borrow_view = testing.viewed_facts


def to_object(address):
    """The function of our table that makes an object from a managed tensor."""
    return Table(testing.Anything).to_object(address)


def allocate(address):
    """Our table's allocator, which is given a prototype; then the deleter."""
    table, told = Table(testing.Anything), []

    @SetError
    def set_error(context, kind, message):
        told.append((kind.decode(), message.decode()))

    out = c_void_p(1)
    function = ctypes.cast(table.functions.allocate, c_void_p).value
    call = type(table.functions.allocate)
    # ctypes passes the prototype as an address, not as an object.
    prototype = ctypes.cast(address, call._argtypes_[0])
    code = call(function)(prototype, byref(out), None, set_error)
    if code == 0:
        assert told == [] and out.value
        from exchange_table import delete

        delete(out.value)
        return None
    assert out.value is None and len(told) == 1, "told once, and nothing made"
    kind, message = told[0]
    raise getattr(builtins, kind)(message)


def take_allocated(cls):
    """`python::allocate` by the allocator of a type."""
    return testing.allocate_and_drop(cls, [2, 3])
