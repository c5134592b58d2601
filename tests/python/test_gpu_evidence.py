"""The GPU script on a machine without a GPU: it reports that, and writes nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "devices" / "gpu" / "evidence.py"
PAGE = ROOT / "docs" / "gpu.md"


@pytest.fixture
def evidence(monkeypatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return __import__("evidence")


@pytest.mark.skipif(sys.platform != "linux", reason="it hides a driver as Linux finds it")
def test_without_a_driver_it_refuses(tmp_path):
    """One sentence, its own exit status, and the page as it was."""
    (tmp_path / "libcuda.so.1").write_text("no library")
    page = PAGE.read_text()
    run = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2 and not run.stdout
    assert run.stderr.startswith("No evidence from this machine: there is no NVIDIA")
    assert "Traceback" not in run.stderr
    assert PAGE.read_text() == page


def test_records_replace_the_word_that_there_is_none(evidence, monkeypatch, tmp_path):
    """The latest comes first, and a failure is written down as one."""
    page = tmp_path / "gpu.md"
    page.write_text(PAGE.read_text().partition("### Records\n")[0] + "### Records\n\nNone yet.\n")
    monkeypatch.setattr(evidence, "PAGE", page)
    evidence.record([("stream 1", "passed", "right")], {"gpu": "First", "driver": "for CUDA 12"})
    evidence.record([("stream 2", "failed", "stale")], {"gpu": "Second"})
    records = page.read_text().partition("### Records\n")[2]
    assert "None yet" not in records
    assert records.index("Second") < records.index("First")
    assert "| stream 2 | failed | stale |" in records and "- driver: for CUDA 12" in records


def test_every_check_is_run(evidence):
    """What is written as a check is in the list of those that run."""
    helpers = {"pending", "consume", "ordered"}
    written = {name for name in vars(evidence.Checks) if not name.startswith("_")} - helpers
    listed = {name.replace(" ", "_") for name, _ in evidence.checks(None, None, None)}
    assert listed == written


def test_a_check_that_fails_is_an_outcome(evidence, capsys):
    """The other checks are run."""

    def fails():
        raise AssertionError("the consumer read 0")

    assert evidence.outcome(fails) == ("failed", "AssertionError: the consumer read 0")
    assert evidence.outcome(lambda: None) == ("passed", "")
    assert "the consumer read 0" in capsys.readouterr().err
