"""The suite itself: every check names its clause."""

import ast
from pathlib import Path

import clauses
import test_capsule_rules  # noqa: F401
import test_consumer_rules  # noqa: F401
import test_producer  # noqa: F401
import test_table_rules  # noqa: F401
from conftest import require
from subjects import NUMPY, TORCH


def checks():
    """The names of all checks, file by file."""
    for path in Path(__file__).parent.glob("test_*.py"):
        if path.name != Path(__file__).name:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                    yield path.name, node.name


def test_every_check_names_its_clause_and_has_a_name_of_its_own():
    found = [name for _, name in checks()]
    assert found and set(found) <= set(clauses.NAMED)
    assert len(found) == len(set(found))


def test_deviations_are_of_checks_that_exist():
    names = {name for _, name in checks()}
    assert set(NUMPY) | set(TORCH) <= names


def test_pytorch_was_looked_at_too():
    require("torch")
