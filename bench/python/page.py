"""Writes docs/generated/benchmarks.md and its picture from the figures in target/bench.

    page.py FOLDER

Every `*.json` there has rows as `bench/src/report.rs` describes them. Reasons for rows
that miss their bar are in `missed.json`, by the row's name. `excluded.json` has the rows whose
bar no code can meet, with the proof; `MOVED` those whose floor is the proof.
"""

import datetime
import json
import re
import subprocess
import sys
from pathlib import Path

import picture

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
GROUPS = {
    "rust": "Rust, beside the other crates",
    "reading": "Reading and writing elements",
    "table": "The exchange table, called from C",
    "python": "Python, beside the libraries' own objects",
    "size": "Machine code per exported type",
    "instructions": "Instructions of the hot paths",
    "compile": "Compile time",
}
COMMANDS = """\
```text
cargo xtask bench all        everything, and this page
cargo xtask bench rust       one part: rust, table, python, size, instructions, compile
cargo xtask bench page       this page, from the figures of earlier runs
```"""
METHOD = """\
All contenders of a row are timed alternately, in batches, in rounds within one process, so
that other load on the machine affects all of them equally. The figures are the median and
the lower quartile of the rounds. A ratio is the median of this crate divided by that of the
row's reference: below 1 is faster. Absolute times depend on the machine; ratios less so. The
compiler aligns functions and the targets of jumps in the rows of Rust and of the C exchange API,
for all contenders: otherwise the same instructions took 4.9 or 5.9 ns, by the address of the code. A
Python row includes the loop around the call, for all contenders. The bar of a row is our
target for its ratio. The reasons below are of several runs, so their figures can differ
slightly from the tables; the figures of one section are of one run of its command.

The picture shows the rows that most readers need, on a logarithmic scale. A marker is the time of
one library divided by the time of this crate; for the reference of a row, that is the inverse of the
row's ratio. *By hand in Rust* is the floor, or a kernel on a slice. In the rows of the C exchange
API, PyTorch's tensor is held by C++ too. In the rows of Python, `x` is an array of the library, or
for this crate a class over `Arc<[f32]>`, and over `SharedBuffer` for `__dlpack__()`.

Words in the names of rows: the *floor* is hand-written code that does only what every exchange
must do. *By value* is `into_dlpack`, *shared* is `to_dlpack`. The *general Tensor* is the class of
[examples/python](../../examples/python), for any dtype, rank and layout, with its own memory in an
`ExportArc`; *no ExportArc* is such a class without it. A *fixed class*, such as *Taken*, has one
dtype and rank. *N live* exports exist at the same time. A tensor *held by C++ too* is also owned by
C++ code, so PyTorch does not reuse its Python object. 16 M elements are 2^24."""
READING = """\
The rows of a slice are the kernel on a slice of the same memory, which this crate gives by
`unsafe`. rust-numpy gives such a slice too (`as_slice`), and trusts all other code that has the
array. Its rows are of the same process and rounds, on an array of NumPy, and include its check that
no other Rust code borrows the array. The floor of maximum and sum copies one block after another to
private memory by `memcpy`, and computes on the copy. The memory of all large rows is in huge pages,
where the system has them, because NumPy requests them for its arrays. Operations that take less than
100 µs are timed eight at a time. The rows of NumPy are of another process, and include the call from
Python. The bar of 10,000 elements is 1.5 times the slice and 300 ns for the call."""
BEYOND = """\
Other results in the tables, with the reasons:

- **More than 8 dimensions** do not fit in the packet of an export or in the node of an import. Both
  need a second allocation.
- **A class that is not frozen** takes up to 11 ns more per export: two locked operations take and
  return PyO3's borrow flag, because the value must not change while it is described.
- **One owner exported by many threads at once.** All threads write to one word, the reference
  count, and its cache line moves between the cores. This holds for an `Arc`, and more so for
  an `ExportArc`, which has one struct to lend; while it is lent, each further export allocates
  a packet. Exports of different owners do not slow each other down.
- **`floor, without memory`** is the floor around an empty `Vec`: a shared export does not free
  the elements, and with many live exports every access misses the cache. Rows of `threads`
  create an owner in each iteration, also for the floor; other rows do not.
- **The floor allocates**, also in two rows whose subject does not allocate: `borrowed view` and the
  repeated export of an `ExportArc`. The floors of other borrowed views and of the borrowed `DLTensor`
  do not.
- **Copies of 64 MiB** are made by the calling thread, and from huge pages, as NumPy's are. From the
  pages of an ordinary `Vec` they take up to 1.1 times as long.
{first_writes}
- **`__dlpack__()` without a version** requests a struct without a READ_ONLY flag. Read-only
  memory, such as an `Arc<[f32]>`, is copied: the second line of its table."""


# Rows whose bar the floor itself can miss. If both the floor and this crate miss it in a run, the
# row is compared with the floor. That of an import is hand-written code with the same checks and one
# allocation; its bar is that of `import to a slice + drop`, and 0.05 more for the check of the
# type. That of a maximum copies blocks by `memcpy`.
MOVED = {
    "import + drop, contiguous": 1.15,
    "import + drop, transposed": 1.15,
    "import as ImportedStorage<f32> + drop, contiguous": 1.20,
    "import as ImportedStorage<f32> + drop, transposed": 1.20,
    "maximum of 16 M u8": 1.05,
}


def rows_in(folder):
    """All rows, in groups, and what the files say of their runs."""
    groups, about = {}, {}
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text())
        rows = content.get("rows", []) if isinstance(content, dict) else content
        if isinstance(content, dict):
            about |= content.get("about", {})
        for row in rows:
            if "variant" in row:
                row = compiled(row)
            if row:
                if is_reading(row):
                    row["group"] = "reading"
                for name in ("reference", "ratio", "bar", "ours"):
                    row.setdefault(name, None)
                row.setdefault("entries", [])
                row = moved(row)
                groups.setdefault(row.get("group") or path.stem, []).append(row)
    if "reading" in groups:
        groups["reading"] = with_numpy(groups["reading"])
    order = list(GROUPS)
    known = sorted(groups, key=lambda name: order.index(name) if name in order else len(order))
    return {name: groups[name] for name in known}, about


def moved(row):
    """The row compared with its floor, if the row and the floor miss the bar."""
    floor = next((entry for entry in row["entries"] if entry["name"] == "floor"), None)
    bar = MOVED.get(row.get("row"))
    if bar is None or floor is None or None in (row["ratio"], row["bar"]):
        return row
    if row["ratio"] <= row["bar"]:
        return row
    if floor["median"] <= row["bar"] * row["floor"]:
        return row
    before = {name: row[name] for name in ("reference", "bar", "ratio")}
    before["floor"] = round(floor["median"] / row["floor"], 3)
    ratio = round(row["ours"] / floor["median"], 3)
    now = {"reference": "floor", "floor": floor["median"], "ratio": ratio, "bar": bar}
    return {**row, **now, "before": before}


def is_reading(row):
    """Whether a row is one of `bench/src/reading.rs`."""
    words = r"(maximum|sum|copy) of (10,000|16 M|19,683) |(10,000|16 M) f32 scaled in place"
    return re.match(words, row.get("row", "")) is not None


def with_numpy(rows):
    """The rows of Rust, each with the entry of NumPy that has its title. The bar of a sum of
    strided elements is 1.5 times NumPy's time, and 300 ns for a small array."""
    of_numpy = {row["row"]: row for row in rows if row["reference"] == "NumPy"}
    ours = [row for row in rows if row["reference"] != "NumPy"]
    for row in ours:
        other = of_numpy.pop(row["row"], None)
        if other and row.get("floor"):
            row["entries"].append(other["entries"][0])
            if re.fullmatch(r"sum of .*(transposed|every second column)", row["row"]):
                numpy = other["entries"][0]["median"]
                of_call = 300 / numpy if "10,000" in row["row"] else 0
                row |= {"reference": "NumPy", "floor": numpy, "bar": round(1.5 + of_call, 2)}
                row["ratio"] = round(row["ours"] / numpy, 3)
            for entry in row["entries"]:
                entry["ratio"] = round(entry["median"] / row["floor"], 3)
    return [*ours, *of_numpy.values()]


def compiled(row):
    """A row of `bench compile` in the words of the others; None for its references."""
    bars = {"DLPackExport": 1.05}
    if not row["variant"].startswith("DLPack"):
        return None
    seconds, ratio = row["median_seconds"], row["of_serialize"]
    reference = seconds / ratio if ratio else 0
    name = row["variant"]
    entry = {"name": f"dlpack-traits, {name}", "median": seconds, "ratio": ratio}
    return {
        "group": "compile",
        "row": f"cargo check of 200 {name}",
        "unit": "s",
        "reference": "serde::Serialize",
        "floor": reference,
        "ours": seconds,
        "ratio": ratio,
        "bar": bars.get(name),
        "peers": {},
        "entries": [{"name": "serde::Serialize", "median": reference, "ratio": 1.0}, entry],
    }


def judged(row):
    """The quantity that the bar applies to: a ratio, or our figure if there is no
    reference."""
    return row["ours"] if row["ratio"] is None else row["ratio"]


def missed(row):
    return row["bar"] is not None and judged(row) is not None and judged(row) > row["bar"]


def verdict(row):
    if row["bar"] is None or judged(row) is None:
        return ""
    return "misses" if missed(row) else "yes"


def figure(value, bar=None):
    """Three digits; more where a value and its bar would look equal."""
    if value is None:
        return ""
    if bar is not None and value != bar and figure(value) == figure(bar):
        digits = next((n for n in range(3, 6) if round(value, n) != round(bar, n)), 6)
        return f"{value:.{digits}f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def summary(rows):
    lines = [
        "| row | compared with | ratio | bar | met |",
        "|---|---|---|---|---|",
    ]
    if not any(row["entries"] for row in rows):
        lines[0] = "| row | unit | ours | bar | met |"
    for row in rows:
        against = row["reference"] or row["unit"]
        bar, value = figure(row["bar"]), figure(judged(row), row["bar"])
        if row["unit"] == "instructions" and judged(row) is not None:
            value = f"{judged(row):,.0f}"
        lines.append(f"| {cell(row['row'])} | {cell(against)} | {value} | {bar} | {verdict(row)} |")
    beside = [beside_rust_numpy(row) for row in rows]
    if any(beside):
        more = [" of rust-numpy |", "---|", *(f" {figure(ratio)} |" for ratio in beside)]
        lines = [line + cells for line, cells in zip(lines, more)]
    return "\n".join(lines)


def beside_rust_numpy(row):
    """Our time divided by that of rust-numpy, if the row has it."""
    other = next((e for e in row["entries"] if e["name"].startswith("rust-numpy")), None)
    return other and row["ours"] / other["median"]


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def details(rows):
    parts = []
    for row in rows:
        if not row["entries"]:
            continue
        counted = any(entry.get("allocations") is not None for entry in row["entries"])
        more = " allocations | bytes |" if counted else ""
        lines = [
            f"**{cell(row['row'])}** ({row['unit']})",
            "",
            f"| | lower quartile | median | ratio |{more}",
            f"|---|---|---|---|{'---|---|' if counted else ''}",
        ]
        for entry in row["entries"]:
            count = [entry.get("allocations"), entry.get("bytes")]
            count = "".join(f" {'' if n is None else n} |" for n in count) if counted else ""
            lines.append(
                f"| {cell(entry['name'])} | {figure(entry.get('lower_quartile'))} |"
                f" {figure(entry['median'])} | {entry['ratio']:.2f} |{count}"
            )
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def reasons(name):
    return json.loads((HERE / name).read_text())


def misses(groups):
    """The rows that miss their bar, and those whose bar no code can meet."""
    proofs, known = reasons("excluded.json"), reasons("missed.json")
    rows = [row for rows in groups.values() for row in rows if missed(row)]
    missing = [row for row in rows if row["row"] not in proofs]
    excluded = [row for row in rows if row["row"] in proofs]
    compared = [moved_from(row) for group in groups.values() for row in group if "before" in row]
    if excluded or not compared:
        compared.append(listed(excluded, proofs))
    return listed(missing, known), "\n".join(compared)


def moved_from(row):
    """The bar that the floor misses, and the comparison in its place."""
    before = row["before"]
    return (
        f"- **{cell(row['row'])}**: the bar is {figure(before['bar'])} of {before['reference']}, and"
        f" the floor is at {figure(before['floor'])}; this crate is at {figure(before['ratio'])}."
        f" Compared with the floor it is at {figure(row['ratio'])}, bar {figure(row['bar'])}."
    )


def listed(rows, reasons):
    lines = [
        f"- **{cell(row['row'])}**: {figure(judged(row), row['bar'])}{unit(row)}, bar"
        f" {figure(row['bar'])}. {reasons.get(row['row'], 'No reason is known yet.')}"
        for row in rows
    ]
    return "\n".join(lines) or "None in this run."


def unit(row):
    """The unit of the quantity that the bar applies to; a ratio has none."""
    if row["ratio"] is not None:
        return ""
    return " " + {"bytes": "bytes of machine code"}.get(row["unit"], row["unit"])


def first_writes(about):
    """The time of the first and of the second write to the machine's memory."""
    memory = about.get("free memory")
    if not memory:
        return ""
    first, second = memory["seconds"]
    return (
        f"  Before them {memory['GiB']} GiB of free memory were written, a word in each huge page:"
        f" {first} s the first time, {second} s the second.\n"
        "  A virtual machine gets its memory from the host at the first write to a page, and a copy"
        " that gets such pages took up to 1.8 times as long.\n"
    )


def versions(about):
    known = dict(about.get("versions", {}))
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False)
    if rustc.returncode == 0:
        known["rustc"] = rustc.stdout.split()[1]
    return ", ".join(f"{name} {version}" for name, version in known.items())


def page(groups, about):
    date = about.get("date", datetime.date.today().isoformat())
    load = about.get("load")
    machine = about.get("machine", "unknown")
    busy = f", load average {load}" if load is not None else ""
    missing, excluded = misses(groups)
    parts = [
        "<!-- Generated by `cargo xtask bench page`; do not edit. -->",
        "# Benchmarks",
        "Generated by `cargo xtask bench page` from the figures of `cargo xtask bench all`;"
        " only the reasons for missed bars are written by hand.",
        f"Measured on {date}: {machine}{busy}. {versions(about)}.",
        COMMANDS,
        "![Times of other libraries, divided by the time of this crate](../pictures/benchmarks.svg)",
        METHOD,
        "## Rows that miss their bar",
        missing,
        "## Rows whose bar no code can meet",
        excluded,
    ]
    for name, rows in groups.items():
        more = details(rows)
        about_it = [READING] if name == "reading" else []
        parts += [f"## {GROUPS.get(name, name)}", *about_it, summary(rows)]
        parts += [more] if more else []
    parts += ["## Besides the bars", BEYOND.replace("{first_writes}\n", first_writes(about))]
    parts += [
        "## The floor",
        "What `floor` means in the Rust rows: `bench/src/floor.rs`, as it is. Rows that name"
        " the shape of a struct have the floor of that shape, in `bench/src/shapes/floor.rs`.",
        "```rust,ignore\n" + (ROOT / "bench/src/floor.rs").read_text().rstrip() + "\n```",
    ]
    return "\n\n".join(parts) + "\n"


def seconds(value, unit):
    """A time with three digits, in the unit that suits it."""
    value *= {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    size = next(size for size in (1e9, 1e6, 1e3, 1) if value >= size or size == 1)
    shown = figure(value / size) if value / size < 100 else f"{value / size:.0f}"
    return f"{shown} {({1e9: 's', 1e6: 'ms', 1e3: 'µs', 1: 'ns'})[size]}"


def main():
    groups, about = rows_in(Path(sys.argv[1]))
    if not groups:
        sys.exit("there are no figures; run `cargo xtask bench all`")
    (DOCS / "pictures").mkdir(exist_ok=True)
    picture.draw(groups, seconds, DOCS / "pictures" / "benchmarks")
    (DOCS / "generated" / "benchmarks.md").write_text(page(groups, about))


main()
