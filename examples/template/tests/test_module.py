import numpy as np
import pytest

import {{crate_name}} as module


def test_numpy_sees_the_memory_of_rust() -> None:
    image = module.Image.gradient(4, 256)
    array = np.from_dlpack(image)
    assert array.shape == image.shape == (4, 256, 3)
    assert array[0, :, 0].tolist() == list(range(256))
    assert not array.flags.writeable
    assert np.shares_memory(array, np.from_dlpack(image))


def test_libraries_without_dlpack_take_the_image() -> None:
    image = module.Image.gradient(4, 256)
    assert np.shares_memory(np.asarray(image), np.from_dlpack(image))
    assert len(image) == 4
    assert image.size == 4 * 256 * 3


def test_the_class_says_where_it_is_from() -> None:
    assert module.Image.__module__ == module.__name__


def test_rust_reads_the_memory_of_numpy() -> None:
    assert module.mean(np.array([[0, 2], [4, 6]], np.uint8).T) == 3.0
    assert module.mean(module.Image.gradient(2, 256)) == 127.5


def test_other_elements_are_refused() -> None:
    with pytest.raises(TypeError, match="float64"):
        module.mean(np.zeros(3))
