"""The pytest plug-in of `dlpack_conformance`, in projects that test real libraries and a
producer that is broken on purpose."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import conformance_tool, require

conformance_tool()

PRODUCERS = """
import pytest
import {library} as library

@pytest.mark.dlpack_producer(make=lambda: {make}, known={known})
def test_export(dlpack_case):
    dlpack_case.check()
"""
IMPORTER = """
import pytest

@pytest.mark.dlpack_importer("{spec}", only="struct: an ordinary one")
def test_import(dlpack_case):
    dlpack_case.check()
"""
BROKEN = """
import numpy
import pytest

class Broken:
    def __init__(self):
        self.array = numpy.zeros(3)

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream=None, max_version=None):
        return self.array.__dlpack__(max_version=(1, 0))

@pytest.mark.dlpack_producer(make=Broken)
def test_export(dlpack_case):
    dlpack_case.check()
"""
OPTIONS = ("-p", "dlpack_conformance.pytest_plugin")
COPIED = "copy: copy=True copies"
LEGACY = "version: max_version=None and (0, 8) are the legacy struct"


@pytest.fixture
def run(tmp_path):
    """A function that runs a test module with the plug-in: the outcome and the message of each
    test by the name of its case, and the output of pytest."""

    def run(source, options=OPTIONS, autoload=False):
        (tmp_path / "test_project.py").write_text(source)
        path = os.pathsep.join([str(tmp_path), *(path or os.curdir for path in sys.path)])
        environment = {**os.environ, "PYTHONPATH": path}
        environment.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)
        if not autoload:
            environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--color=no", "--junitxml=results.xml", *options],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        results = {}
        if (tmp_path / "results.xml").exists():
            for case in ElementTree.parse(tmp_path / "results.xml").iter("testcase"):
                found = next(iter(case), None)
                outcome = ("passed", "") if found is None else (found.tag, found.get("message"))
                results[case.get("name").partition("[")[2][:-1]] = outcome
        return results, done.stdout + done.stderr

    return run


@pytest.mark.parametrize(
    ("library", "make", "known"),
    [
        ("numpy", "library.zeros((2, 3))", {}),
        ("torch", "library.zeros((2, 3))", {COPIED: "PyTorch does not set the flag IS_COPIED"}),
        ("jax.numpy", "library.zeros((2, 3))", {}),
        ("array_api_strict", "library.zeros((2, 3))", {}),
        ("tvm_ffi", "library.from_dlpack(__import__('numpy').zeros((2, 3)))", {LEGACY: "tvm-ffi"}),
    ],
)
def test_libraries_export_what_the_standard_describes(run, library, make, known):
    """Each check passes or is skipped, except for the findings that the project lists."""
    require(library.partition(".")[0])
    results, output = run(PRODUCERS.format(library=library, make=make, known=known))
    assert len(results) == 12, output
    failed = {name: message for name, (outcome, message) in results.items() if outcome == "failure"}
    assert not failed, output
    passed = [name for name, (outcome, _) in results.items() if outcome == "passed"]
    assert len(passed) >= 8, output


@pytest.mark.parametrize("spec", ["numpy:from_dlpack", "torch:from_dlpack"])
def test_libraries_import_ordinary_tensors(run, spec):
    """The cases of an importer, each as a test."""
    require(spec.partition(":")[0])
    results, output = run(IMPORTER.format(spec=spec))
    assert {outcome for outcome, _ in results.values()} <= {"passed", "skipped"}, output
    assert sum(outcome == "passed" for outcome, _ in results.values()) >= 1, output


def test_the_example_of_the_readme_passes(run):
    """The code block with markers, as a project of its own."""
    require("numpy")
    readme = Path(__file__).parents[3] / "tools" / "conformance" / "README.md"
    blocks = [block.partition("```")[0] for block in readme.read_text().split("```python\n")]
    (example,) = [block for block in blocks if "dlpack_importer" in block]
    results, output = run(example)
    assert {outcome for outcome, _ in results.values()} <= {"passed", "skipped"}, output
    assert len(results) > 12, output


@pytest.mark.parametrize("options", [(), OPTIONS], ids=["installed", "installed and -p"])
def test_the_entry_point_of_the_package_loads_the_plugin(run, tmp_path, options):
    """The metadata is that of an installed package, with the entry point of `pyproject.toml`."""
    require("numpy")
    manifest = (Path(__file__).parents[3] / "tools/conformance/pyproject.toml").read_text()
    section = manifest.partition("[project.entry-points.pytest11]\n")[2].partition("\n[")[0]
    lines = [line.replace('"', "") for line in section.splitlines() if " = " in line]
    assert len(lines) == 1, section
    metadata = tmp_path / "dlpack_conformance-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: dlpack-conformance\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    source = PRODUCERS.format(library="numpy", make="library.zeros((2, 3))", known={})
    results, output = run(source, options, autoload=True)
    assert len(results) == 12, output
    assert {outcome for outcome, _ in results.values()} <= {"passed", "skipped"}, output


def test_a_broken_producer_fails_with_the_violated_rule(run):
    """The message contains the expected and the found value."""
    require("numpy")
    results, output = run(BROKEN)
    failed = {name: message for name, (outcome, message) in results.items() if outcome == "failure"}
    expected = "expected `dltensor`, got `dltensor_versioned`"
    assert expected in failed["version: without max_version the struct is the legacy one"]
    assert expected in failed[LEGACY]
    agreement = failed["device: the struct has the device of __dlpack_device__"]
    assert "the struct has (1, 0), `__dlpack_device__` returns (2, 0)" in agreement
    rejected = failed["copy: copy=False shares the memory"]
    assert "`__dlpack__` rejects {'copy': False" in rejected
    assert "Traceback" not in output


def test_a_known_case_that_does_not_exist_is_an_error(run):
    """A misspelt name does not hide a finding."""
    source = PRODUCERS.format(library="numpy", make="0", known={"version: misspelt": ""})
    results, output = run(source)
    assert {outcome for outcome, _ in results.values()} == {"error"}
    assert "unknown cases: version: misspelt" in output


def test_a_library_that_cannot_be_imported_is_a_failure(run):
    """Each case reports it."""
    results, output = run(IMPORTER.format(spec="no_such_library:from_dlpack"))
    assert {outcome for outcome, _ in results.values()} == {"failure"}, output
    assert "there is no importer `no_such_library:from_dlpack`" in output
