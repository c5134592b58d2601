"""Runs the child, and reports how it ended."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any

# Importing two large libraries takes a while on a small machine.
SECONDS = 300


@dataclass
class Ended:
    """The output of a child, and how it ended."""

    step: str = ""
    report: str | None = None
    tried: tuple[str, str] | None = None
    unusable: str = ""
    done: bool = False
    how: str = ""
    words: str = field(default="", repr=False)


def run(job: dict[str, Any]) -> Ended:
    """Runs one job until its process ends."""
    ended = Ended()
    with tempfile.TemporaryDirectory() as folder:
        # A file instead of a pipe: a pipe blocks when it is full, and the output in a file
        # survives the process.
        answers = os.path.join(folder, "answers")
        command = [sys.executable, "-m", "dlpack_doctor.child"]
        command.append(json.dumps({**job, "answers": answers}))
        # The object's own output is not part of the report.
        quiet = subprocess.DEVNULL
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=pipe)
        try:
            _, words = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            _, words = process.communicate()
            ended.how = f"it does not come back within {SECONDS} seconds"
        if os.path.exists(answers):
            with open(answers, encoding="utf-8") as lines:
                for line in lines:
                    take(ended, line)
    ended.words = words.decode(errors="replace")
    if not ended.done and not ended.how and not ended.unusable:
        ended.how = reason(process.returncode, ended.words)
    return ended


def take(ended: Ended, line: str) -> None:
    """One line of a child's output. The last may be cut short."""
    try:
        said = json.loads(line)
    except ValueError:
        return
    ended.step = said.get("step", ended.step)
    ended.report = said.get("report", ended.report)
    ended.unusable = said.get("unusable", ended.unusable)
    ended.done = said.get("done", ended.done)
    if "tried" in said:
        fit, why = said["tried"]
        ended.tried = (fit, why)


def reason(code: int, words: str) -> str:
    """How a process ended, in words."""
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"the process ends by {name}"
    last = words.strip().splitlines()
    return last[-1] if last else f"the process ends with status {code}"
