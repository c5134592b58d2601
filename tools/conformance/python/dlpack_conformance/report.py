"""Rows as a table."""

from collections import Counter

# Cases that every importer is expected to accept, in one of the two structs.
ORDINARY = ("struct: an ordinary one", "legacy: an ordinary one")
HEADER = ("case", "clause", "expected", "got", "")


def table(rows, details=True):
    """An aligned table; the message of a finding is printed below its row."""
    cells = [(row.case, row.clause, row.expected, row.got, row.mark) for row in rows]
    widths = [max(len(line[column]) for line in [HEADER, *cells]) for column in range(5)]

    def aligned(line):
        return "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()

    lines = [aligned(HEADER), "  ".join("-" * width for width in widths).rstrip()]
    for row, line in zip(rows, cells):
        lines.append(aligned(line))
        if details and row.finding and row.detail:
            lines.append(f"    {row.detail}")
    return "\n".join(lines)


def summary(rows):
    """A one-line summary of the counts."""
    marks = Counter(row.mark for row in rows)
    words = [
        f"{len(rows)} cases",
        f"{marks['ok']} ok",
        f"{marks['FINDING']} findings",
        f"{marks['shown']} undefined",
        f"{marks['n/a']} not asked for",
    ]
    return ", ".join(words)


def notes(rows):
    """Notes on conditions that make the table less meaningful."""
    found = []
    ordinary = [row for row in rows if row.case in ORDINARY]
    if ordinary and all(row.outcome != "accepted" for row in ordinary):
        row = next((row for row in ordinary if row.outcome != "not asked for"), ordinary[0])
        said = f": {row.detail}" if row.detail else ""
        found.append(
            f"not even an ordinary tensor is taken (`{row.case}` is {row.outcome}{said}), so "
            "the results of odd ones mean little; see --help for the arguments of an importer"
        )
    unread = [row.elements for row in rows if row.elements.startswith("unread")]
    if unread and not any(row.elements.startswith(("right", "wrong")) for row in rows):
        found.append(f"no elements were compared: {unread[0].removeprefix('unread: ')}")
    return found


def kinds(rows):
    """The number of findings of each kind."""
    found = Counter()
    for row in rows:
        if row.finding:
            bad = list(row.wrong)
            if row.outcome in ("crashed", "hung", "panicked"):
                bad.append(row.outcome)
            elif row.expected == "refuse" and row.outcome == "accepted":
                bad.append("accepted what cannot be")
            elif row.expected == "accept" and row.outcome == "refused":
                bad.append("refused what is sound")
            found.update(bad)
    return found
