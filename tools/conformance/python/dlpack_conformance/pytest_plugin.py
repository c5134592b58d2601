"""A pytest plug-in. The fixture `dlpack_case` makes one test of each case for the importer or
the producer that a marker names.

    @pytest.mark.dlpack_importer("my_library:from_dlpack")
    def test_import(dlpack_case):
        dlpack_case.check()

    @pytest.mark.dlpack_producer(make=lambda: my_library.zeros((2, 3)))
    def test_export(dlpack_case):
        dlpack_case.check()
"""

import os
import sys
from dataclasses import dataclass, field
from typing import Any, Callable

import pytest

FIXTURE = "dlpack_case"
MARKERS = (
    "dlpack_importer(spec, only=None, known={}, seconds=10.0): the importer, as "
    "module:function, of the cases that the fixture `dlpack_case` passes to it",
    "dlpack_producer(make, known={}): a function that creates an object with `__dlpack__`, "
    "for the checks of the fixture `dlpack_case`",
)
# The rows of each importer, or the error that prevents them.
RESULTS = pytest.StashKey[dict]()


def pytest_configure(config):
    """Registers the markers."""
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    config.stash[RESULTS] = {}


@dataclass(frozen=True)
class ImporterCase:
    """One tensor for an importer. It is imported in a child process."""

    spec: str
    name: str
    seconds: float
    session: Any = field(default=None, compare=False, repr=False)

    def check(self):
        """Fails with the outcome if it is a finding; skips if the importer did not request
        this tensor."""
        row = self.rows()[self.name]
        words = f"{self.name} ({row.clause}): expected {row.expected}, got {row.got}"
        if row.finding:
            pytest.fail(f"{words}\n{row.detail}".rstrip(), pytrace=False)
        if row.outcome == "not asked for":
            pytest.skip(f"{words}; {row.detail}")

    def rows(self):
        """The rows of all selected cases of this importer. The first call runs them, because
        one child process imports the library for all."""
        results = self.session.config.stash[RESULTS]
        key = (self.spec, self.seconds)
        if key not in results:
            results[key] = self.run()
        if isinstance(results[key], str):
            pytest.fail(results[key], pytrace=False)
        return results[key]

    def run(self):
        """The rows by name; a text where the importer cannot be imported."""
        from .running import NoImporter, check

        chosen = set()
        for item in self.session.items:
            case = getattr(item, "callspec", None) and item.callspec.params.get(FIXTURE)
            if isinstance(case, ImporterCase):
                if (case.spec, case.seconds) == (self.spec, self.seconds):
                    chosen.add(case.name)
        with pytest.MonkeyPatch.context() as patch:
            # The child process imports what this process can import.
            patch.setenv("PYTHONPATH", os.pathsep.join(path or os.curdir for path in sys.path))
            try:
                rows = check(
                    self.spec, only=lambda trial: trial.name in chosen, seconds=self.seconds
                )
            except NoImporter as error:
                return f"there is no importer `{self.spec}`: {error}"
        return {row.case: row for row in rows}


@dataclass(frozen=True)
class ProducerCase:
    """One check of a producer. It runs in this process."""

    name: str
    make: Callable[[], Any]
    function: Callable[[Any], None]

    def check(self):
        """Fails with the violated rule; skips if the producer does not support what the check
        needs, and need not."""
        from . import producer

        try:
            self.function(self.make())
        except producer.Unsupported as error:
            pytest.skip(f"{self.name}: {error}")
        except producer.Violation as error:
            words = f"{self.name}: {error}"
        except Exception as error:
            words = f"{self.name}: the producer raised {type(error).__name__}: {error}"
        else:
            return
        pytest.fail(words, pytrace=False)


def importer_cases(spec, *, only=None, seconds=10.0):
    """The cases of an importer. Cases without a requirement for consumers are left out."""
    from . import _native

    if ":" not in spec:
        raise pytest.UsageError(f"expected an importer as module:function, got {spec!r}")
    return [
        ImporterCase(spec, trial.name, seconds)
        for trial in _native.trials()
        if "object" in trial.ways
        and trial.duty != "undefined"
        and (only is None or only in trial.name or only in trial.clause)
    ]


def producer_cases(*, make):
    """The checks of a producer."""
    from . import producer

    return [ProducerCase(name, make, function) for name, function in producer.CHECKS.items()]


def pytest_generate_tests(metafunc):
    """One test for each case of each marker."""
    if FIXTURE not in metafunc.fixturenames:
        return
    parameters = []
    for kind, cases_of in (
        ("dlpack_importer", importer_cases),
        ("dlpack_producer", producer_cases),
    ):
        for marker in metafunc.definition.iter_markers(kind):
            keywords = dict(marker.kwargs)
            known = keywords.pop("known", {})
            cases = cases_of(*marker.args, **keywords)
            if unknown := set(known) - {case.name for case in cases}:
                names = ", ".join(sorted(unknown))
                raise pytest.UsageError(f"{metafunc.definition.nodeid}: unknown cases: {names}")
            for case in cases:
                marks = []
                if case.name in known:
                    marks.append(pytest.mark.xfail(reason=known[case.name], strict=True))
                name = f"{case.spec}-{case.name}" if kind == "dlpack_importer" else case.name
                parameters.append(pytest.param(case, id=name, marks=marks))
    if not parameters:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: `{FIXTURE}` requires the marker `dlpack_importer` "
            "or `dlpack_producer`, with at least one case"
        )
    metafunc.parametrize(FIXTURE, parameters, indirect=True)


@pytest.fixture
def dlpack_case(request):
    """A case of the importer or the producer that a marker names; `check` runs it."""
    case = request.param
    if isinstance(case, ImporterCase):
        object.__setattr__(case, "session", request.session)
    return case
