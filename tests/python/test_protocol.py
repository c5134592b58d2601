"""``__dlpack__`` and ``__dlpack_device__``: their signatures, and what each
keyword does."""

import enum
import inspect
import sys

import dlpack_structs as structs
import pytest
from dlpack_example import Tensor
from dlpack_structs import IS_COPIED, READ_ONLY
from dlpack_testing import Frozen, OnDevice, Single, Writable

CPU, CUDA, CUDA_HOST, VULKAN, ROCM_HOST = (1, 0), (2, 0), (3, 0), (7, 0), (11, 0)


class DeviceType(enum.IntEnum):
    CPU = 1
    CUDA = 2


@pytest.fixture(params=["writable", "read-only", "owned by the object"])
def tensor(request):
    """A tensor of each kind of memory."""
    return {
        "writable": lambda: Writable([1.0, 2.0, 3.0]),
        "read-only": lambda: Frozen([1.0, 2.0, 3.0]),
        "owned by the object": lambda: Single([1.0, 2.0, 3.0]),
    }[request.param]()


def export(tensor, **keywords):
    """The decoded struct of a capsule, and the capsule, which keeps it alive."""
    capsule = tensor.__dlpack__(**keywords)
    return structs.Tensor(capsule), capsule


# --- signatures ------------------------------------------------------------


@pytest.mark.parametrize("cls", [Tensor, Frozen, Single])
def test_signature_is_that_of_the_standard(cls):
    """`inspect` shows the array API's parameters, all keyword-only."""
    signature = inspect.signature(cls.__dlpack__)
    this, *keywords = signature.parameters.values()
    assert this.kind is inspect.Parameter.POSITIONAL_ONLY
    assert [parameter.name for parameter in keywords] == [
        "stream",
        "max_version",
        "dl_device",
        "copy",
    ]
    assert {parameter.kind for parameter in keywords} == {
        inspect.Parameter.KEYWORD_ONLY
    }
    assert {parameter.default for parameter in keywords} == {None}
    assert str(inspect.signature(cls.__dlpack_device__)) == "(self, /)"


def test_methods_are_documented():
    """The docstrings do not begin with the signature."""
    assert Tensor.__dlpack__.__doc__.startswith("Export")
    assert Tensor.__dlpack_device__.__doc__.startswith("Return")


def test_methods_are_described_like_any_other():
    """Bound and unbound, they have the right name and class."""
    tensor = Tensor([1])
    assert tensor.__dlpack__.__name__ == Tensor.__dlpack__.__name__ == "__dlpack__"
    assert Tensor.__dlpack__.__qualname__ == "Tensor.__dlpack__"
    assert tensor.__dlpack__.__self__ is tensor
    assert inspect.ismethoddescriptor(Tensor.__dlpack__)


def test_other_objects_are_refused():
    """An unbound method checks its `self`."""
    for method in (Tensor.__dlpack__, Tensor.__dlpack_device__):
        for other in (1, Frozen([1.0]), Tensor):
            with pytest.raises(TypeError, match="Tensor"):
                method(other)
        with pytest.raises(TypeError):
            method()


def test_positional_arguments_are_refused(tensor):
    """No argument may be given by position."""
    with pytest.raises(TypeError, match="no positional arguments .1 given"):
        tensor.__dlpack__(None)
    with pytest.raises(TypeError):
        tensor.__dlpack_device__(None)


def test_unknown_keywords_are_refused(tensor):
    """An unknown keyword is named; so is a known one of the wrong case."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'version'"):
        tensor.__dlpack__(version=(1, 0))
    with pytest.raises(TypeError, match="unexpected keyword argument 'Copy'"):
        tensor.__dlpack__(stream=None, Copy=True)
    with pytest.raises(TypeError):
        tensor.__dlpack__(**{"\udc80": None})


def test_keywords_that_python_did_not_intern(tensor):
    """Keywords are compared by value, not by object identity."""
    name = "".join(["max", "_", "version"])
    assert name is not sys.intern("max_version")
    assert export(tensor, **{name: (1, 0)})[0].name == "dltensor_versioned"


# --- max_version -----------------------------------------------------------


@pytest.mark.parametrize(
    "max_version",
    [(1, 0), (1, 3), (1, 99), (2, 0), (2**31, 0), (1, 2**40), (2**70, 2**70)],
)
def test_versions_from_1_on_get_the_versioned_struct(tensor, max_version):
    """The answer is our version, 1.3, whatever newer one is understood."""
    exported, _capsule = export(tensor, max_version=max_version)
    assert exported.name == "dltensor_versioned"
    assert exported.version == (1, 3)


@pytest.mark.parametrize(
    "keywords", [{}, {"max_version": None}, {"max_version": (0, 8)}]
)
def test_before_version_1_there_is_the_legacy_struct(tensor, keywords):
    """No version, or one before 1.0, means the struct without flags."""
    assert export(tensor, **keywords)[0].name == "dltensor"


@pytest.mark.parametrize(
    "max_version",
    [(1,), (), (1, 0, 0), "1.0", (1, "a"), (1.0, 0), 1, [1, 0], (None, None)],
)
def test_versions_of_the_wrong_type_are_refused(tensor, max_version):
    """The message states what was expected and what was passed."""
    with pytest.raises(
        TypeError, match=r"tuple of two integers, such as \(1, 0\), not"
    ):
        tensor.__dlpack__(max_version=max_version)


@pytest.mark.parametrize("max_version", [(-1, 0), (1, -1), (-(2**70), 0)])
def test_negative_versions_are_refused(tensor, max_version):
    """No version is negative."""
    with pytest.raises(ValueError, match="max_version.*negative"):
        tensor.__dlpack__(max_version=max_version)


# --- stream ----------------------------------------------------------------


def test_no_stream_is_fine_on_the_cpu(tensor):
    """None is the only stream of host memory."""
    tensor.__dlpack__(stream=None)


@pytest.mark.parametrize("stream", [-1, 0, 1, 2, 140_000_000_000, -2, 2**70, -(2**70)])
def test_streams_are_refused_on_the_cpu(tensor, stream):
    """On the CPU any integer is an error, and the message states that."""
    with pytest.raises(ValueError, match="stream"):
        tensor.__dlpack__(stream=stream)


@pytest.mark.parametrize("stream", ["1", 1.5, (1,), object()])
def test_streams_that_are_no_numbers_are_refused(tensor, stream):
    """The message states what was expected and what was passed."""
    with pytest.raises(TypeError, match="`stream` must be an integer or None, not"):
        tensor.__dlpack__(stream=stream)


class Index:
    """An object whose ``__index__`` calls a function with the object."""

    def __init__(self, function):
        self.function = function

    def __index__(self):
        return self.function(self)


ARGUMENTS = {
    "stream": lambda number: {"stream": number},
    "max_version": lambda number: {"max_version": (number, 0)},
    "dl_device": lambda number: {"dl_device": (1, number)},
}


@pytest.mark.parametrize("keywords", ARGUMENTS.values(), ids=ARGUMENTS)
@pytest.mark.parametrize("error", [ValueError("mine"), KeyError("mine"), KeyboardInterrupt("mine")])
def test_an_error_of_index_arrives(tensor, keywords, error):
    """An exception that an argument's code raised reaches the caller once."""
    calls = []

    def fail(_):
        calls.append(1)
        raise error

    with pytest.raises(type(error), match="mine"):
        tensor.__dlpack__(**keywords(Index(fail)))
    assert calls == [1]


@pytest.mark.parametrize("keywords", ARGUMENTS.values(), ids=ARGUMENTS)
def test_index_that_exports_without_end_is_a_recursion_error(tensor, keywords):
    """The call neither hangs nor reports an error about the type of the argument."""

    def export_again(number):
        tensor.__dlpack__(**keywords(number))
        return 1

    with pytest.raises(RecursionError):
        tensor.__dlpack__(**keywords(Index(export_again)))


def test_index_may_export(tensor):
    """Nothing is locked or borrowed while the arguments are read."""
    number = Index(lambda _: tensor.__dlpack__(max_version=(1, 0)) and 1)
    assert export(tensor, max_version=(number, 0))[0].device == CPU


def test_streams_reach_the_device():
    """The device receives the consumer's stream, once per export."""
    tensor = OnDevice(*CUDA)
    for stream, heard in [
        (None, "Unspecified"),
        (-1, "NoSync"),
        (1, "Handle(1)"),
        (2, "Handle(2)"),
        (0x7F00_DEAD_BEE0, f"Handle({0x7F00_DEAD_BEE0})"),
    ]:
        tensor.__dlpack__(stream=stream, max_version=(1, 0))
        assert tensor.streams() == [heard]
    with pytest.raises(ValueError, match="-2, below -1"):
        tensor.__dlpack__(stream=-2, max_version=(1, 0))
    assert tensor.streams() == []


# --- dl_device -------------------------------------------------------------


@pytest.mark.parametrize("dl_device", [None, CPU, (DeviceType.CPU, 0)])
def test_the_own_device_is_no_journey(tensor, dl_device):
    """Naming the tensor's own device changes nothing."""
    exported, _capsule = export(
        tensor, dl_device=dl_device, copy=False, max_version=(1, 0)
    )
    assert exported.device == CPU
    assert exported.data == tensor.data_ptr


@pytest.mark.parametrize(
    "dl_device", [(1, 5), CUDA, (DeviceType.CUDA, 0), (2**70, 0), (1, -1), (-5, 0)]
)
def test_other_devices_are_refused(tensor, dl_device):
    """A host tensor cannot be copied to a device; the message states an alternative."""
    with pytest.raises(BufferError, match="dl_device"):
        tensor.__dlpack__(dl_device=dl_device, max_version=(1, 0))


@pytest.mark.parametrize(
    "dl_device", [(1,), 1, "cpu", ("cpu", 0), (1, 0, 0), [1, 0], (1, None)]
)
def test_devices_of_the_wrong_type_are_refused(tensor, dl_device):
    """The message states what was expected and what was passed."""
    with pytest.raises(
        TypeError, match=r"tuple \(device_type, device_id\), such as .*not"
    ):
        tensor.__dlpack__(dl_device=dl_device)


def test_device_method(tensor):
    """`__dlpack_device__` is the device in the capsule, as two plain integers."""
    device = tensor.__dlpack_device__()
    assert device == CPU and [type(part) for part in device] == [int, int]
    assert device == export(tensor)[0].device
    assert OnDevice(2, 3).__dlpack_device__() == (2, 3)
    assert OnDevice(99, -7).__dlpack_device__() == (99, -7)


def test_device_memory_is_exported_where_it_is():
    """The address, or the handle, goes out as it came in, never dereferenced."""
    tensor = OnDevice(2, 3, byte_offset=4)
    exported, _capsule = export(tensor, max_version=(1, 0))
    assert exported.device == (2, 3) and exported.shape == (5,)
    assert (exported.data, exported.byte_offset) == (tensor.data_ptr + 4, 0)
    # An offset must not be added to a handle, which is not an address.
    tensor = OnDevice(*VULKAN, byte_offset=4)
    exported, _capsule = export(tensor, max_version=(1, 0))
    assert (exported.data, exported.byte_offset) == (tensor.data_ptr, 4)


def test_device_memory_is_not_copied_to_the_cpu():
    """Copies to and from the device need its runtime."""
    tensor = OnDevice(*CUDA)
    with pytest.raises(BufferError, match=r"on cuda:0 .* to cpu: .*no backend.*pass \(2, 0\)"):
        tensor.__dlpack__(dl_device=CPU, max_version=(1, 0))
    with pytest.raises(BufferError, match="on cuda:0, where the processor cannot read"):
        tensor.__dlpack__(copy=True, max_version=(1, 0))
    with pytest.raises(BufferError, match=r"read-only, .*`max_version=\(1, 0\)`"):
        tensor.__dlpack__(max_version=None)


@pytest.mark.parametrize("device", [CUDA_HOST, ROCM_HOST])
def test_pinned_memory_is_copied_to_the_cpu(device):
    """Pinned memory is a separate device of the host: moving it to the CPU is a copy."""
    tensor = OnDevice(*device, byte_offset=8)
    exported, _capsule = export(tensor, dl_device=CPU, max_version=(1, 0))
    assert exported.device == CPU and exported.flags == IS_COPIED
    assert exported.floats() == [2.0, 3.0, 4.0, 5.0]
    with pytest.raises(BufferError, match="takes a copy; leave `copy=False` out"):
        tensor.__dlpack__(dl_device=CPU, max_version=(1, 0), copy=False)
    with pytest.raises(BufferError, match=r"only be copied to host .*`dl_device=\(1, 0\)`"):
        tensor.__dlpack__(dl_device=device, max_version=(1, 0), copy=True)
    stays, _capsule = export(tensor, dl_device=device, max_version=(1, 0), copy=False)
    assert stays.device == device and stays.data == tensor.data_ptr + 8


# --- copy ------------------------------------------------------------------


@pytest.mark.parametrize("max_version", [None, (1, 0)], ids=["legacy", "versioned"])
def test_a_copy_is_the_consumers_own(tensor, max_version):
    """`copy=True`: other memory, aligned, writable, and marked as a copy."""
    exported, _capsule = export(tensor, copy=True, max_version=max_version)
    assert exported.data != tensor.data_ptr and exported.data % 64 == 0
    assert exported.floats() == tensor.values() == [1.0, 2.0, 3.0]
    if max_version:
        assert exported.flags == IS_COPIED


def test_a_copy_is_compact():
    """A copy is row-major, whatever the tensor was."""
    base = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32")
    for shape, strides, byte_offset, values in [
        ((3, 2), (1, 3), 0, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]),
        ((2, 2), (-3, 2), 12, [4.0, 6.0, 1.0, 3.0]),
        ((2, 3), (0, 1), 12, [4.0, 5.0, 6.0, 4.0, 5.0, 6.0]),
        ((), (), 8, [3.0]),
        ((0, 3), (3, 1), 0, []),
    ]:
        tensor = base.as_strided(shape, strides, byte_offset)
        exported, _capsule = export(tensor, copy=True, max_version=(1, 0))
        assert exported.shape == shape
        if len(shape) == 2:
            assert exported.strides == (shape[1], 1)
        assert exported.floats() == values
        assert exported.flags == IS_COPIED


@pytest.mark.parametrize("copy", [None, False])
def test_without_need_nothing_is_copied(tensor, copy):
    """The versioned struct can express every tensor, so it never needs a copy."""
    exported, _capsule = export(tensor, copy=copy, max_version=(1, 0))
    assert exported.data == tensor.data_ptr
    assert exported.flags == (0 if isinstance(tensor, Writable) else READ_ONLY)


def test_writable_memory_goes_into_the_legacy_struct():
    """Writable memory needs no flag."""
    tensor = Writable([1.0, 2.0])
    for copy in (None, False):
        assert export(tensor, copy=copy)[0].data == tensor.data_ptr


@pytest.mark.parametrize("cls", [Frozen, Single])
def test_read_only_memory_does_not_go_into_the_legacy_struct(cls):
    """The tensor is copied; if `copy=False` forbids that, the message states what to do."""
    tensor = cls([1.0, 2.0])
    exported, _capsule = export(tensor)
    assert exported.data != tensor.data_ptr and exported.data % 64 == 0
    assert exported.floats() == [1.0, 2.0]
    with pytest.raises(
        BufferError, match=r"`max_version=\(1, 0\)` or later.*`copy=True`"
    ):
        tensor.__dlpack__(copy=False)
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__(copy=False, max_version=(0, 8))


def test_overlapping_elements_count_as_read_only():
    """A write would change several elements, so the tensor is marked read-only."""
    tensor = Tensor([1.0, 2.0], "float32").as_strided((3, 2), (0, 1))
    exported, _capsule = export(tensor, max_version=(1, 0))
    assert exported.flags == READ_ONLY and exported.data == tensor.data_ptr
    assert export(tensor)[0].data != tensor.data_ptr


@pytest.mark.parametrize("copy", ["yes", 1, 0, (), object()])
def test_copy_is_a_bool_or_none(tensor, copy):
    """Only bools and None are accepted; the message states what was passed."""
    with pytest.raises(TypeError, match="`copy` must be True, False or None, not"):
        tensor.__dlpack__(copy=copy)


class Unprintable:
    def __repr__(self):
        raise ValueError("not printable")


@pytest.mark.parametrize("wrong", [list(range(10**5)), "x" * 10**6, Unprintable()], ids=type)
def test_messages_are_bounded(wrong):
    for keywords in [{"copy": wrong}, {"dl_device": wrong}, {"max_version": wrong}]:
        with pytest.raises(TypeError, match=f"`{list(keywords)[0]}` must be") as raised:
            Frozen([1.0]).__dlpack__(**keywords)
        assert len(str(raised.value)) < 250
    with pytest.raises(TypeError, match="unexpected keyword") as raised:
        Frozen([1.0]).__dlpack__(**{"x" * 10**6: None})
    assert len(str(raised.value)) < 250


def test_all_keywords_together(tensor):
    """The call that a consumer of the newest standard makes."""
    exported, _capsule = export(
        tensor, stream=None, max_version=(1, 3), dl_device=CPU, copy=True
    )
    assert (exported.name, exported.flags) == ("dltensor_versioned", IS_COPIED)
