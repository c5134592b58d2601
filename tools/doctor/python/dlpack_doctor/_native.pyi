from collections.abc import Callable, Sequence

__version__: str
CHECKS: list[str]
CONSUMERS: list[tuple[str, str]]

def examine(
    object: object,
    *,
    live: bool = False,
    skip: Sequence[str] = (),
    announce: Callable[[str], object] | None = None,
) -> str: ...
def render(report: str, *, colour: bool = False) -> str: ...
def is_healthy(report: str) -> bool: ...
def compare(given: object, made: object) -> tuple[str, str]: ...
