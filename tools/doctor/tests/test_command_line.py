"""The command line: its output and its exit status."""

import json

import pytest
from conftest import doctor, require


def test_exit_status():
    assert doctor("--import", "broken", "broken.healthy()").returncode == 0
    assert doctor("--import", "broken", "broken.null_data()").returncode == 1
    assert doctor("object()").returncode == 1


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("1 +", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        ("no_module_has_this_name.x", "no module is"),
        ("__import__('os').abort()", "SIGABRT"),
    ],
)
def test_what_cannot_be_evaluated(expression, words):
    ended = doctor(expression)
    assert ended.returncode == 2 and words in ended.stderr
    assert not ended.stdout


def test_arguments():
    ended = doctor()
    assert ended.returncode == 2 and "expression" in ended.stderr
    assert doctor("--try", "nobody", "3").returncode == 2


def test_modules_import_themselves():
    require("numpy")
    for expression in ("np.zeros(3)", "numpy.zeros(3)"):
        ended = doctor("--json", expression)
        assert json.loads(ended.stdout)["type_name"] == "numpy.ndarray", ended.stderr
    ended = doctor("--import", "numpy=n", "n.zeros(3)")
    assert ended.returncode == 0


def test_colours():
    broken = ("--import", "broken", "broken.null_data()")
    assert "\x1b[31merror" in doctor("--colour", "always", *broken).stdout
    for arguments in ((), ("--colour", "never"), ("--colour", "auto")):
        assert "\x1b" not in doctor(*arguments, *broken).stdout


def test_what_the_object_prints_is_not_in_the_report():
    ended = doctor("--json", "(print('noise'), __import__('broken').healthy())[1]")
    assert json.loads(ended.stdout)["healthy"]


def test_json_and_text_say_the_same():
    arguments = ("--live", "--import", "broken", "broken.misaligned()")
    found = json.loads(doctor("--json", *arguments).stdout)
    text = doctor(*arguments).stdout
    for finding in found["findings"]:
        assert f"{finding['message']} [{finding['rule']}]" in text
    for verdict in found["verdicts"]:
        assert f"  {verdict['consumer']} {verdict['version']}" in text
    for check in found["checks"]:
        assert check["seen"] in text
