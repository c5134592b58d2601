"""Completes generated type stubs by what dlpack-traits adds, and by the types of arguments.

``maturin generate-stubs`` writes what PyO3 describes in the binary: functions, and the methods
of ``#[pymethods]``. With the feature ``stubs`` of dlpack-traits, arguments have the type
``_SupportsDLPack``, and results in the caller's library the type ``_Array``, which this module
defines. PyO3 does not see ``__dlpack__`` and other methods that ``python::add_class``
adds to a class, so type checkers reject ``np.from_dlpack(image)``. This module imports the
built module, and adds to the stub of each class the methods that the class has at run time:

    python -m dlpack_doctor.stubs my_module stubs/my_module.pyi

The result is printed, or written to ``--out FILE``. A stub that is complete is not changed.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

DLPACK = """\
def __dlpack__(
    self,
    *,
    stream: int | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any: ...
"""
FROM_DLPACK = """\
@classmethod
def from_dlpack(
    cls,
    x: _SupportsDLPack,
    /,
    *,
    device: tuple[int, int] | str | None = None,
    copy: bool | None = None,
) -> {class_name}: ...
"""
PROPERTY = """\
@property
def {name}(self) -> {type}: ...
"""

# The methods that dlpack-traits adds, in the order of the stub. A result that is `Any` is one
# that the stubs of NumPy declare as `Any` too: with `object`, type checkers reject
# `np.from_dlpack(x)`.
METHODS = {
    "__dlpack__": DLPACK,
    "__dlpack_device__": "def __dlpack_device__(self) -> tuple[int, int]: ...\n",
    "from_dlpack": FROM_DLPACK,
    "__array__": "def __array__(self, dtype: Any = None, *, copy: bool | None = None)"
    " -> NDArray[Any]: ...\n",
    "__buffer__": "def __buffer__(self, flags: int, /) -> memoryview: ...\n",
    "__len__": "def __len__(self) -> int: ...\n",
    "__iter__": "def __iter__(self) -> Iterator[Any]: ...\n",
    "__getitem__": "def __getitem__(self, key: Any, /) -> Any: ...\n",
    "shape": PROPERTY.format(name="shape", type="tuple[int, ...]"),
    "ndim": PROPERTY.format(name="ndim", type="int"),
    "size": PROPERTY.format(name="size", type="int"),
    "nbytes": PROPERTY.format(name="nbytes", type="int"),
    "dtype": PROPERTY.format(name="dtype", type="Any"),
    "device": PROPERTY.format(name="device", type="str"),
    "__array_interface__": PROPERTY.format(name="__array_interface__", type="dict[str, Any]"),
}
# Operators of array-like classes, by what they take and return.
OPERATORS = {
    "self": {
        **{name: name for name in ("bool", "int", "float", "complex", "bytes")},
        "index": "int",
        **dict.fromkeys(("neg", "pos", "abs", "invert"), "Any"),
    },
    "self, value: Any, /": {"contains": "bool"},
    "self, key: Any, value: Any, /": {"setitem": "None"},
    "self, key: Any, /": {"delitem": "None"},
    "self, other: object, /": dict.fromkeys(("eq", "ne"), "Any"),
    "self, other: Any, /": {
        **dict.fromkeys(("lt", "le", "gt", "ge"), "Any"),
        **{
            prefix + name: "Any"
            for name in (
                *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul"),
                *("lshift", "rshift", "and", "or", "xor"),
            )
            for prefix in ("", "r", "i")
            if (prefix, name) != ("i", "divmod")
        },
    },
}
METHODS |= {
    f"__{name}__": f"def __{name}__({parameters}) -> {result}: ...\n"
    for parameters, names in OPERATORS.items()
    for name, result in names.items()
}
IMPORTS = {
    "Any": "from typing import Any",
    "Protocol": "from typing import Protocol",
    "Iterator": "from collections.abc import Iterator",
    "NDArray": "from numpy.typing import NDArray",
    "TypeAlias": "from typing import TypeAlias",
    "TypeVar": "from typing import TypeVar",
}
# The stub of NumPy has `__dlpack__` for arrays of numbers only, and that of JAX has neither its
# keywords nor `__dlpack_device__`.
SUPPORTS_DLPACK = """\
class _HasDLPack(Protocol):
    def __dlpack__(self) -> Any: ...

_SupportsDLPack: TypeAlias = NDArray[Any] | _HasDLPack
"""
ARRAY = '_Array = TypeVar("_Array", bound=_SupportsDLPack)\n'


def complete(stub: str, module: ModuleType) -> str:
    """Returns the stub with the methods that the classes of the module have at run time."""
    defined = set(names_in(ast.parse(stub).body)) - {"__getattr__", "Incomplete"}
    if not defined & public_names(module) and public_names(module):
        raise SystemExit(
            f"the stub of {module.__name__} has none of its names: PyO3 describes a module that is "
            "written as `#[pymodule] mod name { #[pymodule_export] use super::function; }`, and not "
            "one that is a function"
        )
    stub = with_arrays(stub)
    tree = ast.parse(stub)
    lines = lines_of(stub)
    missing = {node: additions(node, module) for node in tree.body if isinstance(node, ast.ClassDef)}
    # From the last to the first, so that the line numbers before stay valid.
    for node, methods in reversed(missing.items()):
        text = "".join(methods)
        # PyO3 writes a class without methods in one line.
        if text and node.body[0].lineno == node.lineno:
            lines[node.lineno - 1] = lines[node.lineno - 1].removesuffix(" ...")
        # The methods are one level deeper than the class, whose body PyO3 indents by 4.
        lines[node.end_lineno : node.end_lineno] = [
            " " * 4 + line if line else line for line in text.splitlines()
        ]
    if is_complete(tree, module):
        lines = without_getattr(lines, tree, missing)
    # The documentation of the module stays first.
    first = tree.body[0].end_lineno or 0 if ast.get_docstring(tree) is not None else 0
    documentation, rest = lines[:first], lines[first:]
    text = "\n".join(rest) + "\n"
    return "".join(f"{line}\n" for line in documentation) + prelude(tree, text) + text


def with_arrays(stub: str) -> str:
    """Gives the first array that a function takes the type of its result, if that is `_Array`. An array that
    may be left out leaves the type of the result open. PyO3 writes no type of `*args`."""
    # The places are counted in bytes of UTF-8.
    lines = [line.encode() for line in lines_of(stub)]
    edits: list[tuple[ast.Name | ast.arg, str]] = []
    for node in ast.walk(ast.parse(stub)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for rest in (node.args.vararg, node.args.kwarg):
            if rest is not None and rest.annotation is None:
                edits.append((rest, f"{rest.arg}: Any"))
        results = [] if node.returns is None else named(node.returns, "_Array")
        if not results:
            continue
        positional = [*node.args.posonlyargs, *node.args.args]
        required = positional[: len(positional) - len(node.args.defaults)]
        named_only = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        arguments = required + [argument for argument, default in named_only if default is None]
        given = [argument.annotation for argument in arguments if argument.annotation]
        if any(named(annotation, "_Array") for annotation in given):
            continue
        arrays = [name for annotation in given for name in named(annotation, "_SupportsDLPack")]
        if arrays:
            edits.append((arrays[0], "_Array"))
        else:
            edits += [(name, "Any") for name in results]
    # From the last to the first, so that the places before stay valid.
    for place, text in sorted(edits, key=lambda edit: (edit[0].lineno, edit[0].col_offset))[::-1]:
        line = lines[place.lineno - 1]
        lines[place.lineno - 1] = line[: place.col_offset] + text.encode() + line[place.end_col_offset :]
    return b"\n".join(lines).decode() + "\n"


def lines_of(stub: str) -> list[str]:
    """The lines as `ast` counts them: `str.splitlines` ends one at other characters, too."""
    return re.split(r"\r\n|\r|\n", stub.removesuffix("\n"))


def named(node: ast.expr, name: str) -> list[ast.Name]:
    """The places of a name in an annotation."""
    return [place for place in ast.walk(node) if isinstance(place, ast.Name) and place.id == name]


def additions(node: ast.ClassDef, module: ModuleType) -> list[str]:
    """The methods that a class has at run time, and its stub has not."""
    class_ = getattr(module, node.name, None)
    if not isinstance(class_, type) or "__dlpack__" not in vars(class_):
        return []
    present = set(names_in(node.body))
    has = set(vars(class_))
    # Before Python 3.12 an array-like class has the buffer protocol and no `__buffer__`.
    if "__array_interface__" in has:
        has.add("__buffer__")
    return [
        text.replace("{class_name}", node.name)
        for name, text in METHODS.items()
        if name in has and name not in present
    ]


def names_in(body: list[ast.stmt]) -> list[str]:
    """The names that statements define."""
    names = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names += [alias.asname or alias.name for alias in node.names]
    return names


def is_complete(tree: ast.Module, module: ModuleType) -> bool:
    """Whether the stub has every public name of the module."""
    return public_names(module) <= set(names_in(tree.body))


def public_names(module: ModuleType) -> set[str]:
    """The public names of a module."""
    public = {name for name in vars(module) if not name.startswith("_")}
    # A package that maturin generates contains the binary as a module of its own name.
    return public - {module.__name__.rpartition(".")[2]}


def without_getattr(
    lines: list[str], tree: ast.Module, missing: dict[ast.ClassDef, list[str]]
) -> list[str]:
    """Removes the function ``__getattr__``, by which PyO3 marks a stub as incomplete."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
            before = [other for other in missing if other.lineno < node.lineno]
            added = sum("".join(missing[other]).count("\n") for other in before)
            first = node.lineno - 1 + added
            last = (node.end_lineno or node.lineno) + added
            lines = lines[:first] + lines[last:]
            while lines and not lines[-1]:
                lines.pop()
    return lines


def prelude(tree: ast.Module, text: str) -> str:
    """The imports, the protocol and the type of arrays that the stub names and does not define."""
    present = set(names_in(tree.body))
    protocol = ""
    if re.search(r"\b(_SupportsDLPack|_Array)\b", text) and "_SupportsDLPack" not in present:
        protocol = SUPPORTS_DLPACK + "\n"
    if re.search(r"\b_Array\b", text) and "_Array" not in present:
        protocol += ARRAY + "\n"
    imports = [
        line
        for name, line in IMPORTS.items()
        if re.search(rf"(?<!\.)\b{name}\b", text + protocol) and name not in present
    ]
    separator = "\n" if imports and protocol else ""
    return "".join(f"{line}\n" for line in sorted(imports)) + separator + protocol


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="dlpack_doctor.stubs",
        description="Adds the methods of dlpack-traits to a generated type stub.",
    )
    parser.add_argument("module", help="the name of the built module, which is imported")
    parser.add_argument("stub", type=Path, help="the stub that `maturin generate-stubs` wrote")
    parser.add_argument("--out", type=Path, help="write the result here, and do not print it")
    options = parser.parse_args(arguments)
    module = importlib.import_module(options.module)
    text = complete(options.stub.read_text(encoding="utf-8"), module)
    if options.out is None:
        sys.stdout.write(text)
    else:
        options.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
