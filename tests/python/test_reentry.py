"""Classes whose export runs Python code that exports or releases the object, or that runs while
a base class is mutably borrowed."""

import ctypes

import dlpack_structs as structs
import pytest
from conftest import check_leaks
from dlpack_structs import DLManagedTensorVersioned
from dlpack_testing import CallsBack, Extends
from exchange_table import Table, delete

VERSIONED = {"max_version": (1, 3)}
FOUR = [1.0] * 4


def of_capsule(capsule):
    return structs.Tensor(capsule).floats()


def by_method(take):
    return of_capsule(take().__dlpack__(**VERSIONED))


def by_legacy_method(take):
    return of_capsule(take().__dlpack__())


def by_copy(take):
    return of_capsule(take().__dlpack__(copy=True, **VERSIONED))


def by_table(take):
    tensor = Table(CallsBack).from_object(take())
    values = floats(DLManagedTensorVersioned.from_address(tensor).dl_tensor)
    delete(tensor)
    return values


def by_view(take):
    """The caller keeps the object as long as it reads the view."""
    held = take()
    return floats(Table(CallsBack).view(held))


WAYS = [by_method, by_legacy_method, by_copy, by_table, by_view]


def floats(tensor):
    return list((ctypes.c_float * 4).from_address(tensor.data))


@pytest.mark.parametrize("export", WAYS)
@pytest.mark.parametrize("method", ["describe", "sync_for", "share"])
def test_a_method_may_release_all_other_references(export, method):
    """The references of the call itself keep the object alive until its end."""
    called = []

    def body():
        held = []

        def release(name):
            called.append(name)
            if name == method:
                held.clear()

        held.append(CallsBack(release))
        assert export(lambda: held[-1]) == FOUR
        held.clear()

    check_leaks(body, rounds=3)
    assert {"describe", "sync_for"} <= set(called)


@pytest.mark.parametrize("outer", WAYS)
@pytest.mark.parametrize("inner", WAYS)
@pytest.mark.parametrize("method", ["describe", "sync_for", "share"])
def test_a_method_may_export_its_own_object(outer, inner, method):
    """Each export is complete, however deep it is."""
    seen = []

    def body():
        held, depth = [], [0]

        def export_again(name):
            if name == method and depth[0] < 3:
                depth[0] += 1
                seen.append(inner(lambda: held[0]))

        held.append(CallsBack(export_again))
        assert outer(lambda: held[0]) == FOUR
        held.clear()

    check_leaks(body, rounds=3)
    assert all(values == FOUR for values in seen)
    assert seen or method == "share"


@pytest.mark.parametrize("export", [by_method, by_table, by_view])
def test_what_a_method_raises_is_the_error_of_the_export(export):
    def raise_it(name):
        if name == "sync_for":
            raise KeyError("unrelated")

    def body():
        with pytest.raises(BufferError, match="the function raised an exception"):
            export(lambda: CallsBack(raise_it))

    check_leaks(body, rounds=3)


def test_a_borrowed_base_class_does_not_matter():
    """The tensor is of the frozen class, whose own values do not change."""

    def body():
        tensor, taken = Extends("first"), []

        def export():
            taken.append(of_capsule(tensor.__dlpack__(**VERSIONED)))
            managed = Table(Extends).from_object(tensor)
            delete(managed)
            taken.append(floats(Table(Extends).view(tensor)))
            with pytest.raises(RuntimeError, match="Already mutably borrowed"):
                tensor.label

        tensor.relabel_while("second", export)
        assert tensor.label == "second"
        assert taken == [FOUR, FOUR]

    check_leaks(body, rounds=3)
