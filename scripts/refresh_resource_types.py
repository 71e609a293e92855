"""Write what CloudFormation's schemas say about the sandbox's resource types, from the copy inside cfn-lint.

Run it after upgrading cfn-lint, and after adding a resource type to the sandbox.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cfnlint

from constructs_lib.sandbox.cloudformation.resources import TYPES

SCHEMAS = Path(cfnlint.__file__).parent / "data" / "schemas"
TARGET = Path(__file__).parents[1] / "constructs_lib" / "sandbox" / "cloudformation" / "resource_types.json"


def schema(type_name: str) -> dict[str, Any]:
    """Return the registry schema of a type in us-east-1."""
    files = json.loads((SCHEMAS / "providers" / "us-east-1.json").read_text(encoding="utf-8"))
    text = (SCHEMAS / "resources" / f"{files[type_name]}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _paths(pointers: list[str]) -> list[str]:
    return sorted(pointer.removeprefix("/properties/") for pointer in pointers)


def facts(type_name: str) -> dict[str, Any]:
    """Return the row of one type; a property that may need a replacement counts as one that does."""
    loaded = schema(type_name)
    read_only = _paths(loaded.get("readOnlyProperties", []))
    create_only = {*loaded.get("createOnlyProperties", []), *loaded.get("conditionalCreateOnlyProperties", [])}
    return {
        "properties": [name for name in sorted(loaded["properties"]) if name not in read_only],
        "required": sorted(loaded.get("required") or []),
        "create_only": _paths(list(create_only)),
        "read_only": [path for path in read_only if "*" not in path],
        "tags": _tags(loaded),
    }


def _tags(loaded: dict[str, Any]) -> str | None:
    tagging = loaded.get("tagging", {})
    if tagging.get("tagProperty") != "/properties/Tags" or not tagging.get("taggable", True):
        return None
    declared = loaded["properties"].get("Tags")
    if declared is None:
        return None
    while "$ref" in declared:
        declared = loaded["definitions"][re.sub(r".*/", "", declared["$ref"])]
    return "list" if declared.get("type") == "array" else "map"


def render() -> str:
    """Return the data file's text."""
    as_of = json.loads((SCHEMAS / "version.json").read_text(encoding="utf-8"))["schema_date"][:10]
    return (
        json.dumps(
            {
                "source": f"CloudFormation registry schemas, us-east-1, as carried by cfn-lint {version('cfn-lint')}",
                "as_of": as_of,
                "types": {kind.type: facts(kind.type) for kind in sorted(TYPES, key=lambda kind: kind.type)},
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
    print(f"{TARGET.name}: {len(TYPES)} types")
