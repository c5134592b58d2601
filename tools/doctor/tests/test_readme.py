"""The README's reports are what the command line prints, and its Python runs."""

import os
import re
import shlex

import pytest
from conftest import HERE, doctor, python, require

README = HERE.parent / "README.md"
BLOCK = re.compile(r"<!-- report: ([^\n]*) -->\n```text\n(.*?)```\n", re.DOTALL)
REPORTS = [match[1] for match in BLOCK.finditer(README.read_text())]


def settled(text):
    """A report without what is another one each time: addresses, and how much
    better than 64 bytes an allocator aligned; and without the Python that runs it."""
    text = re.sub(r"0x[0-9a-f]+", "0x55e0c0de4f00", text)
    text = re.sub(r"\.cpython-\S+?\.so", ".so", text)
    return re.sub(r"aligned to (128|256|512|1024|2048|4096) bytes", "aligned to 64 bytes", text)


@pytest.mark.parametrize("arguments", REPORTS)
def test_reports(arguments):
    for library in ("torch", "np"):
        if f"{library}." in arguments:
            require({"np": "numpy"}.get(library, library))
    printed = settled(doctor(*shlex.split(arguments)).stdout)
    assert printed.strip()
    text = README.read_text()
    (block,) = (match for match in BLOCK.finditer(text) if match[1] == arguments)
    if os.environ.get("DLPACK_BLESS"):
        README.write_text(text[: block.start(2)] + printed + text[block.end(2) :])
    else:
        assert block[2] == printed, "run this with DLPACK_BLESS=1, and read the README"


def test_there_are_reports():
    assert len(REPORTS) == 2


def test_python():
    require("numpy")
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    ended = python("-c", code)
    assert ended.returncode == 0 and "tensorflow" in ended.stdout, ended


def test_arguments_are_those_of_the_command():
    said = doctor("--help").stdout
    for option in re.findall(r"^\| `(--[a-z]+)", README.read_text(), re.MULTILINE):
        assert option in said
