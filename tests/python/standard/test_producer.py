"""Checks of `__dlpack__` and `__dlpack_device__`, one per clause."""

import inspect

import dlpack_structs as structs
import pytest
from clauses import ARRAY_API, DLPACK, clause
from dlpack_structs import IS_COPIED, READ_ONLY
from subjects import SHAPE, VALUES, producers, subject  # noqa: F401

CPU = (1, 0)
NOWHERE = (2, 7)
METHOD, DEVICE = "array.__dlpack__", "array.__dlpack_device__"


def export(tensor, **keywords):
    """The decoded struct of a capsule, and the capsule, which keeps the struct alive."""
    capsule = tensor.__dlpack__(**keywords)
    return structs.Tensor(capsule), capsule


@producers()
@clause(ARRAY_API, METHOD, "the parameters are keyword-only")
def test_parameters_are_keyword_only(subject):
    with pytest.raises(TypeError):
        subject.make().__dlpack__(None)
    export(subject.make(), stream=None, max_version=None, dl_device=None, copy=None)


@producers()
@clause(ARRAY_API, METHOD, "every parameter is None by default")
def test_defaults_are_none(subject):
    method = type(subject.make()).__dlpack__
    parameters = list(inspect.signature(method).parameters.values())[1:]
    assert {parameter.name: parameter.default for parameter in parameters} == {
        "stream": None,
        "max_version": None,
        "dl_device": None,
        "copy": None,
    }


@producers()
@clause(ARRAY_API, METHOD, "returns a capsule")
def test_returns_a_capsule(subject):
    assert type(subject.make().__dlpack__()).__name__ == "PyCapsule"


@producers()
@clause(ARRAY_API, METHOD, "max_version of None or below 1.0: a legacy capsule")
@pytest.mark.parametrize("keywords", [{}, {"max_version": None}, {"max_version": (0, 8)}])
def test_legacy_capsule(subject, keywords):
    assert export(subject.make(), **keywords)[0].name == "dltensor"


@producers()
@clause(ARRAY_API, METHOD, "max_version from 1.0 on: a versioned capsule")
@pytest.mark.parametrize("max_version", [(1, 0), (1, 1), (1, 3)])
def test_versioned_capsule(subject, max_version):
    found, _capsule = export(subject.make(), max_version=max_version)
    assert found.name == "dltensor_versioned"
    assert found.version[0] == 1


@producers()
@clause(ARRAY_API, METHOD, "a newer max_version gets what the producer has")
@pytest.mark.parametrize("max_version", [(1, 99), (2, 0)])
def test_newer_versions_get_what_there_is(subject, max_version):
    found, _capsule = export(subject.make(), max_version=max_version)
    assert found.name == "dltensor_versioned" and found.version[0] == 1


@producers()
@clause(ARRAY_API, METHOD, "stream of None is for all devices")
def test_stream_none(subject):
    export(subject.make(), stream=None)


@producers()
@clause(ARRAY_API, METHOD, "stream must be None on devices without streams")
@pytest.mark.parametrize("stream", [1, 2, 12345])
def test_streams_on_the_cpu(subject, stream):
    with pytest.raises(Exception) as refusal:
        subject.make().__dlpack__(stream=stream)
    assert not isinstance(refusal.value, AttributeError)


@producers()
@clause(ARRAY_API, METHOD, "dl_device has the form of __dlpack_device__")
def test_the_own_device(subject):
    tensor = subject.make()
    found, _capsule = export(
        tensor, max_version=(1, 0), dl_device=tensor.__dlpack_device__()
    )
    assert found.data + found.byte_offset == subject.address(tensor)


@producers()
@clause(ARRAY_API, METHOD, "dl_device that the producer cannot serve: BufferError")
def test_other_devices(subject):
    with pytest.raises(BufferError):
        subject.make().__dlpack__(dl_device=NOWHERE)


@producers()
@clause(ARRAY_API, METHOD, "dl_device of the CPU is served")
def test_the_cpu_is_served(subject):
    found, _capsule = export(subject.make(), max_version=(1, 0), dl_device=CPU)
    assert found.device == CPU


@producers()
@clause(ARRAY_API, METHOD, "copy of True always copies, and sets IS_COPIED")
def test_copy_true(subject):
    tensor = subject.make()
    found, _capsule = export(tensor, max_version=(1, 0), copy=True)
    assert found.data + found.byte_offset != subject.address(tensor)
    assert found.flags & IS_COPIED
    assert found.floats() == VALUES


@producers()
@clause(DLPACK, "IS_COPIED", "the consumer is the sole owner of a copy, and may write")
def test_a_copy_may_be_written(subject):
    found, _capsule = export(subject.make(), max_version=(1, 0), copy=True)
    assert not found.flags & READ_ONLY


@producers()
@clause(ARRAY_API, METHOD, "copy of False never copies")
def test_copy_false(subject):
    tensor = subject.make()
    found, _capsule = export(tensor, max_version=(1, 0), copy=False)
    assert found.data + found.byte_offset == subject.address(tensor)
    assert not found.flags & IS_COPIED


@producers()
@clause(ARRAY_API, METHOD, "copy of None reuses the memory where that can be")
def test_copy_none(subject):
    tensor = subject.make()
    found, _capsule = export(tensor, max_version=(1, 0), copy=None)
    assert found.data + found.byte_offset == subject.address(tensor)
    assert not found.flags & IS_COPIED


@producers()
@clause(ARRAY_API, METHOD, "copy of False where only a copy would do: BufferError")
def test_copy_false_where_only_a_copy_would_do(subject):
    if subject.writable:
        pytest.skip("every tensor of this class can be exported without a copy")
    with pytest.raises(BufferError):
        subject.make().__dlpack__(copy=False)  # legacy cannot say "read-only"


@producers()
@clause(ARRAY_API, METHOD, "wrong arguments raise another error than BufferError")
@pytest.mark.parametrize(
    "keywords", [{"max_version": "1.0"}, {"dl_device": "cpu"}, {"no_such": None}]
)
def test_wrong_arguments(subject, keywords):
    with pytest.raises((TypeError, ValueError)):
        subject.make().__dlpack__(**keywords)


@producers()
@clause(ARRAY_API, DEVICE, "returns the type of the device and its number")
def test_device(subject):
    kind, number = subject.make().__dlpack_device__()
    assert (int(kind), int(number)) == CPU
    assert export(subject.make(), max_version=(1, 0))[0].device == CPU


@producers()
@clause(ARRAY_API, DEVICE, "takes no parameters")
def test_device_takes_nothing(subject):
    with pytest.raises(TypeError):
        subject.make().__dlpack_device__(None)


@producers()
@clause(DLPACK, "DLTensor", "describes shape, type and elements of the tensor")
@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_the_struct_describes_the_tensor(subject, max_version):
    found, _capsule = export(subject.make(), max_version=max_version)
    assert (found.ndim, found.shape, found.dtype) == (2, SHAPE, (2, 32, 1))
    assert found.floats() == VALUES


@producers()
@clause(DLPACK, "DLTensor.strides", "from 1.2 on not NULL where there are dimensions")
@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_strides_are_there(subject, max_version):
    found, _capsule = export(subject.make(), max_version=max_version)
    assert found.strides == (3, 1)


@producers()
@clause(DLPACK, "READ_ONLY", "set if and only if the consumer may not write")
def test_read_only_flag(subject):
    found, _capsule = export(subject.make(), max_version=(1, 0))
    assert bool(found.flags & READ_ONLY) == (not subject.writable)


@producers()
@clause(DLPACK, "DLManagedTensorVersioned.version", "says what the producer speaks")
def test_the_version_is_one_that_was_released(subject):
    found, _capsule = export(subject.make(), max_version=(1, 99))
    assert (1, 0) <= found.version <= (1, 3)


@producers()
@clause(DLPACK, "DLManagedTensorVersioned.flags", "no bits but the known ones")
def test_no_unknown_flags(subject):
    found, _capsule = export(subject.make(), max_version=(1, 3))
    assert not found.flags & ~7
