"""`dlpack_conformance`: every kind of verdict, from importers that are broken on purpose,
and the output of its command line."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import conformance_tool

tool = conformance_tool()
ORDINARY, EMPTY = "struct: an ordinary one", "struct: [0, 3] at NULL + 0x0"
NEGATIVE, OFFSET = "struct: shape [-1]", "struct: an offset to the second row"
NO_CONTEXT = "struct: NULL manager_ctx"
FEW = {ORDINARY, EMPTY, NEGATIVE}
HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """Lets child processes import the modules that these tests import."""
    folders = [str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))


def rows_of(function, names=FEW, **keywords):
    """The rows of some cases by name."""
    spec = f"broken_importers:{function}"
    rows = tool.check(spec, only=lambda trial: trial.name in names, **keywords)
    assert {row.case for row in rows} == set(names)
    return {row.case: row for row in rows}


def findings_of(function, names=FEW, **keywords):
    """The findings, by name of the case."""
    rows = rows_of(function, names, **keywords)
    return {name: row.got for name, row in rows.items() if row.finding}


def test_what_cannot_be_is_accepted():
    """An importer that accepts every tensor has findings only for the tensors that must be
    rejected."""
    assert findings_of("takes_everything") == {NEGATIVE: "accepted"}


def test_what_is_sound_is_refused():
    """An importer that rejects every tensor has findings only for the tensors that must be
    accepted."""
    refused = "refused (BufferError)"
    assert findings_of("refuses_everything") == {ORDINARY: refused, EMPTY: refused}


def test_a_panic():
    """A Rust panic does not count as a rejection."""
    found = findings_of("panics")
    assert found == dict.fromkeys(FEW, "panicked")


@pytest.mark.parametrize(
    ("function", "how"), [("crashes", "SIGABRT"), ("exits", "exit status 7")]
)
def test_a_crash(function, how):
    """Every case that crashes has the verdict, and the next case runs in a new process."""
    assert findings_of(function) == dict.fromkeys(FEW, f"crashed ({how})")


def test_the_last_words_of_a_library():
    """The message of an aborting library is the reason; the stack frames below it are left
    out."""
    row = rows_of("crashes_with_a_trace", {ORDINARY})[ORDINARY]
    assert row.detail == "Check failed: rank <= 8"


def test_a_hang():
    """A case that exceeds the time limit ends with a verdict."""
    rows = rows_of("hangs", {ORDINARY, NEGATIVE}, seconds=0.3)
    assert {row.got for row in rows.values()} == {"hung"}
    assert all("0.3 s" in row.detail and row.finding for row in rows.values())


def test_a_leak():
    """Accepted tensors whose deleter never runs are reported."""
    found = findings_of("leaks", {ORDINARY, NEGATIVE})
    assert found == dict.fromkeys((ORDINARY, NEGATIVE), "accepted, leaked")


@pytest.mark.parametrize("function", ["deletes_twice", "forgets_to_rename"])
def test_a_deleter_that_is_called_twice(function):
    """A second call of the deleter is found, whether by the importer or by the capsule that
    it did not rename."""
    assert findings_of(function)[ORDINARY] == "accepted, deleted twice"


def test_a_deleter_that_is_called_later_again():
    """The second call is found at the end of the run, and reported for the case that owns
    the deleter."""
    found = findings_of("deletes_again_later", {ORDINARY, EMPTY})
    assert found == {ORDINARY: "accepted, deleted twice, later"}


def test_a_tensor_that_is_somebody_elses():
    """Calling the deleter of a capsule that was already consumed is a finding."""
    name = "object: capsule whose tensor was taken"
    assert findings_of("deletes_what_was_taken", {name}) == {
        name: "accepted, deleted, not its own"
    }


def test_a_read_after_the_deleter():
    """The verdict names the memory that was read."""
    row = rows_of("reads_after_delete", {ORDINARY})[ORDINARY]
    assert row.finding and row.got == "crashed (SIGSEGV), read after delete"
    assert row.detail.startswith("the struct after the deleter was accessed")


def test_a_read_beyond_the_end():
    """The verdict names the array that was read beyond its end."""
    row = rows_of("reads_too_far", {ORDINARY})[ORDINARY]
    assert row.finding and row.got == "crashed (SIGSEGV), read beyond the end"
    assert row.detail.startswith("the shape beyond its end was accessed")


def test_a_null_that_is_followed():
    """The verdict states that NULL was dereferenced."""
    name = "struct: NULL shape of 1"
    row = rows_of("follows_null", {name})[name]
    assert row.finding and row.got == "crashed (SIGSEGV), NULL followed"


def test_each_crash_has_its_own_reason():
    """The message of one crash is not reported for the next one."""
    name = "struct: NULL shape of 1"
    rows = rows_of("crashes_in_two_ways", {name, NEGATIVE})
    assert rows[name].got == "crashed (SIGSEGV), NULL followed"
    assert rows[NEGATIVE].got == "crashed (SIGABRT)" and "NULL" not in rows[NEGATIVE].detail


def test_the_context_is_the_producers():
    """`manager_ctx` must not be dereferenced. If it is NULL, the deleter must run all the
    same."""
    rows = rows_of("follows_the_context", {ORDINARY, NO_CONTEXT})
    assert rows[NO_CONTEXT].outcome == "accepted" and not rows[NO_CONTEXT].finding
    assert rows[ORDINARY].finding
    assert rows[ORDINARY].got == "crashed (SIGSEGV), manager_ctx followed"
    assert rows[ORDINARY].detail.startswith("what `manager_ctx` points at was accessed")
    found = findings_of("leaks_without_a_context", {ORDINARY, NO_CONTEXT})
    assert found == {NO_CONTEXT: "accepted, leaked"}


def test_wrong_elements():
    """Wrong elements are found in the tensor that the result exports."""
    row = rows_of("forgets_the_offset", {OFFSET})[OFFSET]
    assert row.finding and row.got == "accepted, wrong values"
    assert "[0, 1, 2] in place of [3, 4, 5]" in row.detail


def test_a_crash_in_company():
    """A case that crashes only after other cases is run again alone, and the crash is still
    reported."""
    rows = rows_of("crashes_in_company")
    first, second, third = rows.values()
    assert first.outcome == third.outcome == "accepted"
    assert second.got == "crashed (SIGABRT)" and second.finding
    assert "not in a process of its own" in second.detail
    alone = rows_of("crashes_in_company", alone=True)
    assert all(row.outcome == "accepted" for row in alone.values())


def test_what_is_not_asked_for_is_not_counted():
    """A consumer of the legacy struct never sees the versioned one."""
    rows = rows_of("asks_for_legacy", {NEGATIVE}).values()
    assert [(row.outcome, row.mark, row.finding) for row in rows] == [
        ("not asked for", "n/a", False)
    ]


def test_undefined_cases_are_shown_and_not_counted():
    """Cases that the standard leaves undefined have no findings, whatever the outcome."""
    name = "struct: ndim 2147483647, shape nowhere"
    row = rows_of("crashes", {name})[name]
    assert row.got == "crashed (SIGABRT)" and row.mark == "shown" and not row.finding


def test_who_never_asks_has_taken_nothing():
    """An importer that never calls `__dlpack__` has no verdict, except for objects that
    have no `__dlpack__`."""
    name = "object: object without methods"
    rows = rows_of("asks_for_nothing", {ORDINARY, NEGATIVE, name})
    assert [rows[case].mark for case in (ORDINARY, NEGATIVE)] == ["n/a", "n/a"]
    assert "never called `__dlpack__`" in rows[ORDINARY].detail
    assert rows[name].got == "accepted" and rows[name].finding


def test_giving_up():
    """The run stops after `give_up` consecutive hangs; cases that ran have their rows."""
    seen = []
    rows = tool.check("broken_importers:hangs", seconds=0.1, give_up=2, progress=seen.append)
    assert [row.got for row in rows] == ["hung", "hung"] and rows == seen


COMMAND = [sys.executable, "-m", "dlpack_conformance"]


def command(*arguments):
    """Runs the command line in a process of its own."""
    options = {"capture_output": True, "text": True, "timeout": 120}
    done = subprocess.run([*COMMAND, *arguments], **options)
    return done.returncode, done.stdout, done.stderr


def test_the_command_line():
    """A table with aligned columns, a summary, and a status."""
    status, out, _ = command("broken_importers:takes_everything", "--only", "NULL shape")
    lines = out.splitlines()
    assert status == 1 and lines[0].startswith("case") and lines[1].startswith("----")
    column = lines[0].index("expected")
    assert all(line[column:].startswith("refuse") for line in lines[2:4])
    assert "6 cases, 0 ok, 6 findings" in out and "6 accepted what cannot be" in out
    status, out, _ = command("broken_importers:refuses_everything", "--only", "NULL shape")
    assert status == 0 and "6 cases, 6 ok, 0 findings" in out
    status, out, _ = command(
        "broken_importers:takes_everything", "--only", ORDINARY, "--findings"
    )
    assert "struct" not in out.split("broken_importers")[0]


def test_json():
    """The JSON holds every field."""
    status, out, _ = command("broken_importers:takes_everything", "--only", NEGATIVE, "--json")
    row = next(row for row in json.loads(out) if row["case"] == NEGATIVE)
    assert status == 1 and row["clause"] == "DLTensor.shape"
    assert (row["expected"], row["got"], row["mark"]) == ("refuse", "accepted", "FINDING")


def test_the_list():
    """The list names every case with its requirement, and explains the clauses."""
    status, out, _ = command("--list")
    assert status == 0
    for trial in tool.trials():
        assert trial.name in out
    for name, words in tool.clauses():
        assert f"{name}: {words}" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name the importer as module:function"),
        (["numpy"], "name the importer as module:function"),
        (["numpy:"], "name the importer as module:function"),
        (["numpy.from_dlpack"], "did you mean numpy:from_dlpack?"),
        (["broken_importers:NUMBER"], "is of type `int`, which cannot be called"),
        (["numpy:from_dlpack", "--seconds", "0"], "not a time in which a case can end"),
        (["no_such_module:f"], "ModuleNotFoundError"),
        (["numpy:no_such_function"], "AttributeError"),
        (["numpy:from_dlpack", "--only", "no such case"], "no case has"),
        (["numpy:from_dlpack", "--no-such-option"], "unrecognized arguments"),
    ],
)
def test_wrong_command_lines(arguments, words):
    """Invalid arguments are reported, with status 2."""
    status, out, err = command(*arguments)
    assert status == 2 and words in err and out == ""


def test_a_module_that_ends_the_process(tmp_path, monkeypatch):
    """If the import ends the process, the error shows the last output."""
    words = "import os, sys\nprint('the library is broken', flush=True)\nos.abort()\n"
    (tmp_path / "ends_at_once.py").write_text(words)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    status, out, err = command("ends_at_once:f", "--only", ORDINARY)
    assert status == 2 and out == ""
    assert "no importer `ends_at_once:f`" in err and "the library is broken" in err


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("wants_two", "missing 1 required positional argument: 'stream'"),
        ("asks_for_nothing", "never called `__dlpack__`"),
        ("takes_everything", "no elements were compared: `NoneType` has no `__dlpack__`"),
    ],
)
def test_notes(function, words):
    """The notes name the causes of a meaningless table, such as a wrapper with the wrong
    signature."""
    _, _, err = command(f"broken_importers:{function}", "--only", "an ordinary one")
    assert words in err


def test_an_importer_that_never_answers():
    """An importer that never returns does not cost one time limit for each case."""
    status, out, err = command("broken_importers:hangs", "--seconds", "0.1")
    assert status == 1 and "5 cases, 0 ok, 5 findings" in out
    assert "stopped: 5 cases in a row hung" in err


def test_who_reads_no_further():
    """A closed pipe is not an error."""
    arguments = [*COMMAND, "--list"]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""


def test_an_interrupt(tmp_path, monkeypatch):
    """An interrupted run prints the rows that it has."""
    begun = tmp_path / "begun"
    monkeypatch.setenv("DLPACK_HANGS", str(begun))
    importer = "broken_importers:hangs_and_says_so"
    arguments = [*COMMAND, importer, "--seconds", "60", "--only", ORDINARY]
    process = subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell without job control starts background commands with SIGINT ignored, and
        # child processes inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        deadline = time.monotonic() + 60
        while not begun.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 1 and "0 cases" in out
    assert "stopped: interrupted; 1" in err or "stopped: interrupted; 2" in err
