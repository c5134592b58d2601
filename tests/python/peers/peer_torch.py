"""PyTorch's own table, driven from Rust."""

import dlpack_testing as testing
import pytest
from conftest import check_leaks, counters, read_only_class, require, run_in_a_new_process
from dlpack_example import from_dlpack
from dlpack_testing import arguments

torch = require("torch")


def test_import_through_its_table():
    """Without a copy, with any strides; also of a subclass."""
    tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    for view in (tensor, tensor.T, tensor[:, 1:], torch.nn.Parameter(tensor).detach()):
        ours = from_dlpack(view)
        assert ours.data_ptr == view.data_ptr() and ours.tolist() == view.tolist()
        assert ours.strides == view.stride()


def test_writes_are_seen():
    """The imported tensor has the same address."""
    tensor = torch.zeros(3)
    ours = from_dlpack(tensor)
    tensor[1] = 5
    assert ours.tolist() == [0.0, 5.0, 0.0]


SPARSE = "Can't export tensors with layout other than torch.strided"
META = "Cannot pack tensors on meta"
NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"


@pytest.mark.parametrize("read", [testing.import_tensor, arguments.floats])
@pytest.mark.parametrize(
    "make, exception, message, found",
    [
        (lambda: torch.zeros(3).to_sparse(), BufferError, SPARSE, "a tensor without strides; "),
        (lambda: torch.zeros(3, device="meta"), BufferError, META, "a tensor on the device `meta`"),
        (None, RuntimeError, NO_STORAGE, "a tensor without memory"),
    ],
    ids=["sparse", "meta", "vmap"],
)
def test_a_tensor_that_it_cannot_export_raises_one_line(make, exception, message, found, read):
    """Its table lists the frames of C++ code. The exception of its `__dlpack__` is raised, or is the
    cause of one that says what to pass."""

    def check(tensor):
        with pytest.raises(BufferError) as caught:
            read(tensor)
        what = "float32" if read is arguments.floats else "an array"
        assert str(caught.value).startswith(f"expected {what}, got {found}")
        error = caught.value.__cause__
        assert type(error) is exception and str(error) == message
        assert error.__cause__ is None and error.__context__ is None
        return torch.zeros(())

    if make is None:
        torch.vmap(check)(torch.zeros(2, 3))
    else:
        check(make())


@pytest.mark.parametrize("tensor", [torch.zeros(3).to_sparse(), torch.zeros(3, device="meta")])
def test_a_view_of_a_tensor_without_memory_raises_one_line(tensor):
    """As for an import."""
    with pytest.raises((BufferError, ValueError)) as caught:
        testing.viewed_facts(tensor)
    assert "\n" not in str(caught.value)


def test_export_into_its_class():
    """`python::to_object(torch.Tensor)` makes one of its tensors over Rust's memory."""
    made = testing.hand_to(torch.Tensor, "float32")
    assert type(made) is torch.Tensor and made.shape == (2,)


def test_a_kernel_between_its_tensors():
    """A kernel takes three tensors and returns one that PyTorch allocated."""
    a, b, c = (torch.full((2, 3), value) for value in (2.0, 3.0, 4.0))
    out = testing.fused(a, b, c)
    assert type(out) is torch.Tensor and torch.equal(out, torch.full((2, 3), 10.0))


@pytest.mark.parametrize("first", ["Tensor", "FloatTensor", "Parameter", "Copied", "Over"])
def test_the_table_is_shared_with_legacy_classes_only(first):
    """`torch.FloatTensor` and its siblings have the table of `torch.Tensor`, which keeps it.
    A Python class with a copy of the table cannot use it, whichever class is looked up
    first. Rule X6."""
    code = f"""if True:
        import dlpack_testing as testing
        import numpy, torch

        class Copied:
            __dlpack_c_exchange_api__ = torch.Tensor.__dlpack_c_exchange_api__

        class Over(numpy.ndarray):
            __dlpack_c_exchange_api__ = torch.Tensor.__dlpack_c_exchange_api__

        class Sub(torch.Tensor):
            pass

        def tensor():
            assert type(testing.allocate(torch.Tensor, [3])) is torch.Tensor

        def legacy():
            assert type(testing.allocate(torch.FloatTensor, [3])) is torch.Tensor

        def parameter():
            # Its `__dlpack__` raises BufferError, as it requires a gradient.
            made = torch.nn.Parameter(torch.ones(2))
            assert testing.import_tensor(made).floats() == [1.0, 1.0]
            assert testing.import_tensor(made.detach().as_subclass(Sub)).floats() == [1.0, 1.0]

        def copied():
            try:
                testing.import_tensor(Copied())
            except AttributeError:
                pass
            else:
                raise AssertionError("the table was used")

        def over():
            array = numpy.full(2, 2.0, dtype="float32").view(Over)
            assert testing.import_tensor(array).floats() == [2.0, 2.0]
            try:
                testing.allocate(Over, [3])
            except TypeError:
                pass
            else:
                raise AssertionError("the table was used")

        checks = dict(Tensor=tensor, FloatTensor=legacy, Parameter=parameter, Copied=copied)
        checks["Over"] = over
        checks["{first}"]()
        for _ in range(2):
            for check in checks.values():
                check()
    """
    run_in_a_new_process(code)


def test_its_table_cannot_be_moved_to_another_class():
    """The legacy classes still have it, and C code made them from `torch.Tensor`. Rule X6."""
    code = """if True:
        import dlpack_testing as testing
        import torch

        class Moved:
            __dlpack_c_exchange_api__ = torch.Tensor.__dlpack_c_exchange_api__

        del torch.Tensor.__dlpack_c_exchange_api__
        try:
            testing.import_tensor(Moved())
        except AttributeError:
            pass
        else:
            raise AssertionError("the table was used")
        assert testing.import_tensor(torch.ones(2)).floats() == [1.0, 1.0]
    """
    run_in_a_new_process(code)


def test_read_only_tensors():
    """Through the table of `ReadOnlyTensorWrapper`, which other classes do not share. Rule X6."""
    wrapper = read_only_class()
    assert wrapper.__dlpack_c_exchange_api__ is not torch.Tensor.__dlpack_c_exchange_api__
    tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    for view in (tensor, tensor.T, tensor[:, 1:]):
        ours = from_dlpack(wrapper(view))
        assert ours.read_only and not from_dlpack(view).read_only
        assert ours.data_ptr == view.data_ptr() and ours.tolist() == view.tolist()


def test_read_only_tensors_have_no_legacy_capsule():
    """They export the versioned struct to a request of the legacy one: a defect that
    `docs/reference.md` names."""
    exported = read_only_class()(torch.zeros(3)).__dlpack__()
    assert '"dltensor_versioned"' in repr(exported)


def test_nothing_is_left():
    """It calls every deleter."""
    check_leaks(lambda: testing.hand_to(torch.Tensor, "float32"))


def test_a_refusal_leaves_no_tensor():
    """Its table fails without calling the deleter, and might still call it later: the
    tensor is released, and a small relay block stays allocated."""
    before = counters()
    for _ in range(20):
        # Its table raises RuntimeError, its `from_dlpack` BufferError.
        with pytest.raises((BufferError, RuntimeError), match="Unsupported code"):
            testing.hand_to(torch.Tensor, "float6_e2m3fn")
    after = counters()
    assert {**after, "heap": 0} == {**before, "heap": 0}
    assert after["heap"] - before["heap"] <= 20
