"""A report, as JSON that the extension module writes and reads."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from . import _native


class Report:
    """The result of an examination."""

    def __init__(self, text: str) -> None:
        self._json = text

    @property
    def data(self) -> dict[str, Any]:
        """All facts, findings and verdicts, as plain data."""
        found: dict[str, Any] = json.loads(self._json)
        return found

    @property
    def findings(self) -> list[dict[str, str]]:
        """Each a ``severity`` (error, warning, note), a ``rule`` and a ``message``."""
        found: list[dict[str, str]] = self.data["findings"]
        return found

    @property
    def verdicts(self) -> list[dict[str, str]]:
        """Each a ``consumer``, its ``version``, a ``fit``, and ``why``."""
        found: list[dict[str, str]] = self.data["verdicts"]
        return found

    @property
    def healthy(self) -> bool:
        """Whether nothing worse than a note was found."""
        return _native.is_healthy(self._json)

    def add_check(self, name: str, severity: str, seen: str) -> "Report":
        """A copy of the report with one more check and its finding."""
        data = self.data
        data["checks"].append({"name": name, "severity": severity, "seen": seen})
        if severity != "note":
            message = f"{name}: {seen}"
            found = {"severity": severity, "rule": "live", "message": message}
            data["findings"].insert(0, found)
        return Report(json.dumps(data))

    def json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.data, indent=2)

    def text(self, *, colour: bool = False) -> str:
        """The report as text."""
        return _native.render(self._json, colour=colour)

    def __str__(self) -> str:
        return self.text()


def examine(
    obj: object,
    *,
    live: bool = False,
    skip: Sequence[str] = (),
    announce: Callable[[str], object] | None = None,
) -> Report:
    """Examines an object, in this process.

    Its pointers are read with care, but its code runs: the command line has it run
    in another process. ``live`` tries what exports must stand (``CHECKS``).
    """
    return Report(_native.examine(obj, live=live, skip=skip, announce=announce))
