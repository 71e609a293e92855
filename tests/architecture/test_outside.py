"""What stands outside the layers: the settings know nothing of ours, the examples only the public API."""

import ast
from pathlib import Path

import pytest

import constructs_lib

ROOT = Path(__file__).parents[2]


def imports(path):
    """Yield module and name of every import of a file, those for type checkers included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.module, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None


@pytest.mark.parametrize("path", [ROOT / "app.py", *sorted((ROOT / "stacks").glob("*.py"))], ids=lambda p: p.name)
def test_examples_use_the_public_api_only(path):
    for module, name in imports(path):
        if module.split(".")[0] == "constructs_lib":
            assert module == "constructs_lib", f"{module} is private"
            assert name in constructs_lib.__all__


def test_settings_know_nothing_of_ours():
    ours = {
        module for module, _ in imports(ROOT / "constructs_lib" / "settings.py") if module.startswith("constructs_lib")
    }
    assert ours <= {"constructs_lib.model"}


def test_every_public_name_can_be_imported_and_has_words():
    for name in constructs_lib.__all__:
        assert getattr(constructs_lib, name).__doc__, name


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "constructs_lib" / "py.typed").is_file()
