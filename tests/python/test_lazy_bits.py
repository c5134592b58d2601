"""Objects whose elements are not what is in their memory: PyTorch's negative and conjugate bit.
Rule X18."""

import dlpack_testing as testing
import pytest
from conftest import nothing_left, read_only_class, require
from dlpack_testing import Floats, Writable, arguments

NPU = (12, 0)
PATHS = {
    "import": testing.import_tensor,
    "copy": lambda x: testing.import_tensor(x, copy=True),
    "device": lambda x: testing.import_tensor(x, device=(1, 0)),
    "tensor": testing.borrowed_sum,
    "view": testing.viewed_sum,
    "argument": arguments.floats,
    "written argument": lambda x: arguments.scale(x, 2.0),
    "converted argument": arguments.convert_floats,
    "class": Floats.from_dlpack,
    "list": lambda x: arguments.listed([x]),
}


@pytest.fixture(autouse=True)
def fresh_script():
    testing.script()


def lazy(table=True, protocol=True, **bits):
    """An object of a new type with the methods of PyTorch's tensors."""
    namespace = {"resolve_neg": None}
    for name in ("neg", "conj"):
        namespace[f"is_{name}"] = lambda self, name=name: bits.get(name, False)
    if table:
        namespace["__dlpack_c_exchange_api__"] = testing.scripted_table()
    if protocol:
        namespace["__dlpack__"] = lambda self, **kw: Writable([9.0]).__dlpack__(**kw)
        namespace["__dlpack_device__"] = lambda self: (1, 0)
    return type("Lazy", (), namespace)()


@pytest.mark.parametrize("table", [True, False], ids=["table", "protocol"])
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_negative_bit_is_rejected(path, table):
    """On every path to the elements; an object without the bit passes."""
    path(lazy(table))
    one = lazy(table, neg=True)
    with nothing_left(), pytest.raises(BufferError, match=r"negative bit.*`x\.resolve_neg\(\)`"):
        path(one)


def test_a_negative_bit_of_a_tensor_on_a_device_is_rejected():
    """On the path of kernels."""
    testing.script(device=NPU)
    one = lazy(neg=True)
    with nothing_left(), pytest.raises(BufferError, match="negative bit"):
        testing.npu_stream_of(one)


def test_a_class_without_both_methods_is_not_asked():
    """`is_neg` of another library may mean anything."""
    one = lazy(neg=True)
    del type(one).resolve_neg
    assert testing.import_tensor(one).floats() == [1.0, 2.0, 3.0]


def test_an_error_of_the_method_is_raised():
    """The elements are not known then."""

    def fail(self):
        raise error

    one = lazy()
    type(one).is_neg = fail
    for error in (RuntimeError("of the class"), KeyboardInterrupt()):
        with nothing_left(), pytest.raises(type(error)) as caught:
            testing.import_tensor(one)
        assert caught.value is error


def views(torch):
    """Tensors with the negative bit: their elements, strides and dtypes differ."""
    z = torch.tensor([1 + 2j, 3 - 4j])
    half = z.to(torch.complex32).conj().imag
    imag = z.conj().imag
    ones = torch.ones(3)
    yield from [imag, imag[0], imag[:1], imag.data, imag.expand(2, 2), half]
    yield from [torch._neg_view(ones), torch._neg_view(ones.to(torch.uint8))]
    yield from [torch._neg_view(z), torch._neg_view(z).real, torch._neg_view(z).conj()]
    yield from [torch.nn.Parameter(imag), torch.fft.fft(ones.double()).conj().imag]
    with torch.inference_mode():
        yield z.conj().imag


def test_every_negated_tensor_of_torch_is_rejected():
    """The advice makes a tensor with the right elements."""
    torch = require("torch")
    for view in views(torch):
        with pytest.raises(BufferError, match=r"`(x\..*)`") as caught:
            testing.import_tensor(view)
        with pytest.raises(BufferError, match="negative bit|conjugate bit"):
            testing.import_tensor(view, copy=True)
        cure = str(caught.value).split("`")[1]
        resolved = eval(cure, {"x": view})
        assert torch.equal(resolved, view.clone().resolve_conj())
        testing.import_tensor(resolved)
    assert testing.import_tensor(resolved).facts()[2] == "float32"


def test_a_conjugated_tensor_of_torch_is_rejected():
    """Tensors of complex numbers without the bit pass by the table."""
    torch = require("torch")
    z = torch.tensor([1 + 2j, 3 - 4j])
    for path in (testing.import_tensor, testing.viewed_facts, testing.borrowed_facts):
        with pytest.raises(BufferError, match=r"conjugate bit.*`x\.resolve_conj\(\)`"):
            path(z.conj())
        path(z.conj().resolve_conj())


def test_a_subclass_that_rejects_functions_is_read():
    """`__torch_function__` of a subclass may reject `is_neg`."""
    torch = require("torch")
    wrapper = read_only_class()
    assert testing.import_tensor(wrapper(torch.ones(2))).floats() == [1.0, 1.0]
    with pytest.raises(BufferError, match="negative bit"):
        testing.import_tensor(wrapper(torch._neg_view(torch.ones(2))))
