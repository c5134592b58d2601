"""Counts the instructions of the hot paths, and compares them with the record.

    count.py TARGET

`TARGET` is cargo's target folder; `TARGET/bench/instructions.json` is for the page of benchmarks.
Counted is what this project's code does, not what `malloc` and `memcpy` do: which of those a C library
chooses depends on the processor. Counts of another compiler than the record's are printed and compared
with nothing. `DLPACK_BLESS=1` writes the record.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORD = HERE / "record.txt"
PACKAGE = "dlpack-instructions"
# The function in whose calls instructions are counted.
MEASURED = "*measured*"
# A larger change, in percent, must be recorded.
TOLERANCE = 3.0
HEAD = """\
# Instructions of this project's own code per operation. The scheduled step `instructions` fails
# where they change by more than 3 %; `DLPACK_BLESS=1 cargo xtask bench instructions`
# writes what is so now.
"""


def build(target):
    # One codegen unit, because inlining must not depend on how a crate is split.
    profile = {"CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "1", "CARGO_PROFILE_RELEASE_DEBUG": "0"}
    env = {**os.environ, **profile, "CARGO_INCREMENTAL": "0"}
    env.pop("RUSTFLAGS", None)
    command = ["cargo", "build", "--release", "--locked", "--package", PACKAGE, "--target-dir", target]
    subprocess.run(command, cwd=HERE, env=env, check=True)
    return str(target / "release" / PACKAGE)


def own(profile, program):
    """Instructions in functions of one object, by the file that callgrind writes."""
    names, inside, of_call, total = {}, False, False, 0
    for line in profile.splitlines():
        if found := re.match(r"(c?ob)=(\(\d+\))(?: (.*))?$", line):
            # `(6) path` where it is first named, `(6)` after that.
            kind, number, path = found.groups()
            path = names.setdefault(number, path) if path else names.get(number)
            inside = path == program if kind == "ob" else inside
        elif line.startswith("calls="):
            # The next line is the inclusive cost of the call, which is listed separately.
            of_call = True
        elif re.match(r"[0-9+*-]", line):
            if inside and not of_call:
                total += int(line.rsplit(" ", 1)[-1])
            of_call = False
    return total


def count(program, out):
    times, *rows = subprocess.check_output([program], text=True).splitlines()
    counts = {}
    for row in rows:
        tool = ["--tool=callgrind", f"--toggle-collect={MEASURED}", f"--callgrind-out-file={out}"]
        subprocess.run(["valgrind", *tool, program, row], check=True)
        found = own(out.read_text(), program)
        if not found:
            sys.exit(f"callgrind counted nothing in `{row}`.")
        counts[row] = found / float(times)
    return counts


def compiler():
    """The compiler and its target: the counts depend on both."""
    told = subprocess.check_output(["rustc", "-vV"], text=True).splitlines()
    host = next(line.removeprefix("host: ") for line in told if line.startswith("host: "))
    return f"{told[0]}, {host}"


def sections(text):
    """The recorded counts of each compiler."""
    parts = re.split(r"(?m)^\[(.*)\]$", text)[1:]
    rows = re.compile(r"(?m)^(.+): ([\d.]+)$")
    return {name: dict(rows.findall(part)) for name, part in zip(parts[::2], parts[1::2])}


def compare(recorded, counts):
    """The number of rows that have changed, come or gone, and a line for each row."""
    changed = 0
    for row in sorted({*recorded, *counts}):
        before, now = recorded.get(row), counts.get(row)
        line = f"{row:<40} recorded {before or '-':>8}, now {'-' if now is None else f'{now:.1f}':>8}"
        percent = None
        if before is not None and now is not None:
            percent = (now - float(before)) / float(before) * 100
            line += f" ({percent:+.1f} %)"
        if percent is None or abs(percent) > TOLERANCE:
            changed += 1
            line += " CHANGED"
        print(line)
    return changed


def main(target):
    target = Path(target)
    folder = target / "instructions"
    counts = count(build(folder), folder / "callgrind.out")
    name = compiler()
    rows = [{"group": "instructions", "row": row, "ours": round(n, 1)} for row, n in counts.items()]
    common = {"unit": "instructions", "compiler": name, "floor": None, "ratio": None, "bar": None}
    (target / "bench").mkdir(exist_ok=True)
    text = json.dumps({"rows": [row | common | {"peers": {}} for row in rows]}, indent=1)
    (target / "bench" / "instructions.json").write_text(text + "\n")
    known = sections(RECORD.read_text() if RECORD.exists() else "")
    if "DLPACK_BLESS" in os.environ:
        known[name] = {row: f"{n:.1f}" for row, n in sorted(counts.items())}
        parts = [f"[{of}]\n" + "".join(f"{k}: {v}\n" for k, v in rows.items()) for of, rows in known.items()]
        RECORD.write_text("\n".join([HEAD, *parts]))
    elif name not in known:
        print(f"the record has no counts of `{name}`, so nothing is compared: {counts}")
    elif changed := compare(known[name], counts):
        sys.exit(
            f"{changed} hot paths take other numbers of instructions than record.txt says, by more than"
            f" {TOLERANCE} %; where that is meant, commit what `DLPACK_BLESS=1 cargo xtask bench"
            " instructions` writes."
        )


if __name__ == "__main__":
    main(sys.argv[1])
