"""Objects that `pickle` and `copy` take, and that real other processes receive."""

import copy
import gc
import multiprocessing
import os
import pickle

import processes
import pytest
from conftest import check_leaks, require
from dlpack_testing import Frozen, Labels, OwnReduce, Sample, Windows

numpy = require("numpy")

LARGE = 1 << 20  # elements: more than any of the libraries sends by value


def sample(values=(1.0, 2.0, 3.0), **keywords):
    return Sample.from_dlpack(numpy.array(values, "float32", **keywords))


def large():
    return Sample.from_dlpack(numpy.arange(LARGE, dtype="float32"))


# --- pickle and copy --------------------------------------------------------


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol(protocol):
    copied = pickle.loads(pickle.dumps(sample(), protocol))
    assert type(copied) is Sample
    assert copied.values() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("shape", [(2, 3), (6,), (1, 6), (0,), ()])
def test_every_shape(shape):
    size = int(numpy.prod(shape))
    original = Sample.from_dlpack(numpy.arange(size, dtype="float32").reshape(shape))
    copied = pickle.loads(pickle.dumps(original, 5))
    assert copied.shape == shape
    assert copied.values() == original.values()


@pytest.mark.parametrize("take", [lambda a: a.T, lambda a: a[::2], lambda a: a[:, ::-1]])
def test_layouts(take):
    """Elements that are not contiguous are copied into the pickle."""
    original = Sample.from_dlpack(take(numpy.arange(12, dtype="float32").reshape(3, 4)))
    buffers = []
    data = pickle.dumps(original, 5, buffer_callback=buffers.append)
    copied = pickle.loads(data, buffers=buffers)
    assert copied.shape == original.shape
    assert numpy.array_equal(numpy.from_dlpack(copied), numpy.from_dlpack(original))
    assert numpy.from_dlpack(copied).strides == numpy.from_dlpack(original).strides
    assert copy.copy(original).data_ptr == original.data_ptr
    assert numpy.from_dlpack(copy.deepcopy(original)).strides == take(numpy.zeros((3, 4), "f4")).strides


def test_overlapping_elements_keep_their_layout():
    array = numpy.lib.stride_tricks.as_strided(numpy.arange(5, dtype="float32"), (3, 3), (4, 4))
    original = Sample.from_dlpack(array)
    for copied in (pickle.loads(pickle.dumps(original, 5)), copy.deepcopy(original)):
        assert numpy.from_dlpack(copied).strides == (4, 4)
        assert numpy.from_dlpack(copied).tolist() == array.tolist()


def test_a_class_that_would_change_the_strides_is_refused():
    """It copies the elements into row-major order, and its strides are a part of it."""
    windows = Windows([0.0, 1.0, 2.0, 3.0], [2, 3], [1, 1])
    assert numpy.from_dlpack(windows).tolist() == [[0, 1, 2], [1, 2, 3]]
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="would have other strides; define `__reduce__`"):
            take(windows)
    contiguous = Windows([0.0, 1.0, 2.0, 3.0], [2, 2], [2, 1])
    assert numpy.from_dlpack(copy.copy(contiguous)).tolist() == [[0, 1], [2, 3]]


def test_wrong_strides_in_a_pickle_are_rejected():
    array = numpy.zeros((2, 2), "float32")
    for strides in [(1 << 62, 1), (-(1 << 63), 4), (4,), (4, 4, 4), (1, 1), ("a", "b"), (1 << 70, 1)]:
        with pytest.raises((ValueError, TypeError, MemoryError, OverflowError, BufferError)):
            Sample._from_strided(array, strides)
    for arguments in [(), (array,), (array, (8, 4), 1), (1, (1,))]:
        with pytest.raises((ValueError, TypeError, AttributeError)):
            Sample._from_strided(*arguments)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_attributes_of_an_object_are_kept(protocol):
    labels = Labels.from_dlpack(numpy.zeros(2, "float32"))
    assert vars(pickle.loads(pickle.dumps(labels, protocol))) == {}
    labels.name, labels.values = "first", [1]
    copied = pickle.loads(pickle.dumps(labels, protocol))
    assert vars(copied) == {"name": "first", "values": [1]}
    assert numpy.from_dlpack(copied).tolist() == [0.0, 0.0]
    assert copy.copy(labels).values is labels.values
    assert copy.deepcopy(labels).values is not labels.values


def test_buffers_are_out_of_band():
    """The memory is not copied: neither into the pickle, nor out of it."""
    original = large()
    buffers = []
    data = pickle.dumps(original, 5, buffer_callback=buffers.append)
    assert len(data) < 1000
    (buffer,) = buffers
    with buffer.raw() as raw:
        assert raw.nbytes == 4 * LARGE
        assert numpy.frombuffer(raw, "float32").ctypes.data == original.data_ptr
    copied = pickle.loads(data, buffers=buffers)
    assert copied.data_ptr == original.data_ptr


def test_the_received_memory_stays_alive():
    """An object over memory of a store owns a reference to it."""
    buffers = []
    data = pickle.dumps(large(), 5, buffer_callback=buffers.append)
    store = [bytearray(buffer.raw()) for buffer in buffers]
    del buffers
    copied = pickle.loads(data, buffers=store)
    del store
    gc.collect()
    assert copied.values()[:3] == [0.0, 1.0, 2.0]


def test_read_only_memory_stays_read_only():
    array = numpy.arange(3, dtype="float32")
    array.flags.writeable = False
    for data in (
        pickle.dumps(Sample.from_dlpack(array), 5),
        pickle.dumps(sample(), 5),
    ):
        view = numpy.from_dlpack(pickle.loads(data))
        assert view.tolist() in ([0.0, 1.0, 2.0], [1.0, 2.0, 3.0])
    buffers = []
    data = pickle.dumps(sample(), 5, buffer_callback=buffers.append)
    store = [bytes(buffer.raw()) for buffer in buffers]
    assert not numpy.from_dlpack(pickle.loads(data, buffers=store)).flags.writeable


def test_copies():
    original = sample()
    shallow = copy.copy(original)
    assert shallow is not original
    assert shallow.data_ptr == original.data_ptr, "as for every shallow copy"
    deep = copy.deepcopy(original)
    assert type(deep) is Sample
    assert deep.data_ptr != original.data_ptr
    assert deep.values() == original.values()
    nested = copy.deepcopy({"a": [original, original]})
    first, second = nested["a"]
    assert first is second
    assert first.data_ptr != original.data_ptr


def test_pickles_leave_nothing_behind():
    original = sample()

    def body():
        pickle.loads(pickle.dumps(original, 5))
        copy.copy(original)
        copy.deepcopy(original)

    check_leaks(body)


def test_subclasses_are_not_pickled_as_their_base():
    class Subclass(Sample):
        pass

    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="what the subclass `Subclass` adds to `Sample`"):
            take(Subclass([1.0]))
    # `from_dlpack` of a subclass makes objects of the class itself.
    assert type(Subclass.from_dlpack(numpy.zeros(1, "float32"))) is Sample
    with pytest.raises(TypeError):
        Sample.__reduce_ex__(object(), 5)
    with pytest.raises(TypeError):
        sample().__reduce_ex__()
    with pytest.raises(TypeError):
        sample().__reduce_ex__(5, 5)


def test_subclasses_are_pickled_by_their_own_reduce():
    class Named(Sample):
        def __reduce__(self):
            return (tuple, (["named", *self.values()],))

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(Named([1.0, 2.0]), protocol)) == ("named", 1.0, 2.0)
    assert copy.copy(Named([3.0])) == ("named", 3.0)


def test_reduce_of_the_class_is_kept():
    own = OwnReduce.from_dlpack(numpy.zeros(1, "float32"))
    assert own.__reduce_ex__(5) == "its own way for [1]"


def test_without_the_option_pickle_raises():
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(Frozen([1.0]))


# --- names and help ---------------------------------------------------------


def test_classes_print_the_module_that_they_were_added_to():
    """`Sample` is declared without a module."""
    assert Sample.__module__ == "dlpack_testing"
    assert repr(Sample) == "<class 'dlpack_testing.Sample'>"
    # One that states its module keeps it.
    assert Frozen.__module__ == "dlpack_testing"


def test_help_explains_the_keywords():
    import inspect
    import pydoc

    parameters = inspect.signature(Frozen.__dlpack__).parameters
    assert list(parameters) == ["self", "stream", "max_version", "dl_device", "copy"]
    documentation = inspect.getdoc(Frozen.__dlpack__)
    for name in list(parameters)[1:]:
        assert f"\n{name}: " in documentation, name
    text = pydoc.plain(pydoc.render_doc(Sample))
    for word in ("class Sample", "__dlpack__(self, /, *, stream=None", "dtype=None, *, copy=None",
                 "from_dlpack(x, /, *, device=None, copy=None)", "READ_ONLY", "shape"):
        assert word in text, word


# --- other processes --------------------------------------------------------


def test_multiprocessing():
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        name, values, _, _ = pool.apply(processes.facts, (large(),))
        assert (name, values) == ("Sample", [0.0, 1.0, 2.0])
        back = pool.apply(processes.doubled, (sample(),))
    assert type(back) is Sample
    assert back.values() == [2.0, 4.0, 6.0]


def test_joblib():
    """joblib copies a large object into a memory map, and a process reads it there."""
    joblib = require("joblib")
    original = large()
    call = joblib.delayed(processes.facts)
    results = joblib.Parallel(n_jobs=2, max_nbytes=1000)(call(original) for _ in range(2))
    for name, values, address, read_only in results:
        assert (name, values) == ("Sample", [0.0, 1.0, 2.0])
        assert address != original.data_ptr
        assert read_only, "the memory of the map"


def test_dask():
    distributed = require("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(_add_path, _paths())
        future = client.scatter(large())
        name, values, address, _ = client.submit(processes.facts, future).result(60)
        assert (name, values) == ("Sample", [0.0, 1.0, 2.0])
        again = client.submit(processes.facts, future, pure=False).result(60)
        assert again[2] == address, "the object of the worker, without another copy"
        back = client.submit(processes.doubled, future).result(60)
    assert back.values()[:3] == [0.0, 2.0, 4.0]


def test_ray():
    """One copy into the store; each object that comes out of it is over that copy."""
    ray = require("ray")
    ray.init(
        num_cpus=1,
        include_dashboard=False,
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(_paths())}},
    )
    try:
        original = large()
        reference = ray.put(original)
        first, second = ray.get(reference), ray.get(reference)
        assert type(first) is Sample
        assert first.data_ptr == second.data_ptr != original.data_ptr
        assert not numpy.from_dlpack(first).flags.writeable
        assert first.values()[:3] == [0.0, 1.0, 2.0]
        name, values, _, read_only = ray.get(ray.remote(processes.facts).remote(reference))
        assert (name, values, read_only) == ("Sample", [0.0, 1.0, 2.0], True)
    finally:
        ray.shutdown()


def _paths():
    """Where another process finds the modules of the tests."""
    import dlpack_testing

    return [os.path.dirname(os.path.realpath(module.__file__)) for module in (dlpack_testing, processes)]


def _add_path(paths):
    import sys

    sys.path[:0] = paths
