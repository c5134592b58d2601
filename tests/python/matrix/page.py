"""`docs/interop.md`: written from what was measured, and read back."""

from grid import DTYPES, LAYOUTS
from verdicts import NOTHING, OURS, RANKS

NONE = "·"
HEAD = """\
# Interoperability

Which tensors other libraries import from this crate's Python classes, and which tensors
the classes import from other libraries. `cargo xtask matrix` generates this page from
measurements. `cargo xtask test --full` measures again and fails if a cell is worse than
on this page.

A tensor of a *producer* is imported by `dlpack_example.from_dlpack`, and the result is
passed to a *consumer*. Each time all elements are compared bit by bit, and so are the
addresses.

| cell | means |
|---|---|
| same | zero-copy: the same elements at the same address |
| copy | the same elements at another address |
| refused | an exception; the last table has the messages |
| converted | imported with another element type |
| unusable | imported, and the first operation on the tensor ends the process |
| WRONG | other elements or another shape |
| CRASH | the process ends |
| · | the producer has no such tensor, or cannot export it |
| X (else Y) | Y is the result for an equal tensor from a producer that shares no code with this crate |

The tensors are views of 48 elements:

| layout | shape | strides | first element |
|---|---|---|---|
"""


def layouts():
    """The rows that say which layout is which."""
    rows = []
    for layout in LAYOUTS:
        shape, strides = layout.shape, layout.strides
        if len(shape) > 8:
            shape, strides = f"({shape[0]}, 1, .., 1, {shape[-1]})", "row-major"
        note = ", read-only" if layout.read_only else ""
        rows.append(f"| {layout.name} | {shape} | {strides} | {layout.offset}{note} |")
    return "\n".join(rows)


def shown(cell):
    """A cell's words."""
    verdict, _, reference = cell
    if verdict in NOTHING:
        return NONE
    if reference is not None and reference != verdict:
        return f"{verdict} (else {reference})"
    return verdict


def table(found, into, first):
    """The rows of one consumer: element types and producers with equal cells."""
    head = f"| {first} | from | " + " | ".join(layout.name for layout in LAYOUTS) + " |"
    lines = [head, "|---" * (2 + len(LAYOUTS)) + "|"]
    groups = {}
    for dtype in DTYPES:
        for producers, row in merged(found, into, dtype):
            groups.setdefault((producers, row), []).append(dtype)
    for (producers, row), dtypes in groups.items():
        cells = " | ".join(row)
        lines.append(f"| {', '.join(dtypes)} | {', '.join(producers)} | {cells} |")
    return "\n".join(lines)


def merged(found, into, dtype):
    """Producers whose rows do not contradict each other, with one row. Into our
    class each row stands for itself: there it also says what is made at all."""
    rows = []
    for producer in found.producers():
        keys = [(into, producer, dtype, layout.name) for layout in LAYOUTS]
        row = [shown(found.cells[key]) if key in found.cells else NONE for key in keys]
        if set(row) == {NONE}:
            continue
        for producers, other in rows:
            pairs = list(zip(row, other, strict=True))
            exact = into.startswith(OURS)
            if all(a == b or (not exact and NONE in (a, b)) for a, b in pairs):
                producers.append(producer)
                other[:] = [b if a == NONE else a for a, b in pairs]
                break
        else:
            rows.append(([producer], row))
    return [(tuple(producers), tuple(row)) for producers, row in rows]


def refusals(found):
    """Who refuses, in whose words."""
    words = {}
    for (into, _, dtype, layout), (verdict, why, _) in found.cells.items():
        if verdict == "refused":
            kind, _, said = why.partition(": ")
            said = "".join("0" if letter.isdigit() else letter for letter in said)
            words.setdefault((into, kind, said[:60]), []).append((why, dtype, layout))
    lines = ["| refused by | with | for example | cells |", "|---|---|---|---|"]
    for (into, kind, _), cases in words.items():
        why, dtype, layout = cases[0]
        said = why.partition(": ")[2].replace("|", "\\|")
        lines.append(
            f"| {into} | {kind} | {dtype}, {layout}: {said} | {len(cases)} |"
        )
    return "\n".join(lines)


def counts(found, producer, into):
    """How many cells of a pair ended how, in the order of the legend."""
    cells = [
        found.cells[key]
        for key in found.cells
        if key[:2] == (into, producer) and found.cells[key][0] in RANKS
    ]
    tally = [sum(cell[0] == verdict for cell in cells) for verdict in reversed(RANKS)]
    same, copy, refused, *bad = tally
    words = f"{same}/{copy}/{refused}"
    return (words + (f" {sum(bad)}!" if sum(bad) else "")) if cells else NONE


def grid_of_counts(found):
    """Producers by consumers: same / copy / refused, and what is bad."""
    consumers = found.ours() + found.consumers()
    rows = [["from \\ into", *consumers]]
    for producer in found.producers():
        rows.append([producer, *(counts(found, producer, into) for into in consumers)])
    return rows


def summary(found):
    """The aligned table for a terminal."""
    rows = grid_of_counts(found)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True))
        for row in rows
    ]
    legend = "same address / copied / refused by the consumer; N! are converted or worse"
    return "\n".join([legend, "", *(line.rstrip() for line in lines)])


def render(found):
    """The whole page."""
    parts = [HEAD + layouts()]
    known = sorted(found.versions.items(), key=lambda pair: "(" in pair[0])
    versions = [f"| {name} | {version} |" for name, version in known if version]
    parts.append("## Versions\n\n| library | version |\n|---|---|\n" + "\n".join(versions))
    head, *rows = grid_of_counts(found)
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    parts.append(
        "## In numbers\n\nCells with the same address / copied / refused; `N!` are "
        "converted or worse.\n\n" + "\n".join(lines)
    )
    for into in found.ours():
        title = into.replace(OURS, "`dlpack_example.from_dlpack`")
        parts.append(f"## Into {title}\n\n" + table(found, into, "element types"))
    for into in found.consumers():
        parts.append(f"## From the class into {into}\n\n" + table(found, into, "element types"))
    parts.append("## Refusals\n\n" + refusals(found))
    if found.apart:
        pairs = "\n".join(f"| {a} | {b} |" for a, b in sorted(found.apart))
        parts.append(
            "## Not measured\n\nThese do not load into one process.\n\n"
            "| from | into |\n|---|---|\n" + pairs
        )
    return "\n\n".join(parts) + "\n"


def parse(text):
    """The verdicts that a page records, by consumer, producer, type and layout."""
    recorded, into = {}, None
    for line in text.splitlines():
        if line.startswith("## "):
            into = None
            for start in ("## Into ", "## From the class into "):
                if line.startswith(start):
                    into = line.removeprefix(start)
                    into = into.replace("`dlpack_example.from_dlpack`", OURS)
        elif into and line.startswith("| ") and not line.startswith("| element types"):
            dtypes, producers, *cells = [part.strip() for part in line.strip("|").split("|")]
            for dtype in dtypes.split(", "):
                for producer in producers.split(", "):
                    for layout, cell in zip(LAYOUTS, cells, strict=True):
                        if cell != NONE:
                            key = (into, producer, dtype, layout.name)
                            recorded[key] = cell.split(" (else ")[0]
    return recorded
