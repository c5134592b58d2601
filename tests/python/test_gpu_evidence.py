"""The GPU script on a machine without a GPU: it reports that, and writes nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "devices" / "gpu" / "evidence.py"
PAGE = ROOT / "docs" / "records" / "gpus.md"


@pytest.fixture
def evidence(monkeypatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return __import__("evidence")


@pytest.mark.skipif(sys.platform != "linux", reason="it hides a driver as Linux finds it")
def test_without_a_driver_it_refuses(tmp_path):
    """One sentence, its own exit status, and no results."""
    (tmp_path / "libcuda.so.1").write_text("no library")
    results = tmp_path / "results"
    run = subprocess.run(
        [sys.executable, str(SCRIPT), f"--bundle={tmp_path}", f"--results={results}"],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2 and not run.stdout
    assert run.stderr.startswith("No evidence from this machine: there is no NVIDIA")
    assert "Traceback" not in run.stderr
    assert not results.exists()


def test_the_latest_record_is_the_first(evidence, tmp_path):
    """A failure is written down as one, and the older records stay."""
    page = tmp_path / "gpus.md"
    page.write_text(PAGE.read_text())
    first = {"gpu": "First", "driver": "for CUDA 12"}
    evidence.add_to_page(page, evidence.record([("stream 1", "passed", "right")], first))
    rows = [("stream 2", "failed", "stale"), ("jax", "not run", "no jax")]
    evidence.add_to_page(page, evidence.record(rows, {"gpu": "Second"}))
    before, heading, after = PAGE.read_text().partition("\n## ")
    records = page.read_text().removeprefix(before)
    assert records.endswith(heading + after)
    assert 0 < records.index("Second") < records.index("First") < records.index(after)
    assert "| stream 2 | failed | stale |" in records and "- driver: for CUDA 12" in records
    assert "| jax | not run | no jax |" in records


def test_a_check_that_fails_is_an_outcome(evidence, capsys):
    """A missing library is not a failure, and does not count as passed."""

    def fails():
        raise AssertionError("the consumer read 0")

    def lacks():
        return evidence.Library("no_such_library").something

    assert evidence.outcome(fails) == ("failed", "AssertionError: the consumer read 0")
    assert evidence.outcome(lambda: None) == ("passed", "")
    assert "the consumer read 0" in capsys.readouterr().err
    assert evidence.outcome(lacks)[0] == "not run"


def test_a_check_that_crashes_has_failed(evidence, monkeypatch, tmp_path):
    """Also one that ends its process with status 0 and without an outcome."""
    for code, words in [("os.abort()", "exit status -6"), ("os._exit(0)", "exit status 0")]:
        script = tmp_path / "script.py"
        script.write_text(f"import os\n{code}\n")
        monkeypatch.setattr(evidence, "__file__", str(script))
        with (tmp_path / "log.txt").open("w") as log:
            assert evidence.check_apart("any", [], log) == ("failed", words)
