"""The verdicts, beside what the libraries do: with 300 tensors of each producer, with
broken ones, and with those that end a process."""

import json

import pytest
from conftest import REQUIRED, doctor, is_there, oneapi, python, require
from dlpack_doctor import CONSUMERS, _native
from test_broken import STATIC


def driven(mode):
    """The lines of the driver."""
    ended = python("verdicts_driver.py", mode, "healthy", *STATIC, **oneapi())
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line[:1] == "{"]
    assert lines and "count" in lines[-1], (lines[-3:], ended.stderr[-2000:])
    return lines


def check(mode, least):
    lines = driven(mode)
    wrong = [line for line in lines if "wrong" in line]
    assert not wrong, wrong[:10]
    last = lines[-1]
    failed = {line["failed"] for line in lines if "failed" in line}
    assert not failed & REQUIRED, [line for line in lines if "failed" in line]
    for consumer in set(last["consumers"]) - set(last["unmeasured"]):
        tried = sum(n for name, n in last["count"].items() if name.startswith(consumer + " "))
        assert tried >= least, (consumer, last["count"])
    if last["unmeasured"] or failed:
        print("not compared:", last["unmeasured"], sorted(failed))
    return last


def test_libraries_in_one_process():
    require("numpy")
    last = check("main", 250)
    measured = {name for name, _ in CONSUMERS if is_there(name)} - {"dpnp"}
    assert measured - {"nanobind"} <= set(last["consumers"])


def test_dpnp():
    require("dpnp")
    check("dpnp", 100)


# Expression, consumer, what becomes of it: of those that end a process.
FATAL = [
    ("broken.null_deleter()", "jax", "crash"),
    ("broken.null_deleter()", "dpnp", "crash"),
    ("broken.shape_nowhere()", "numpy", "crash"),
    ("broken.misaligned_by(16)", "tensorflow", "unusable"),
]


@pytest.mark.parametrize(("expression", "consumer", "fit"), FATAL)
def test_what_ends_the_process(expression, consumer, fit):
    require(consumer)
    ended = doctor("--json", "--try", consumer, "--import", "broken", expression)
    found = json.loads(ended.stdout)
    assert found["tried"][consumer]["fit"] == fit, found["tried"]
    verdicts = [one["fit"] for one in found["verdicts"] if one["consumer"] == consumer]
    assert set(verdicts) == {fit}


def test_paddle_leaks_what_has_no_context():
    require("paddle")
    expressions = {"healthy": 0, "null_context": 1, "null_deleter": 1}
    code = (
        "import broken, paddle, gc, os\n"
        f"for name in {list(expressions)}:\n"
        "    taken = paddle.from_dlpack(getattr(broken, name)())\n"
        "    del taken; gc.collect(); print(len(broken.ALIVE)); broken.ALIVE.clear()"
    )
    ended = python("-c", code)
    assert ended.stdout.split()[-3:] == [str(left) for left in expressions.values()], ended
    for expression, left in expressions.items():
        found = json.loads(doctor("--json", "--import", "broken", f"broken.{expression}()").stdout)
        fit = next(one["fit"] for one in found["verdicts"] if one["consumer"] == "paddle")
        assert fit == ("leaks" if left else "same")


def test_what_stands_for_too_much_is_not_compared():
    """One element behind millions of indices takes no memory, until it is copied for
    each of them."""
    require("numpy")
    import numpy

    def many(number, count):
        return numpy.broadcast_to(numpy.full(1, number, "complex128"), count)

    assert _native.compare(many(1, 1000), many(2, 1000)) == ("WRONG", "other elements")
    assert _native.compare(many(1, 1 << 21), many(2, 1 << 21)) == (
        "copy",
        "the elements were not compared",
    )
