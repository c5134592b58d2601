"""Classes that are made from tensors by `#[derive(DLPackImport)]`."""

import pytest
from conftest import require
from dlpack_testing import Counts, Photo, Series, Signal, Spectrogram


@pytest.fixture
def np():
    return require("numpy")


def address(array):
    return array.__array_interface__["data"][0]


LAYOUTS = {
    "compact": lambda np, pixels: pixels,
    "flipped": lambda np, pixels: pixels[::-1, ::-1],
    "part": lambda np, pixels: pixels[1:3, ::2],
    "turned": lambda np, pixels: pixels.transpose(1, 0, 2),
    "planes": lambda np, pixels: pixels[:, :, ::-1],
    "one": lambda np, pixels: pixels[1:2, 1:2],
    "repeated": lambda np, pixels: np.broadcast_to(pixels[:1], (5, 4, 3)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_there_and_back_without_a_copy(np, layout):
    pixels = LAYOUTS[layout](np, np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
    photo = Photo.from_dlpack(pixels)
    assert photo.size == (*pixels.shape[:2], "")
    again = np.from_dlpack(photo)
    assert address(again) == address(pixels)
    assert again.shape == pixels.shape
    # The stride of an axis of one element is not used.
    used = [axis for axis, size in enumerate(pixels.shape) if size > 1]
    assert [again.strides[axis] for axis in used] == [pixels.strides[axis] for axis in used]
    np.testing.assert_array_equal(again, pixels)
    # And once more, through the class's own export.
    third = np.from_dlpack(Photo.from_dlpack(photo))
    assert address(third) == address(pixels)


def test_writes_are_seen_on_both_sides(np):
    pixels = np.zeros((2, 2, 3), dtype=np.uint8)
    again = np.from_dlpack(Photo.from_dlpack(pixels))
    again[1, 1, 2] = 7
    assert pixels[1, 1, 2] == 7
    pixels.flags.writeable = False
    assert not np.from_dlpack(Photo.from_dlpack(pixels)).flags.writeable


@pytest.mark.parametrize(
    "wrong, text, mend",
    [
        (
            lambda np: np.zeros((2, 3), np.float64),
            "`Signal`: expected float32, got float64; "
            "convert with `.astype('float32')` (NumPy) or `.to(torch.float32)` (PyTorch)",
            lambda np, x: x.astype("float32"),
        ),
        (
            lambda np: np.zeros((4, 4), np.float32)[:, ::2],
            "`Signal`: expected contiguous elements in row-major order, got other strides; "
            "pass `numpy.ascontiguousarray(x)` (NumPy) or `x.contiguous()` (PyTorch)",
            lambda np, x: np.ascontiguousarray(x),
        ),
        (
            lambda np: np.zeros((1, 2, 3), np.float32),
            "`Signal`: expected 1 or 2 dimensions, got 3",
            lambda np, x: x.reshape(2, 3),
        ),
    ],
)
def test_errors_say_what_to_type(np, wrong, text, mend):
    wrong = wrong(np)
    kind = TypeError if "got float64" in text else ValueError
    with pytest.raises(kind) as error:
        Signal.from_dlpack(wrong)
    assert str(error.value) == text
    mended = mend(np, wrong)
    np.testing.assert_array_equal(np.from_dlpack(Signal.from_dlpack(mended)), mended)


def test_what_the_type_itself_refuses_is_a_value_error(np):
    with pytest.raises(ValueError, match="a signal has samples"):
        Signal.from_dlpack(np.zeros((0, 3), np.float32))
    with pytest.raises(ValueError, match="-2 is not a count"):
        Counts.from_dlpack(np.array([1, -2]))


def test_copies(np):
    counts = np.arange(12).reshape(3, 4)[::-1, ::2]
    copy = Counts.from_dlpack(counts)
    assert copy.sum == counts.sum()
    again = np.from_dlpack(copy)
    np.testing.assert_array_equal(again, counts)
    assert not np.shares_memory(again, counts)


def test_a_class_that_copies_refuses_copy_false(np):
    counts = np.arange(4)

    class Unasked:
        def __dlpack__(self, **keywords):
            raise AssertionError("the producer is not called")

        def __dlpack_device__(self):
            return (1, 0)

    for tensor in (counts, Unasked()):
        with pytest.raises(BufferError, match="`Counts` holds a copy of the elements"):
            Counts.from_dlpack(tensor, copy=False)
    assert Counts.from_dlpack(counts, copy=None).sum == 6
    copied = Counts.from_dlpack(counts, copy=True)
    assert not np.shares_memory(np.from_dlpack(copied), counts)
    # One copy is enough: the class makes it, and the producer is not asked for another.
    assert Counts.from_dlpack(Recorder(counts), copy=True).sum == 6
    assert Recorder.copies == [None]


class Recorder:
    """A tensor that keeps what `copy` it was asked for."""

    copies = []

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        self.copies.append(keywords.get("copy"))
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_a_class_that_does_not_copy_accepts_copy_false(np):
    signal = np.arange(4, dtype=np.float32)
    shared = np.from_dlpack(Signal.from_dlpack(signal, copy=False))
    assert np.shares_memory(shared, signal)


def test_an_enum_copies_some_tensors(np):
    floats = np.arange(4, dtype=np.float32)
    assert np.shares_memory(np.from_dlpack(Series.from_dlpack(floats, copy=False)), floats)
    ints = np.arange(4)
    with pytest.raises(BufferError, match="`Series` holds a copy of the elements"):
        Series.from_dlpack(ints, copy=False)
    assert not np.shares_memory(np.from_dlpack(Series.from_dlpack(ints)), ints)


def test_the_help_says_what_the_class_does():
    assert "without a copy" in Signal.from_dlpack.__doc__
    assert "copy=False never" in Signal.from_dlpack.__doc__
    assert "from a copy of any tensor" in Counts.from_dlpack.__doc__
    assert "copy=False is a BufferError" in Counts.from_dlpack.__doc__
    assert "copies the\nelements of some tensors" in Series.from_dlpack.__doc__
    for cls in (Signal, Counts, Series):
        assert cls.from_dlpack.__text_signature__ == "($type, x, /, *, device=None, copy=None)"


def test_torch():
    torch = require("torch")
    signal = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    again = torch.from_dlpack(Signal.from_dlpack(signal))
    assert again.data_ptr() == signal.data_ptr()
    with pytest.raises(ValueError, match="contiguous"):
        Signal.from_dlpack(signal.T)
    Signal.from_dlpack(signal.T.contiguous())


def windows(np, hop, bins=3):
    samples = np.arange(7, dtype=np.float32)
    return np.lib.stride_tricks.sliding_window_view(samples, bins)[::hop]


@pytest.mark.parametrize("hop", [1, 2, 3])
def test_listed_strides_are_those_of_the_windows(np, hop):
    frames = windows(np, hop)
    spectrogram = Spectrogram.from_dlpack(frames)
    assert spectrogram.layout == (len(frames), 3, hop)
    again = np.from_dlpack(spectrogram)
    assert (again.shape, again.strides) == (frames.shape, frames.strides)
    assert address(again) == address(frames)
    np.testing.assert_array_equal(again, frames)


def test_windows_that_overlap_are_read_only(np):
    samples = np.arange(6, dtype=np.float32)
    overlapping = np.lib.stride_tricks.as_strided(samples, (2, 3), (8, 4))
    apart = np.lib.stride_tricks.as_strided(samples, (2, 3), (12, 4))
    assert not np.from_dlpack(Spectrogram.from_dlpack(overlapping)).flags.writeable
    again = np.from_dlpack(Spectrogram.from_dlpack(apart))
    again[1, 0] = 9
    assert samples[3] == 9


@pytest.mark.parametrize(
    "wrong",
    [
        lambda np: np.zeros((3, 2), np.float32).T,
        lambda np: np.zeros((4, 6), np.float32)[:, ::2],
    ],
)
def test_another_stride_than_the_constant_is_an_error(np, wrong):
    array = wrong(np)
    found = array.strides[1] // array.itemsize
    advice = "pass `numpy.ascontiguousarray(x)` (NumPy) or `x.contiguous()` (PyTorch)"
    with pytest.raises(ValueError) as info:
        Spectrogram.from_dlpack(array)
    assert str(info.value) == f"`Spectrogram`: expected stride 1 to be 1, got {found}; {advice}"
    mended = np.ascontiguousarray(array)
    assert Spectrogram.from_dlpack(mended).layout == (*array.shape, array.shape[1])
