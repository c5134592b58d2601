"""The outcome of a case, and whether it is a finding: `Row`."""

import signal
from dataclasses import asdict, dataclass


@dataclass
class Row:
    """One case and what an importer made of it."""

    case: str
    clause: str
    # "refuse", "accept", "may" or "undefined".
    expected: str
    # "accepted", "refused", "crashed", "hung", "panicked", "not asked for".
    outcome: str
    # Additional findings: "leaked", "deleted twice", "deleted, not its own",
    # "read after delete", "read beyond the end", "NULL followed",
    # "manager_ctx followed", "wrong values".
    wrong: list
    # The exception, the signal, or the message of a library.
    detail: str
    finding: bool
    # The text of the exception, for programs to compare.
    error: str | None = None
    text: str | None = None
    # "right", "wrong: ...", "unread: ..." where what was returned could not be read, or ""
    # where there is nothing to compare.
    elements: str = ""

    @property
    def got(self):
        """The outcome in a few words."""
        if self.outcome == "refused":
            first = f"refused ({self.error})"
        elif self.outcome == "crashed":
            first = f"crashed ({self.error})"
        else:
            first = self.outcome
        return ", ".join([first, *self.wrong])

    @property
    def mark(self):
        """The judgement: ok, FINDING, or neither."""
        if self.outcome == "not asked for":
            return "n/a"
        if self.expected == "undefined":
            return "shown"
        return "FINDING" if self.finding else "ok"

    def as_dict(self):
        """The row as a dict for JSON."""
        return {**asdict(self), "got": self.got, "mark": self.mark}


def row(trial, outcome, wrong=(), detail="", error=None, text=None, elements=""):
    """The row of a case; the case's requirement decides what is a finding."""
    bad = bool(wrong) or outcome in ("crashed", "hung", "panicked")
    if trial.duty == "refuse":
        bad = bad or outcome == "accepted"
    elif trial.duty == "accept":
        bad = bad or outcome == "refused"
    finding = bad and trial.duty != "undefined" and outcome != "not asked for"
    made = (trial.name, trial.clause, trial.duty, outcome, list(wrong), detail, finding)
    return Row(*made, error=error, text=text, elements=elements)


def answered(trial, answer):
    """The row of a case that did not end its process."""
    wrong = of_deletes(answer["deletes"])
    if answer["refused"]:
        error, text = answer["error"], answer["text"]
        outcome = "refused" if answer["exception"] else "panicked"
        if answer["unasked"]:
            outcome = "not asked for"
        detail = f"{error}: {text}".strip()
        return row(trial, outcome, wrong, detail, error, text)
    if answer["unasked"]:
        detail = "it returned a value, and never called `__dlpack__`"
        return row(trial, "not asked for", wrong, detail)
    elements = answer.get("elements", "")
    if elements.startswith("wrong"):
        wrong.append("wrong values")
    detail = "" if elements == "right" else elements
    return row(trial, "accepted", wrong, detail, elements=elements)


def of_deletes(deletes):
    """The finding from the number of deleter calls, if any."""
    wrong = []
    for owed, found in deletes:
        if found < owed:
            wrong.append("leaked")
        elif found > owed:
            wrong.append("deleted twice" if owed else "deleted, not its own")
    return sorted(set(wrong))


def died(trial, status, words):
    """The row of a case that ended its process; `words` is the output that it left."""
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"exit status {status}"
    last = [line.strip() for line in words.splitlines() if line.strip()]
    line = next((line for line in reversed(last) if "was accessed in the case" in line), None)
    # The stack frames follow the message and are left out.
    reasons = [line for line in last if not line.startswith(("@ ", "***", "#"))] or last
    detail = line or (reasons[-1] if reasons else "")
    wrong = []
    if line and "after the deleter" in line:
        wrong.append("read after delete")
    elif line and "beyond its end" in line:
        wrong.append("read beyond the end")
    elif line and line.startswith("NULL was"):
        wrong.append("NULL followed")
    elif line and line.startswith("what `manager_ctx` points at"):
        wrong.append("manager_ctx followed")
    return row(trial, "crashed", wrong, detail[:300], name)


def hung(trial, seconds):
    """The row of a case that exceeded the time limit."""
    return row(trial, "hung", detail=f"no answer after {seconds:g} s")
