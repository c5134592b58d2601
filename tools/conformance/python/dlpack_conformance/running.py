"""Cases in child processes: `check`.

One process meets one case after the other, and a new one goes on where it died. A
case in which it died, or did not answer, is met again by a process of its own, and that
verdict counts: what others did before may be to blame. Where it died of reading what
the case does not let be read, there is nothing to be found out."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

from . import _native, verdict

# What a process may take to import the library.
START = 180.0


class NoImporter(Exception):
    """There is no such function."""


class Worker:
    """A child process with an importer."""

    def __init__(self, spec, way):
        self.words = tempfile.TemporaryFile()
        reading, writing = os.pipe()
        command = [sys.executable, "-m", "dlpack_conformance.worker", spec, way, str(writing)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self.words,
            stderr=self.words,
            pass_fds=[writing],
            env={**os.environ, "PYTHONFAULTHANDLER": ""},
        )
        os.close(writing)
        self.answers, self.left = reading, b""
        self.met = 0
        ready = self.answer(START)
        if not ready or not ready.get("ready"):
            reason = (ready or {}).get("no_importer") or f"it ended: {self.said()}"
            self.kill()
            raise NoImporter(reason)

    def answer(self, seconds):
        """The next answer; None if the process ended. Raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self.left:
            rest = deadline - time.monotonic()
            if rest <= 0 or not select.select([self.answers], [], [], rest)[0]:
                raise TimeoutError
            read = os.read(self.answers, 1 << 16)
            if not read:
                return None
            self.left += read
        line, self.left = self.left.split(b"\n", 1)
        return json.loads(line)

    def meet(self, number, trial, seconds):
        """The row of a case, and whether the process lives on."""
        self.met += 1
        try:
            self.process.stdin.write(f"{number}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has died, which the next line finds out
        try:
            answer = self.answer(seconds)
        except TimeoutError:
            self.kill()
            return verdict.hung(trial, seconds), False
        if answer is None:
            status = self.process.wait()
            row = verdict.died(trial, status, self.said())
            self.close()
            return row, False
        return verdict.answered(trial, answer), True

    def end(self, seconds):
        """Lets it end, and says which deleters ran since."""
        self.process.stdin.close()
        try:
            answer = self.answer(seconds)
        except TimeoutError:
            answer = None
        self.kill()
        return (answer or {}).get("late", [])

    def said(self):
        """The end of what it printed."""
        self.words.seek(0, os.SEEK_END)
        self.words.seek(max(0, self.words.tell() - 4000))
        return self.words.read().decode(errors="replace")

    def kill(self):
        """Ends it."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.close()

    def close(self):
        """Gives up what belongs to it."""
        if self.answers is not None:
            os.close(self.answers)
            self.answers = None
        self.words.close()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass


def check(spec, *, only=None, way="object", seconds=10.0, alone=False, progress=None):
    """The rows of all cases that can be given in that way, in order.

    `spec` is ``module:function``; `only` chooses by a function of a `Trial`; `seconds` is
    what one case may take; `alone` gives each case a process of its own; `progress` is
    called with every row. Raises `NoImporter` where there is no such function.
    """
    trials = list(enumerate(_native.trials()))
    chosen = [
        (number, trial)
        for number, trial in trials
        if way in trial.ways and (only is None or only(trial))
    ]
    rows, worker = {}, None

    def note_late(late):
        for number, deletes in late:
            trial = trials[number][1]
            wrong = [f"{word}, later" for word in verdict.of_deletes(deletes)]
            before = rows[number]
            rows[number] = verdict.row(
                trial, before.outcome, wrong, before.detail, before.error, before.text
            )

    for number, trial in chosen:
        if worker is None:
            worker = Worker(spec, way)
        row, alive = worker.meet(number, trial, seconds)
        unexplained = row.outcome in ("crashed", "hung") and not row.wrong
        if unexplained and worker.met > 1:
            worker = Worker(spec, way)
            again, alive = worker.meet(number, trial, seconds)
            if again.outcome in ("crashed", "hung"):
                row = again
            else:
                row.detail += "; not in a process of its own"
        rows[number] = row
        if progress is not None:
            progress(row)
        if not alive:
            worker = None
        elif alone:
            note_late(worker.end(seconds))
            worker = None
    if worker is not None:
        note_late(worker.end(seconds))
    return [rows[number] for number, _ in chosen]
