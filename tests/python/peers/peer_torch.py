"""PyTorch's own table, driven from Rust."""

import dlpack_testing as testing
import pytest
from conftest import check_leaks, counters, require
from dlpack_example import from_dlpack

torch = require("torch")


def test_import_through_its_table():
    """No copy, any strides; also of a subclass."""
    tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    for view in (tensor, tensor.T, tensor[:, 1:], torch.nn.Parameter(tensor).detach()):
        ours = from_dlpack(view)
        assert ours.data_ptr == view.data_ptr() and ours.tolist() == view.tolist()
        assert ours.strides == view.stride()


def test_writes_are_seen():
    """It is the same memory."""
    tensor = torch.zeros(3)
    ours = from_dlpack(tensor)
    tensor[1] = 5
    assert ours.tolist() == [0.0, 5.0, 0.0]


def test_export_into_its_class():
    """`python::to(torch.Tensor)` makes one of its tensors over Rust's memory."""
    made = testing.hand_to(torch.Tensor, "float32")
    assert type(made) is torch.Tensor and made.shape == (2,)


def test_a_kernel_between_its_tensors():
    """Three tensors in, one out that it allocated."""
    a, b, c = (torch.full((2, 3), value) for value in (2.0, 3.0, 4.0))
    out = testing.fused(a, b, c)
    assert type(out) is torch.Tensor and torch.equal(out, torch.full((2, 3), 10.0))


def test_nothing_is_left():
    """It calls every deleter."""
    check_leaks(lambda: testing.hand_to(torch.Tensor, "float32"))


def test_a_refusal_leaves_no_tensor():
    """Its table fails without a call of the deleter, and may still make one for
    all that anybody knows: the tensor is released, a small relay stays."""
    before = counters()
    for _ in range(20):
        # Its table says RuntimeError where its `from_dlpack` says BufferError.
        with pytest.raises((BufferError, RuntimeError), match="Unsupported code"):
            testing.hand_to(torch.Tensor, "float6_e2m3fn")
    after = counters()
    assert {**after, "heap": 0} == {**before, "heap": 0}
    assert after["heap"] - before["heap"] <= 20
