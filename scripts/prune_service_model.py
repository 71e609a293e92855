"""Write the pinned SageMaker service model that ships with the launcher: botocore's, pruned to what the runtime calls.

``python scripts/prune_service_model.py`` rewrites the file, ``--check`` exits 1 when it differs from what the installed
botocore gives. A Lambda's own SDK may be older than the fields we send, so the model travels with the code.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import botocore

TARGET = Path(__file__).parent.parent / "constructs_lib/runtime/service_models/sagemaker/2017-07-24/service-2.json.gz"
SOURCE = Path(botocore.__file__).parent / "data/sagemaker/2017-07-24/service-2.json.gz"
# What the launcher calls, then what buying plans and moving endpoints takes: all of it weighs less than a logo.
OPERATIONS = (
    "AddTags",
    "CreateEndpoint",
    "CreateEndpointConfig",
    "CreateHyperParameterTuningJob",
    "CreateProcessingJob",
    "CreateTrainingJob",
    "CreateTrainingPlan",
    "DeleteEndpoint",
    "DeleteEndpointConfig",
    "DescribeEndpoint",
    "DescribeEndpointConfig",
    "DescribeHyperParameterTuningJob",
    "DescribeProcessingJob",
    "DescribeReservedCapacity",
    "DescribeTrainingJob",
    "DescribeTrainingPlan",
    "DescribeTrainingPlanExtensionHistory",
    "ExtendTrainingPlan",
    "ListEndpointConfigs",
    "ListTags",
    "ListTrainingJobs",
    "ListTrainingPlans",
    "SearchTrainingPlanOfferings",
    "StopHyperParameterTuningJob",
    "StopProcessingJob",
    "StopTrainingJob",
    "UpdateEndpoint",
)


def pruned(model: dict[str, Any]) -> dict[str, Any]:
    """Return the model with only our operations and the shapes they reach, without documentation."""
    operations = {name: model["operations"][name] for name in OPERATIONS}
    wanted: set[str] = set()
    todo = [shape for operation in operations.values() for shape in _references(operation)]
    while todo:
        shape = todo.pop()
        if shape not in wanted:
            wanted.add(shape)
            todo.extend(_references(model["shapes"][shape]))
    kept = model | {"operations": operations, "shapes": {name: model["shapes"][name] for name in sorted(wanted)}}
    kept["documentation"] = f"botocore {version('botocore')}, pruned to the operations this library calls"
    return _undocumented(kept, top=True)


def _references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [shape for item in node for shape in _references(item)]
    if not isinstance(node, dict):
        return []
    own = [node["shape"]] if isinstance(node.get("shape"), str) else []
    return own + [shape for value in node.values() for shape in _references(value)]


def _undocumented(node: Any, *, top: bool = False) -> Any:
    if isinstance(node, list):
        return [_undocumented(item) for item in node]
    if not isinstance(node, dict):
        return node
    drop = not top and isinstance(node.get("documentation"), str)
    return {k: _undocumented(v) for k, v in node.items() if not (drop and k == "documentation")}


def read(path: Path) -> dict[str, Any]:
    model: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return model


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 when the file is stale, write nothing")
    check = parser.parse_args().check
    model = pruned(read(SOURCE))
    if check:
        stale = not TARGET.exists() or read(TARGET) != model
        print(f"{TARGET.name}: {'stale, run python scripts/prune_service_model.py' if stale else 'up to date'}")
        return int(stale)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(model, separators=(",", ":"), sort_keys=True).encode()
    # mtime=0: the asset's hash must not depend on the day it was made.
    TARGET.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
