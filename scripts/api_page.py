"""docs/api.md: every public name with its signature and its docstring."""

from __future__ import annotations

import inspect
from typing import Any

import constructs_lib

__all__ = ["api_page"]

HEAD = """\
# Public names

Generated from the docstrings by `scripts/generate_docs.py`; edit the code, not this page. Everything here is imported
from `constructs_lib`.
"""


def api_page() -> str:
    """Return the page: a list of names, then a section a name."""
    names = sorted(constructs_lib.__all__, key=str.lower)
    listing = "\n".join(f"- [`{name}`](#{name.lower()}): {_first_line(name)}" for name in names)
    return "\n".join([HEAD, listing, "", *(_section(name) for name in names)])


def _section(name: str) -> str:
    thing = getattr(constructs_lib, name)
    parts = [f"## {name}", "", "```text", inspect.cleandoc(thing.__doc__ or ""), "```", ""]
    members = [_member(key, member) for key, member in _own_members(thing)]
    return "\n".join([*parts, *members, ""] if members else parts)


def _first_line(name: str) -> str:
    return inspect.cleandoc(getattr(constructs_lib, name).__doc__ or "").splitlines()[0]


def _own_members(thing: Any) -> list[tuple[str, Any]]:
    """Return the public methods and properties that the class itself documents."""
    if not inspect.isclass(thing):
        return []
    own = [(key, member) for key, member in vars(thing).items() if not key.startswith("_")]
    return [(key, member) for key, member in sorted(own) if inspect.getdoc(member) and _is_member(member)]


def _is_member(member: Any) -> bool:
    return isinstance(member, property | classmethod | staticmethod) or inspect.isfunction(member)


def _member(key: str, member: Any) -> str:
    call = "" if isinstance(member, property) else "()"
    return f"- `{key}{call}`: {(inspect.getdoc(member) or '').splitlines()[0]}"
