"""Coroutines of Rust, whose arrays are read on threads of Tokio."""

import asyncio
import gc
import sys

import dlpack_testing as testing
import pytest
from conftest import require
from dlpack_testing import Writable, event_loop

np = require("numpy")


def test_many_coroutines_read_one_array_at_once():
    async def run():
        return await asyncio.gather(*(event_loop.doubled(array) for _ in range(50)))

    array = np.arange(1000, dtype="f4")
    count = sys.getrefcount(array)
    for made in asyncio.run(run()):
        assert made.tolist() == (2 * array).tolist()
    Writable([1.0]).__dlpack__()  # An export drops what the threads have left.
    assert sys.getrefcount(array) == count


def test_the_array_is_released_once():
    """By a thread that is not attached. Tokio keeps allocations, so only the exports are counted."""
    before = testing.exports() - testing.releases()
    tensor = Writable([1.0, 2.0])
    assert asyncio.run(event_loop_of(event_loop.doubled, tensor)).tolist() == [2, 4]
    del tensor
    Writable([1.0]).__dlpack__()
    assert testing.exports() - testing.releases() == before


async def event_loop_of(function, *arguments):
    return await function(*arguments)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_result_in_the_library_of_the_argument(library):
    given = require("torch").ones(3)
    if library == "numpy":
        given = given.numpy()
    made = asyncio.run(event_loop_of(event_loop.counted, given, given, 0.01))
    assert type(made) is type(given) and made.tolist() == [3]


def test_a_cancelled_coroutine_releases_the_array():
    async def run():
        task = asyncio.ensure_future(event_loop.counted(array, array, 60))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    array = np.ones(3, "f4")
    count = sys.getrefcount(array)
    asyncio.run(run())
    gc.collect()  # The exception refers to the coroutine, and back.
    assert sys.getrefcount(array) == count


def test_a_wrong_argument_is_a_type_error():
    """At the first `await`; of PyO3 0.27 at the call."""
    with pytest.raises(TypeError, match="is of type `list`"):
        event_loop.doubled([1.0]).send(None)
