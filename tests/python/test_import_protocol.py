"""`python::from_dlpack` through `__dlpack__`: the keywords, the second call without them,
the exceptions, devices and streams."""

import inspect
import sys

import dlpack_testing as testing
import pytest
from conftest import nothing_left
from dlpack_testing import OnDevice, Writable


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
    """The signature before the versioned struct."""
    return tensor.__dlpack__(stream=stream)


def new(tensor, **keywords):
    """All keywords of the newest signature."""
    return tensor.__dlpack__(**keywords)


# --- what is asked ---------------------------------------------------------


def test_the_first_question_is_for_our_version():
    """The first call passes `max_version` alone if the caller requested nothing else."""
    producer = Producer(new)
    held = testing.import_tensor(producer)
    assert held.floats() == [1.0, 2.0, 3.0] and held.version() == (1, 3)
    assert producer.calls == [{"max_version": (1, 3)}]


def test_what_is_asked_for_is_passed_on():
    """`copy` and `device` reach the producer as `copy` and `dl_device`. Copies on the CPU
    are made by this library; `test_own_copies.py` tests that."""
    producer = Producer(new)
    held = testing.import_tensor(producer, device=(1, 0), copy=False)
    assert producer.calls == [
        {"max_version": (1, 3), "dl_device": (1, 0), "copy": False}
    ]
    assert held.facts()[5] == producer.tensor.data_ptr


@pytest.mark.parametrize("copy", [None, False])
def test_nothing_is_copied(copy):
    """The address of the elements does not change."""
    tensor = Writable([1.0, 2.0])
    assert testing.import_tensor(tensor, copy=copy).facts()[5] == tensor.data_ptr


# --- the ladder ------------------------------------------------------------


def test_an_old_producer_is_asked_again():
    """The signature rejects the keyword, so the function body did not run."""
    producer = Producer(new)
    producer.__class__ = type(
        "Old", (), {"__dlpack__": lambda self, *, stream=None: old(self.tensor)}
    )
    held = testing.import_tensor(producer)
    assert held.version() is None and held.floats() == [1.0, 2.0, 3.0]


def test_a_wrapper_of_an_old_producer_is_asked_again():
    """The TypeError is raised inside the wrapper, and its message names our keyword."""
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
    """The exception arrives unchanged, after one call."""

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
    """The message is chosen by the producer, so its text is not compared. NumPy does the
    same."""

    def reject_keywords(tensor, **keywords):
        if keywords:
            raise TypeError(message)
        return tensor.__dlpack__()

    producer = Producer(reject_keywords)
    held = testing.import_tensor(producer)
    assert held.version() is None and held.floats() == [1.0, 2.0, 3.0]
    assert producer.calls == [{"max_version": (1, 3)}, {}]


def test_the_first_type_error_arrives_if_both_calls_fail():
    """The second call is a guess, so its error does not replace the first."""
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
    """The interrupt is raised with the first error as its cause."""
    first = TypeError("a bug inside")
    left = iter([first, KeyboardInterrupt()])

    def fail(tensor, **keywords):
        raise next(left)

    with pytest.raises(KeyboardInterrupt) as caught, nothing_left():
        testing.import_tensor(Producer(fail))
    assert caught.value.__cause__ is first


@pytest.mark.parametrize("asked", [{"copy": False}, {"device": (2, 0)}])
def test_what_was_asked_for_is_never_left_out(asked):
    """A producer with the old signature cannot honour the request, so the import fails."""
    producer = Producer(old)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        testing.import_tensor(producer, **asked)
    assert len(producer.calls) == 1


def test_the_second_failure_names_the_first():
    """`__cause__` is the reason for the second call."""

    class Old:
        def __dlpack__(self, *, stream=None):
            raise BufferError("empty")

    with pytest.raises(BufferError, match="empty") as caught:
        testing.import_tensor(Old())
    assert isinstance(caught.value.__cause__, TypeError)
    assert "max_version" in str(caught.value.__cause__)


def test_the_stream_is_kept_when_it_is_asked_again():
    """Without the stream, pending work of the device would not be ordered before ours."""
    device = OnDevice(2, 0)
    producer = Producer(lambda tensor, *, stream=None: device.__dlpack__(stream=stream))
    producer.device = (2, 0)
    with pytest.raises(BufferError):  # its memory is read-only: no legacy capsule
        testing.import_tensor(producer, stream=7)
    assert producer.calls == [{"max_version": (1, 3), "stream": 7}, {"stream": 7}]


# --- devices and streams ---------------------------------------------------


@pytest.mark.parametrize(("stream", "seen"), [(7, 7), (-1, -1), (None, None)])
def test_streams_of_a_device_are_passed_on(stream, seen):
    """Unchanged, if the producer is not on the CPU."""
    device = OnDevice(2, 0)
    producer = Producer(lambda _, **keywords: device.__dlpack__(**keywords), (2, 0))
    held = testing.import_tensor(producer, stream=stream)
    assert held.facts()[3] == "cuda:0"
    asked = {} if stream is None else {"stream": seen}
    assert producer.calls == [{"max_version": (1, 3), **asked}]


@pytest.mark.parametrize("stream", [7, -1])
def test_the_cpu_has_no_streams(stream):
    """A CPU producer rejects every stream, so none is passed."""
    producer = Producer(new)
    testing.import_tensor(producer, stream=stream)
    assert producer.calls == [{"max_version": (1, 3)}]


def test_a_producer_that_says_another_device_than_its_tensor():
    """The import uses the device in the struct, so a mismatch is an error."""
    device = OnDevice(2, 0)
    producer = Producer(lambda _, **keywords: device.__dlpack__(**keywords), (2, 1))
    with pytest.raises(BufferError, match="`__dlpack_device__` returned cuda:1, but the tensor is on cuda:0"):
        testing.import_tensor(producer)


def test_a_producer_that_ignores_the_device_asked_for():
    """The tensor must be on the requested device."""
    producer = Producer(lambda tensor, dl_device, **keywords: new(tensor, **keywords))
    with pytest.raises(BufferError, match="requested a tensor on cuda:3, got one on cpu"):
        testing.import_tensor(producer, device=(2, 3))


# --- what is no capsule ----------------------------------------------------


@pytest.mark.parametrize("result", [None, 1, "capsule"])
def test_no_capsule(result):
    """`__dlpack__` must return a capsule."""
    with pytest.raises(TypeError, match="must return a capsule"):
        testing.import_tensor(Producer(lambda *_, **__: result))


def test_an_older_producer_is_asked_for_the_device_of_its_tensor():
    """No keyword is needed for that. It cannot move the tensor."""

    class Older:
        def __init__(self):
            self.tensor = Writable([1.0])

        def __dlpack__(self, stream=None):
            return self.tensor.__dlpack__()

        def __dlpack_device__(self):
            return 1, 0

    assert testing.import_tensor(Older(), device=(1, 0)).floats() == [1.0]
    for asked in [{"device": (2, 0)}, {"device": (1, 0), "copy": False}]:
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            testing.import_tensor(Older(), **asked)


def test_recursion_is_not_a_refusal():
    """An endless one is called once at each level."""
    calls = []

    class Recursive:
        def __dlpack__(self, **keywords):
            calls.append(keywords)
            return testing.import_tensor(self)

        def __dlpack_device__(self):
            return (1, 0)

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 40)
    try:
        with pytest.raises(RecursionError):
            testing.import_tensor(Recursive())
    finally:
        sys.setrecursionlimit(before)
    assert 0 < len(calls) < 100
