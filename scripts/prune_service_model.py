"""Write the pinned service models that ship with our functions: botocore's, pruned to what the runtime calls.

``python scripts/prune_service_model.py`` rewrites the files, ``--check`` exits 1 when one differs from what the
installed botocore gives. A Lambda's own SDK may be older than the fields we send, so the models travel with the code.
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

MODELS = Path(__file__).parent.parent / "constructs_lib/runtime/service_models"
DATA = Path(botocore.__file__).parent / "data"
# What the launcher calls, then what buying plans and moving endpoints takes: all of it weighs less than a logo.
SAGEMAKER = (
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
    "ListTrainingJobsForHyperParameterTuningJob",
    "ListTrainingPlans",
    "SearchTrainingPlanOfferings",
    "StopHyperParameterTuningJob",
    "StopProcessingJob",
    "StopTrainingJob",
    "UpdateEndpoint",
    "UpdateEndpointWeightsAndCapacities",
)
DYNAMODB = (
    "CreateTable",
    "DeleteItem",
    "DescribeContinuousBackups",
    "DescribeTable",
    "GetItem",
    "PutItem",
    "Query",
    "Scan",
    "TransactWriteItems",
    "UpdateContinuousBackups",
    "UpdateItem",
)
# SageMaker's is pinned because a Lambda's own may be too old; the others because a whole model takes longer to load
# than everything else that a function does before its first call.
PINNED = {
    "sagemaker/2017-07-24": SAGEMAKER,
    "dynamodb/2012-08-10": DYNAMODB,
    "stepfunctions/2016-11-23": ("DescribeExecution", "SendTaskFailure", "SendTaskSuccess", "StartExecution"),
    "cloudformation/2010-05-15": ("DescribeStacks",),
    "sns/2010-03-31": ("Publish",),
    "events/2015-10-07": ("PutEvents",),
    "application-autoscaling/2016-02-06": (
        "DeregisterScalableTarget",
        "DescribeScalableTargets",
        "PutScalingPolicy",
        "RegisterScalableTarget",
    ),
    "lambda/2015-03-31": ("Invoke",),
    "service-quotas/2019-06-24": ("ListServiceQuotas",),
    "ec2/2016-11-15": ("DescribeSubnets",),
}


def pruned(model: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the model with only these operations and the shapes they reach, without documentation."""
    operations = {name: model["operations"][name] for name in names}
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
    parser.add_argument("--check", action="store_true", help="exit 1 when a file is stale, write nothing")
    check = parser.parse_args().check
    stale = []
    for service, names in PINNED.items():
        target = MODELS / service / "service-2.json.gz"
        model = pruned(read(DATA / service / "service-2.json.gz"), names)
        if target.exists() and read(target) == model:
            continue
        stale.append(service)
        if not check:
            target.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(model, separators=(",", ":"), sort_keys=True).encode()
            # mtime=0: the asset's hash must not depend on the day it was made.
            target.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))
    if stale:
        print(("stale, run python scripts/prune_service_model.py: " if check else "written: ") + ", ".join(stale))
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
