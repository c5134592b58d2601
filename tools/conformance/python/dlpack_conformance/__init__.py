"""What an importer of DLPack tensors makes of hostile and odd producers.

On the command line: ``python -m dlpack_conformance numpy:from_dlpack``. In a program:

>>> from dlpack_conformance import check
>>> findings = [row for row in check("numpy:from_dlpack") if row.finding]

As tests: `dlpack_conformance.pytest_plugin`, which pytest loads when the package is installed.
"""

import importlib

# Imported on first use: pytest loads the plug-in in every run of the environment, also where
# no test uses it, and on systems for which the extension module is not written.
_MODULES = {
    "Row": "verdict",
    "Trial": "_native",
    "__version__": "_native",
    "check": "running",
    "clauses": "_native",
    "trials": "_native",
}
__all__ = list(_MODULES)


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
