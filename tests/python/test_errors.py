"""Every way to fail gives the right exception, a message that says what to do,
and leaves nothing behind."""

import consumers
import dlpack_testing as testing
import pytest
from conftest import check_leaks, counters
from dlpack_example import Tensor
from dlpack_testing import Faulty, Frozen, Growing, OnDevice, Single, Writable, Zeros

CLASSES = (Frozen, Writable, Single, Growing)
VERSIONED = {"max_version": (1, 0)}


def refusal(tensor, **keywords):
    """The exception with which an export is refused."""
    with pytest.raises(Exception) as caught:
        tensor.__dlpack__(**keywords)
    return caught.value


# --- tensors that cannot be exported ---------------------------------------

FAULTS = {
    "out of bounds": (BufferError, "spans bytes 0..20 but its storage holds 16"),
    "before the start": (BufferError, "spans bytes -12..4 but its storage holds 16"),
    "negative dimension": (
        BufferError,
        "dimension 1 of shape is -2, which is negative",
    ),
    "rank mismatch": (BufferError, "shape has 2 dimensions but strides has 1"),
    "too many dimensions": (BufferError, "65 dimensions, more than the 64"),
    "overflow": (BufferError, "do not fit in the address space"),
    "misaligned": (BufferError, "aligned to 4 bytes"),
    "unknown dtype": (BufferError, "does not define the element type code200_8bits"),
    "other dtype": (BufferError, "dtype is int32 but the storage holds float32"),
    "other device": (BufferError, "device is cuda:0 but the storage is on cpu"),
    "byte order": (
        BufferError,
        "not in native byte order; convert it before exporting",
    ),
    "custom": (BufferError, "the film is not developed yet"),
    "share elsewhere": (BufferError, "does not hold the memory of the tensor"),
    "hand-off": (BufferError, "the event was never recorded"),
    "panic": (RuntimeError, "panicked"),
    "panic in share": (RuntimeError, "panicked"),
    "panic in hand-off": (RuntimeError, "panicked"),
    "panic with a payload that panics": (RuntimeError, "panicked"),
}

# These concern the export alone; the tensor describes itself well.
ONLY_EXPORT = ("share elsewhere", "hand-off", "panic in share", "panic in hand-off")
ONLY_SHARING = ("share elsewhere", "panic in share")


def test_every_fault_is_in_the_table():
    """Every fault of the test class is covered."""
    assert sorted(FAULTS) == sorted(Faulty.all())


@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize("fault", FAULTS)
def test_fault(fault, copy):
    """The error of a failed export states the reason, and the export can be repeated."""
    tensor = Faulty(fault)
    kind, words = FAULTS[fault]

    def body():
        if copy and fault in ONLY_SHARING:
            tensor.__dlpack__(copy=copy, **VERSIONED)
            return
        caught = refusal(tensor, copy=copy, **VERSIONED)
        assert type(caught) is kind and words in str(caught)

    check_leaks(body)


@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize("keywords", [{}, VERSIONED], ids=["legacy", "versioned"])
def test_no_tensor_in_memory_that_nobody_may_write(keywords, copy):
    """The reason is reported even to a consumer whose request cannot express read-only
    memory."""
    tensor = Frozen([1.0], [5])

    def body():
        caught = refusal(tensor, copy=copy, **keywords)
        assert type(caught) is BufferError
        assert "spans bytes 0..20 but its storage holds 4" in str(caught)

    check_leaks(body)


@pytest.mark.parametrize("fault", FAULTS)
def test_device_of_a_faulty_tensor(fault):
    """`__dlpack_device__` describes the tensor too, and fails as the export does."""
    tensor = Faulty(fault)
    kind, words = FAULTS[fault]

    def body():
        if fault in ONLY_EXPORT:
            assert tensor.__dlpack_device__() == (1, 0)
            return
        with pytest.raises(kind, match=words):
            tensor.__dlpack_device__()

    check_leaks(body)


@pytest.mark.parametrize("name", consumers.ALL)
def test_consumers_pass_the_error_on(name):
    """The error of the tensor reaches the user of every consumer."""
    consumer = consumers.get(name)
    tensor = Faulty("custom")

    def body():
        with pytest.raises(BufferError, match="the film is not developed yet"):
            consumer.take(tensor)

    check_leaks(body)


@pytest.mark.parametrize("name", consumers.ALL)
def test_consumers_survive_a_panic(name):
    """A panic reaches the user of every consumer as an ordinary exception."""
    consumer = consumers.get(name)
    tensor = Faulty("panic")

    def body():
        with pytest.raises(RuntimeError, match="the Rust code .* panicked"):
            consumer.take(tensor)

    check_leaks(body)


# --- arguments that are refused --------------------------------------------

ARGUMENTS = [
    ({"max_version": "1.0"}, TypeError),
    ({"max_version": (1,)}, TypeError),
    ({"max_version": (1, "a")}, TypeError),
    ({"max_version": (-1, 0)}, ValueError),
    ({"stream": 1}, ValueError),
    ({"stream": -1}, ValueError),
    ({"stream": "1"}, TypeError),
    ({"dl_device": (2, 0)}, BufferError),
    ({"dl_device": (1, 5)}, BufferError),
    ({"dl_device": "cpu"}, TypeError),
    ({"copy": "yes"}, TypeError),
    ({"version": (1, 0)}, TypeError),
]


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize(("keywords", "kind"), ARGUMENTS, ids=str)
def test_argument(cls, keywords, kind):
    """A wrong argument is rejected by name, before any memory is acquired."""
    tensor = cls([1.0])

    def body():
        caught = refusal(tensor, **{**VERSIONED, **keywords})
        assert type(caught) is kind
        assert next(iter(keywords)) in str(caught)

    check_leaks(body)
    check_leaks(lambda: refusal(tensor, **{"copy": True, **keywords}))
    if isinstance(tensor, Growing):
        tensor.push(2.0)  # nothing holds it


@pytest.mark.parametrize("cls", [Frozen, Single])
def test_copies_that_are_needed_but_forbidden(cls):
    """A legacy request for read-only memory with `copy=False`."""
    tensor = cls([1.0])
    check_leaks(lambda: refusal(tensor, copy=False))
    assert type(refusal(tensor, copy=False)) is BufferError
    assert "max_version=(1, 0)" in str(refusal(tensor, copy=False))


def test_copies_that_cannot_be_had():
    """A copy that exceeds the memory is a MemoryError, and leaves the tensor unchanged."""
    tensor = Tensor([1.0], "float32").as_strided((2**40, 2**20), (0, 0))
    held = counters()
    for keywords in ({}, {"copy": True, **VERSIONED}):
        assert type(refusal(tensor, **keywords)) is MemoryError
    assert counters()["storages"] == held["storages"]
    assert tensor.__dlpack__(**VERSIONED)


@pytest.mark.parametrize("device", [(2, 0), (3, 0)], ids=["cuda", "pinned"])
def test_devices_that_are_refused(device):
    """Impossible copies leave nothing behind."""
    tensor = OnDevice(*device)
    elsewhere = {"dl_device": (10, 0), **VERSIONED}
    check_leaks(lambda: refusal(tensor, **elsewhere))
    assert type(refusal(tensor, **elsewhere)) is BufferError
    no_copy = {"dl_device": (1, 0), "copy": False, **VERSIONED}
    check_leaks(lambda: refusal(tensor, **no_copy))
    assert type(refusal(tensor, **no_copy)) is BufferError


# --- consumers that refuse -------------------------------------------------

REFUSED = [
    ("numpy", Zeros(8, "bfloat16", [4], [1])),
    ("torch", Zeros(3, "float6_e2m3fn", [4], [1])),
    ("jax", Zeros(3, "float6_e2m3fn", [4], [1])),
    ("torch", Zeros(16, "float32", [4], [-1], 12)),
    ("jax", Zeros(16, "float32", [4], [-1], 12)),
    ("jax", Zeros(16, "float32", [2], [2])),
]


@pytest.mark.parametrize(("name", "tensor"), REFUSED)
def test_a_consumer_that_refuses_gives_the_tensor_back(name, tensor):
    """An import that fails releases the export, once."""
    consumer = consumers.get(name)

    def body():
        exports = testing.exports()
        with pytest.raises((BufferError, RuntimeError)):
            consumer.take(tensor)
        assert testing.exports() == exports + 1  # it had been exported

    check_leaks(body)
