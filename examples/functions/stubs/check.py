"""Checks the stubs with mypy, and with pyright where it is installed, in strict mode.

`cargo xtask example template` runs it in the environment that has mypy.
"""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMANDS = {
    "mypy": ["mypy", "--strict", "--no-incremental", "--no-error-summary"],
    # The files say that pyright is to be strict.
    "pyright": ["pyright", "--pythonpath", sys.executable],
}


def lines_of(name, file):
    """The lines with errors, and all that the checker prints."""
    command = [sys.executable, "-m", *COMMANDS[name], file]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    text = done.stdout + done.stderr
    found = re.findall(rf"{file}:(\d+)(?::\d+)*(?::| -) error", text)
    assert found or done.returncode == 0, text
    return {int(line) for line in found}, text


def main():
    checked = [name for name in COMMANDS if importlib.util.find_spec(name)]
    assert "mypy" in checked, "mypy is not installed"
    marked = (HERE / "rejected.py").read_text().splitlines()
    expected = {line for line, text in enumerate(marked, 1) if text.endswith("# error")}
    for name in checked:
        lines, text = lines_of(name, "accepted.py")
        assert not lines, text
        lines, text = lines_of(name, "rejected.py")
        assert lines == expected, text
    print("the stubs are accepted in strict mode by", " and ".join(checked))


if __name__ == "__main__":
    main()
