"""The struct in a capsule, and the life cycle of a capsule."""

import gc
import sys

import dlpack_structs as structs
import dlpack_testing as testing
import pytest
from conftest import check_leaks, nothing_left
from dlpack_example import Tensor
from dlpack_testing import CallsOnDrop, Frozen, Growing, PanicsOnDrop, Single, Writable

CLASSES = (Frozen, Writable, Single, Growing)
VERSIONS = pytest.mark.parametrize(
    "max_version", [None, (1, 0)], ids=["legacy", "versioned"]
)


# --- the struct ------------------------------------------------------------


@VERSIONS
@pytest.mark.parametrize("cls", CLASSES)
def test_struct_is_complete(cls, max_version):
    """Fields without which consumers crash are set: deleter, context, strides."""
    tensor = cls([1.0, 2.0, 3.0])
    capsule = tensor.__dlpack__(max_version=max_version)
    exported = structs.Tensor(capsule)
    assert exported.name == ("dltensor_versioned" if max_version else "dltensor")
    assert exported.version == ((1, 3) if max_version else None)
    assert exported.deleter and exported.manager_ctx
    assert exported.has_strides and structs.has_destructor(capsule)
    assert exported.device == (1, 0)
    assert exported.dtype == (2, 32, 1)
    assert (exported.ndim, exported.shape, exported.strides) == (1, (3,), (1,))
    assert exported.byte_offset == 0
    assert exported.floats() == [1.0, 2.0, 3.0]


@VERSIONS
@pytest.mark.parametrize(
    ("shape", "strides", "byte_offset"),
    [
        ((), (), 20),
        ((2, 3), (3, 1), 0),
        ((3, 2), (1, 3), 0),
        ((2, 2), (3, 1), 4),
        ((2, 3), (-3, 1), 12),
        ((1,) * 8, (1,) * 8, 0),
        ((1,) * 9, tuple(range(9)), 4),
        ((1,) * 64, (7,) * 64, 8),
    ],
    ids=str,
)
def test_struct_has_the_layout(shape, strides, byte_offset, max_version):
    """Shape and strides as they are; the offset is in the address already."""
    base = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32")
    tensor = base.as_strided(shape, strides, byte_offset)
    capsule = tensor.__dlpack__(max_version=max_version)
    exported = structs.Tensor(capsule)
    assert (exported.ndim, exported.shape) == (len(shape), shape)
    if shape:
        assert exported.strides == strides
    assert exported.data == tensor.data_ptr == base.data_ptr + byte_offset
    assert exported.byte_offset == 0


@VERSIONS
@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("shape", [(0,), (2, 0, 3)])
def test_no_elements_no_address(shape, read_only, max_version):
    """Without elements `data` is NULL, and the other fields are as usual."""
    tensor = Tensor([], "float32", read_only=read_only)
    tensor = tensor.as_strided(shape, (3,) * len(shape))
    exported = structs.Tensor(tensor.__dlpack__(max_version=max_version))
    assert exported.data is None
    assert exported.shape == shape and exported.has_strides
    assert exported.deleter and exported.manager_ctx


@pytest.mark.parametrize(
    ("dtype", "code_bits_lanes"),
    [
        ("int8", (0, 8, 1)),
        ("uint64", (1, 64, 1)),
        ("float16", (2, 16, 1)),
        ("bfloat16", (4, 16, 1)),
        ("complex64", (5, 64, 1)),
        ("bool", (6, 8, 1)),
        ("float8_e3m4", (7, 8, 1)),
        ("float8_e8m0fnu", (14, 8, 1)),
        ("float6_e3m2fn", (16, 6, 1)),
        ("float4_e2m1fn", (17, 4, 1)),
    ],
)
def test_element_types_have_the_standards_codes(dtype, code_bits_lanes):
    """Families that consumers could confuse, by number."""
    capsule = Tensor([1, 0], dtype).__dlpack__(max_version=(1, 0))
    assert structs.Tensor(capsule).dtype == code_bits_lanes


def test_element_types_of_several_lanes():
    """PyTorch's pairs of 4-bit floats are one byte of two lanes."""
    tensor = Tensor([[1, 2], [4, 0.5]], "float4_e2m1fnx2")
    capsule = tensor.__dlpack__(max_version=(1, 0))
    exported = structs.Tensor(capsule)
    assert (exported.dtype, exported.shape) == ((17, 4, 2), (2,))


# --- the life of a capsule -------------------------------------------------


@VERSIONS
@pytest.mark.parametrize("cls", CLASSES)
def test_unconsumed_capsules_release_their_tensor(cls, max_version):
    """An unconsumed capsule releases its tensor."""
    with nothing_left():
        tensor = cls([1.0])
        capsule = tensor.__dlpack__(max_version=max_version)
        del tensor
        assert structs.Tensor(capsule).floats() == [1.0]
        del capsule


@VERSIONS
@pytest.mark.parametrize("cls", CLASSES)
def test_consumed_capsules_leave_their_tensor_alone(cls, max_version):
    """Once consumed, the consumer's deleter call is the only release."""
    with nothing_left():
        tensor = cls([1.0])
        capsule = tensor.__dlpack__(max_version=max_version)
        held = testing.allocations()
        taken = testing.take(capsule)
        assert structs.name(capsule).startswith("used_dltensor")
        del capsule
        gc.collect()
        # Only the capsule is gone; `taken` is itself no allocation of Rust's.
        assert testing.allocations() == held
        taken.delete()
        del tensor, taken


def test_a_capsule_is_consumed_once():
    """A tensor that was taken cannot be taken again."""
    capsule = Writable([1.0]).__dlpack__()
    taken = testing.take(capsule)
    with pytest.raises(ValueError, match="not a capsule"):
        testing.take(capsule)
    taken.delete()
    with pytest.raises(RuntimeError, match="released before"):
        taken.delete()


@VERSIONS
def test_a_name_of_the_consumers_own_means_taken(max_version):
    """A renamed capsule no longer owns the tensor, whatever the new name is."""
    tensor = Writable([1.0])
    capsule = tensor.__dlpack__(max_version=max_version)
    name, exports = structs.name(capsule), testing.exports() - testing.releases()
    testing.set_name(capsule, "mine now")
    del capsule
    assert testing.exports() - testing.releases() == exports
    # Put back under an equal name, from another string, it owns it again.
    capsule = tensor.__dlpack__(max_version=max_version)
    testing.set_name(capsule, "mine for a moment")
    testing.set_name(capsule, name)
    del capsule
    assert testing.exports() - testing.releases() == exports


@pytest.mark.parametrize("cls", CLASSES)
def test_capsules_are_independent(cls):
    """Exports are released independently, in any order."""
    with nothing_left():
        tensor = cls([1.0, 2.0])
        versions = [None, (1, 0)] * 3
        capsules = [tensor.__dlpack__(max_version=version) for version in versions]
        for index in (3, 0, 3, 1, 1, 0):
            del capsules[index]
            assert [structs.Tensor(each).floats() for each in capsules] == (
                [[1.0, 2.0]] * len(capsules)
            )
        del tensor


# --- what a release may run into -------------------------------------------


class Unraisable:
    """Collects what Python reports as unraisable."""

    def __enter__(self):
        self.reports = []
        self.before = sys.unraisablehook
        # What a report holds must not outlive the hook.
        sys.unraisablehook = lambda report: self.reports.append(
            (report.exc_type, str(report.exc_value))
        )
        return self.reports

    def __exit__(self, *exception):
        sys.unraisablehook = self.before


def test_an_exception_in_flight_survives_a_capsule():
    """A capsule dies while TypeError is on its way up, and its owner runs
    Python code meanwhile: TypeError arrives."""
    seen = []

    def on_drop():
        seen.append(sys.exc_info()[0])
        try:
            raise KeyError("within")
        except KeyError:
            seen.append("ran")

    with Unraisable() as reports, nothing_left():
        with pytest.raises(TypeError, match="int.. argument must be"):
            int(CallsOnDrop(on_drop).__dlpack__(max_version=(1, 0)))
        assert seen == [None, "ran"]
    assert reports == []


def test_an_exception_of_the_owner_is_reported_not_raised():
    """An exception in the owner's drop has no caller to go to, so it is unraisable."""

    def on_drop():
        raise KeyError("the owner's own")

    with Unraisable() as reports, nothing_left():
        capsule = CallsOnDrop(on_drop).__dlpack__(max_version=(1, 0))
        del capsule
    assert reports == [(KeyError, '"the owner\'s own"')]


def test_both_exceptions_at_once():
    """One exception is unraisable, the other propagates."""

    def on_drop():
        raise KeyError("reported")

    with Unraisable() as reports, nothing_left():
        with pytest.raises(TypeError, match="int.. argument must be"):
            int(CallsOnDrop(on_drop).__dlpack__(max_version=(1, 0)))
    assert [report[0] for report in reports] == [KeyError]


@VERSIONS
def test_an_owner_may_export_again_while_it_is_released(max_version):
    """The deleter holds no lock that another export needs."""
    other = Writable([1.0])
    seen = []

    def on_drop():
        capsule = other.__dlpack__(max_version=max_version)
        seen.append(structs.Tensor(capsule).floats())

    with nothing_left():
        CallsOnDrop(on_drop).__dlpack__(max_version=(1, 0))
        assert seen.pop() == [1.0]


@pytest.mark.parametrize("release", ["capsule", "delete", "delete_detached"])
def test_a_panic_of_the_owner_goes_no_further(release, capfd):
    """A drop that panics does not abort, and leaves nothing behind."""

    def body():
        capsule = PanicsOnDrop().__dlpack__(max_version=(1, 0))
        if release != "capsule":
            getattr(testing.take(capsule), release)()

    with Unraisable() as reports:
        check_leaks(body)
    assert reports == []
    assert "a drop panics on purpose" in capfd.readouterr().err
