"""Broken producers, through the command line: each has its finding, in the words of
the report, and no other error."""

import contextlib
import io
import json

import pytest
from conftest import HERE
from dlpack_doctor.cli import main

# Producer: rule, severity, and whether `--live` is needed.
STATIC = {
    "version_2": ("version", "error"),
    "null_data": ("null-data", "error"),
    "data_nowhere": ("no-memory", "error"),
    "negative_shape": ("negative-shape", "error"),
    "negative_ndim": ("ndim", "error"),
    "many_dims": ("ndim", "warning"),
    "null_shape": ("null-shape", "error"),
    "shape_nowhere": ("bad-shape", "error"),
    "null_strides": ("null-strides", "error"),
    "misaligned": ("misaligned", "warning"),
    "byte_offset": ("byte-offset", "note"),
    "unknown_dtype": ("dtype", "error"),
    "no_lanes": ("dtype", "error"),
    "unknown_flags": ("flags", "warning"),
    "huge": ("refused", "error"),
    "null_deleter": ("null-deleter", "warning"),
    "null_context": ("null-context", "note"),
    "struct_nowhere": ("no-struct", "error"),
    "capsule_name": ("capsule-name", "error"),
    "no_destructor": ("no-destructor", "warning"),
    "NoCapsule": ("no-capsule", "error"),
    "AlwaysVersioned": ("capsule-kind", "error"),
    "Lies": ("device-lies", "error"),
    "OddDevice": ("device-odd", "error"),
    "DeviceRaises": ("device-raises", "error"),
    "NoDevice": ("device-missing", "error"),
    "RaisesOnKeyword": ("raises", "error"),
    "OldKeywords": ("old-keywords", "note"),
    "Refuses": ("refuses", "note"),
    "Disagrees": ("disagreement", "error"),
    "table_slot": ("table-slot", "error"),
    "table_version": ("table", "error"),
    "table_name": ("table", "error"),
    "table_nowhere": ("table", "error"),
    "table_int": ("table", "error"),
}
# Further findings that follow from the first.
FOLLOWS = {
    "version_2": {"refused"},
    "null_data": {"refused"},
    "negative_shape": {"refused"},
    "negative_ndim": {"refused"},
    "many_dims": {"refused"},
    "null_shape": {"refused"},
    "unknown_dtype": {"refused"},
    "no_lanes": {"refused"},
    "struct_nowhere": {"no-destructor"},
    "capsule_name": {"no-destructor"},
    # The deleter cannot be called because its library is unknown.
    "huge": {"no-memory"},
}

LIVE = {
    "Leaks": ("reference balance", "leave 1024 references to the object behind"),
    "LeaksBlocks": ("reference balance", "blocks of Python's memory behind"),
    "IgnoresCopy": ("copy=True", "the same memory, not a copy"),
    "OldKeywords": ("max_version=(1, 0)", "the keyword is not known"),
}

# Producers that end the process: where, and how.
CRASH = {
    "aborting_deleter": ("__dlpack__(max_version=(1, 3))", "SIGABRT"),
    "Aborts": ("__dlpack__(max_version=(1, 3))", "SIGABRT"),
    "Exits": ("__dlpack__(max_version=(1, 3))", "status 7"),
}


def report(producer, *arguments):
    """The report on a producer of `broken.py`, and the exit status."""
    printed = io.StringIO()
    # The object is in a process of its own even so.
    with contextlib.chdir(HERE), contextlib.redirect_stdout(printed):
        status = main(["--json", *arguments, "--import", "broken", f"broken.{producer}()"])
    assert status in (0, 1)
    return json.loads(printed.getvalue()), status


def test_healthy():
    found, status = report("healthy", "--live")
    assert (found["findings"], status) == ([], 0)
    assert {check["severity"] for check in found["checks"]} == {"note"}


def test_references_that_a_thread_releases_later_are_no_leak():
    found, status = report("ReleasesLater", "--live")
    assert (found["findings"], status) == ([], 0)


@pytest.mark.parametrize("producer", STATIC)
def test_static(producer):
    rule, severity = STATIC[producer]
    found, status = report(producer)
    said = {(one["rule"], one["severity"]) for one in found["findings"]}
    assert (rule, severity) in said
    worse = {rule for rule, severity in said if severity != "note"}
    assert worse - {rule} <= FOLLOWS.get(producer, set()), found["findings"]
    assert status == (0 if severity == "note" else 1)


@pytest.mark.parametrize("producer", LIVE)
def test_live(producer):
    check, words = LIVE[producer]
    found, status = report(producer, "--live")
    seen = {one["name"]: one["seen"] for one in found["checks"]}
    assert words in seen[check]
    assert status == 1


@pytest.mark.parametrize("producer", CRASH)
def test_crash(producer):
    step, how = CRASH[producer]
    found, status = report(producer)
    assert status == 1
    assert [(one["name"], how in one["seen"]) for one in found["checks"]] == [(step, True)]


def test_a_crash_costs_the_check_that_it_is_in():
    found, status = report("wild_deleter", "--live")
    seen = {one["name"]: one["seen"] for one in found["checks"]}
    assert status == 1
    assert "SIGSEGV" in seen["release on a thread"]
    assert seen["export twice"].startswith("two exports of the same memory")
