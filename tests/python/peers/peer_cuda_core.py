"""cuda.core: `StridedMemoryView`, of memory that the processor reads."""

import weakref

import pytest
from conftest import check_leaks, require
from dlpack_example import Tensor, from_dlpack
from dlpack_testing import Frozen

require("cuda.core")
numpy = require("numpy")
view_of = require("cuda.core.utils").StridedMemoryView.from_dlpack


def test_it_takes_ours():
    """At the same address, with any strides."""
    array = numpy.arange(6, dtype="float32").reshape(2, 3)
    for view in (array, array.T, array[:, ::-1], array[:0]):
        ours = from_dlpack(view)
        taken = view_of(ours, -1)
        assert (taken.ptr, taken.shape) == (ours.data_ptr, view.shape)
        assert taken.strides == ours.strides and taken.dtype == numpy.float32
        assert not taken.is_device_accessible


def test_it_takes_read_only_tensors():
    """It keeps the flag."""
    assert view_of(Frozen([1.0, 2.0]), -1).readonly
    assert not view_of(Tensor([1.0], "float32"), -1).readonly


def test_we_take_its_views():
    """Through its exchange table; the view keeps the array alive."""
    array = numpy.zeros((2, 3), "float32")
    array[:] = [[0, 1, 2], [3, 4, 5]]
    alive = weakref.ref(array)
    ours = from_dlpack(view_of(array.T, -1))
    assert ours.data_ptr == array.ctypes.data
    assert ours.tolist() == [[0, 3], [1, 4], [2, 5]] and not ours.read_only
    del array
    assert alive() is not None
    del ours
    assert alive() is None


def test_read_only_views_stay_read_only():
    """With us, though its legacy capsule of such a view does not say it: a defect that
    `docs/reference.md` names."""
    array = numpy.arange(3, dtype="float32")
    array.flags.writeable = False
    view = view_of(array, -1)
    assert from_dlpack(view).read_only
    assert '"dltensor"' in repr(view.__dlpack__())


def test_bfloat16_has_no_export():
    """It takes the element type, and raises BufferError where it exports the view."""
    view = view_of(from_dlpack(require("torch").ones(3).bfloat16()), -1)
    assert str(view.dtype) == "bfloat16"
    with pytest.raises(BufferError, match="bfloat16"):
        view.__dlpack__(max_version=(1, 3))


def test_nothing_is_left():
    """Its views release our tensors."""
    check_leaks(lambda: view_of(Frozen([1.0, 2.0]), -1))
