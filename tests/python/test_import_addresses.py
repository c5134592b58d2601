"""No address that an import calls comes from an object that Python code can replace."""

import subprocess
import sys
from pathlib import Path

import pytest


def run_in_child(code):
    """Runs code in an interpreter of its own, where nothing was imported before."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)


FAKE_CTYPES = """if True:
    import sys, types

    class Address:
        value = 0x41414141

    fake = types.ModuleType("ctypes")
    fake.pythonapi = types.SimpleNamespace(
        PyObject_VectorcallMethod=object(),
        PyThreadState_GetUnchecked=object(),
        _PyThreadState_UncheckedGet=object(),
        PyGILState_GetThisThreadState=object(),
    )
    fake.c_void_p = object()
    fake.cast = lambda function, kind: Address
    sys.modules["ctypes"] = fake
"""

PATCHED_CAST = """if True:
    import ctypes
    from unittest import mock

    mock.patch("ctypes.cast", lambda function, kind: ctypes.c_void_p(0x41414141)).start()
"""

NO_CTYPES = """if True:
    import sys

    sys.modules["ctypes"] = None
"""


@pytest.mark.parametrize(
    "patch", [FAKE_CTYPES, PATCHED_CAST, NO_CTYPES], ids=["module", "function", "none"]
)
def test_no_address_comes_from_ctypes(patch):
    """Python code can replace the module and its functions. Rule L26."""
    run_in_child(
        patch
        + """if True:
        import dlpack_testing as testing

        class Producer:
            tensor = testing.Writable([1.0, 2.0])
            def __dlpack__(self, **keywords):
                return self.tensor.__dlpack__(**keywords)
            def __dlpack_device__(self):
                return (1, 0)

        held = testing.import_tensor(Producer())
        assert held.version() == (1, 3) and held.floats() == [1.0, 2.0]
        held.release()
        held = testing.import_tensor(testing.Writable([1.0, 2.0]))
        assert held.floats() == [1.0, 2.0]
        held.release()
        assert testing.exports() == testing.releases() == 2
    """
    )
