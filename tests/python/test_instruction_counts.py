"""`quality/instructions/count.py` counts what callgrind wrote, and notices changes."""

import importlib.util
from pathlib import Path

PATH = Path(__file__).resolve().parents[2] / "quality" / "instructions" / "count.py"
SPEC = importlib.util.spec_from_file_location("instruction_counts", PATH)
count = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(count)

PROFILE = """\
ob=(6) /t/rows
fn=(1) rows::measured
0 1
cob=(3) /lib/libc.so.6
cfn=(2) malloc
calls=1000 0
0 90000
+3 52

ob=(3)
fn=(2)
0 90000

ob=(6)
fn=(4) rows::main
* 7
"""


def test_only_the_own_object_counts_and_no_call_twice():
    assert count.own(PROFILE, "/t/rows") == 1 + 52 + 7
    assert count.own(PROFILE, "/lib/libc.so.6") == 90000


def test_changes_are_seen_in_both_directions():
    recorded = {"a: b": "100.0", "c": "100.0"}
    assert count.sections("# x\n[rustc 1]\na: b: 100.0\nc: 100.0\n") == {"rustc 1": recorded}
    assert count.compare(recorded, {"a: b": 102.9, "c": 97.1}) == 0
    assert count.compare(recorded, {"a: b": 103.1, "c": 96.9}) == 2
    assert count.compare(recorded, {"a: b": 100.0, "d": 1.0}) == 2
