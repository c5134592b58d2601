"""NumPy's own tests of DLPack, run through a class of ours.

The tests are the ones that NumPy installs. Each `np.from_dlpack(x)` in them imports `x`
into our `Tensor`, and then calls NumPy's function with the tensor.
"""

import importlib.util

import dlpack_example
from conftest import require

numpy = require("numpy")


class NumPy:
    """The module with another `from_dlpack`."""

    calls = 0

    def __getattr__(self, name):
        return getattr(numpy, name)

    def from_dlpack(self, x, /, **keywords):
        self.calls += 1
        return numpy.from_dlpack(dlpack_example.Tensor.from_dlpack(x), **keywords)


def load():
    """NumPy's test module, with our `np`."""
    found = importlib.util.find_spec("numpy._core.tests.test_dlpack")
    assert found is not None, "this NumPy was installed without its tests"
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    module.np = NumPy()
    return module


suite = load()
# pytest collects the class under this name.
TestDLPack = suite.TestDLPack


def test_the_suite_has_all_functions():
    """NumPy 2.4 has 18 functions with 82 tests."""
    functions = [name for name in dir(TestDLPack) if name.startswith("test_")]
    assert len(functions) >= 18, functions


def test_imports_go_through_our_class():
    """`test_copy` imports three times."""
    before = suite.np.calls
    TestDLPack().test_copy()
    assert suite.np.calls == before + 3
