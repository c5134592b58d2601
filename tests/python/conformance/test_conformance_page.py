"""`docs/generated/conformance.md` is a record: it is of the cases that there are, and this
project's importer has no finding in it."""

import re
from pathlib import Path

from conftest import conformance_tool

tool = conformance_tool()
RECORD = (Path(__file__).resolve().parents[3] / "docs" / "generated" / "conformance.md").read_text()
AGAIN = "measure again: cargo xtask conformance"


def lines_of(heading):
    """The cells of the table below a heading, with its head."""
    section = RECORD.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def test_the_record_is_of_these_cases():
    """As many, of these names, with these duties."""
    assert f"Of {len(tool.trials())} cases." in RECORD, AGAIN
    trials = {trial.name: trial for trial in tool.trials()}
    _, *rows = lines_of("Case by case")
    assert len(rows) > 50
    for case, clause, duty, *_ in rows:
        trial = trials[case.replace("\\|", "|")]
        assert (f"`{trial.clause}`", trial.duty) == (clause, duty), AGAIN


def test_ours_has_no_finding():
    """Not one, in any table."""
    head, *rows = lines_of("In numbers")
    ours = dict(zip(head, next(row for row in rows if row[0] == "ours")))
    assert all(ours[column] == "0" for column in head[1:]), ours
    head, *rows = lines_of("Case by case")
    column = head.index("ours")
    assert not [row for row in rows if "**" in row[column]]


def test_figures_are_those_of_the_cases():
    """Findings of a library are the bold cells of its column, but for those of legacy
    structs that are left out."""
    head, *rows = lines_of("Case by case")
    for name, findings, *_ in lines_of("In numbers")[1:]:
        column = head.index(name)
        bold = sum("**" in row[column] for row in rows)
        assert bold <= int(findings) <= 2 * bold, name
