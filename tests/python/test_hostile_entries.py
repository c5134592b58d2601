"""Hostile and odd tensors through every way in that Python has: each is refused
with the exception and the words that are documented, or taken, and its deleter
runs exactly once. Batches run in child processes, so that a crash or a hang is a
verdict. Rules F1 to F13, L1 to L6, X1 to X8."""

import os
from pathlib import Path

import pytest
from conftest import conformance_tool

tool = conformance_tool()
TRIALS = {trial.name: trial for trial in tool.trials()}
HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """Child processes import what these tests import."""
    folders = [os.environ.get("DLPACK_PYTHON_MODULES"), str(HERE), os.environ.get("PYTHONPATH")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, folders)))


def through(entry, way):
    """All cases that can be passed in that way, with their outcomes."""
    rows = tool.check(f"hostile_entries:{entry}", way=way)
    assert len(rows) > 130
    for row in rows:
        assert row.outcome in ("accepted", "refused"), (row.case, row.got, row.detail)
        assert row.wrong == [], (row.case, row.got)
        yield TRIALS[row.case], row


def refused_as(row, error, words):
    """The case is rejected with that exception and message."""
    return row.outcome == "refused" and row.error == error and words in row.text


def as_documented(trial, row):
    """The outcome that the list of cases documents for this project."""
    if trial.ours is None:
        return row.outcome == "accepted"
    error, words = trial.ours
    return refused_as(row, error, words) and (error != "BufferError" or words == row.text)


@pytest.mark.parametrize("way", ["object", "capsule", "table"])
@pytest.mark.parametrize("entry", ["from_dlpack", "class_method", "borrow"])
def test_imports(entry, way):
    """The function, the class method, and what is borrowed for a call: from an
    object, from a bare capsule, from the table of a type."""
    odd = [row for trial, row in through(entry, way) if not as_documented(trial, row)]
    assert odd == []


def test_elements_are_read_right():
    """Of every accepted tensor that can be compared."""
    rows = through("example", "object")
    rows = [row for trial, row in rows if trial.values and trial.ours is None]
    assert len(rows) > 100
    for row in rows:
        assert row.outcome == "accepted" and row.detail == "", (row.case, row.detail)


def test_derived_classes():
    """A tensor that does not match the fields is rejected with the error of the field."""
    for trial, row in through("derived", "object"):
        if trial.ours is not None:
            assert as_documented(trial, row), row
        elif row.outcome == "refused":
            error = "TypeError" if "convert with" in row.text else "ValueError"
            assert refused_as(row, error, "`Derived`"), row


def test_views():
    """What a table lends is judged as an import is, and never deleted. A `DLTensor`
    has no version, so types of later ones are unknown in it."""
    for trial, row in through("borrow_view", "view"):
        if "later version" in trial.name:
            assert refused_as(row, "BufferError", "DLPack 1.3 does not define"), row
        else:
            assert as_documented(trial, row), row


def test_objects_made_of_tensors():
    """If the table's function rejects a tensor, the caller still owns it. Rule X9."""
    odd = [row for trial, row in through("to_object", "managed") if not as_documented(trial, row)]
    assert odd == []


# What an allocator reads of a prototype says nothing of these.
UNREAD = ("DLTensor.strides", "DLTensor.byte_offset", "DLTensor.data")


def test_prototypes():
    """Our allocator calls SetError once, and allocates nothing. Rules X7, X8."""
    reasons = set()
    for trial, row in through("allocate", "prototype"):
        if trial.clause == "DLDevice" or " cuda" in trial.name:
            assert refused_as(row, "BufferError", "no enabled backend"), row
        elif "as many as can be" in trial.name:
            assert refused_as(row, "MemoryError", "could not allocate"), row
        elif "later version" in trial.name:
            assert refused_as(row, "BufferError", "DLPack 1.3 does not define"), row
        elif trial.clause in UNREAD and trial.ours:
            assert row.outcome == "accepted" or as_documented(trial, row), row
        else:
            assert as_documented(trial, row), row
        reasons.add(row.text)
    assert len(reasons) > 20


def test_what_an_allocator_makes():
    """The tensor is validated as an import is, and compared with the request."""
    for trial, row in through("take_allocated", "allocator"):
        if trial.ours is not None:
            assert as_documented(trial, row), row
        else:
            words = "was asked for float32 of shape [2, 3] on cpu, and made"
            assert refused_as(row, "BufferError", words), row
