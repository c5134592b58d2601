"""Checks of `from_dlpack`, one per clause: its requests, the tensors that it accepts, and
the arguments that it forwards."""

import gc

import pytest
import reference
from clauses import ARRAY_API, DLPACK, clause
from reference import READ_ONLY, Reference, aligned
from subjects import SHAPE, VALUES, consumers, subject  # noqa: F401

FUNCTION = "from_dlpack"


class Producer(Reference):
    """The independent producer, which records the keywords of each request."""

    def __init__(self, flags=0):
        from struct import pack

        owner, address = aligned(pack("<6f", *VALUES))
        super().__init__(owner, address, (2, 32, 1), SHAPE, (3, 1), flags)
        self.calls = []

    def __dlpack__(self, **keywords):
        self.calls.append(keywords)
        return super().__dlpack__(**keywords)


class Old:
    """A producer older than DLPack 1.0: its `__dlpack__` has only the `stream` keyword."""

    def __init__(self):
        self.inner = Producer()

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, stream=None):
        return self.inner.__dlpack__(stream=stream)


class Failing(Producer):
    """A producer that raises."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def __dlpack__(self, **keywords):
        raise self.error


@pytest.fixture(autouse=True)
def all_deleted(request):
    """Every tensor that a consumer took is deleted exactly once."""
    gc.collect()
    before = reference.alive()
    yield
    if request.node.get_closest_marker("xfail"):
        return  # the traceback of a failed check keeps tensors alive
    gc.collect()
    assert reference.alive() <= before


def values(tensor):
    """The elements, read from the tensor's own export."""
    import dlpack_structs as structs

    capsule = tensor.__dlpack__(max_version=(1, 0))
    return structs.Tensor(capsule).floats()


@consumers()
@clause(ARRAY_API, FUNCTION, "takes any object with `__dlpack__`, without a copy")
def test_any_producer_is_taken(subject):
    producer = Producer()
    tensor = subject.from_dlpack(producer)
    assert subject.address(tensor) == producer.data
    assert values(tensor) == VALUES


@consumers()
@clause(ARRAY_API, FUNCTION, "says which version it understands")
def test_the_version_is_said(subject):
    producer = Producer()
    subject.from_dlpack(producer)
    assert producer.calls[0]["max_version"] >= (1, 0)


@consumers()
@clause(ARRAY_API, "array.__dlpack__", "asks an old producer again without new keywords")
def test_old_producers_are_asked_again(subject):
    tensor = subject.from_dlpack(Old())
    assert values(tensor) == VALUES


@consumers()
@clause(ARRAY_API, FUNCTION, "passes on what the producer raises")
@pytest.mark.parametrize("error", [BufferError, MemoryError, ZeroDivisionError])
def test_errors_are_passed_on(subject, error):
    with pytest.raises(error, match="its own words"):
        subject.from_dlpack(Failing(error("its own words")))


@consumers()
@clause(ARRAY_API, FUNCTION, "AttributeError for what has no `__dlpack__`")
@pytest.mark.parametrize("other", [object(), 1, "tensor", [1.0]])
def test_other_objects(subject, other):
    with pytest.raises(AttributeError):
        subject.from_dlpack(other)


@consumers()
@clause(ARRAY_API, FUNCTION, "copy of True always copies")
def test_a_copy_is_made(subject):
    producer = Producer()
    tensor = subject.from_dlpack(producer, copy=True)
    assert subject.address(tensor) != producer.data
    assert values(tensor) == VALUES


@consumers()
@clause(ARRAY_API, FUNCTION, "copy of False never copies")
def test_no_copy_is_made(subject):
    producer = Producer()
    tensor = subject.from_dlpack(producer, copy=False)
    assert subject.address(tensor) == producer.data


@consumers()
@clause(ARRAY_API, FUNCTION, "copy and device are keyword-only")
def test_keywords_only(subject):
    with pytest.raises(TypeError):
        subject.from_dlpack(Producer(), None)


@consumers()
@clause(ARRAY_API, FUNCTION, "device of the CPU is served")
def test_the_cpu(subject):
    producer = Producer()
    tensor = subject.from_dlpack(producer, device="cpu")
    assert subject.address(tensor) == producer.data


@consumers()
@clause(DLPACK, "READ_ONLY", "a consumer that knows read-only tensors keeps the flag")
def test_read_only_is_kept(subject):
    tensor = subject.from_dlpack(Producer(READ_ONLY))
    import dlpack_structs as structs

    again = tensor.__dlpack__(max_version=(1, 0))
    assert structs.Tensor(again).flags & READ_ONLY


@consumers()
@clause(DLPACK, "Python specification, semantics", "the producer keeps the memory alive")
def test_the_producer_may_go(subject):
    producer = Producer()
    tensor = subject.from_dlpack(producer)
    del producer
    gc.collect()
    assert values(tensor) == VALUES


@consumers()
@clause(DLPACK, "DLPackVersion", "of another major version only the deleter is called")
def test_other_major_versions(subject):
    with pytest.raises(BufferError):
        subject.from_dlpack(OtherMajor())


class OtherMajor(Producer):
    """A producer with a major version newer than any published one."""

    def capsule(self, versioned, flags):
        import dlpack_structs as structs

        capsule = super().capsule(versioned, flags)
        structs.of(capsule).version.major = 2
        return capsule
