"""Warp: arrays of up to four dimensions, in kernels on the processor."""

import weakref

import pytest
from conftest import check_leaks, require
from dlpack_example import Tensor, from_dlpack
from dlpack_testing import Frozen

warp = require("warp")
numpy = require("numpy")
warp.config.quiet = True


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """Kernels are compiled into a folder of this run."""
    warp.config.kernel_cache_dir = str(tmp_path_factory.mktemp("warp"))
    warp.init()


def test_it_takes_ours():
    """At the same address, with any strides."""
    array = numpy.arange(6, dtype="float32").reshape(2, 3)
    for view in (array, array.T, array[:, ::-1], array[:0]):
        ours = from_dlpack(view)
        taken = warp.from_dlpack(ours)
        assert taken.shape == view.shape and taken.strides == view.strides
        assert not view.size or taken.ptr == ours.data_ptr


def test_a_kernel_writes_ours():
    """Without a copy."""

    @warp.kernel
    def double(values: warp.array(dtype=warp.float32)):
        at = warp.tid()
        values[at] = values[at] * 2.0

    tensor = Tensor([1.0, 2.0, 3.0], "float32")
    warp.launch(double, dim=3, inputs=[warp.from_dlpack(tensor)], device="cpu")
    assert tensor.tolist() == [2, 4, 6]


def test_dimensions():
    """From one to four."""
    with pytest.raises(IndexError):
        warp.from_dlpack(Tensor.zeros([], "float32"))
    with pytest.raises(RuntimeError, match="Failed to create array"):
        warp.from_dlpack(Tensor.zeros([1] * 5, "float32"))
    assert warp.from_dlpack(Tensor.zeros([1] * 4, "float32")).ndim == 4


def test_read_only_tensors_are_copied():
    """It requests the legacy struct, which has no flag."""
    tensor = from_dlpack(Frozen([1.0, 2.0]))
    taken = warp.from_dlpack(tensor)
    assert taken.numpy().tolist() == [1, 2] and taken.ptr != tensor.data_ptr


def test_we_take_its_arrays():
    """With strides; the tensor keeps the memory."""
    array = warp.array(numpy.arange(6, dtype="float32").reshape(2, 3), device="cpu")
    alive = weakref.ref(array)
    address = array.ptr
    ours = from_dlpack(array.transpose())
    del array
    assert alive() is not None
    assert ours.data_ptr == address and ours.tolist() == [[0, 3], [1, 4], [2, 5]]
    del ours
    assert alive() is None


def test_nothing_is_left():
    """Its arrays release our tensors."""
    check_leaks(lambda: warp.from_dlpack(Frozen([1.0, 2.0])))
