"""Evaluates Python expressions and imports the modules that they name."""

import builtins
import importlib
import os
import warnings
from typing import Any

# Common abbreviations of modules.
SHORT = {"np": "numpy", "jnp": "jax.numpy", "mx": "mlx.core", "tf": "tensorflow", "pd": "pandas"}


class Modules(dict[str, Any]):
    """Names of an expression: an undefined name is resolved to the module of that name."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        try:
            self[name] = importlib.import_module(SHORT.get(name, name))
        except ModuleNotFoundError as error:
            raise NameError(f"name {name!r} is not defined, and no module is") from error
        return self[name]


def evaluate(expression: str, imports: list[str]) -> Any:
    """The value of an expression, after importing what has to be imported first,
    such as what makes a submodule an attribute of its package."""
    # Suppresses the log output of libraries.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    warnings.simplefilter("ignore")
    names = Modules()
    for name in imports:
        module, _, alias = name.partition("=")
        names[alias or module.partition(".")[0]] = importlib.import_module(module)
        if not alias and "." in module:
            names[module.partition(".")[0]] = importlib.import_module(module.partition(".")[0])
    return eval(compile(expression, "<expression>", "eval"), names)
