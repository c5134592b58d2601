"""Tensors borrowed for a call, allocated by another library, and passed to a type:
`python::with_tensor`, `allocate` and `to_object`. Rules A16, X5, X7, X9, X11."""

import sys

import dlpack_example
import dlpack_testing as testing
import pytest
from conftest import check_leaks, nothing_left, require
from dlpack_testing import Floats, Growing, OnDevice, Writable


@pytest.fixture(autouse=True)
def fresh_script():
    testing.script()


def scripted(**keywords):
    """A new type with a scripted table and no protocol."""
    table = testing.scripted_table(**keywords)
    return type("Scripted", (), {"__dlpack_c_exchange_api__": table})


def test_an_element():
    """By index; an index out of range is a Python exception."""
    array = require("numpy").arange(6, dtype="float32").reshape(2, 3)
    assert testing.element(array.T, [2, 1]) == 5
    for index in ([2, 0], [0], []):
        with pytest.raises(IndexError, match="one number per dimension"):
            testing.element(array, index)


# --- borrow ----------------------------------------------------------------


def test_borrowed():
    """Through the exporting function of the table, which keeps the memory alive; no stream
    is queried."""
    one = scripted()()
    testing.borrowed_sum(one)  # the cache keeps the type
    testing.script()
    with nothing_left():
        assert testing.borrowed_sum(one) == (6.0, 0)
    assert testing.scripted_calls() == {"export": 1}


def test_borrowed_memory_outlives_a_change_of_the_object():
    """The table's borrowing function may run Python code, which may cause the producer to
    free or reuse the memory of a view. Rule X12."""
    one = scripted()()
    try:
        around = testing.borrowed_sums_around(
            one, lambda: testing.overwrite_viewed([0.0, 0.0, 0.0])
        )
        assert around == (6.0, 6.0)
        assert testing.viewed_sum(one) == (0.0, 0), "which a view shows"
    finally:
        testing.overwrite_viewed([1.0, 2.0, 3.0])


def test_viewed():
    """Through the borrowing function of the table: no tensor is allocated, no stream is
    queried."""
    one = scripted()()
    testing.viewed_sum(one)  # the cache keeps the type
    testing.script()
    with nothing_left():
        assert testing.viewed_sum(one) == (6.0, 0)
    assert testing.scripted_calls() == {"view": 1}


@pytest.mark.parametrize("make", ["numpy", "torch", "jax", "own", "growing"])
def test_borrowed_from_libraries(make):
    """With a table, without one, and with a table whose function fails."""
    if make in ("own", "growing"):
        one = (Writable if make == "own" else Growing)([1.0, 2.0])
    else:
        module = require(make)
        module = module.numpy if make == "jax" else module
        one = module.asarray([1.0, 2.0], dtype=module.float32)
    for read in (testing.borrowed_sum, testing.viewed_sum):
        check_leaks(lambda: read(one), rounds=3)
        assert read(one) == (3.0, 0)


@pytest.mark.parametrize(
    "how", [{"missing": ["view"]}, {"script": {"raises": "BufferError", "status": -1}}]
)
def test_what_cannot_be_viewed_is_imported(how):
    """The tensor is imported for the call and released after it."""
    one = scripted(missing=how.get("missing", []))()
    if "script" in how:
        # The exporting function fails too, and there is no `__dlpack__`.
        testing.script(**how["script"], nothing=True)
        with pytest.raises(AttributeError, match="__dlpack_device__"):
            testing.viewed_sum(one)
        assert testing.scripted_calls() == {"view": 1, "export": 1}
    else:
        check_leaks(lambda: testing.viewed_sum(one), rounds=3)
        assert testing.viewed_sum(one) == (6.0, 0)


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ({"status": -1, "raises": "ValueError"}, ValueError),
        ({"raises": "ValueError"}, ValueError),
        ({"raises": "ValueError", "nothing": True}, ValueError),
        ({"shape": [-1]}, BufferError),
        ({"shape": [2**62]}, BufferError),
        ({"nothing": True}, BufferError),  # all zeros: no element type
    ],
    ids=str,
)
def test_what_a_view_may_say(script, error):
    """A view is validated by the rules of an import."""
    one = scripted()()
    testing.script(**script)
    with pytest.raises(error), nothing_left():
        testing.viewed_sum(one)


@pytest.mark.parametrize(
    ("read", "function"),
    [(testing.borrowed_facts, "export"), (testing.viewed_facts, "view")],
)
def test_the_stream_of_a_device(read, function):
    """The current stream is queried for a device tensor, and only then. Rule X11."""
    one = scripted()()
    testing.script(device=(2, 1))
    device, shape, strides, address, stream = read(one)
    assert (device, shape, strides) == ("cuda:1", [3], [1])
    assert address and stream >= 0x1000
    assert testing.scripted_calls() == {function: 1, "stream": 1}


def test_a_device_without_a_table():
    """Without a table, the device's rule for a missing stream applies: the default stream.
    """
    device = OnDevice(2, 0)

    class Plain:
        def __dlpack__(self, **keywords):
            return device.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return (2, 0)

    facts = testing.borrowed_facts(Plain())
    assert facts[0] == "cuda:0" and facts[4] == 0
    # The table, if present, must support the device.
    with pytest.raises(BufferError, match="no enabled backend"):
        testing.borrowed_facts(device)


def test_a_table_without_streams():
    """For a view, a table without a stream function means the default stream. An owned
    tensor has to be synchronized, by `__dlpack__`."""
    one = scripted(missing=["stream"])()
    testing.script(device=(2, 0))
    assert testing.viewed_facts(one)[4] == 0
    with pytest.raises(AttributeError, match="__dlpack__"):
        testing.borrowed_facts(one)


def test_the_error_of_a_stream_arrives():
    """No kernel runs if the stream is unknown. Rule X11."""
    one = scripted(missing=["view"])()
    testing.script(device=(2, 0), raises=None)
    assert testing.borrowed_facts(one)[4] >= 0x1000
    testing.script(device=(2, 0), status=1)
    with pytest.raises(Exception):
        testing.borrowed_facts(one)


# --- allocate --------------------------------------------------------------


@pytest.mark.parametrize("shape", [[], [0], [3], [2, 3], [1] * 12])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool"])
def test_allocated_by_torch(shape, dtype):
    """Zeros of that shape and type, as a PyTorch tensor."""
    torch = require("torch")
    tensor = testing.allocate(torch.Tensor, shape, dtype)
    assert type(tensor) is torch.Tensor and list(tensor.shape) == shape
    assert tensor.dtype is getattr(torch, dtype) and not tensor.any()


def test_allocated_and_dropped():
    """The tensor is released without becoming a Python object."""
    cls = scripted()
    check_leaks(lambda: testing.allocate_and_drop(cls, [4]), rounds=3)
    assert testing.allocate_and_drop(require("torch").Tensor, [4])


def test_memory_of_an_allocator_has_an_offset_and_a_stream():
    """A kernel gets the handle with the offset of the first element, and the stream of the library:
    that of the backend if the table names none. Rule D20."""
    testing.script(device=(12, 0), byte_offset=64)
    data, byte_offset, stream = testing.allocated_on_npu(scripted(missing=["stream"]), [3])
    assert data != 0 and byte_offset == 64
    assert stream == testing.current_npu_stream()
    with pytest.raises(BufferError):
        testing.allocated_on_npu(scripted(), [3])
    assert testing.scripted_calls() == {"allocate": 2, "stream": 1}


@pytest.mark.parametrize("cls", [int, Floats])
def test_types_without_an_allocator(cls):
    """The error message states that the type has no allocator."""
    if cls is Floats and hasattr(cls, "__dlpack_c_exchange_api__"):
        assert testing.allocate(cls, [2])
        return
    with pytest.raises(TypeError, match="no exchange table that allocates"):
        testing.allocate(cls, [2])


@pytest.mark.parametrize(
    ("reports", "error", "message"),
    [
        ([("MemoryError", "none left")], MemoryError, "none left"),
        ([("BufferError", "no")], BufferError, "no"),
        ([("TypeError", "no")], TypeError, "no"),
        ([("ValueError", "no")], ValueError, "no"),
        ([("NotImplementedError", "no")], NotImplementedError, "no"),
        ([("Odd", "no")], RuntimeError, "Odd: no"),
        ([("ValueError", "first"), ("TypeError", "second")], ValueError, "first"),
        ([(None, None)], RuntimeError, "^: $"),
        ([("ValueError", None)], ValueError, "^$"),
        ([], BufferError, "reported nothing"),
    ],
)
@pytest.mark.parametrize("status", [-1, 1, 0])
def test_errors_of_an_allocator(reports, error, message, status):
    """The exception type is the one that the allocator names; a tensor that it allocated
    despite the error is released. Rule X7."""
    if status == 0 and not reports:
        return
    cls = scripted()
    testing.script(status=status, reports=reports, nothing=status != 0)

    def body():
        with pytest.raises(error, match=message):
            testing.allocate(cls, [2])

    check_leaks(body, rounds=3)


def test_an_exception_of_an_allocator_is_a_cause():
    """An allocator must report errors through `SetError`; an exception that it leaves set
    becomes the cause."""
    cls = scripted()
    testing.script(status=-1, raises="KeyError", nothing=True)
    with pytest.raises(BufferError, match="reported nothing") as caught:
        testing.allocate(cls, [2])
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("script", [{"shape": [3]}, {"device": (2, 0)}, {"nothing": True}])
def test_an_allocator_that_makes_something_else(script):
    """A tensor that does not match the request is an error, and is released."""
    cls = scripted()
    testing.script(**script)

    def body():
        with pytest.raises(BufferError):
            testing.allocate(cls, [2])

    check_leaks(body, rounds=3)


# --- to --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["torch", "numpy", "jax", "tvm_ffi"])
def test_handed_to_libraries(name):
    """Through the table of the type, or through the `from_dlpack` of its module; the memory
    is ours."""
    module = require(name)
    cls = {"torch": "Tensor", "numpy": "ndarray", "jax": "Array", "tvm_ffi": "Tensor"}[name]
    cls = getattr(module, cls)

    def body():
        made = testing.hand_to(cls, "int32")
        assert isinstance(made, cls) and tuple(made.shape) == (2,)
        del made

    check_leaks(body, rounds=3)
    made = testing.hand_to(cls, "int32")
    live = testing.live()
    del made
    assert testing.live() <= live


def test_handed_to_a_class_of_ours():
    """Through the class method `from_dlpack`, or the table."""
    assert testing.hand_to(Floats, "float32").values()


@pytest.mark.parametrize("cls", [int, dict, str])
def test_types_that_take_no_tensors(cls):
    """The error message states the reason, and the tensor is released."""
    with pytest.raises(TypeError, match="neither an exchange table that makes"), nothing_left():
        testing.hand_to(cls, "int8")


def test_a_class_of_ours_that_only_exports():
    """The error names the call that would make objects of tensors."""
    advice = r"neither .* in Rust, `python::class::<T>\(\).importable\(\)` adds both"
    with pytest.raises(TypeError, match=advice), nothing_left():
        testing.hand_to(testing.OnNpu, "int8")


def test_a_type_that_from_dlpack_does_not_make():
    """NumPy's `from_dlpack` returns arrays, not matrices."""
    np = require("numpy")
    with pytest.raises(TypeError, match="makes `ndarray`"), nothing_left():
        testing.hand_to(np.matrix, "int8")


@pytest.mark.parametrize("releases", [True, False])
@pytest.mark.parametrize(
    ("script", "error"),
    [
        ({"status": -1, "raises": "ValueError"}, ValueError),
        ({"status": -1, "raises": "BufferError"}, BufferError),
        ({"status": -1}, BufferError),
        ({"status": 1}, BufferError),
        ({"nothing": True}, BufferError),
        ({"raises": "ValueError"}, ValueError),
    ],
    ids=str,
)
def test_a_tensor_is_consumed_once(script, error, releases):
    """Whatever the function returns, and whether or not it releases a rejected tensor. Rule
    X9."""
    cls = scripted()
    testing.script(**script, releases=releases)
    live = testing.live()
    for _ in range(3):
        with pytest.raises(error):
            testing.hand_to(cls, "int8")
        assert testing.live() == live


def test_a_table_that_fails_loses_few_relays():
    """Without a `from_dlpack` its class makes no more objects. Rule X9."""
    cls = scripted()
    testing.script(status=-1)
    before = testing.allocations()
    for error in [BufferError] * 16 + [TypeError] * 100:
        with pytest.raises(error):
            testing.hand_to(cls, "int8")
    assert testing.allocations() <= before + 20
    assert testing.scripted_calls() == {"wrap": 16}


def test_a_class_whose_table_fails_is_made_by_from_dlpack():
    """Which is called from the 17th failure on. Rule X9."""
    cls = scripted()
    cls.from_dlpack = classmethod(lambda cls, tensor: cls())
    testing.script(status=-1)
    for _ in range(16):
        with pytest.raises(BufferError):
            testing.hand_to(cls, "int8")
    with nothing_left():
        assert type(testing.hand_to(cls, "int8")) is cls


def test_a_class_of_ours_that_rejects_a_tensor_keeps_its_table():
    """It returns the tensor, so there is no relay. Rule X9."""
    check_leaks(lambda: pytest.raises(TypeError, testing.hand_to, Floats, "int8"), rounds=100)
    assert testing.hand_to(Floats, "float32").values()


def test_a_class_that_makes_no_objects_is_not_called():
    """Its table would refuse every tensor."""
    check_leaks(lambda: pytest.raises(TypeError, testing.hand_to, Growing, "int8"), rounds=100)


def test_a_failure_of_torch_releases_the_tensor():
    """PyTorch rejects the element type and does not release the tensor."""
    torch = require("torch")
    live = testing.live()
    with pytest.raises(Exception, match="Unsupported"):
        testing.hand_to(torch.Tensor, "float6_e2m3fn")
    assert testing.live() == live


# --- a kernel --------------------------------------------------------------


def test_three_tensors_in_one_out():
    """The main use of the table: a kernel in Rust takes three PyTorch tensors and returns
    one that PyTorch allocated."""
    torch = require("torch")
    a, b, c = (torch.rand(16, 3) for _ in range(3))
    out = testing.fused(a, b, c)
    assert type(out) is torch.Tensor and out.shape == a.shape
    assert torch.allclose(out, a * b + c)
    assert torch.allclose(testing.fused(a.T, b.T, c.T), (a * b + c).T)
    assert testing.fused(a[:0], b[:0], c[:0]).shape == (0, 3)
    with pytest.raises(ValueError, match="shapes differ"):
        testing.fused(a, b, c.T)
    assert out.fill_(1.0).sum() == 48  # the memory is writable


def test_no_python_in_between():
    """Once the type is cached, a kernel call runs no Python frame and calls no Python
    function but itself."""
    torch = require("torch")
    a, b, c = (torch.rand(4) for _ in range(3))
    testing.fused(a, b, c)
    events = []
    fused = testing.fused
    sys.setprofile(lambda frame, event, argument: events.append((event, argument)))
    out = fused(a, b, c)
    sys.setprofile(None)
    assert torch.allclose(out, a * b + c)
    names = [getattr(argument, "__name__", None) for _, argument in events]
    assert names == ["fused", "fused", "setprofile"], events


def test_no_attribute_in_between():
    """It looks up no attribute of the objects or their type, and calls each function of the
    table exactly as often as needed."""
    lookups = []

    class Meta(type):
        def __getattribute__(cls, name):
            lookups.append(name)
            return super().__getattribute__(name)

    class Watched(metaclass=Meta):
        __dlpack_c_exchange_api__ = testing.scripted_table()

        def __getattribute__(self, name):
            lookups.append(name)
            return super().__getattribute__(name)

    a, b, c = Watched(), Watched(), Watched()
    assert testing.fused(a, b, c) == 42
    lookups.clear()
    testing.script()
    with nothing_left():
        assert testing.fused(a, b, c) == 42
    assert lookups == []
    assert testing.scripted_calls() == {"export": 3, "allocate": 1, "wrap": 1}


def test_a_kernel_that_fails_leaves_nothing():
    """The output that was allocated for the kernel is released."""
    one = scripted()()
    testing.script(shape=[3])  # borrowed as three, allocated as three
    check_leaks(lambda: testing.fused(one, one, one), rounds=3)
    with pytest.raises(TypeError, match="expected float32 elements, got int64"), nothing_left():
        testing.fused(one, one, dlpack_example.Tensor([1, 2, 3]))
