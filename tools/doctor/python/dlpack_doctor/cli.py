"""The command line: ``python -m dlpack_doctor 'numpy.zeros(3)'``."""

import argparse
import json
import os
import sys
from typing import Any

from . import __version__
from .consumers import TAKES, is_there
from .process import Ended, run
from .report import Report

HEALTHY, FINDINGS, UNUSABLE = 0, 1, 2
# A check that ended the process is left out of the next attempt.
TRIES = 8


def parser() -> argparse.ArgumentParser:
    """The arguments, and what they mean."""
    made = argparse.ArgumentParser(
        prog="dlpack_doctor",
        description="Says what a Python object exports by DLPack, what is wrong with "
        "it, and what other libraries would make of it.",
        epilog="Exit status: 0 if nothing is wrong, 1 if something is (errors and "
        "warnings; notes do not count), 2 if there is nothing to examine.",
    )
    made.add_argument(
        "expression",
        help="what makes the object, as Python; modules are imported by their names, "
        "np, jnp, mx and tf too",
    )
    made.add_argument(
        "--import",
        dest="imports",
        metavar="MODULE[=NAME]",
        action="append",
        default=[],
        help="import this first; may be said more than once",
    )
    made.add_argument(
        "--live",
        action="store_true",
        help="also try what exports must stand: two at once, release on a thread, "
        "references, the exchange table, each keyword",
    )
    made.add_argument(
        "--try",
        dest="consumers",
        metavar="CONSUMER",
        action="append",
        default=[],
        choices=[*TAKES, "all"],
        help="really give it to this library, or to all that are installed",
    )
    made.add_argument("--json", action="store_true", help="print JSON")
    made.add_argument(
        "--colour",
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours: on a terminal (auto), unless NO_COLOR is set",
    )
    made.add_argument("--version", action="version", version=f"dlpack_doctor {__version__}")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    asked = parser().parse_args(arguments)
    answer = examined(asked)
    if isinstance(answer, str):
        print(f"error: {answer}", file=sys.stderr)
        return UNUSABLE
    tried = {name: tried_on(asked, name) for name in wanted(asked.consumers)}
    if asked.json:
        print(json.dumps({**answer.data, "tried": tried, "healthy": answer.healthy}, indent=2))
    else:
        print(answer.text(colour=colours(asked.colour)), end="")
        print(lines(tried, answer), end="")
    return HEALTHY if answer.healthy else FINDINGS


def colours(asked: str) -> bool:
    """Whether to print colours."""
    if asked != "auto":
        return asked == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def examined(asked: argparse.Namespace) -> Report | str:
    """The report, or the reason why there is none."""
    skip: list[str] = []
    crashes: list[tuple[str, str]] = []
    for _ in range(TRIES):
        ended = run(job(asked, live=asked.live, skip=skip))
        if ended.unusable:
            return f"the expression cannot be evaluated: {ended.unusable}"
        if ended.report is not None:
            report = Report(ended.report)
            if not ended.done:
                crashes.append((ended.step, ended.how))
            for step, how in crashes:
                report = report.add_check(step, "error", how)
            return report
        crashes.append((ended.step, ended.how))
        if not asked.live or not ended.step or ended.step in skip:
            break
        skip.append(ended.step)
    return crashed(crashes)


def crashed(crashes: list[tuple[str, str]]) -> Report | str:
    """The report for an object that ended the process before it was examined."""
    step, how = crashes[-1]
    if step in ("", "the expression"):
        return f"evaluating the expression failed: {how}"
    report = Report(
        json.dumps(
            {
                "type_name": "the process ended before the object was examined",
                "device": {"answer": "missing"},
                "requests": [],
                "table": None,
                "checks": [],
                "findings": [],
                "verdicts": [],
            }
        )
    )
    for step, how in crashes:
        report = report.add_check(step, "error", how)
    return report


def job(asked: argparse.Namespace, **more: Any) -> dict[str, Any]:
    """The job description for a process."""
    plain = {"live": False, "skip": [], "consumer": None}
    return {"expression": asked.expression, "imports": asked.imports, **plain, **more}


def wanted(consumers: list[str]) -> list[str]:
    """The consumers to call; all that are installed for ``all``."""
    if "all" not in consumers:
        return list(dict.fromkeys(consumers))
    return [name for name in TAKES if is_there(name)]


def tried_on(asked: argparse.Namespace, name: str) -> dict[str, str]:
    """The outcome of a consumer, in a process of its own."""
    if not is_there(name):
        return {"fit": "absent", "why": "it is not installed"}
    ended: Ended = run(job(asked, consumer=name))
    if ended.tried is not None and ended.done:
        fit, why = ended.tried
        return {"fit": fit.lower(), "why": why}
    if ended.unusable:
        return {"fit": "unknown", "why": ended.unusable}
    fit = "unusable" if "first operation" in ended.step else "crash"
    return {"fit": fit, "why": f"{ended.how} while {ended.step}"}


def lines(tried: dict[str, dict[str, str]], report: Report) -> str:
    """The outcomes of the consumers, and where they differ from the verdict."""
    if not tried:
        return ""
    expected: dict[str, set[str]] = {}
    for verdict in report.verdicts:
        expected.setdefault(verdict["consumer"], set()).add(verdict["fit"])
    text = "\ntried on consumers\n"
    for name, found in tried.items():
        known = expected.get(name, set())
        surprise = known and found["fit"] not in known | {"absent"}
        mark = f"  (expected: {' or '.join(sorted(known))})" if surprise else ""
        text += f"  {name:23} {found['fit']:9} {found['why']}{mark}".rstrip() + "\n"
    return text
