"""An extension module of nanobind, compiled here: tensors in and out."""

import sys
from pathlib import Path

import pytest
from conftest import check_leaks, require
from dlpack_example import Tensor, from_dlpack
from dlpack_testing import Frozen, Writable

require("nanobind")
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "matrix"))
peer = __import__("nanobind_peer").load()


def test_it_takes_a_writable_tensor():
    """Shape, strides, element type and address arrive."""
    view = Tensor([[1.0, 2.0], [3.0, 4.0]], "float32").as_strided((2, 2), (1, 2))
    taken = peer.take(view)
    assert (taken.shape, taken.strides) == ([2, 2], [1, 2])
    assert taken.dtype == (2, 32, 1) and taken.address == view.data_ptr


def test_it_refuses_to_write_what_is_read_only():
    """A read-only tensor is accepted by a function that only reads."""
    frozen = Frozen([1.0, 2.0])
    with pytest.raises(TypeError):
        peer.take(frozen)
    assert peer.take_read_only(frozen).shape == [2]


def test_it_makes_a_tensor():
    """We import it without a copy and keep its read-only flag."""
    owner = Tensor([1.0, 2.0, 3.0, 4.0], "float32")
    for read_only in (False, True):
        made = peer.make(owner.data_ptr, [2, 2], [1, 2], 2, 32, 1, read_only, owner)
        ours = from_dlpack(made)
        assert ours.data_ptr == owner.data_ptr and ours.read_only == read_only
        assert ours.tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_there_and_back():
    """A tensor that it imported from us and returns has our class again."""
    tensor = Tensor([1.0, 2.0], "float32")
    back = from_dlpack(peer.echo(tensor))
    assert back.data_ptr == tensor.data_ptr and back.tolist() == [1.0, 2.0]


def test_nothing_is_left():
    """It calls every deleter."""

    def rounds():
        peer.take(Writable([1.0, 2.0]))
        peer.take_read_only(Frozen([1.0, 2.0]))
        peer.echo(Writable([1.0, 2.0]))

    check_leaks(rounds)
