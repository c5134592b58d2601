"""Interpreters that are not the first of their process. Rule L18."""

import subprocess
import sys
import textwrap

import dlpack_example
import dlpack_testing as testing
import pytest

MODULES = (dlpack_example, testing)

try:
    import _interpreters as interpreters
except ImportError:
    interpreters = pytest.importorskip("_xxsubinterpreters")


def create(*, shares_gil):
    """A new interpreter, with the words of this version of Python."""
    if sys.version_info >= (3, 13):
        return interpreters.create("legacy" if shares_gil else "isolated")
    return interpreters.create(isolated=not shares_gil)


def run(code, *, shares_gil=True):
    """Runs code in a new interpreter; what it raised, as text."""
    interpreter = create(shares_gil=shares_gil)
    try:
        raised = interpreters.run_string(interpreter, textwrap.dedent(code))
        return raised and f"{raised.type.__name__}: {raised.msg}"
    except getattr(interpreters, "RunFailedError", ()) as raised:
        return str(raised)
    finally:
        interpreters.destroy(interpreter)


def load(module, name=None):
    """Words that load a module from its file."""
    return f"""
import importlib.util
spec = importlib.util.spec_from_file_location({name or module.__name__!r},
                                              {module.__file__!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
"""


@pytest.mark.parametrize("shares_gil", [True, False])
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_classes_are_refused(module, shares_gil):
    """A deleter could not attach to them. It is an ImportError, as often as one
    tries, and the first interpreter does not notice."""
    for _ in range(3):
        raised = run(load(module), shares_gil=shares_gil)
        assert raised is not None and "ImportError" in raised.split(":")[0]
        assert "interpreter" in raised
    capsule = testing.Single([1.0]).__dlpack__(max_version=(1, 0))
    assert testing.import_tensor(capsule).floats() == [1.0]


def test_the_first_interpreter_may_come_second():
    """A module that was refused elsewhere is loaded where it may be."""
    program = f"""
import sys
sys.path[:0] = {[path for path in sys.path if path]!r}
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
interpreter = interpreters.create()
try:
    raised = interpreters.run_string(interpreter, {load(testing)!r})
except interpreters.RunFailedError as error:
    raised = error
assert raised is not None
interpreters.destroy(interpreter)
import dlpack_testing as testing
print(testing.import_tensor(testing.Single([1.0])).floats())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    if "PyO3 modules do not yet support subinterpreters" in done.stderr:
        pytest.skip("this PyO3 takes the interpreter that tried first for the only one")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1.0]\n", "")


def test_types_that_come_and_go():
    """What is remembered of a type is forgotten with the type, so that no type of a
    later interpreter is taken for it. Functions can be loaded there, classes of tensors
    cannot."""
    code = (
        load(testing, "dlpack_testing_functions")
        + """
class Plain:
    def __dlpack__(self, **keywords):
        raise BufferError("plain")

class WithTable(Plain):
    __dlpack_c_exchange_api__ = module.scripted_table()

for _ in range(2):
    try:
        module.import_tensor(Plain())
    except BufferError as refusal:
        assert str(refusal) == "plain"
    else:
        raise AssertionError
    assert module.import_tensor(WithTable()).floats() == [1.0, 2.0, 3.0]
"""
    )
    testing.script()
    for _ in range(20):
        raised = run(code)
        if raised is not None:
            # Series of PyO3 before 0.28 load a module in one interpreter only.
            assert "do not yet support subinterpreters" in raised
            return
    assert testing.scripted_calls()["export"] == 40
