"""The tests in `peers/`, each file in a process of its own: not all of these
libraries load into one, and some end theirs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PEERS = sorted((Path(__file__).parent / "peers").glob("peer_*.py"))


@pytest.mark.parametrize("path", PEERS, ids=lambda path: path.stem)
def test_peer(path):
    """All tests of the file pass; what they skip is said here."""
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "--color=no", str(path)]
    command += ["-p", "no:cacheprovider"]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=environment
    )
    said = ended.stdout + ended.stderr
    if ended.returncode == pytest.ExitCode.NO_TESTS_COLLECTED:
        lines = [line for line in said.splitlines() if line.startswith("SKIPPED")]
        pytest.skip("; ".join(lines))
    assert ended.returncode == 0, said
