"""The command line."""

import argparse
import json
import os
import sys

from . import _native, report
from .running import NoImporter, check

ABOUT = """\
Gives hostile and odd tensors to an importer, each in a child process, and says what
came of it. The importer is a function of one argument, an object with `__dlpack__`, and
what it returns is compared with what was given, if it has `__dlpack__` or `__array__`."""

LEGEND = """\
examples:
  python -m dlpack_conformance numpy:from_dlpack
  python -m dlpack_conformance numpy:from_dlpack --only "NULL shape"

an importer that wants something else is wrapped in a file of yours, mine.py:
  def importer(x): return my_library.of_capsule(x.__dlpack__())
and is then, in the folder of that file, mine:importer

expected:
  refuse     the standard says so, or it cannot be a tensor and that can be seen
  accept     the standard allows it, and it is nothing special
  may        either, without a crash, a leak or a wrong element
  undefined  the producer lies where nobody can look: shown, and not counted

exit status: 0 no findings, 1 findings, 2 the command line, or there is no such importer"""

# After this many consecutive hangs the run stops.
ENOUGH_HANGS = 5


def seconds(text):
    """A time limit."""
    if not 0 < float(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a time in which a case can end")
    return float(text)


def misspelt(importer):
    """The problem with the name of an importer; None if the name is valid."""
    module, colon, function = (importer or "").partition(":")
    if module and function:
        return None
    sentence = "name the importer as module:function, as in numpy:from_dlpack"
    module, dot, function = (importer or "").rpartition(".")
    if module and function and not colon:
        sentence += f"; did you mean {module}:{function}?"
    return f"{sentence} (--help says more)"


def parser():
    """The arguments."""
    made = argparse.ArgumentParser(
        prog="python -m dlpack_conformance",
        description=ABOUT,
        epilog=LEGEND,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("importer", nargs="?", metavar="module:function")
    made.add_argument("--only", metavar="WORDS", help="cases with that in name or clause")
    made.add_argument("--capsules", action="store_true", help="give bare capsules, not objects")
    made.add_argument("--seconds", type=seconds, default=10.0, help="for one case (default: 10)")
    made.add_argument("--alone", action="store_true", help="a new process for each case")
    made.add_argument("--findings", action="store_true", help="print no other rows")
    made.add_argument("--json", action="store_true", help="print JSON in place of a table")
    made.add_argument("--list", action="store_true", help="print the cases and clauses")
    made.add_argument("--version", action="version", version=_native.__version__)
    return made


def listing(trials):
    """The cases and the clauses of the standard for them."""
    width = max(len(trial.name) for trial in trials)
    lines = [f"{trial.name:{width}}  {trial.duty:9}  {trial.clause}" for trial in trials]
    lines.append("")
    lines += [f"{name}: {words}" for name, words in _native.clauses()]
    return "\n".join(lines)


def main(arguments=None):
    """Runs the command line; returns the exit status."""
    try:
        status = run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe. Without this, Python would report an error when it
        # flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    return status


def run(arguments):
    """The command line, without the handling of closed pipes."""
    options = parser().parse_args(arguments)
    way = "capsule" if options.capsules else "object"

    def only(trial):
        return options.only is None or options.only in trial.name or options.only in trial.clause

    chosen = [trial for trial in _native.trials() if way in trial.ways and only(trial)]
    if not chosen:
        print(f"no case has `{options.only}` in its name or clause", file=sys.stderr)
        return 2
    if options.list:
        print(listing(chosen))
        return 0
    if sentence := misspelt(options.importer):
        print(sentence, file=sys.stderr)
        return 2
    showing = sys.stderr.isatty() and not options.json
    seen, stopped = [], None

    def progress(row):
        seen.append(row)
        if showing:
            print(f"\r{len(seen)}/{len(chosen)}  {row.case[:60]:60}", end="", file=sys.stderr)

    try:
        rows = check(
            options.importer,
            only=only,
            way=way,
            seconds=options.seconds,
            alone=options.alone,
            progress=progress,
            give_up=ENOUGH_HANGS,
        )
    except NoImporter as error:
        print(f"there is no importer `{options.importer}`: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        rows, stopped = seen, "interrupted"
    if stopped is None and len(rows) < len(chosen):
        stopped = f"{ENOUGH_HANGS} cases in a row hung"
    if showing:
        print("\r" + " " * 75 + "\r", end="", file=sys.stderr)
    findings = [row for row in rows if row.finding]
    if options.json:
        print(json.dumps([row.as_dict() for row in rows], indent=1))
    else:
        print(report.table(findings if options.findings else rows))
        print()
        print(f"{options.importer}: {report.summary(rows)}")
        for kind, count in report.kinds(rows).most_common():
            print(f"  {count:4} {kind}")
    for note in report.notes(rows):
        print(f"note: {note}", file=sys.stderr)
    if stopped:
        print(f"stopped: {stopped}; {len(chosen) - len(rows)} were not met", file=sys.stderr)
    return 1 if findings or stopped else 0
