"""An argument that is kept beyond the call, and parts of it in the library of the caller."""

import gc
import sys
import threading
import weakref

import pytest
from conftest import check_leaks, require
from dlpack_testing import Sample
from dlpack_testing import kept as kept_module

require("numpy")
import numpy as np

Kept, row = kept_module.Kept, kept_module.row


def address_of(array):
    return array.__array_interface__["data"][0]


def base():
    return np.arange(60, dtype="int16").reshape(3, 4, 5)


LAYOUTS = {
    "contiguous": base,
    "column-major": lambda: np.asfortranarray(base()),
    "permuted": lambda: base().transpose(2, 0, 1),
    "reversed": lambda: base()[::-1, :, ::-1],
    "a part": lambda: base()[1:, ::2, 1:4],
    "broadcast": lambda: np.broadcast_to(np.arange(5, dtype="int8"), (3, 4, 5)),
    "complex": lambda: base() * 1j,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_parts_share_the_memory_of_the_argument(layout):
    array = LAYOUTS[layout]()
    kept = Kept(array, array)
    views = [(kept.permute([2, 0, 1]), array.transpose(2, 0, 1))]
    for axis, dim in enumerate(array.shape):
        front = (slice(None),) * axis
        views += [(kept.select(axis, at), array[(*front, at)]) for at in range(dim)]
        views += [
            (kept.narrow(axis, start, end), array[(*front, slice(start, end))])
            for start in range(dim)
            for end in range(start, dim + 1)
        ]
        views.append((kept.reverse(axis), array[(*front, slice(None, None, -1))]))
    for view, expected in views:
        assert type(view) is np.ndarray
        assert view.dtype == expected.dtype
        assert view.shape == expected.shape
        assert np.array_equal(view, expected)
        if expected.size:
            assert address_of(view) == address_of(expected)
            assert np.shares_memory(view, array)
            assert view.flags.writeable == array.flags.writeable


def test_a_loop_over_a_kept_array_ends():
    assert [item.tolist() for item in Kept(base(), base())] == list(base().tolist())


def test_indices_beyond_the_array():
    kept = Kept(base(), base())
    with pytest.raises(IndexError, match="^expected an index below 3 for axis 0, got 3$"):
        kept[3]
    with pytest.raises(ValueError, match="^expected an axis of 3 dimensions, .*, got 3$"):
        kept.select(3, 0)
    with pytest.raises(ValueError, match="range of indices within 0..4 for axis 1, got 2..5$"):
        kept.narrow(1, 2, 5)
    with pytest.raises(ValueError, match="each of 3 axes once, got axis 0 2 times"):
        kept.permute([0, 2, 0])
    scalar = Kept(np.array(1.0), np)
    with pytest.raises(ValueError, match="an axis of 0 dimensions"):
        scalar[0]
    assert scalar.permute([]) == 1.0


def test_a_kept_tensor_keeps_the_memory_that_its_owner_replaces():
    torch = require("torch")
    replace = [
        lambda layer: layer.half(),
        lambda layer: layer.double(),
        lambda layer: layer.weight.set_(torch.zeros(1)),
        lambda layer: setattr(layer.weight, "data", torch.zeros(3)),
    ]
    for change in replace:
        layer = torch.nn.Linear(300, 1000, bias=False)
        before = layer.weight.detach().clone()
        kept, part = Kept(layer.weight, torch), Kept(layer.weight[::2], torch)
        sample = Sample.from_dlpack(layer.weight)
        with torch.no_grad():
            change(layer)
        gc.collect()
        _other = [torch.full((300, 1000), 7.0) for _ in range(4)]
        assert torch.equal(kept.permute([0, 1]), before)
        assert torch.equal(part.permute([0, 1]), before[::2])
        assert torch.equal(torch.from_dlpack(sample), before)
    tensor = torch.zeros(3)
    Kept(tensor, torch).permute([0])[0] = 5
    assert tensor[0] == 5


def test_no_code_of_a_subclass_of_torch_runs_where_a_tensor_is_kept():
    """It could give the tensor another memory, raise, or lose an interrupt."""
    torch = require("torch")

    class Changes(torch.Tensor):
        def detach(self):
            self.data = torch.zeros(300, 1000)
            raise KeyboardInterrupt

        @classmethod
        def __torch_function__(cls, function, types, arguments=(), keywords=None):
            if function is torch.Tensor.detach:
                raise KeyboardInterrupt
            return super().__torch_function__(function, types, arguments, keywords or {})

    tensor = torch.ones(300, 1000).as_subclass(Changes)
    kept, sample = Kept(tensor, torch), Sample.from_dlpack(tensor)
    tensor.data = torch.zeros(300, 1000)
    assert kept.permute([0, 1]).sum() == 300_000
    assert torch.from_dlpack(sample).sum() == 300_000


def test_another_tensor_is_not_kept_in_place_of_the_argument():
    """`__torch_dispatch__`, which Python code defines, makes the result of `detach`."""
    torch = require("torch")
    from torch.utils._python_dispatch import TorchDispatchMode

    class Zeros(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            if "detach" in str(function):
                return torch.zeros(3, dtype=torch.float64)
            return function(*arguments, **(keywords or {}))

    class Doubled(torch.Tensor):
        def __dlpack__(self, **keywords):
            return (self.as_subclass(torch.Tensor) * 2).__dlpack__(**keywords)

    doubled = torch.ones(3).as_subclass(Doubled)
    assert Kept(weakref.proxy(doubled), torch).permute([0]).tolist() == [2, 2, 2]
    tensor = torch.ones(3)
    with Zeros():
        kept, sample = Kept(tensor, torch), Sample.from_dlpack(tensor)
    assert torch.equal(kept.permute([0]), tensor)
    assert torch.equal(torch.from_dlpack(sample), tensor)


def test_a_tensor_is_kept_while_a_thread_replaces_its_memory():
    """Between its import and `detach`."""
    torch = require("torch")
    tensor, stop = torch.ones(500_000), threading.Event()

    def replace():
        while not stop.is_set():
            tensor.data = torch.ones(500_000)
            _other = torch.full((500_000,), 9.0)

    thread = threading.Thread(target=replace)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(200):
            kept = [Kept(tensor, torch) for _ in range(3)]
            assert all(one.permute([0]).sum() == 500_000 for one in kept)
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_parts_in_the_library_of_the_argument(library):
    module = require(library)
    numbers = np.arange(12, dtype="float32").reshape(3, 4)
    array = module.asarray(numbers) if library == "torch" else module.numpy.asarray(numbers)
    kept = Kept(array, array)
    for at in range(3):
        part = kept[at]
        assert isinstance(part, type(array))
        assert part.tolist() == numbers[at].tolist()
    assert np.asarray(kept.reverse(1)).tolist() == numbers[:, ::-1].tolist()
    if library == "torch":
        kept[1][2] = 99
        assert array[1, 2] == 99
        assert kept.permute([1, 0]).stride() == (1, 4)


def test_a_part_keeps_the_array_alive():
    array = base().view(type("Own", (np.ndarray,), {}))
    alive = weakref.ref(array)
    kept = Kept(array, np)
    part = kept[1]
    del kept, array
    gc.collect()
    assert alive() is not None
    assert part.tolist() == base()[1].tolist()
    del part
    gc.collect()
    assert alive() is None


def test_a_part_of_an_argument_that_is_not_kept():
    array = base()
    part = row(array, 2)
    assert address_of(part) == address_of(array[2])
    part[0, 0] = -1
    assert array[2, 0, 0] == -1
    read_only = base()
    read_only.flags.writeable = False
    assert not row(read_only, 0).flags.writeable


def test_parts_do_not_leak():
    array = base()

    def body():
        kept = Kept(array, array)
        for item in kept:
            assert item.size == 20
        with pytest.raises(IndexError):
            kept[7]
        return kept.reverse(0)

    check_leaks(body)
