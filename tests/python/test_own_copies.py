"""Copies that an import asks for are made by us on the CPU, and what a legacy capsule
brings is read-only."""

import dlpack_testing as testing
import pytest
from conftest import check_leaks, nothing_left, require
from dlpack_structs import Tensor
from dlpack_testing import Anything, Floats, OnDevice, Writable

VERSIONED = {"max_version": (1, 3)}


class Producer:
    """A producer that records the keywords of `__dlpack__`."""

    def __init__(self, tensor, device=(1, 0)):
        self.tensor, self.device, self.calls = tensor, device, []

    def __dlpack__(self, **keywords):
        self.calls.append(keywords)
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.device


class Old:
    """A producer of before DLPack 1.0."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


# --- copies ----------------------------------------------------------------


def test_a_subclass_that_keeps_its_copies():
    """NumPy makes the copy of a subclass as an object of the subclass. Rule A2."""
    np = require("numpy")
    kept = []

    class Keeps(np.ndarray):
        def __array_finalize__(self, _):
            kept.append(self)

    array = np.arange(1.0, 4.0).view(Keeps)

    def write():
        for other in kept:
            np.ndarray.__setitem__(other, 0, 42.0)

    array.__dlpack__(copy=True, **VERSIONED)
    assert len(kept) > 1, "it keeps a copy of NumPy's own"
    assert testing.copy_held_while(array, write) == (1.0, 1.0)


@pytest.mark.parametrize("device", [None, (1, 0)])
def test_the_producer_is_not_asked_for_a_copy_on_the_cpu(device):
    """The producer exports its memory unchanged, and we make the copy."""
    producer = Producer(Writable([1.0, 2.0]))
    with nothing_left():
        held = testing.import_tensor(producer, device=device, copy=True)
        asked = {} if device is None else {"dl_device": device}
        assert producer.calls == [{**VERSIONED, **asked}]
        *_, flags, address = held.facts()
        assert flags == 2  # IS_COPIED
        assert address != producer.tensor.data_ptr and address % 64 == 0
        producer.tensor.store(0, 5.0)
        assert held.floats() == [1.0, 2.0]
        del held


def test_a_copy_on_a_device_is_the_producers():
    """The CPU cannot copy the memory."""
    producer = Producer(OnDevice(2, 0), (2, 0))
    with pytest.raises(BufferError):
        testing.import_tensor(producer, copy=True)
    assert producer.calls == [VERSIONED, {**VERSIONED, "copy": True}]
    producer = Producer(OnDevice(2, 0), (2, 0))
    with pytest.raises(BufferError):
        testing.import_tensor(producer, device=(2, 0), copy=True)
    assert producer.calls == [{**VERSIONED, "dl_device": (2, 0), "copy": True}]


def test_a_producer_that_knows_no_copy():
    """Tensors of legacy producers are copied too, and so are those of bare capsules."""
    tensor = Writable([1.0, 2.0])

    def body():
        for given in [Old(tensor), tensor.__dlpack__(), tensor.__dlpack__(**VERSIONED)]:
            held = testing.import_tensor(given, copy=True)
            assert held.floats() == [1.0, 2.0] and held.facts()[5] != tensor.data_ptr
            assert held.version() == (1, 3) and not held.is_read_only()

    check_leaks(body)


def test_a_capsule_on_a_device_has_no_copy():
    """A capsule has no `__dlpack__` that could be called with `copy`."""
    with nothing_left():
        capsule = OnDevice(2, 0).__dlpack__(**VERSIONED)
        with pytest.raises(ValueError, match="cannot be asked for a copy"):
            testing.import_tensor(capsule, copy=True)
        del capsule


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_order_of_an_array_is_kept(order):
    """The order of the axes is kept, as NumPy does."""
    np = require("numpy")
    array = np.asarray(np.arange(6.0, dtype="float32").reshape(2, 3), order=order)
    for given in [array, array[:, ::2], array[::-1]]:
        copy = Anything.from_dlpack(given, copy=True)
        found = np.from_dlpack(copy)
        assert found.flags.writeable and found.tolist() == given.tolist()
        contiguous = found.flags.f_contiguous if order == "F" else found.flags.c_contiguous
        assert contiguous


# --- legacy capsules -------------------------------------------------------


def test_legacy_capsules_are_read_only():
    """As in NumPy, whose own suite asks for it. Rule F16."""
    np = require("numpy")
    array = np.arange(3, dtype="float32")
    new, old = Floats.from_dlpack(array), Floats.from_dlpack(Old(array))
    assert np.from_dlpack(new).flags.writeable
    assert not np.from_dlpack(old).flags.writeable
    assert Tensor(old.__dlpack__(**VERSIONED)).flags == 1  # READ_ONLY
    # Once more, by any way.
    assert not np.from_dlpack(Floats.from_dlpack(old)).flags.writeable
    # The legacy struct has no read-only flag, so its consumer gets a copy.
    again = np.from_dlpack(Old(old))
    assert again.ctypes.data != array.ctypes.data


def test_legacy_capsules_may_be_written_by_the_callers_word():
    """In Rust; Python has no parameter for it."""
    tensor = Writable([1.0])
    for given in [Old(tensor), tensor.__dlpack__()]:
        assert not testing.import_tensor(given, legacy_writable=True).is_read_only()
    assert testing.import_tensor(Old(tensor)).is_read_only()
    assert testing.import_tensor(tensor.__dlpack__()).is_read_only()
    assert not testing.import_tensor(tensor, legacy_writable=True).is_read_only()
    assert not testing.import_tensor(tensor).is_read_only()


def test_torch_drops_read_only():
    """A limitation: memory that was exported through PyTorch appears writable."""
    torch = require("torch")
    np = require("numpy")
    frozen = testing.Frozen([1.0, 2.0])
    assert not np.from_dlpack(frozen).flags.writeable
    through = torch.from_dlpack(frozen)
    held = testing.import_tensor(through)
    assert held.facts()[5] == through.data_ptr() and not held.is_read_only()
