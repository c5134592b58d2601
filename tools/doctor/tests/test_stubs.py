"""Generated stubs, completed by the methods that classes have at run time."""

import ast
import types

import pytest
from dlpack_doctor import stubs

STUB = '''\
from _typeshed import Incomplete
from typing import final

@final
class Image:
    """
    A picture.
    """
    @property
    def shape(self, /) -> tuple[int, int, int]: ...

class Other: ...

def mean(tensor: Incomplete, /) -> float: ...

def __getattr__(name: str) -> Incomplete: ...
'''


def module(**members):
    """A module with a class of tensors, one that is none, and a function."""

    class Image:
        shape = property()

        def __dlpack__(self): ...

        def __dlpack_device__(self): ...

    for name, value in members.items():
        setattr(Image, name, value)
    made = types.ModuleType("camera")
    made.Image, made.Other, made.mean = Image, type("Other", (), {}), len
    return made


def names_of(text, class_):
    (node,) = (node for node in ast.parse(text).body if getattr(node, "name", "") == class_)
    return stubs.names_in(node.body)


def test_methods_are_added():
    text = stubs.complete(STUB, module())
    assert names_of(text, "Image") == ["shape", "__dlpack__", "__dlpack_device__"]
    assert names_of(text, "Other") == []
    assert text.startswith("from typing import Any\n")
    assert "SupportsDLPack" not in text


def test_a_complete_stub_is_not_changed():
    once = stubs.complete(STUB, module())
    assert stubs.complete(once, module()) == once


def test_methods_of_the_stub_are_kept():
    """Their types are more precise: three dimensions."""
    text = stubs.complete(STUB, module(__array_interface__=property(), ndim=property()))
    assert text.count("def shape") == 1
    assert "tuple[int, int, int]" in text
    assert "def ndim(self) -> int" in text
    # An array-like class has the buffer protocol on every Python.
    assert "def __buffer__(self, flags: int, /) -> memoryview" in text


def test_importable_classes_name_themselves():
    text = stubs.complete(STUB, module(from_dlpack=classmethod(len)))
    assert ") -> Image: ..." in text
    assert names_of(text, "_HasDLPack") == ["__dlpack__"]
    assert "from typing import Protocol\n" in text


@pytest.mark.parametrize("extra", [None, "another"])
def test_a_stub_without_a_name_stays_incomplete(extra):
    """`__getattr__` marks a stub that lacks names of the module."""
    made = module()
    if extra:
        made.another = 1
    assert ("def __getattr__" in stubs.complete(STUB, made)) == bool(extra)


def test_the_result_is_python():
    made = module(**{name: property() for name in stubs.METHODS})
    text = stubs.complete(STUB, made)
    assert set(names_of(text, "Image")) == set(stubs.METHODS)
    ast.parse(text)
    assert stubs.complete(text, made) == text


def test_the_command_line(tmp_path, capsys, monkeypatch):
    stub = tmp_path / "camera.pyi"
    stub.write_text(STUB)
    monkeypatch.setitem(__import__("sys").modules, "camera", module())
    assert stubs.main(["camera", str(stub)]) == 0
    printed = capsys.readouterr().out
    assert "def __dlpack__" in printed
    assert stubs.main(["camera", str(stub), "--out", str(stub)]) == 0
    assert stub.read_text() == printed


def test_operators_are_added():
    members = dict.fromkeys(("__add__", "__radd__", "__eq__", "__bool__", "__setitem__"), len)
    text = stubs.complete(STUB, module(**members))
    assert "def __radd__(self, other: Any, /) -> Any" in text
    assert "def __eq__(self, other: object, /) -> Any" in text
    assert "def __bool__(self) -> bool" in text
    assert "def __setitem__(self, key: Any, value: Any, /) -> None" in text
    assert "__iadd__" not in text


FUNCTIONS = """\
'a line\x0cand the same line \u2028'
from typing import Annotated

from numpy import float32
from numpy.typing import NDArray

def norms(x: Annotated[_SupportsDLPack, "float32", "2 dimensions"], *, scale: float = 1) -> NDArray[float32]: ...
def scaled(n: int, x: Annotated[_SupportsDLPack, "float32", "2 dimensions"], y: _SupportsDLPack) -> _Array: ...
def made(n: int) -> _Array: ...
def hypot(x: float, *, out: _SupportsDLPack | None = None) -> _Array: ...
def total(é: int, *arrays, **rest) -> None: ...
async def later(x: _SupportsDLPack, *arrays) -> _Array: ...
"""


def test_the_types_of_arrays_are_defined():
    text = stubs.complete(FUNCTIONS, types.ModuleType("functions"))
    assert "_SupportsDLPack: TypeAlias = NDArray[Any] | _HasDLPack" in text
    assert '_Array = TypeVar("_Array", bound=_SupportsDLPack)' in text
    assert 'x: Annotated[_SupportsDLPack, "float32", "2 dimensions"], *, scale' in text
    assert 'x: Annotated[_Array, "float32", "2 dimensions"], y: _SupportsDLPack) -> _Array' in text
    assert "def made(n: int) -> Any: ..." in text
    # mypy could not solve the type of an array that is left out.
    assert "out: _SupportsDLPack | None = None) -> Any" in text
    assert "def total(é: int, *arrays: Any, **rest: Any) -> None" in text
    assert "async def later(x: _Array, *arrays: Any) -> _Array" in text
    assert "import Any" in text and text.count("import NDArray") == 1
    compile(text, "functions.pyi", "exec")
    assert stubs.complete(text, types.ModuleType("functions")) == text


def test_an_empty_stub_is_an_error():
    made = types.ModuleType("functions")
    made.norms = len
    for stub in ("", "def __getattr__(name: str) -> Incomplete: ...\n"):
        with pytest.raises(SystemExit, match="has none of its names: PyO3 describes a module"):
            stubs.complete(stub, made)


def test_a_class_without_methods_gets_a_body():
    """PyO3 writes it in one line."""
    stub = '"""A module."""\n\n@final\nclass Image: ...\n\nclass Other: ...\n'
    text = stubs.complete(stub, module())
    assert ast.get_docstring(ast.parse(text)) == "A module."
    assert names_of(text, "Image") == ["__dlpack__", "__dlpack_device__", "shape"]
