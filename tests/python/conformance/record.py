"""What every library's importer makes of every case: measures, prints, and with
`--write` writes `docs/conformance.md`. Run by `cargo xtask conformance`."""

import argparse
import importlib.metadata
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.insert(0, str(FOLDER))
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(FOLDER), os.environ.get("PYTHONPATH")])
)

from dlpack_conformance import Row, check, report, trials  # noqa: E402
from dlpack_conformance.running import NoImporter  # noqa: E402
from importers import IMPORTERS  # noqa: E402

PAGE = ROOT / "docs" / "conformance.md"
# What was measured last, so that one library can be measured again.
KEPT = ROOT / "target" / "conformance"
# Libraries are met four at a time: most of the time goes into starting them.
AT_ONCE = 4

INTRODUCTION = """\
# Malformed and unusual tensors

How importers handle tensors that are malformed, that may be rejected, or that are only
unusual. `cargo xtask conformance` generates this page from measurements by
`python -m dlpack_conformance` ([manual](../tools/conformance/README.md)).

**How to read this.** A producer that makes a malformed struct violates the standard, and
hardly any real producer does. The standard requires little more of consumers than a check
of the major version, and a library that trusts producers, as most libraries state that they
do, is correct as long as producers follow the standard. A finding is therefore not a verdict
on a library. It shows the effect of a producer's mistake: an exception, or something worse.

Each case has one of four duties:

| duty | meaning | finding |
|---|---|---|
| refuse | the standard requires a rejection, or the struct cannot be a tensor, and this can be detected without following a pointer | the tensor is accepted |
| accept | an ordinary tensor that the standard allows | the tensor is rejected |
| may | valid, but consumers need not support it | none |
| undefined | the struct is wrong in a way that no consumer can detect | none: shown, but not counted |

A crash, a hang, a panic, a deleter that does not run exactly once, a read of missing or
released memory, and wrong elements are findings for every duty except the last.

`manager_ctx` points to unreadable memory, because it belongs to the producer. In one case
of either struct it is NULL, which the header allows and some libraries interpret as a missing
deleter.
"""


def version_of(package):
    """The version of an installed package."""
    return importlib.metadata.version(package) if package else "this project"


def measure(name):
    """The rows of a library, or why there are none."""
    started = time.monotonic()
    try:
        rows = check(f"importers:{name}", seconds=30.0)
    except NoImporter as error:
        return name, None, str(error)
    print(f"{name}: {report.summary(rows)}, {time.monotonic() - started:.0f} s", flush=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    version = version_of(IMPORTERS[name][1])
    (KEPT / f"{name}.json").write_text(json.dumps([version, [vars(row) for row in rows]]))
    return name, rows, None


def kept(name):
    """The rows that were measured before, of the same version and the same cases."""
    try:
        version, rows = json.loads((KEPT / f"{name}.json").read_text())
    except OSError:
        return None
    rows = [Row(**row) for row in rows]
    cases = [(trial.name, trial.duty) for trial in trials()]
    same = [(row.case, row.expected) for row in rows] == cases
    return rows if same and version == version_of(IMPORTERS[name][1]) else None


def short(row):
    """A cell."""
    if row.outcome == "not asked for":
        return "n/a"
    if not row.finding:
        return {"accepted": "taken", "refused": "refused"}.get(row.outcome, row.got)
    words = [row.error if row.outcome == "crashed" else row.outcome, *row.wrong]
    return "**" + ", ".join(words) + "**"


def render(measured):
    """The page."""
    names = list(measured)
    lines = [INTRODUCTION, "## Versions", "", "| library | version | importer |", "|---|---|---|"]
    for name in names:
        _, package, words = IMPORTERS[name]
        lines.append(f"| {name} | {version_of(package)} | {words} |")
    lines += ["", f"Python {sys.version.split()[0]}, Linux x86-64.", ""]
    lines += ["## In numbers", "", f"Of {len(trials())} cases. A case may be in several columns.", ""]
    kinds = [
        *("accepted what cannot be", "refused what is sound", "crashed", "hung", "panicked"),
        *("read after delete", "read beyond the end", "NULL followed"),
        *("leaked", "deleted twice", "deleted, not its own", "wrong values"),
    ]
    found = {name: report.kinds(rows) for name, rows in measured.items()}
    every = {kind for counts in found.values() for kind in counts}
    kinds += sorted(every - set(kinds))
    kinds = [kind for kind in kinds if kind in every]
    head = ["library", "cases with a finding", *kinds, "never asked for"]
    lines += ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, rows in measured.items():
        cells = [name, sum(row.finding for row in rows)]
        cells += [found[name][kind] for kind in kinds]
        cells.append(sum(row.mark == "n/a" for row in rows))
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    lines += [
        "",
        "*Never asked for*: an importer that asks for the legacy struct never sees the other.",
        "",
        "## Case by case",
        "",
        "All cases with a finding for some library; findings are bold. `legacy:` is the",
        "struct of before DLPack 1.0. Where the struct says one thing in both, the cases of",
        "the legacy one are left out if nothing is different there. *taken* is a value that",
        "was returned, and no finding; *n/a* is a case that is never asked for, as above.",
        "",
        "| case | clause | duty | " + " | ".join(names) + " |",
        "|---" * (3 + len(names)) + "|",
    ]
    by_case = {name: {row.case: row for row in rows} for name, rows in measured.items()}
    for trial in trials():
        rows = [by_case[name][trial.name] for name in names]
        if not any(row.finding for row in rows):
            continue
        cells = [short(row) for row in rows]
        if trial.name.startswith("legacy: "):
            twin = "struct: " + trial.name.removeprefix("legacy: ")
            twins = [by_case[name].get(twin) for name in names]
            same = [twin and short(twin) in (cell, "n/a") for twin, cell in zip(twins, cells)]
            if all(same) and all(short(twin) == cell for twin, cell in zip(twins, cells)):
                continue
        case = trial.name.replace("|", "\\|")
        lines.append(f"| {case} | `{trial.clause}` | {trial.duty} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    """Measures all libraries that are here, or those that are named."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--write", action="store_true", help="write docs/conformance.md")
    arguments.add_argument("libraries", nargs="*", help="by name; all of them if none is given")
    arguments.add_argument("--reuse", action="store_true", help="where there is what was kept")
    options = arguments.parse_args()
    names = options.libraries or list(IMPORTERS)

    def rows_of(name):
        rows = kept(name) if options.reuse else None
        return measure(name) if rows is None else (name, rows, None)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(rows_of, names))
    missing = [f"{name}: {why}" for name, rows, why in results if rows is None]
    for line in missing:
        print(f"MISSING {line}", file=sys.stderr)
    measured = {name: rows for name, rows, _ in results if rows is not None}
    text = render(measured)
    if options.write and not missing:
        PAGE.write_text(text)
        print(f"wrote {PAGE.relative_to(ROOT)}")
    else:
        print(text)
    ours = [row for row in measured.get("ours", []) if row.finding]
    for row in ours:
        print(f"FINDING of ours: {row.case}: {row.got}", file=sys.stderr)
    return 1 if ours or missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
