"""NumPy's times of the operations of `bench/src/reading.rs`, under the same titles.

The page shows them in the tables of those rows.
"""

import numpy
from measure import loop

SIZES = {"10,000": 10_000, "16 M": 1 << 24}


def subjects(title, count):
    """The statements of one size, by the titles of their rows."""
    u8 = numpy.resize(numpy.arange(251, dtype=numpy.uint8), count)
    i32 = numpy.resize(numpy.arange(1000, dtype=numpy.int32), count)
    f32 = numpy.resize(numpy.arange(1000, dtype=numpy.float32), 2 * count)
    side = 4096 if count > 1 << 20 else 100
    single = f32[:count]
    columns = f32[: 2 * side * side].reshape(side, 2 * side)[:, ::2]
    transposed = single[: side * side].reshape(side, side).T
    return {
        f"maximum of {title} u8": loop("array.max()", array=u8),
        f"sum of {title} i32": loop("array.sum(dtype='i4')", array=i32),
        f"sum of {title} f32": loop("array.sum()", array=single),
        f"copy of {title} f32 to a vector": loop("array.copy()", array=single),
        f"{title} f32 scaled in place": loop(
            "multiply(array, by, out=array)",
            array=single.copy(),
            by=numpy.float32(1.0001),
            multiply=numpy.multiply,
        ),
        f"{title} f32 scaled in place, every second column": loop(
            "multiply(array, by, out=array)",
            array=f32[: 2 * side * side].copy().reshape(side, 2 * side)[:, ::2],
            by=numpy.float32(1.0001),
            multiply=numpy.multiply,
        ),
        f"sum of {title} f32, transposed": loop("array.sum()", array=transposed),
        f"sum of {title} f32, every second column": loop("array.sum()", array=columns),
    }


def measure(report):
    for title, count in SIZES.items():
        rounds, batch = (20, 1) if count > 1 << 20 else (500, 20)
        for row, subject in subjects(title, count).items():
            report.row(row, {"NumPy": subject}, rounds=rounds, batch=batch, group="reading")
