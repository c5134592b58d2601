"""`python::from_dlpack` by `__dlpack__`: the keywords, what is tried again, which
errors arrive, devices and streams."""

import sys

import dlpack_testing as testing
import pytest
from conftest import check_leaks, nothing_left, require
from dlpack_testing import CallsOnDrop, Floats, Frozen, OnDevice, Single, Writable

READ_ONLY = 1


class Producer:
    """A producer whose `__dlpack__` is a Python function."""

    def __init__(self, dlpack, device=(1, 0)):
        self.dlpack, self.device = dlpack, device
        self.tensor = Writable([1.0, 2.0, 3.0])
        self.calls = []

    def __dlpack__(self, **keywords):
        self.calls.append(keywords)
        return self.dlpack(self.tensor, **keywords)

    def __dlpack_device__(self):
        return self.device


def old(tensor, *, stream=None):
    """The signature of before the versioned struct."""
    return tensor.__dlpack__(stream=stream)


def new(tensor, **keywords):
    """All keywords there are."""
    return tensor.__dlpack__(**keywords)


# --- what is asked ---------------------------------------------------------


def test_the_first_question_is_for_our_version():
    """One keyword, and no word of what was not asked for."""
    producer = Producer(new)
    held = testing.import_tensor(producer)
    assert held.floats() == [1.0, 2.0, 3.0] and held.version() == (1, 3)
    assert producer.calls == [{"max_version": (1, 3)}]


def test_what_is_asked_for_is_passed_on():
    """`copy` and `device` reach the producer under its names for them. That a copy on the
    CPU is not the producer's is tested in `test_own_copies.py`."""
    producer = Producer(new)
    held = testing.import_tensor(producer, device=(1, 0), copy=False)
    assert producer.calls == [
        {"max_version": (1, 3), "dl_device": (1, 0), "copy": False}
    ]
    assert held.facts()[5] == producer.tensor.data_ptr


@pytest.mark.parametrize("copy", [None, False])
def test_nothing_is_copied(copy):
    """The elements lie where they lay."""
    tensor = Writable([1.0, 2.0])
    assert testing.import_tensor(tensor, copy=copy).facts()[5] == tensor.data_ptr


# --- the ladder ------------------------------------------------------------


def test_an_old_producer_is_asked_again():
    """Its signature does not know the keyword: no frame of it ran."""
    producer = Producer(new)
    producer.__class__ = type(
        "Old", (), {"__dlpack__": lambda self, *, stream=None: old(self.tensor)}
    )
    held = testing.import_tensor(producer)
    assert held.version() is None and held.floats() == [1.0, 2.0, 3.0]


def test_a_wrapper_of_an_old_producer_is_asked_again():
    """The mismatch is inside of it, and the message names our keyword."""
    producer = Producer(old)
    assert testing.import_tensor(producer).version() is None
    assert producer.calls == [{"max_version": (1, 3)}, {}]


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        BufferError("unexpected keyword argument 'max_version'"),
        KeyboardInterrupt(),
        AttributeError("inside"),
    ],
    ids=repr,
)
def test_an_error_inside_the_producer_arrives(error):
    """Unchanged, after one call."""

    def fail(tensor, **keywords):
        raise error

    producer = Producer(fail)
    with pytest.raises(type(error)) as caught, nothing_left():
        testing.import_tensor(producer)
    assert caught.value is error and len(producer.calls) == 1


@pytest.mark.parametrize(
    "message",
    [
        "unsupported operand type(s)",
        "resize() got an unexpected keyword argument 'rows'",
        "Producer.__dlpack__: this version of the library has no versioned tensors",
    ],
)
def test_any_type_error_is_followed_by_a_call_without_keywords(message):
    """The message is the producer's own: no text is compared. NumPy does the same."""

    def reject_keywords(tensor, **keywords):
        if keywords:
            raise TypeError(message)
        return tensor.__dlpack__()

    producer = Producer(reject_keywords)
    held = testing.import_tensor(producer)
    assert held.version() is None and held.floats() == [1.0, 2.0, 3.0]
    assert producer.calls == [{"max_version": (1, 3)}, {}]


def test_the_first_type_error_arrives_if_both_calls_fail():
    """The second call was a guess, so its error does not replace the first."""
    errors = [TypeError("a bug inside"), ValueError("of the second call")]
    left = iter(errors)

    def fail(tensor, **keywords):
        raise next(left)

    producer = Producer(fail)
    with pytest.raises(TypeError) as caught, nothing_left():
        testing.import_tensor(producer)
    assert caught.value is errors[0] and caught.value.__cause__ is None
    assert producer.calls == [{"max_version": (1, 3)}, {}]


def test_an_interrupt_of_the_second_call_arrives():
    """It is raised with the first error as its cause."""
    first = TypeError("a bug inside")
    left = iter([first, KeyboardInterrupt()])

    def fail(tensor, **keywords):
        raise next(left)

    with pytest.raises(KeyboardInterrupt) as caught, nothing_left():
        testing.import_tensor(Producer(fail))
    assert caught.value.__cause__ is first


@pytest.mark.parametrize("asked", [{"copy": False}, {"device": (1, 0)}])
def test_what_was_asked_for_is_never_left_out(asked):
    """An old producer cannot do it, and says so."""
    producer = Producer(old)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        testing.import_tensor(producer, **asked)
    assert len(producer.calls) == 1


def test_the_second_failure_names_the_first():
    """`__cause__` is why there was a second call at all."""

    class Old:
        def __dlpack__(self, *, stream=None):
            raise BufferError("empty")

    with pytest.raises(BufferError, match="empty") as caught:
        testing.import_tensor(Old())
    assert isinstance(caught.value.__cause__, TypeError)
    assert "max_version" in str(caught.value.__cause__)


def test_the_stream_is_kept_when_it_is_asked_again():
    """Without it the work of a device would not be ordered."""
    device = OnDevice(2, 0)
    producer = Producer(lambda tensor, *, stream=None: device.__dlpack__(stream=stream))
    producer.device = (2, 0)
    with pytest.raises(BufferError):  # its memory is read-only: no legacy capsule
        testing.import_tensor(producer, stream=7)
    assert producer.calls == [{"max_version": (1, 3), "stream": 7}, {"stream": 7}]


# --- devices and streams ---------------------------------------------------


@pytest.mark.parametrize(("stream", "seen"), [(7, 7), (-1, -1), (None, None)])
def test_streams_of_a_device_are_passed_on(stream, seen):
    """As they are, to a producer that is not on the CPU."""
    device = OnDevice(2, 0)
    producer = Producer(lambda _, **keywords: device.__dlpack__(**keywords), (2, 0))
    held = testing.import_tensor(producer, stream=stream)
    assert held.facts()[3] == "cuda:0"
    asked = {} if stream is None else {"stream": seen}
    assert producer.calls == [{"max_version": (1, 3), **asked}]


@pytest.mark.parametrize("stream", [7, -1])
def test_the_cpu_has_no_streams(stream):
    """A producer there would refuse any."""
    producer = Producer(new)
    testing.import_tensor(producer, stream=stream)
    assert producer.calls == [{"max_version": (1, 3)}]


def test_a_producer_that_says_another_device_than_its_tensor():
    """The struct is what is read, so a mismatch is an error."""
    device = OnDevice(2, 0)
    producer = Producer(lambda _, **keywords: device.__dlpack__(**keywords), (2, 1))
    with pytest.raises(BufferError, match="on cuda:0, but its object says cuda:1"):
        testing.import_tensor(producer)


def test_a_producer_that_ignores_the_device_asked_for():
    """The tensor must be where it was asked to be."""
    producer = Producer(lambda tensor, dl_device, **keywords: new(tensor, **keywords))
    with pytest.raises(BufferError, match="on cpu, but it was asked for on cuda:3"):
        testing.import_tensor(producer, device=(2, 3))


# --- what is no capsule ----------------------------------------------------


@pytest.mark.parametrize("result", [None, 1, "capsule"])
def test_no_capsule(result):
    """What `__dlpack__` returns must be one."""
    with pytest.raises(TypeError, match="must return a capsule"):
        testing.import_tensor(Producer(lambda *_, **__: result))


# --- the end of an import --------------------------------------------------


@pytest.mark.parametrize("cls", [Frozen, Writable, Single])
@pytest.mark.parametrize(
    "release", ["release", "release_detached", "release_in_background"]
)
def test_the_deleter_runs_once_wherever_it_is(cls, release):
    """Attached, detached, and on a thread of no interpreter."""

    def body():
        getattr(testing.import_tensor(cls([1.0])), release)()

    check_leaks(body)


@pytest.fixture
def reports(monkeypatch):
    """What Python reports as unraisable."""
    seen = []
    hook = lambda report: seen.append((report.exc_type, str(report.exc_value)))
    monkeypatch.setattr("sys.unraisablehook", hook)
    return seen


def raise_key_error():
    raise KeyError("the deleter's own")


def test_what_a_deleter_raises_is_reported(reports):
    """It is nobody's who drops a tensor. Rule L11."""
    held = testing.import_tensor(CallsOnDrop(raise_key_error))
    assert held.release() is None
    assert [report[0] for report in reports] == [KeyError]


def test_an_exception_in_flight_survives_a_deleter(reports):
    """And the deleter does not see it. Rule L10."""
    seen = []

    def look():
        import sys

        seen.append(sys.exc_info()[0])
        raise KeyError("the deleter's own")

    held = testing.import_tensor(CallsOnDrop(look))
    with pytest.raises(ValueError, match="in flight"):
        held.release_while_raising(ValueError("in flight"))
    assert seen == [None]
    assert [report[0] for report in reports] == [KeyError]


def test_a_deleter_may_import_again():
    """No lock is held while it runs. Rules L9, L14."""
    other = Writable([4.0])
    seen = []

    def again():
        seen.append(testing.import_tensor(other).floats())
        capsule = other.__dlpack__()
        seen.append(testing.import_tensor(capsule).floats())

    testing.import_tensor(CallsOnDrop(again)).release()
    assert seen == [[4.0], [4.0]]


# --- real libraries --------------------------------------------------------


def test_numpy():
    """Any layout, without a copy; its flag for read-only is kept."""
    np = require("numpy")
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for view in [array, array[::-1], array.T, array[:, 1:, ::2], array[:0], array[1, 1, 1:2]]:
        shape, strides, dtype, device, flags, address = testing.import_tensor(view).facts()
        assert tuple(shape) == view.shape and dtype == "float32" and device == "cpu"
        assert flags == 0
        if view.size:
            assert address == view.ctypes.data
            assert tuple(stride * 4 for stride in strides) == view.strides
        assert testing.import_tensor(view).floats() == view.ravel().tolist()
    array.flags.writeable = False
    assert testing.import_tensor(array).facts()[4] == READ_ONLY


def test_torch():
    """By its table; what only `__dlpack__` refuses is refused."""
    torch = require("torch")
    tensor = torch.arange(6.0).reshape(2, 3).T
    held = testing.import_tensor(tensor)
    assert held.facts()[:2] == ([3, 2], [1, 3])
    assert held.facts()[5] == tensor.data_ptr()
    assert held.floats() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    assert testing.import_tensor(torch.nn.Parameter(tensor)).facts()[0] == [3, 2]
    number = torch.tensor([1 + 2j])
    assert testing.import_tensor(number).facts()[2] == "complex64"
    with pytest.raises(BufferError, match="conjugate"):
        testing.import_tensor(number.conj())
    with pytest.raises(Exception):
        testing.import_tensor(torch.eye(2).to_sparse())


def test_jax():
    """The legacy struct, which needs the second rung."""
    jax = require("jax")
    held = testing.import_tensor(jax.numpy.arange(4.0, dtype="float32"))
    assert held.floats() == [0.0, 1.0, 2.0, 3.0]


def test_tvm_ffi():
    """A producer that is a consumer too: what is handed on is the same memory."""
    tvm_ffi = require("tvm_ffi")
    tensor = Writable([1.0, 2.0])
    held = testing.import_tensor(tvm_ffi.from_dlpack(tensor))
    assert held.facts()[5] == tensor.data_ptr


# --- the class method ------------------------------------------------------


def test_the_class_method():
    """The signature of the standard, and memory that is not copied."""
    import inspect

    signature = inspect.signature(Floats.from_dlpack)
    assert str(signature) == "(x, /, *, device=None, copy=None)"
    tensor = Writable([1.0, 2.0])
    floats = Floats.from_dlpack(tensor)
    assert type(floats) is Floats and floats.values() == [1.0, 2.0]
    assert testing.import_tensor(floats).facts()[5] == tensor.data_ptr
    assert testing.import_tensor(Floats.from_dlpack(floats)).facts()[5] == tensor.data_ptr


@pytest.mark.parametrize("device", [None, "cpu", "cpu:0", (1, 0)])
@pytest.mark.parametrize("copy", [None, True, False])
def test_the_keywords_of_the_class_method(device, copy):
    """Passed on to the producer."""
    tensor = Writable([1.0, 2.0])
    floats = Floats.from_dlpack(tensor, device=device, copy=copy)
    same = testing.import_tensor(floats).facts()[5] == tensor.data_ptr
    assert same is (copy is not True)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Floats.from_dlpack(), TypeError, "exactly one positional"),
        (lambda: Floats.from_dlpack(1, 2), TypeError, "exactly one positional"),
        (lambda: Floats.from_dlpack(x=1), TypeError, "exactly one positional"),
        (
            lambda: Floats.from_dlpack(Writable([1.0]), order="C"),
            TypeError,
            "unexpected keyword argument 'order'",
        ),
        (lambda: Floats.from_dlpack(Writable([1.0]), copy=1), TypeError, "`copy` must be"),
        (lambda: Floats.from_dlpack(Writable([1.0]), device="gpu"), TypeError, "'cuda:0'"),
        (lambda: Floats.from_dlpack(Writable([1.0]), device=3), TypeError, "`device` must"),
        (lambda: Floats.from_dlpack(Writable([1.0]), device="cuda"), BufferError, "cuda:0"),
        (lambda: Floats.from_dlpack(Writable([1.0], [])), ValueError, "single number"),
        (lambda: Floats.from_dlpack(1), AttributeError, "__dlpack__"),
    ],
)
def test_what_the_class_method_refuses(call, error, message):
    """With the exceptions of the standard, and nothing left behind."""
    with nothing_left(), pytest.raises(error, match=message):
        call()


def test_other_elements_are_refused():
    """The error of the field, as BufferError."""
    np = require("numpy")
    with pytest.raises(BufferError, match="float64, not float32|not float32"):
        Floats.from_dlpack(np.zeros(2))


def test_a_subclass_makes_objects_of_the_class():
    """What a subclass adds cannot be made from a tensor."""

    class More(Floats):
        pass

    assert type(More.from_dlpack(Writable([1.0]))) is Floats


def test_a_class_with_a_from_dlpack_of_its_own():
    """It is not overwritten behind its back; adding twice is no mistake."""
    import types

    module = types.ModuleType("other")
    with pytest.raises(TypeError, match="already has a `from_dlpack`"):
        testing.add_own_from_dlpack(module)
    assert not hasattr(module, "OwnFromDlpack")
    testing.add_floats(module)
    assert module.Floats is Floats


def run_in_child(code):
    """Runs code in an interpreter of its own, where nothing was imported before."""
    import subprocess
    from pathlib import Path

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)


FAKE_CTYPES = """if True:
    import sys, types

    class Address:
        value = 0x41414141

    fake = types.ModuleType("ctypes")
    fake.pythonapi = types.SimpleNamespace(
        PyObject_VectorcallMethod=object(),
        PyThreadState_GetUnchecked=object(),
        _PyThreadState_UncheckedGet=object(),
        PyGILState_GetThisThreadState=object(),
    )
    fake.c_void_p = object()
    fake.cast = lambda function, kind: Address
    sys.modules["ctypes"] = fake
"""
PATCHED_CAST = """if True:
    import ctypes
    from unittest import mock

    mock.patch("ctypes.cast", lambda function, kind: ctypes.c_void_p(0x41414141)).start()
"""


NO_CTYPES = """if True:
    import sys

    sys.modules["ctypes"] = None
"""


@pytest.mark.parametrize(
    "patch", [FAKE_CTYPES, PATCHED_CAST, NO_CTYPES], ids=["module", "function", "none"]
)
def test_no_address_comes_from_ctypes(patch):
    """Python code can replace the module and its functions. Rule L26."""
    run_in_child(
        patch
        + """if True:
        import dlpack_testing as testing

        class Producer:
            tensor = testing.Writable([1.0, 2.0])
            def __dlpack__(self, **keywords):
                return self.tensor.__dlpack__(**keywords)
            def __dlpack_device__(self):
                return (1, 0)

        held = testing.import_tensor(Producer())
        assert held.version() == (1, 3) and held.floats() == [1.0, 2.0]
        held.release()
        held = testing.import_tensor(testing.Writable([1.0, 2.0]))
        assert held.floats() == [1.0, 2.0]
        held.release()
        assert testing.exports() == testing.releases() == 2
    """
    )


def test_a_thread_that_releases_while_python_ends():
    """It neither aborts nor hangs, wherever the end finds it. Our own deleters, that
    is: what CPython does to NumPy's there ends in an abort now and then."""
    import subprocess
    import sys

    code = """if True:
        import dlpack_testing as testing, threading, time
        held = [testing.import_tensor(testing.Single([1.0])) for _ in range(4_000)]
        held += [testing.import_tensor(testing.Writable([1.0])) for _ in range(4_000)]
        def run():
            for each in held:
                each.release_in_background()
        threading.Thread(target=run, daemon=True).start()
        time.sleep({pause})
    """
    for pause in (0.0, 0.01, 0.05):
        done = subprocess.run(
            [sys.executable, "-c", code.format(pause=pause)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
