"""Runs cases in child processes: `check`. One process imports the library, and forked
children of it run the cases one after the other; if a child dies, the next one continues. A
case in which a child died or did not reply is run again in a fresh process that was not
forked and ran no case before, and that verdict counts, because the library may not support
fork, or earlier cases may be the cause. A child that died by reading protected memory of
the case needs no second run."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

from . import _native, verdict

# The time limit in seconds for the import of the library.
START = 180.0


class NoImporter(Exception):
    """The function does not exist."""


class Worker:
    """A process that imported the library, and its child that runs cases."""

    def __init__(self, spec, way, fresh=False):
        self.words = tempfile.TemporaryFile()
        # The log offset at which the output of the current case begins.
        self.begun = 0
        reading, writing = os.pipe()
        kind = "fresh" if fresh else "forking"
        command = [sys.executable, "-m", "dlpack_conformance.worker", spec, way]
        self.process = subprocess.Popen(
            [*command, str(writing), kind],
            stdin=subprocess.PIPE,
            stdout=self.words,
            stderr=self.words,
            pass_fds=[writing],
            env={**os.environ, "PYTHONFAULTHANDLER": ""},
        )
        os.close(writing)
        self.answers, self.left = reading, b""
        # The process that runs cases; None if it has ended.
        self.meeting = None
        self.await_ready()

    def await_ready(self):
        """Waits for a process that runs cases."""
        try:
            ready = self.answer(START)
        except TimeoutError:
            ready = {"no_importer": f"it was not imported in {START:g} s"}
        if not ready or "ready" not in ready:
            reason = (ready or {}).get("no_importer") or f"it ended: {self.said()}"
            self.kill()
            raise NoImporter(reason)
        self.meeting = ready["ready"]

    def answer(self, seconds):
        """The next reply; None if the process ended. Raises TimeoutError."""
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

    def ask(self, question):
        """Sends a line."""
        try:
            self.process.stdin.write(f"{question}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has died, which the next read of a reply reports

    def meet(self, number, trial, seconds):
        """The row of a case. If the process ended, `meeting` is None."""
        self.begun = os.fstat(self.words.fileno()).st_size
        self.ask(number)
        try:
            answer = self.answer(seconds)
        except TimeoutError:
            self.next()
            return verdict.hung(trial, seconds)
        if answer is None:
            self.meeting = None
            row = verdict.died(trial, self.process.wait(), self.said())
            self.close()
            return row
        if "died" in answer:
            row = verdict.died(trial, answer["died"], self.said())
            self.await_ready()
            return row
        return verdict.answered(trial, answer)

    def next(self):
        """Ends the child that runs cases and starts another."""
        meeting, self.meeting = self.meeting, None
        if meeting == self.process.pid:
            self.kill()
            return
        os.kill(meeting, signal.SIGKILL)
        while True:
            answer = self.answer(START)
            if answer is None:
                self.kill()
                return
            if "died" in answer:
                self.await_ready()
                return

    def late(self, seconds):
        """The deleters that ran after the end of the case that they belong to."""
        self.ask("late")
        try:
            answer = self.answer(seconds) or {}
        except TimeoutError:
            answer = {}
        return answer.get("late", [])

    def said(self):
        """The end of the output of this case."""
        end = self.words.seek(0, os.SEEK_END)
        self.words.seek(max(self.begun, end - 4000))
        return self.words.read().decode(errors="replace")

    def kill(self):
        """Ends the process."""
        if self.meeting is not None and self.meeting != self.process.pid:
            try:
                os.kill(self.meeting, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.meeting = None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.close()

    def close(self):
        """Closes its pipes and files."""
        if self.answers is not None:
            os.close(self.answers)
            self.answers = None
        self.words.close()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass


def check(
    spec, *, only=None, way="object", seconds=10.0, alone=False, progress=None, give_up=None
):
    """The rows of all cases that can be given in that way, in order.

    `spec` is ``module:function``; `only` chooses by a function of a `Trial`; `seconds` is
    what one case may take; `alone` gives each case a process of its own; `progress` is
    called with every row. After `give_up` cases in a row that hung, no more are met, and
    there are fewer rows. Raises `NoImporter` where there is no such function.
    """
    trials = list(enumerate(_native.trials()))
    chosen = [
        (number, trial)
        for number, trial in trials
        if way in trial.ways and (only is None or only(trial))
    ]
    rows, worker, hangs = {}, None, 0

    def note_late(late):
        for number, deletes in late:
            trial = trials[number][1]
            wrong = [f"{word}, later" for word in verdict.of_deletes(deletes)]
            before = rows[number]
            said = (before.detail, before.error, before.text, before.elements)
            rows[number] = verdict.row(trial, before.outcome, wrong, *said)

    try:
        for number, trial in chosen:
            if worker is None:
                worker = Worker(spec, way)
            row = worker.meet(number, trial, seconds)
            if row.outcome in ("crashed", "hung") and not row.wrong:
                row = meet_alone(spec, way, number, trial, seconds, row)
            rows[number] = row
            if progress is not None:
                progress(row)
            hangs = hangs + 1 if row.outcome == "hung" else 0
            if worker.meeting is None:
                worker = None
            elif alone:
                note_late(worker.late(seconds))
                worker.next()
                if worker.meeting is None:
                    worker = None
            if hangs == give_up:
                break
        if worker is not None:
            note_late(worker.late(seconds))
    finally:
        if worker is not None:
            worker.kill()
    return [rows[number] for number, _ in chosen if number in rows]


def meet_alone(spec, way, number, trial, seconds, row):
    """The row of a case that failed, from a second run in a fresh process."""
    fresh = Worker(spec, way, fresh=True)
    try:
        again = fresh.meet(number, trial, seconds)
    finally:
        if fresh.meeting is not None:
            fresh.kill()
    if again.outcome in ("crashed", "hung"):
        return again
    row.detail += "; not in a process of its own"
    return row
