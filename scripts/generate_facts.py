"""Write what botocore's model and moto's dump know into constructs_lib/facts: run after either is upgraded.

``python scripts/generate_facts.py`` rewrites the files, ``--check`` exits 1 when one is stale.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import botocore.session

FACTS = Path(__file__).parent.parent / "constructs_lib" / "facts"
OVERRIDES = Path(__file__).parent / "instance_type_overrides.json"

# The enum of each API's instance types, by the name facts use for the API.
ENUMS = {
    "training": "TrainingInstanceType",
    "processing": "ProcessingInstanceType",
    "endpoint": "ProductionVariantInstanceType",
    "cluster": "ClusterInstanceType",
    "transform": "TransformInstanceType",
    "notebook": "InstanceType",
    "app": "AppInstanceType",
    "training-plan": "ReservedCapacityInstanceType",
}
STATUS_ENUMS = {
    "training": "TrainingJobStatus",
    "processing": "ProcessingJobStatus",
    "tuning": "HyperParameterTuningJobStatus",
    "transform": "TransformJobStatus",
    "endpoint": "EndpointStatus",
}
# The model lists statuses without saying which are terminal; what is in one of these will change again by itself.
MOVING = {"InProgress", "Stopping", "Deleting", "Creating", "Updating", "SystemUpdating", "RollingBack"}
# cfn-lint's folder of regional types, and the API it stands for here; it has none for training.
REGIONAL = {"processing": "processing", "hosting": "endpoint", "cluster": "cluster", "transform": "transform"}
# The operations that Step Functions knows by name, and those of plans, clusters and jobs.
REQUESTS = {
    *(f"Create{what}" for what in ("Cluster", "Endpoint", "EndpointConfig", "LabelingJob", "Model", "TrainingPlan")),
    *(f"Create{what}Job" for what in ("HyperParameterTuning", "Processing", "Training", "Transform")),
    *(f"Describe{what}Job" for what in ("HyperParameterTuning", "Processing", "Training", "Transform")),
    *(f"Stop{what}Job" for what in ("HyperParameterTuning", "Processing", "Training", "Transform")),
    *("DescribeEndpoint", "DescribeTrainingPlan", "SearchTrainingPlanOfferings", "ExtendTrainingPlan"),
    *("UpdateCluster", "UpdateEndpoint"),
}
LIMITS = {
    "InstancePreferenceList": "max",
    "HyperParameterTuningInstanceConfigs": "max",
    "MaxPendingTimeInSeconds": "range",
    "MaxRuntimeInSeconds": "range",
    "ProcessingMaxRuntimeInSeconds": "range",
    "ProcessingInstanceCount": "range",
    "KeepAlivePeriodInSeconds": "range",
    "TrainingJobName": "string",
    "ProcessingJobName": "string",
    "TrainingPlanName": "string",
    "TrainingPlanDurationHoursInput": "range",
    "ReservedCapacityInstanceCount": "range",
    "VariantInstanceProvisionTimeoutInSeconds": "range",
}


def service_model(name: str) -> Any:
    return botocore.session.get_session().get_service_model(name)


def instance_types() -> dict[str, Any]:
    model = service_model("sagemaker")
    apis = {api: set(model.shape_for(shape).enum) for api, shape in ENUMS.items()}
    dump = json.loads(gzip.decompress((files("moto") / "ec2/resources/instance_types.json.gz").read_bytes()))
    overrides = json.loads(OVERRIDES.read_text())
    rows = []
    for name in sorted({t for types in apis.values() for t in types if t.startswith("ml.")}):
        row = {"type": name, "apis": [api for api, types in apis.items() if name in types]}
        if name[3:] in dump:
            row |= hardware(dump[name[3:]]) | {"source": "moto"}
        if name in overrides["types"]:
            row |= overrides["types"][name]
        row.setdefault("source", "botocore")
        rows.append(row)
    sources = {
        "moto": f"moto {version('moto')}, a DescribeInstanceTypes dump",
        "botocore": f"botocore {version('botocore')}, enums only: hardware unknown",
        **overrides["sources"],
    }
    return {"as_of": overrides["as_of"], "sources": sources, "rows": rows}


def hardware(dump: dict[str, Any]) -> dict[str, Any]:
    """Reduce one DescribeInstanceTypes row to what a preference list needs to know."""
    network = dump["NetworkInfo"]
    return {
        "architecture": next(a for a in dump["ProcessorInfo"]["SupportedArchitectures"] if a in ("x86_64", "arm64")),
        "vcpus": dump["VCpuInfo"]["DefaultVCpus"],
        "memory_mib": dump["MemoryInfo"]["SizeInMiB"],
        "local_storage_gb": dump.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
        "efa_interfaces": network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
        "accelerator": accelerator(dump),
        "capacity_block": "capacity-block" in dump.get("SupportedUsageClasses", []),
    }


def accelerator(dump: dict[str, Any]) -> dict[str, Any] | None:
    if gpus := dump.get("GpuInfo", {}).get("Gpus"):
        gpu = gpus[0]
        kind = "gpu" if gpu["Manufacturer"] == "NVIDIA" else gpu["Manufacturer"].lower()
        return {"kind": kind, "name": gpu["Name"], "count": gpu["Count"], "memory_mib": gpu["MemoryInfo"]["SizeInMiB"]}
    if devices := dump.get("NeuronInfo", {}).get("NeuronDevices"):
        device = devices[0]
        memory = device["MemoryInfo"]["SizeInMiB"]
        return {"kind": "neuron", "name": device["Name"], "count": device["Count"], "memory_mib": memory}
    return None


def api_limits() -> dict[str, Any]:
    model = service_model("sagemaker")
    rows = []
    for shape_name in LIMITS:
        shape = model.shape_for(shape_name)
        keep = {k: shape.metadata[k] for k in ("min", "max", "pattern") if k in shape.metadata}
        rows.append({"shape": shape_name, **keep, "source": "botocore"})
    sources = {"botocore": f"botocore {version('botocore')}, service model sagemaker 2017-07-24"}
    return {"as_of": "2026-11-29", "sources": sources, "rows": rows}


def job_states() -> dict[str, Any]:
    model = service_model("sagemaker")
    rows = [
        {"job": job, "status": status, "terminal": status not in MOVING, "source": "botocore"}
        for job, shape in STATUS_ENUMS.items()
        for status in model.shape_for(shape).enum
    ]
    sources = {
        "botocore": f"botocore {version('botocore')}; which are terminal is our reading, the model does not say",
    }
    return {"as_of": "2026-11-29", "sources": sources, "rows": rows}


def regional_types() -> dict[str, Any]:
    """Accelerated types only, one row per API and type: cfn-lint reads them from AWS's price lists."""
    rows = []
    for folder, api in REGIONAL.items():
        path = files("cfnlint") / f"data/schemas/extensions/aws_sagemaker_{folder}/instancetype_enum.json"
        regions: dict[str, list[str]] = {}
        for region, listed in json.loads(path.read_text()).items():
            for name in listed["enum"] if isinstance(listed, dict) else []:
                regions.setdefault(name, []).append(region)
        accelerated = sorted(name for name in regions if re.match(r"ml\.(p|g|trn|inf|dl)[0-9]", name) or ".gr" in name)
        rows += [
            {"api": api, "type": name, "regions": sorted(regions[name]), "source": "cfn-lint"} for name in accelerated
        ]
    sources = {"cfn-lint": f"cfn-lint {version('cfn-lint')}, made from AWS's price lists: a hint, not a promise"}
    return {"as_of": "2026-10-20", "sources": sources, "rows": rows}


def sagemaker_operations() -> dict[str, Any]:
    """Every operation by name, and the members of those that people write requests for by hand."""
    model = service_model("sagemaker")
    rows = []
    for name in sorted(model.operation_names):
        row: dict[str, Any] = {"operation": name}
        if name in REQUESTS:
            row["members"] = members(model.operation_model(name).input_shape, ())
        rows.append(row | {"source": "botocore"})
    sources = {"botocore": f"botocore {version('botocore')}, service model sagemaker 2017-07-24"}
    return {"as_of": "2026-11-29", "sources": sources, "rows": rows}


def members(shape: Any, above: tuple[str, ...]) -> Any:
    """Reduce a shape to its members; a shape that holds itself ends where it comes round."""
    if shape is None or shape.name in above:
        return None
    inside = (*above, shape.name)
    if shape.type_name == "structure":
        return {name: members(member, inside) for name, member in shape.members.items()}
    if shape.type_name == "list":
        return [members(shape.member, inside)]
    return {"*": members(shape.value, inside)} if shape.type_name == "map" else None


def render(document: dict[str, Any]) -> str:
    """One row a line, so that a diff shows the type that changed."""
    head = {k: v for k, v in document.items() if k != "rows"}
    lines = ",\n".join("    " + json.dumps(row, separators=(", ", ": ")) for row in document["rows"])
    return json.dumps(head, indent=2)[:-2] + ',\n  "rows": [\n' + lines + "\n  ]\n}\n"


GENERATED = {
    "instance_types.json": instance_types,
    "api_limits.json": api_limits,
    "job_states.json": job_states,
    "regional_types.json": regional_types,
    "sagemaker_operations.json": sagemaker_operations,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 when a file is stale, write nothing")
    check = parser.parse_args().check
    stale = []
    for name, make in GENERATED.items():
        path, text = FACTS / name, render(make())
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not check:
                path.write_text(text)
    if stale:
        print(("stale: " if check else "written: ") + ", ".join(stale))
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
